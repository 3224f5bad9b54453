import { TextSearch } from './text-search.js';

/** A pattern in pieces, between which any run of characters may stand (protocol decision 12). */
export class TextPattern {
  readonly #first: string;
  readonly #middle: readonly TextSearch[];
  /** None where the pattern has one piece alone, which is then the whole text. */
  readonly #last: string | undefined;

  /** @param pattern folded, with `@` for any run of characters */
  constructor(pattern: string) {
    const [first, ...others] = pattern.split('@');
    this.#first = first as string;
    this.#last = others.pop();
    this.#middle = others.map((piece) => new TextSearch(piece));
  }

  /** Takes time linear in the text: each piece is looked for once, behind the one before it. */
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

/** Finds a text that stands as a word: no letter, digit, underscore or combining mark beside it (protocol decision 12). */
export class WordSearch {
  readonly #search: TextSearch;

  /** @param word folded; an empty one is no word, and found nowhere */
  constructor(word: string) {
    this.#search = new TextSearch(word);
  }

  isIn(text: string): boolean {
    const { length } = this.#search.piece;
    if (length === 0) return false;
    const standsAlone = (at: number): boolean =>
      // Two code units hold the character beside it, whatever it is.
      !wordBefore.test(text.slice(Math.max(0, at - 2), at)) &&
      !wordBehind.test(text.slice(at + length, at + length + 2));
    return this.#search.find(text, 0, standsAlone) !== -1;
  }
}
