/** Below U+0300 every text is its own NFC form. */
const mayCompose = /[\u0300-\uffff]/;

/**
 * The form in which texts are compared without regard to case: default Unicode lower-casing of the NFC form (protocol
 * decisions 10 and 24). Accents count: `fold('É')` is `é`, not `e`.
 */
export function fold(text: string): string {
  return mayCompose.test(text) ? text.normalize('NFC').toLowerCase() : text.toLowerCase();
}

/**
 * Orders folded texts by code point, as a database does that compares UTF-8 byte by byte: negative, zero or positive.
 * JavaScript's own `<` orders by UTF-16 code unit and so puts U+FF5E after U+1F600.
 */
export function compareFolded(a: string, b: string): number {
  if (a === b) return 0;
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all that one code unit can hold. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
