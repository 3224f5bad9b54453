import { randomInt } from 'node:crypto';

/** Odd and random in each process, so that nobody can choose keys that collide in a table. */
export const hashFactors = [drawn(), drawn(), drawn(), drawn()] as const;

function drawn(): number {
  return randomInt(2 ** 31) * 2 + 1;
}

/**
 * Removes regularity: multiplied alone, numbers with equal distances could all end up side by side
 * in a table.
 */
export function mixed(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), hashFactors[2]) >>> 0;
}

/**
 * How far to shift a hash right to get a position in a table of which `length` keys fill at most
 * half. A table of few keys is mostly empty, so that most look-ups end at once.
 */
export function tableShift(length: number): number {
  return Math.min(19, Math.clz32(length) - 1);
}
