import type { Database, Statement as Prepared } from 'better-sqlite3';
import { BoundedCache } from '../../bounded-cache.js';
import type { Rows, Table } from '../../executor.js';
import type { Pending } from '../../pending.js';
import { bind, type SqlValue, type Statement } from '../../statement.js';
import { changesSomething, type SqliteReads } from '../reads.js';
import { bytesPerCharacter, maxPreparedBytes, maxRowsBytes } from '../statement-cache.js';
import { allRows, firstValue, readTable } from '../transaction.js';
import type { ReadAnswer, ReadKind } from './messages.js';
import { type PlanLine, type PlanPart, readPlan } from './query-plan.js';
import type { ReaderPool } from './reader-pool.js';
import { costSince, processorMilliseconds } from './processor-time.js';
import { isLookup } from './scan-cost.js';
import { sizeOf } from './size-of.js';
import { StatementCost } from './statement-cost.js';
import { TableSizes } from './table-sizes.js';

/** A statement, prepared when it first runs here. */
interface KnownRead {
  prepared: Prepared | undefined;
  /** None for a statement that never takes long: it is not even measured. */
  readonly cost: StatementCost | undefined;
  /** Characters of its text. */
  readonly length: number;
}

/** Reads of a connection, of which those that take long run in other processes. */
export class PlacedReads implements SqliteReads {
  readonly #first = cache(maxPreparedBytes);
  readonly #rows = cache(maxRowsBytes);
  readonly #sizes: TableSizes;

  /** @param longest milliseconds that a statement may run; `Infinity` without such a limit */
  constructor(
    private readonly database: Database,
    private readonly pool: ReaderPool,
    private readonly longest: number,
  ) {
    this.#sizes = new TableSizes(database);
  }

  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined> {
    const read = this.#known(this.#first, statement);
    const { cost } = read;
    if (cost === undefined) return firstValue(this.#plucked(read, statement), statement, values);
    const start = performance.now();
    if (cost.isAway(start)) {
      return this.#away('value', statement, values, cost) as Promise<SqlValue | undefined>;
    }
    const used = cost.isConsiderable ? processorMilliseconds() : undefined;
    const value = firstValue(this.#plucked(read, statement), statement, values);
    cost.took(costSince(start, used), sizeOf(value));
    return value;
  }

  rows(statement: Statement, values: readonly SqlValue[]): Pending<Rows> {
    const read = this.#known(this.#rows, statement);
    const start = performance.now();
    if (read.cost?.isAway(start) === true) {
      return this.#away('rows', statement, values, read.cost) as Promise<Rows>;
    }
    const used = read.cost?.isConsiderable === true ? processorMilliseconds() : undefined;
    const rows = allRows(this.#raw(read, statement), statement, values);
    read.cost?.took(costSince(start, used), sizeOf(rows));
    return rows;
  }

  table(statement: Statement, values: readonly SqlValue[]): Pending<Table> {
    const read = this.#known(this.#rows, statement);
    const prepared = this.#raw(read, statement);
    if (!prepared.readonly || !prepared.reader) {
      throw changesSomething();
    }
    const start = performance.now();
    if (read.cost?.isAway(start) === true) {
      return this.#away('table', statement, values, read.cost) as Promise<Table>;
    }
    const used = read.cost?.isConsiderable === true ? processorMilliseconds() : undefined;
    const table = readTable(prepared, statement, values);
    read.cost?.took(costSince(start, used), sizeOf(table));
    return table;
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  #known(known: BoundedCache<KnownRead>, statement: Statement): KnownRead {
    const read = known.get(statement.sql);
    if (read !== undefined) return read;
    const { length } = statement.sql;
    const made = { prepared: undefined, cost: this.#costOf(statement), length };
    known.set(statement.sql, made);
    return made;
  }

  #costOf({ sql, bindings }: Statement): StatementCost | undefined {
    // What is bound may be large, and says nothing of the cost.
    const kept = { sql, bindings: bindings.map(() => null) };
    const plan = this.#sizes.areSmall ? [] : this.#planOf(kept);
    if (plan.length > 0 && isLookup(plan, this.#sizes)) return undefined;
    return new StatementCost(kept, this.#planOf, this.#sizes, this.longest);
  }

  readonly #planOf = (statement: Statement): readonly PlanPart[] => {
    const { sql } = statement;
    try {
      const lines = this.database.prepare(`explain query plan ${sql}`);
      return readPlan(lines.all(...bind(statement, [])) as readonly PlanLine[], sql);
    } catch {
      // What is no query has no plan, and what is wrong with it is told when it runs.
      return [];
    }
  };

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

  #away(
    kind: ReadKind,
    statement: Statement,
    values: readonly SqlValue[],
    cost: StatementCost,
  ): Promise<ReadAnswer> {
    return this.pool.ask({ kind, sql: statement.sql, values: bind(statement, values) }, cost);
  }
}

function cache(maxBytes: number): BoundedCache<KnownRead> {
  return new BoundedCache(maxBytes, ({ length }) => length * bytesPerCharacter);
}
