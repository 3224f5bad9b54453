import { availableParallelism } from 'node:os';

/** More are a mistake: each has caches and connections of its own. */
const most = 256;

/**
 * How many processes serve, from `PROCESSES`: a number, or `auto` for one per processor.
 * @throws Error that names the variable
 */
export function processCount(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), most);
  const count = Number(text);
  if (/^\d{1,3}$/.test(text) && count >= 1 && count <= most) return count;
  throw new Error(
    `PROCESSES is ${JSON.stringify(text)}; it must be a whole number from 1 to ${most}, or auto for one per processor.`,
  );
}
