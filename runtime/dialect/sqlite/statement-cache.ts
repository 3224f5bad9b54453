import type { Database, Statement as Prepared } from 'better-sqlite3';
import { BoundedCache } from '../bounded-cache.js';

/** The limit for all prepared statements of a connection; few return rows. */
export const maxPreparedBytes = 64 * 1024 * 1024;
export const maxRowsBytes = 16 * 1024 * 1024;

/** Bytes that a prepared statement keeps for each character: up to 17 by measurement, plus the text itself. */
export const bytesPerCharacter = 20;

/** Prepared statements of one connection by their SQL text. A prepared statement has a fixed form of rows. */
export class StatementCache {
  readonly #first = cache(maxPreparedBytes);
  readonly #rows = cache(maxRowsBytes);

  constructor(private readonly database: Database) {}

  /** Rows are returned as the value of their first column. */
  get(text: string): Prepared {
    const known = this.#first.get(text);
    if (known !== undefined) return known;
    const prepared = this.database.prepare(text);
    if (prepared.reader) prepared.pluck();
    this.#first.set(text, prepared);
    return prepared;
  }

  /** Rows are returned as arrays of all columns. */
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
