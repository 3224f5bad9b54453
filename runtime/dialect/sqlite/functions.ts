import type { Database } from 'better-sqlite3';
import { decimalAverage, decimalTotal, sortableDecimal } from '../../protocol/decimal.js';
import type { Fold } from '../../protocol/fold.js';
import { TextPattern, WordSearch } from '../../protocol/text-match.js';
import { uriKey } from '../../protocol/key.js';
import { BoundedCache } from '../bounded-cache.js';

/** The limit for all cached search patterns of clients. */
const maxSearchBytes = 4 * 1024 * 1024;
const bytesPerCharacter = 8;

/** Registers the functions that statements of this server need in addition to SQLite's own. */
export function registerFunctions(database: Database, fold: Fold): void {
  const options = { deterministic: true };
  database.function('drs_fold', options, (text: unknown) =>
    typeof text === 'string' ? fold(text) : null,
  );
  database.function('drs_uri', options, (text: unknown) =>
    typeof text === 'string' ? uriKey(text) : null,
  );
  database.function('drs_number', options, String);
  database.function('drs_decimal_total', options, (high: unknown, low: unknown, scale: unknown) =>
    decimalTotal(summed(high), summed(low), Number(scale)),
  );
  database.function(
    'drs_decimal_average',
    options,
    (high: unknown, low: unknown, count: unknown, scale: unknown) =>
      count === 0 ? null : decimalAverage(summed(high), summed(low), summed(count), Number(scale)),
  );
  database.function('drs_sortable', options, (decimal: unknown) =>
    typeof decimal === 'string' ? sortableDecimal(decimal) : null,
  );
  const patterns = prepared((text) => new TextPattern(text));
  database.function('drs_matches', options, (text: unknown, pattern: unknown) =>
    typeof text === 'string' && typeof pattern === 'string'
      ? Number(patterns(pattern).matches(text))
      : null,
  );
  const words = prepared((text) => new WordSearch(text));
  database.function('drs_has_word', options, (text: unknown, word: unknown) =>
    typeof text === 'string' && typeof word === 'string' ? Number(words(word).isIn(text)) : null,
  );
}

/** A sum without summands is null. */
function summed(sum: unknown): bigint {
  return typeof sum === 'string' || typeof sum === 'number' ? BigInt(sum) : 0n;
}

/** Caches a value derived from a text, so that it is computed once for all compared rows. */
export function prepared<T>(make: (text: string) => T): (text: string) => T {
  const known = new BoundedCache<{ readonly text: string; readonly made: T }>(
    maxSearchBytes,
    ({ text }) => text.length * bytesPerCharacter,
  );
  let last: { readonly text: string; readonly made: T } | undefined;
  return (text) => {
    if (last?.text === text) return last.made;
    const found = known.get(text);
    last = found ?? { text, made: make(text) };
    if (found === undefined) known.set(text, last);
    return last.made;
  };
}
