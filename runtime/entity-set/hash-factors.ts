import { randomInt } from 'node:crypto';

/** Odd and drawn anew by each process, so that nobody can choose keys which meet in one place of a table. */
export const hashFactors = [drawn(), drawn(), drawn(), drawn()] as const;

function drawn(): number {
  return randomInt(2 ** 31) * 2 + 1;
}

/** Without regularity: numbers with equal distances, multiplied alone, could all end up side by side in a table. */
export function mixed(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), hashFactors[2]) >>> 0;
}

/**
 * How far a hash is shifted right to become a place in a table of which `length` keys take up at most half. A table of few
 * keys is mostly free, so that most look-ups end at once.
 */
export function tableShift(length: number): number {
  return Math.min(19, Math.clz32(length) - 1);
}
