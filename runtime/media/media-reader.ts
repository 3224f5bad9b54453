import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { comparableKey } from '../dataclass/comparable.js';
import { Aliases } from '../dataclass/aliases.js';
import { column, From } from '../dataclass/source.js';
import type { Database } from '../dialect/database.js';
import { Slot, type Statement } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';

/** What is known of an image or BLOB without reading it. */
export interface MediaVersion {
  /** The stamp of the entity. */
  readonly stamp: number;
  /** Changes whenever the bytes may have changed; ASCII letters, digits and dashes. */
  readonly tag: string;
  readonly isNull: boolean;
}

interface MediaPlans {
  readonly version: Statement;
  readonly bytes: Statement;
}

/** Reads images and BLOBs of one dataclass, one at a time; nothing else reads their bytes. */
export class MediaReader {
  readonly #plans = new Map<StorageDefinition, MediaPlans>();

  constructor(
    private readonly database: Database,
    private readonly dataclass: Dataclass,
  ) {}

  /** @returns `undefined` if no entity has that key */
  async version(
    attribute: StorageDefinition,
    key: string | number,
  ): Promise<MediaVersion | undefined> {
    const { dialect, executor } = this.database;
    const values = [comparableKey(this.dataclass, dialect, key)];
    const found = await executor.value(this.#planned(attribute).version, values);
    if (found === undefined) return undefined;
    const [stamp = '', timestamp = '', length = ''] = String(found).split(' ');
    // A key may be used again after a deletion, and stamps begin again.
    const tag = `${stamp}-${timestamp.replace(/\D/g, '')}-${length}`;
    return { stamp: Number(stamp), tag, isNull: length === 'null' };
  }

  /** @returns `undefined` if the entity no longer has that stamp */
  async bytes(
    attribute: StorageDefinition,
    key: string | number,
    stamp: number,
  ): Promise<Uint8Array | undefined> {
    const { dialect, executor } = this.database;
    const values = [comparableKey(this.dataclass, dialect, key), stamp];
    const found = await executor.value(this.#planned(attribute).bytes, values);
    if (found === undefined) return undefined;
    return found instanceof Uint8Array ? found : Buffer.from(String(found));
  }

  #planned(attribute: StorageDefinition): MediaPlans {
    return getOrInsertComputed(this.#plans, attribute, () => this.#plan(attribute));
  }

  #plan(attribute: StorageDefinition): MediaPlans {
    const { dialect } = this.database;
    const from = new From(new Aliases(), this.dataclass, 'table');
    const bytes = column(from.root, attribute.column);
    const stamp = column(from.root, '__STAMP');
    const timestamp = column(from.root, '__TIMESTAMP');
    const byKey = (select: ReturnType<From['selecting']>): Statement =>
      dialect.compile(this.dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`, select));
    const version = sql`concat(${stamp}, ' ', ${timestamp}, ' ', coalesce(cast(length(${bytes}) as text), 'null'))`;
    return {
      // The length is known without reading the value.
      version: byKey(from.selecting(version)),
      bytes: byKey(from.selecting(bytes, sql`${stamp} = ${new Slot(1)}`)),
    };
  }
}

/** Bytes from `start` to before `end`. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a `Range` header (RFC 9110, section 14). Several ranges, other units and malformed headers
 * are ignored, as HTTP allows: the whole is sent (protocol P10.11).
 * @returns `undefined` for the whole, `'unsatisfiable'` for a range without bytes
 */
export function readRange(
  header: string | undefined,
  length: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, from = '', to = ''] =
    /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const count = Math.min(Number(to), length);
    return count === 0 ? 'unsatisfiable' : { start: length - count, end: length };
  }
  const start = Number(from);
  if (to !== '' && Number(to) < start) return undefined;
  const end = to === '' ? length : Math.min(Number(to) + 1, length);
  return start >= length ? 'unsatisfiable' : { start, end };
}

/** Whether an `If-None-Match` header names an entity tag, weakly compared. */
export function namesTag(header: string | undefined, tag: string): boolean {
  return (header ?? '').split(',').some((each) => {
    const name = each.trim();
    return name === '*' || name.replace(/^W\//, '') === tag;
  });
}
