import { fold } from './fold.js';

/**
 * Longer words, and more candidates, are not compared, so that a hostile file costs no more than a
 * mistaken one.
 */
const maxLength = 80;
const maxComparisons = 200_000;

export type Suggest = (name: string, candidates: Iterable<string>) => string | undefined;

/** A finder of near names for one run; it stops when a file has too many mistakes. */
export function createSuggest(): Suggest {
  let comparisons = 0;
  return (name, candidates) => {
    if (name.length > maxLength) return undefined;
    let nearest: string | undefined;
    let least = Math.min(3, Math.max(1, Math.floor(name.length / 3))) + 1;
    const wanted = fold(name);
    for (const candidate of candidates) {
      comparisons += 1;
      if (comparisons > maxComparisons) return undefined;
      if (Math.abs(candidate.length - name.length) >= least) continue;
      const found = editDistance(wanted, fold(candidate));
      if (found < least) {
        least = found;
        nearest = candidate;
      }
    }
    return nearest === undefined ? undefined : `did you mean ${nearest}?`;
  };
}

/**
 * Damerau-Levenshtein distance with adjacent swaps: the number of typing errors between two words.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      let least = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      );
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (row > 1 && column > 1 && isSwap) least = Math.min(least, at(beforeLast, column - 2) + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(list: readonly number[], index: number): number {
  return list[index] ?? Infinity;
}
