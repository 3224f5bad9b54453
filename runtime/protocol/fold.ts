/** Below U+0300 every text is its own NFC form. */
const mayCompose = /[\u0300-\uffff]/;

/**
 * The form in which texts are compared without regard to case: default Unicode lower-casing of the NFC form (protocol
 * decisions 10 and 24). Accents count: `fold('É')` is `é`, not `e`. The sigma at a word's end becomes an ordinary one, which
 * lower-casing alone would not do: otherwise `ΟΔΟΣ` would be no prefix of `ΟΔΟΣΗΜΑ`.
 */
export function fold(text: string): string {
  if (!mayCompose.test(text)) return text.toLowerCase();
  return text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
}
