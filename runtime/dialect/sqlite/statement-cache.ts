import type { Database, Statement as Prepared } from 'better-sqlite3';
import { BoundedCache } from '../bounded-cache.js';

/** Of all prepared statements of a connection; few give rows. */
export const maxPreparedBytes = 64 * 1024 * 1024;
export const maxRowsBytes = 16 * 1024 * 1024;

/** What is kept of a statement for each character of its text: up to 17 by measurement, and the text itself. */
export const bytesPerCharacter = 20;

/** Prepared statements of one connection by their SQL text. How rows are given is fixed with the statement. */
export class StatementCache {
  readonly #first = cache(maxPreparedBytes);
  readonly #rows = cache(maxRowsBytes);

  constructor(private readonly database: Database) {}

  /** A statement that returns rows gives their first column. */
  get(text: string): Prepared {
    const known = this.#first.get(text);
    if (known !== undefined) return known;
    const prepared = this.database.prepare(text);
    if (prepared.reader) prepared.pluck();
    this.#first.set(text, prepared);
    return prepared;
  }

  /** A statement that returns rows gives all their columns, as arrays. */
  rows(text: string): Prepared {
    const known = this.#rows.get(text);
    if (known !== undefined) return known;
    const prepared = this.database.prepare(text);
    if (prepared.reader) prepared.raw();
    this.#rows.set(text, prepared);
    return prepared;
  }
}

function cache(maxBytes: number): BoundedCache<Prepared> {
  return new BoundedCache(maxBytes, ({ source }) => source.length * bytesPerCharacter);
}
