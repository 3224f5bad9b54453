import type { Database, Statement as Prepared } from 'better-sqlite3';
import { BoundedCache } from '../../bounded-cache.js';

/** How old a number of rows may be that a decision rests on. */
const longestMilliseconds = 60_000;

/** A database of so few pages is read in less time than it takes to ask another process. */
const fewPages = 512;

/** Tables without rowids are counted up to here. */
const mostCounted = 100_000;

/** What a row takes at least: no table has more of them than the database has bytes for. */
const leastRowBytes = 16;

const maxBytes = 1024 * 1024;

interface Size {
  readonly rows: number;
  readonly since: number;
}

/** How large the tables of a database are, roughly: each is asked for seldom, and costs a few microseconds. */
export class TableSizes {
  readonly #rows = new BoundedCache<Size>(maxBytes, () => 16);
  readonly #uniques = new BoundedCache<{ readonly columns: number | undefined }>(
    maxBytes,
    () => 16,
  );

  readonly #pages: Prepared;
  readonly #pageBytes: number;

  constructor(private readonly database: Database) {
    this.#pages = database.prepare('pragma page_count').pluck();
    this.#pageBytes = database.pragma('page_size', { simple: true }) as number;
  }

  /** No statement of one loop over the database takes long. */
  get areSmall(): boolean {
    return (this.#pages.get() as number) < fewPages;
  }

  /**
   * @param now of `performance.now()`
   * @returns `undefined` for what is no table
   */
  rows(table: string, now: number): number | undefined {
    const known = this.#rows.get(table);
    if (known !== undefined && now - known.since < longestMilliseconds) {
      return known.rows < 0 ? undefined : known.rows;
    }
    const rows = this.#read(table);
    this.#rows.set(table, { rows: rows ?? -1, since: now });
    return rows;
  }

  /** @returns how many columns an index has that holds no values twice; `undefined` for any other */
  uniqueColumns(index: string): number | undefined {
    const known = this.#uniques.get(index);
    if (known !== undefined) return known.columns;
    const columns = this.database
      .prepare(
        `select count(*) from sqlite_schema as "index", pragma_index_list("index"."tbl_name") as "list", pragma_index_info("list"."name")
         where "index"."type" = 'index' and "index"."name" = ? and "list"."name" = "index"."name" and "list"."unique"`,
      )
      .pluck()
      .get(index) as number;
    const found = { columns: columns === 0 ? undefined : columns };
    this.#uniques.set(index, found);
    return found.columns;
  }

  #read(table: string): number | undefined {
    const name = `"${table.replaceAll('"', '""')}"`;
    // Each is read from one end of the table; keys that clients give may be far apart.
    const counting = [
      `select (select max(rowid) from ${name}) - (select min(rowid) from ${name}) + 1`,
      `select count(*) from (select 1 from ${name} limit ${mostCounted})`,
    ];
    for (const sql of counting) {
      try {
        const keys = (this.database.prepare(sql).pluck().get() as number | null) ?? 0;
        const most = ((this.#pages.get() as number) * this.#pageBytes) / leastRowBytes;
        return Math.min(keys, most);
      } catch {
        // A table without rowids, or none at all.
      }
    }
    return undefined;
  }
}
