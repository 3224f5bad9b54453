/** The form in which names are compared without regard to case: lower case of the composed (NFC) text. */
export function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
