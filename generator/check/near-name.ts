import { fold } from '../../runtime/protocol/fold.js';
import { editDistance } from '../../runtime/protocol/names.js';

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
