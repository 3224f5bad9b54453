/** 32 upper-case hexadecimal digits, or `undefined` when the text is no UUID. */
export function normaliseUuid(text: string): string | undefined {
  void text;
  throw new Error('not written yet');
}

export function newUuid(): string {
  throw new Error('not written yet');
}
