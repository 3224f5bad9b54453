const surrogate = /[\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/u;

/** Whether the text is Unicode at all: no half of a surrogate pair stands alone (protocol decision 9). */
export function isWellFormed(text: string): boolean {
  return !surrogate.test(text) || !loneSurrogate.test(text);
}
