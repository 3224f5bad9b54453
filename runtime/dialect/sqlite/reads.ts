import type { Database, Statement as Prepared } from 'better-sqlite3';
import { type AbandonableWork, AbandonablePromise } from '../abandonable.js';
import { BoundedCache } from '../bounded-cache.js';
import type { Rows, Table } from '../executor.js';
import type { Pending } from '../pending.js';
import { bind, type SqlValue, type Statement } from '../statement.js';
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
export class StatementCache {
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

/** A pool that is being opened is not worth stopping. */
const opening: AbandonableWork = { abandon: () => undefined };

/** Runs the reads of a connection; long reads are offloaded to other processes. See `Executor` for the results. */
export class SqliteReads {
  #pool: Promise<ReaderPool> | undefined;

  /** @param offloading absent for a database in memory: then all reads run synchronously here */
  constructor(
    private readonly statements: StatementCache,
    private readonly offloading?: Offloading,
  ) {}

  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined> {
    const cached = this.statements.get(statement.sql);
    return this.#placed('value', cached, statement, values, firstValue);
  }

  rows(statement: Statement, values: readonly SqlValue[]): Pending<Rows> {
    return this.#placed('rows', this.statements.rows(statement.sql), statement, values, allRows);
  }

  table(statement: Statement, values: readonly SqlValue[]): Pending<Table> {
    const cached = this.statements.rows(statement.sql);
    if (!cached.prepared.readonly || !cached.prepared.reader) {
      throw new Error('A statement that may change something needs a transaction.');
    }
    return this.#placed('table', cached, statement, values, readTable);
  }

  /** Stops running reads, until nothing else has the database open. */
  close(): Pending<void> {
    return this.#pool?.then((pool) => pool.close());
  }

  #placed<T extends ReadAnswer>(
    kind: ReadKind,
    cached: CachedStatement,
    statement: Statement,
    values: readonly SqlValue[],
    read: (prepared: Prepared, statement: Statement, values: readonly SqlValue[]) => T,
  ): Pending<T> {
    const { offloading } = this;
    if (offloading === undefined) return read(cached.prepared, statement, values);
    const placed = (cached.placement ??= offloading.placements.of(statement) ?? 'here');
    if (placed === 'here') {
      const start = performance.now();
      const answer = read(cached.prepared, statement, values);
      // Another server may have removed the index that found the rows: place the next read anew.
      if (performance.now() - start > slowMilliseconds) cached.placement = undefined;
      return answer;
    }
    const placement = placementOf(placed, statement, values);
    if (placement.isOffloaded()) {
      const question = { kind, sql: statement.sql, values: bind(statement, values) };
      this.#pool ??= offloading.openPool();
      const answer = AbandonablePromise.waitingFor(opening, this.#pool).then((pool) =>
        pool.ask(question, placement),
      );
      // The process returns the form of the requested kind.
      return answer as Promise<T>;
    }
    const time = new RunTime();
    const answer = read(cached.prepared, statement, values);
    placement.record(time.milliseconds);
    return answer;
  }
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
