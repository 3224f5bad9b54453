/** Finds what NFC may change: below U+0300 every text is its own NFC form. */
const mayCompose = /[\u0300-\uffff]/;

/**
 * Marks that belong to no script of their own: accents, and not the vowel signs of scripts that
 * write vowels as marks.
 */
const accents = /(?=\p{Mn})\p{Script=Inherited}/gu;

const isAscii = /^[\0-\x7f]*$/;

/**
 * The most marks of one character that normalization handles together, as in the Stream-Safe Text
 * Format of Unicode (UAX #15).
 */
const mostMarks = 30;

/** Joins nothing and has combining class 0, so that normalization moves no mark across it. */
const separator = '\u034f';

/**
 * What normalization moves or composes within one character: each combining mark except the
 * separator, and the one letter that composes with itself.
 */
export const mayPileUp = /^(?!\u034f)[\p{M}\u{16d67}]/u;

const longRun = /(?:(?!\u034f)[\p{M}\u{16d67}]){30}(?=(?!\u034f)[\p{M}\u{16d67}])/gu;

/** A UTF-16 unit with which {@link mayPileUp} could begin, or a half of such a character. */
const unitOfMark = /[\p{M}\p{Cs}]/u;

/** The form in which texts are compared; one for the whole datastore. */
export type Fold = (text: string) => string;

/**
 * The form in which texts are compared without regard to case: default Unicode lower-casing of the
 * NFC form (filters F28, F30). Accents count: `fold('É')` is `é`, not `e`. The sigma at a word's
 * end becomes an ordinary one, which lower-casing alone would not do: otherwise `ΟΔΟΣ` would be no
 * prefix of `ΟΔΟΣΗΜΑ`.
 */
export function fold(text: string): string {
  if (!mayCompose.test(text)) return text.toLowerCase();
  return separateMarks(text).normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
}

/**
 * The folded form of a text without accents, for models with `protocol.accentInsensitive` (filters
 * F29): `É` is `e`, `Å` is `a`. Letters that Unicode does not decompose stay as they are: `ø` is not
 * `o`, `ß` is not `s`.
 */
export function foldWithoutAccents(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  const letters = separateMarks(text).normalize('NFD').toLowerCase().normalize('NFD');
  return fold(letters.replace(accents, ''));
}

/**
 * A text whose normalization takes linear time: `normalize` sorts the marks of a character by
 * insertion, so 100,000 marks in reverse order would block the process for seconds. A separator is
 * inserted after every 30 marks of one character; no language writes that many. Two such texts are
 * equal if they have the same marks in the same order.
 */
export function separateMarks(text: string): string {
  return mayHaveLongRun(text) ? text.replace(longRun, `$&${separator}`) : text;
}

/**
 * A run of 31 marks covers one of every 31 positions: checking only these costs a tenth of what
 * normalization costs.
 */
function mayHaveLongRun(text: string): boolean {
  for (let place = mostMarks; place < text.length; place += mostMarks + 1) {
    if (unitOfMark.test(text.charAt(place))) return true;
  }
  return false;
}
