/** Below U+0300 every text is its own NFC form. */
const mayCompose = /[\u0300-\uffff]/;

/** Marks that belong to no script of their own: accents, and not the vowel signs of scripts that write vowels as marks. */
const accents = /(?=\p{Mn})\p{Script=Inherited}/gu;

const isAscii = /^[\0-\x7f]*$/;

/** The form in which texts are compared; one for the whole datastore. */
export type Fold = (text: string) => string;

/**
 * The form in which texts are compared without regard to case: default Unicode lower-casing of the NFC form (protocol
 * decisions 10 and 24). Accents count: `fold('É')` is `é`, not `e`. The sigma at a word's end becomes an ordinary one, which
 * lower-casing alone would not do: otherwise `ΟΔΟΣ` would be no prefix of `ΟΔΟΣΗΜΑ`.
 */
export function fold(text: string): string {
  if (!mayCompose.test(text)) return text.toLowerCase();
  return text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
}

/**
 * The same without accents, for models with `protocol.accentInsensitive` (protocol decision 10): `É` is `e`, `Å` is `a`. What
 * Unicode does not take apart stays as it is: `ø` is no `o`, `ß` no `s`.
 */
export function foldWithoutAccents(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  return fold(text.normalize('NFD').toLowerCase().normalize('NFD').replace(accents, ''));
}
