import type { Database, Statement as Prepared } from 'better-sqlite3';
import { BoundedCache } from '../bounded-cache.js';
import {
  type Client,
  DatabaseUnavailableError,
  type Rows,
  type Table,
  type TableSearch,
} from '../executor.js';
import { bind, type SqlValue, type Statement } from '../statement.js';
import { translateError } from './errors.js';
import type { ReadAnswer, ReadKind } from './readers/messages.js';
import {
  placementOf,
  type Placements,
  slowMilliseconds,
  type StatementPlacement,
} from './readers/placement.js';
import type { ReaderPool } from './readers/reader-pool.js';
import { RunTime } from './readers/run-time.js';

/** The limit for all prepared statements of a connection; few return rows. */
const maxPreparedBytes = 64 * 1024 * 1024;
const maxRowsBytes = 16 * 1024 * 1024;

/** Bytes that a prepared statement keeps for each character: up to 17 by measurement, plus the text itself. */
const bytesPerCharacter = 20;

/** A prepared statement has a fixed form of rows. */
interface CachedStatement {
  readonly prepared: Prepared;
  /** The process in which its reads run, known since the first one; `here` for one that never takes long. */
  placement?: StatementPlacement | 'here' | undefined;
}

/** Prepared statements of one connection by their SQL text. */
export class PreparedStatements {
  readonly #first = cache(maxPreparedBytes);
  readonly #rows = cache(maxRowsBytes);

  constructor(private readonly database: Database) {}

  /** Rows are returned as the value of their first column. */
  get(text: string): CachedStatement {
    const known = this.#first.get(text);
    if (known !== undefined) return known;
    const prepared = this.database.prepare(text);
    if (prepared.reader) prepared.pluck();
    const made = { prepared };
    this.#first.set(text, made);
    return made;
  }

  /** Rows are returned as arrays of all columns. */
  rows(text: string): CachedStatement {
    const known = this.#rows.get(text);
    if (known !== undefined) return known;
    const prepared = this.database.prepare(text);
    if (prepared.reader) prepared.raw();
    const made = { prepared };
    this.#rows.set(text, made);
    return made;
  }
}

function cache(maxBytes: number): BoundedCache<CachedStatement> {
  return new BoundedCache(maxBytes, ({ prepared }) => prepared.source.length * bytesPerCharacter);
}

/** How long reads are offloaded to other processes. */
interface Offloading {
  readonly placements: Placements;
  /** Called for the first read that is offloaded. */
  readonly openPool: () => Promise<ReaderPool>;
}

/** Runs the reads of a connection; long reads are offloaded to other processes. See `Executor` for the results. */
export class SqliteReads {
  readonly #dataVersion: Prepared;
  #pool: Promise<ReaderPool> | undefined;
  #isClosed = false;

  /** @param offloading absent for a database in memory: then all reads run here */
  constructor(
    private readonly connection: Database,
    private readonly statements: PreparedStatements,
    private readonly offloading?: Offloading,
  ) {
    this.#dataVersion = connection.prepare('pragma data_version').pluck();
  }

  value(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Promise<SqlValue | undefined> {
    return this.#read('value', statement, values, firstValue, client);
  }

  rows(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Rows> {
    return this.#read('rows', statement, values, allRows, client);
  }

  table(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Table> {
    return this.#read('table', statement, values, readTable, client);
  }

  async explain(
    statement: Statement,
    values: readonly SqlValue[],
  ): Promise<readonly TableSearch[]> {
    this.#checkOpen();
    try {
      const steps = this.connection.prepare(`explain query plan ${statement.sql}`);
      const rows = steps.all(...bind(statement, values)) as readonly { readonly detail: string }[];
      return rows.flatMap(({ detail }) => tableSearch(detail) ?? []);
    } catch (error) {
      throw translateError(error);
    }
  }

  /** SQLite's own number of the data, which changes with the commits of other connections. */
  dataVersion(): number {
    this.#checkOpen();
    try {
      return this.#dataVersion.get() as number;
    } catch (error) {
      throw translateError(error);
    }
  }

  /** Stops running reads, until nothing else has the database open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#pool)?.close();
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedError();
  }

  async #read<T extends ReadAnswer>(
    kind: ReadKind,
    statement: Statement,
    values: readonly SqlValue[],
    read: (prepared: Prepared, statement: Statement, values: readonly SqlValue[]) => T,
    client: Client | undefined,
  ): Promise<T> {
    this.#checkOpen();
    try {
      const { sql } = statement;
      const cached = kind === 'value' ? this.statements.get(sql) : this.statements.rows(sql);
      const { prepared } = cached;
      if (kind === 'table' && !(prepared.readonly && prepared.reader)) {
        throw new Error('A statement that may change something needs a transaction.');
      }
      const { offloading } = this;
      if (offloading === undefined) return read(prepared, statement, values);
      const placed = (cached.placement ??= offloading.placements.of(statement) ?? 'here');
      if (placed === 'here') {
        const start = performance.now();
        const answer = read(prepared, statement, values);
        // Another server may have removed the index that found the rows: place the next read anew.
        if (performance.now() - start > slowMilliseconds) cached.placement = undefined;
        return answer;
      }
      const placement = placementOf(placed, statement, values);
      if (placement.isOffloaded()) {
        const question = { kind, sql, values: bind(statement, values) };
        this.#pool ??= offloading.openPool();
        const pool = await this.#pool;
        // The process returns the form of the requested kind.
        return (await pool.ask(question, placement, client)) as T;
      }
      const time = new RunTime(placement.isDoubtful);
      const answer = read(prepared, statement, values);
      placement.record(time.milliseconds);
      placement.isDoubtful = time.isDoubtful;
      return answer;
    } catch (error) {
      throw translateError(error);
    }
  }
}

export function closedError(): Error {
  return new DatabaseUnavailableError('the database is closed', undefined);
}

export function firstValue(
  prepared: Prepared,
  statement: Statement,
  values: readonly SqlValue[],
): SqlValue | undefined {
  const answer = prepared.get(...bind(statement, values)) as SqlValue | undefined;
  return answer ?? undefined;
}

export function allRows(
  prepared: Prepared,
  statement: Statement,
  values: readonly SqlValue[],
): Rows {
  return prepared.all(...bind(statement, values)) as Rows;
}

export function readTable(
  prepared: Prepared,
  statement: Statement,
  values: readonly SqlValue[],
): Table {
  const columns = prepared.columns().map(({ name }) => name);
  return { columns, rows: allRows(prepared, statement, values) };
}

/** Parses a line of a plan, such as `SEARCH t1 USING INDEX <name> (<column>=? AND <column>>?)`. */
export function tableSearch(detail: string): TableSearch | undefined {
  const [verb, alias] = detail.split(' ', 2);
  if (alias === undefined || (verb !== 'SCAN' && verb !== 'SEARCH')) return undefined;
  // SQLite builds an automatic index for one statement only, from a full scan of the table.
  const isFound = verb === 'SEARCH' && !detail.includes(' USING AUTOMATIC ');
  if (!isFound) return { alias, columns: [], byKey: false };
  if (detail.includes(' USING INTEGER PRIMARY KEY ')) return { alias, columns: [], byKey: true };
  const terms = /^.* \((.*)\)/.exec(detail)?.[1] ?? '';
  const columns = terms.split(' AND ').flatMap((term) => /^(.+)[=<>]\?$/.exec(term)?.[1] ?? []);
  return { alias, columns, byKey: false };
}
