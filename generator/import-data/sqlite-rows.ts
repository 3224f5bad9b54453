import { opened } from '../import/sqlite.js';
import type { Identity } from '../import/source-model.js';
import { ImportStop } from '../import/messages.js';
import {
  mostBytes,
  type Place,
  type ReadColumn,
  type RowSource,
  sizeOf,
  type SourceRow,
  Unusable,
} from './rows.js';

/** The rows of a SQLite file, as they are when the import begins to read. */
export function sqliteRows(path: string, shown: string): RowSource {
  const database = opened(path);
  const keys = new Map<Identity, Key>();
  const guarded = <T>(work: () => T): Promise<T> => {
    try {
      return Promise.resolve(work());
    } catch (error) {
      const isOfFile = error instanceof Error && error.name === 'SqliteError';
      return Promise.reject(
        isOfFile ? new ImportStop('import/unreadable', shown, error.message) : (error as Error),
      );
    }
  };
  const nameOf = (table: Identity): string => table.slice('table:'.length);
  const keyOf = (table: Identity): Key => {
    let key = keys.get(table);
    if (key === undefined) {
      const columns = database
        .prepare('SELECT name, pk FROM pragma_table_info(?)')
        .all(nameOf(table)) as { name: string; pk: number }[];
      const { wr } = database
        .prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?")
        .get(nameOf(table)) as { wr: number };
      const primary = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
      const names = new Set(columns.map(({ name }) => name.toLowerCase()));
      const rowid = ['rowid', '_rowid_', 'oid'].find((each) => !names.has(each));
      const own = primary.map(({ name }) => name);
      key = { own, order: wr === 1 || rowid === undefined ? own.map(quoted) : [rowid] };
      keys.set(table, key);
    }
    return key;
  };
  // One transaction: rows do not change between the first and the last one.
  database.exec('BEGIN');
  return {
    shown,
    tableName: nameOf,
    count: (table) =>
      guarded(
        () =>
          database
            .prepare(`SELECT count(*) FROM main.${quoted(nameOf(table))}`)
            .pluck()
            .get() as number,
      ),
    read: (table, columns, after, limit) => guarded(() => readRows(table, columns, after, limit)),
    close: () => {
      database.close();
      return Promise.resolve();
    },
  };

  function readRows(
    table: Identity,
    columns: readonly ReadColumn[],
    after: Place | undefined,
    limit: number,
  ): readonly SourceRow[] {
    const { own, order } = keyOf(table);
    const names = [...order, ...own.map(quoted), ...columns.map(({ column }) => quoted(column))];
    // With names of its own: SQLite loses some names on the way.
    const list = names.map((name, at) => `t.${name} AS c${String(at)}`).join(', ');
    const places = order.map((name) => `t.${name}`).join(', ');
    const from =
      after === undefined ? '' : ` WHERE (${places}) > (${order.map(() => '?').join(', ')})`;
    const statement = database
      .prepare(
        `SELECT ${list} FROM main.${quoted(nameOf(table))} AS t${from} ORDER BY ${places} LIMIT ${String(limit)}`,
      )
      .raw()
      .safeIntegers();
    const rows: SourceRow[] = [];
    let bytes = 0;
    for (const row of statement.iterate(...(after ?? []).map(fromPlace)) as Iterable<unknown[]>) {
      const place = row.slice(0, order.length).map(toPlace);
      const key = row.slice(order.length, order.length + own.length);
      const isKey = key.length > 0 && key.every((each) => each !== null);
      const values = row.slice(order.length + own.length);
      rows.push({ place, identity: isKey ? key : place, values });
      bytes += values.reduce<number>((all, each) => all + sizeOf(each), 0);
      if (bytes > mostBytes) break;
    }
    for (const { place, values } of rows) {
      for (const [at, value] of values.entries()) {
        if (typeof value !== 'string' || !value.includes('\ufffd')) continue;
        const column = columns[at]?.column ?? '';
        if (isAsStored(table, column, place, value)) continue;
        (values as unknown[])[at] = new Unusable('is no UTF-8');
      }
    }
    return rows;
  }

  /** Bytes that are no UTF-8 come as U+FFFD, which a text may also hold. */
  function isAsStored(table: Identity, column: string, place: Place, value: string): boolean {
    if (database.pragma('encoding', { simple: true }) !== 'UTF-8') return true;
    const where = keyOf(table).order.map((name) => `t.${name} = ?`);
    const bytes = database
      .prepare(
        `SELECT CAST(t.${quoted(column)} AS BLOB) FROM main.${quoted(nameOf(table))} AS t WHERE ${where.join(' AND ')}`,
      )
      .pluck()
      .get(...place.map(fromPlace)) as Buffer;
    return bytes.equals(Buffer.from(value));
  }
}

interface Key {
  /** Columns of the primary key. */
  readonly own: readonly string[];
  /** SQL by which rows are read in order. */
  readonly order: readonly string[];
}

/** Keys may be of any type: integers as a text that begins with `i`, bytes `b`, texts `t`. */
function toPlace(value: unknown): string | number {
  if (typeof value === 'bigint') return `i${String(value)}`;
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`;
  return typeof value === 'number' ? value : `t${String(value)}`;
}

function fromPlace(place: string | number): unknown {
  if (typeof place === 'number') return place;
  const rest = place.slice(1);
  if (place.startsWith('i')) return BigInt(rest);
  return place.startsWith('b') ? Buffer.from(rest, 'hex') : rest;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
