import { it } from 'vitest';

/** `npm run test:long` runs all of what `npm test` samples, since the samples end within minutes. */
export const isLong = process.env['LONG_TESTS'] === 'on';

/** A test that only `npm run test:long` runs. It repeats at length what others try once. */
export const itLong = it.runIf(isLong);

/**
 * A test that `npm test` runs on one database system, since what it tests is not the database;
 * `npm run test:long` runs it on both.
 */
export function itOnOne({ driver }: { readonly driver: 'sqlite' | 'postgres' }): typeof itLong {
  return it.runIf(isLong || driver === 'sqlite');
}

/** How many of so many random inputs this run tries: `npm test` tries a tenth. */
export function sampled(all: number): number {
  return isLong ? all : Math.ceil(all / 10);
}

/** Cases of a table: `npm test` runs all of them on SQLite, and every fifth on PostgreSQL. */
export function casesOn<T>(
  { driver }: { readonly driver: 'sqlite' | 'postgres' },
  cases: readonly T[],
): readonly T[] {
  return isLong || driver === 'sqlite' ? cases : cases.filter((_, index) => index % 5 === 0);
}
