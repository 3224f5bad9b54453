/** A pattern in pieces, between which any characters may stand (filters F31). */
export class TextPattern {
  readonly #first: string;
  readonly #middle: readonly TextSearch[];
  /** `undefined` if the pattern has only one piece, which is then the whole text. */
  readonly #last: string | undefined;

  /** @param pattern folded, with `@` for any run of characters */
  constructor(pattern: string) {
    const [first, ...others] = pattern.split('@');
    this.#first = first as string;
    this.#last = others.pop();
    this.#middle = others.map((piece) => new TextSearch(piece));
  }

  /** Takes time linear in the text: each piece is searched once, behind the one before it. */
  matches(text: string): boolean {
    if (this.#last === undefined) return text === this.#first;
    if (!text.startsWith(this.#first)) return false;
    let at = this.#first.length;
    for (const piece of this.#middle) {
      const found = piece.find(text, at);
      if (found === -1) return false;
      at = found + piece.piece.length;
    }
    return text.length - this.#last.length >= at && text.endsWith(this.#last);
  }
}

const wordBefore = /[\p{L}\p{N}\p{M}_]$/u;
const wordBehind = /^[\p{L}\p{N}\p{M}_]/u;

/**
 * Finds a text as a whole word: no letter, digit, underscore or combining mark next to it (filters
 * F6).
 */
export class WordSearch {
  readonly #search: TextSearch;

  /** @param word folded; an empty word is found nowhere */
  constructor(word: string) {
    this.#search = new TextSearch(word);
  }

  isIn(text: string): boolean {
    const { length } = this.#search.piece;
    if (length === 0) return false;
    const standsAlone = (at: number): boolean =>
      // The character next to it takes two code units at most.
      !wordBefore.test(text.slice(Math.max(0, at - 2), at)) &&
      !wordBehind.test(text.slice(at + length, at + length + 2));
    return this.#search.find(text, 0, standsAlone) !== -1;
  }
}

/** The length of a piece below which a naive search costs a constant for each character, and is faster. */
const shortPiece = 32;

/**
 * Searches texts for a piece, in time linear in the text whatever both contain (Knuth, Morris,
 * Pratt): texts and pieces come from clients, and may be made to cost much.
 */
export class TextSearch {
  /** For each prefix of the piece, the length of the longest shorter prefix that it ends with. */
  readonly #borders: Int32Array | undefined;

  constructor(readonly piece: string) {
    this.#borders = piece.length > shortPiece ? bordersOf(piece) : undefined;
  }

  /**
   * The first accepted position of the piece from `start`; -1 if there is none. Positions may
   * overlap.
   * @param accepts gets the offset; every position is accepted if it is left out
   */
  find(text: string, start: number, accepts?: (at: number) => boolean): number {
    if (this.#borders !== undefined) return this.#findLong(text, start, this.#borders, accepts);
    let at = text.indexOf(this.piece, start);
    while (at !== -1 && accepts !== undefined && !accepts(at)) {
      at = at === text.length ? -1 : text.indexOf(this.piece, at + 1);
    }
    return at;
  }

  #findLong(
    text: string,
    start: number,
    borders: Int32Array,
    accepts: ((at: number) => boolean) | undefined,
  ): number {
    const { piece } = this;
    let matched = 0;
    for (let at = start; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      while (matched > 0 && unit !== piece.charCodeAt(matched)) {
        matched = borders[matched - 1] as number;
      }
      if (unit === piece.charCodeAt(matched)) matched += 1;
      if (matched < piece.length) continue;
      const found = at + 1 - matched;
      if (accepts === undefined || accepts(found)) return found;
      matched = borders[matched - 1] as number;
    }
    return -1;
  }
}

function bordersOf(piece: string): Int32Array {
  const borders = new Int32Array(piece.length);
  let border = 0;
  for (let at = 1; at < piece.length; at += 1) {
    const unit = piece.charCodeAt(at);
    while (border > 0 && unit !== piece.charCodeAt(border)) border = borders[border - 1] as number;
    if (unit === piece.charCodeAt(border)) border += 1;
    borders[at] = border;
  }
  return borders;
}
