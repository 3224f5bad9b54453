import type { Database, Statement as Prepared } from 'better-sqlite3';
import { BoundedCache } from '../../bounded-cache.js';
import type { Rows, Table } from '../../executor.js';
import type { Pending } from '../../pending.js';
import { bind, type SqlValue, type Statement } from '../../statement.js';
import { changesSomething, type SqliteReads } from '../reads.js';
import { bytesPerCharacter, maxPreparedBytes, maxRowsBytes } from '../statement-cache.js';
import { allRows, firstValue, readTable } from '../transaction.js';
import { type ReadAnswer, type ReadKind, sizeOf } from './messages.js';
import { ownDuration, type Placement, Placements, processorMilliseconds } from './placement.js';
import type { ReaderPool } from './reader-pool.js';

/** A statement, prepared when it first runs in this process. */
interface KnownRead {
  prepared: Prepared | undefined;
  /** Absent for a statement that never takes long: it is not measured. */
  readonly placement: Placement | undefined;
  /** Characters of its text. */
  readonly length: number;
}

/** Runs the reads of a connection; long reads are offloaded to other processes. */
export class PlacedReads implements SqliteReads {
  readonly #first = cache(maxPreparedBytes);
  readonly #rows = cache(maxRowsBytes);
  readonly #placements: Placements;

  constructor(
    private readonly database: Database,
    private readonly pool: ReaderPool,
    hasTimeout: boolean,
  ) {
    this.#placements = new Placements(database, hasTimeout);
  }

  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined> {
    const read = this.#known(this.#first, statement);
    const here = (): SqlValue | undefined =>
      firstValue(this.#plucked(read, statement), statement, values);
    return this.#placed('value', read, statement, values, here);
  }

  rows(statement: Statement, values: readonly SqlValue[]): Pending<Rows> {
    const read = this.#known(this.#rows, statement);
    const here = (): Rows => allRows(this.#raw(read, statement), statement, values);
    return this.#placed('rows', read, statement, values, here);
  }

  table(statement: Statement, values: readonly SqlValue[]): Pending<Table> {
    const read = this.#known(this.#rows, statement);
    const prepared = this.#raw(read, statement);
    if (!prepared.readonly || !prepared.reader) {
      throw changesSomething();
    }
    const here = (): Table => readTable(prepared, statement, values);
    return this.#placed('table', read, statement, values, here);
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  #known(known: BoundedCache<KnownRead>, statement: Statement): KnownRead {
    const read = known.get(statement.sql);
    if (read !== undefined) return read;
    const { length } = statement.sql;
    const placement = this.#placements.of(statement);
    const made = { prepared: undefined, placement, length };
    known.set(statement.sql, made);
    return made;
  }

  #plucked(read: KnownRead, { sql }: Statement): Prepared {
    if (read.prepared !== undefined) return read.prepared;
    const prepared = this.database.prepare(sql);
    if (prepared.reader) prepared.pluck();
    read.prepared = prepared;
    return prepared;
  }

  #raw(read: KnownRead, { sql }: Statement): Prepared {
    if (read.prepared !== undefined) return read.prepared;
    const prepared = this.database.prepare(sql);
    if (prepared.reader) prepared.raw();
    read.prepared = prepared;
    return prepared;
  }

  #placed<T extends ReadAnswer>(
    kind: ReadKind,
    { placement }: KnownRead,
    statement: Statement,
    values: readonly SqlValue[],
    here: () => T,
  ): Pending<T> {
    if (placement === undefined) return here();
    const start = performance.now();
    if (placement.isElsewhere(start)) {
      const question = { kind, sql: statement.sql, values: bind(statement, values) };
      // The process returns the form of the requested kind.
      return this.pool.ask(question, placement) as Promise<ReadAnswer> as Promise<T>;
    }
    const used = placement.isInDoubt ? processorMilliseconds() : undefined;
    const answer = here();
    const end = performance.now();
    const duration = used === undefined ? end - start : ownDuration(end - start, used);
    placement.ran(duration, sizeOf(answer), end);
    return answer;
  }
}

function cache(maxBytes: number): BoundedCache<KnownRead> {
  return new BoundedCache(maxBytes, ({ length }) => length * bytesPerCharacter);
}
