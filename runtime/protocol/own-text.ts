const wide = /[\u0100-\uffff]/;

/**
 * A copy of the text with its own memory, for what is kept longer than a request: a substring keeps
 * the whole text in memory, an address or a header of 80 KiB for a word.
 */
export function ownText(text: string): string {
  const encoding = wide.test(text) ? 'utf16le' : 'latin1';
  return Buffer.from(text, encoding).toString(encoding);
}

const surrogate = /[\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/u;

/** Whether the text is valid Unicode: no lone surrogate (protocol P4.7). */
export function isWellFormed(text: string): boolean {
  return !surrogate.test(text) || !loneSurrogate.test(text);
}
