import type { Database, Statement as Prepared } from 'better-sqlite3';
import {
  DatabaseUnavailableError,
  type JsonAnswer,
  QueryTimeoutError,
  type Rows,
  type RunResult,
  type Table,
  type Transaction,
  type TransactionFrame,
} from '../executor.js';
import { bind, type SqlValue, type Statement } from '../statement.js';
import { translateChangeError, translateError } from './errors.js';
import { allRows, firstValue, readTable, type PreparedStatements } from './reads.js';

const raiseStamp = `update "__datastore" set "value" = "value" + cast(? as integer) where "name" = 'globalStamp'`;

/** Runs the statements of one transaction; a connection has one at a time. */
export class SqliteTransaction implements Transaction {
  /** Whether SQLite may have ended it: only then is it asked, which costs a tenth of a statement. */
  #mayHaveEnded = false;
  #isOver = false;
  /** Set while the changes of a statement that exceeded its time limit have not been rolled back. */
  #overdue: QueryTimeoutError | undefined;

  #changes = 0;

  /**
   * @param longest milliseconds that a statement may run
   * @param frame what the transaction runs around its work
   */
  constructor(
    private readonly database: Database,
    private readonly statements: PreparedStatements,
    private readonly longest: number,
    private readonly frame: TransactionFrame | undefined,
  ) {}

  /** To be called when it has begun. */
  prepare(): void {
    this.check();
    if (this.frame !== undefined) this.#attempt(runChange, this.frame.begin, this.frame.values);
  }

  /** To be called when it is committed or rolled back, or the database is closed. */
  end(): void {
    this.#isOver = true;
  }

  /**
   * After some errors, such as a full disk, SQLite rolls back by itself; further statements would commit one by
   * one.
   * @throws DatabaseUnavailableError if the transaction is over
   * @throws QueryTimeoutError if a statement exceeded its time limit and its changes are still there
   */
  check(): void {
    if (this.#overdue !== undefined) throw this.#overdue;
    if (!this.#isOver && (!this.#mayHaveEnded || this.database.inTransaction)) return;
    const reason = 'the database has given up the transaction, or the transaction has ended';
    throw new DatabaseUnavailableError(reason, undefined);
  }

  raiseStamp(changes: number): void {
    this.#changes += changes;
  }

  /** To be called before the commit. */
  complete(): void {
    this.check();
    if (this.frame?.end !== undefined) this.#attempt(runChange, this.frame.end, []);
    if (this.#changes > 0) this.statements.get(raiseStamp).prepared.run(this.#changes);
  }

  async run(statement: Statement, values: readonly SqlValue[]): Promise<RunResult> {
    // No savepoint begins after an overdue statement, so any rollback to a savepoint undoes it.
    if (this.#overdue !== undefined && statement.sql.startsWith('rollback to ')) {
      this.#overdue = undefined;
    }
    return this.#attempt(runChange, statement, values);
  }

  /** Nobody else writes before the transaction has ended. */
  aside(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    return this.value(statement, values);
  }

  async value(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    return this.#attempt(firstOfAll, statement, values);
  }

  async read(statement: Statement, values: readonly SqlValue[]): Promise<JsonAnswer | undefined> {
    return this.#attempt(readJson, statement, values);
  }

  async rows(statement: Statement, values: readonly SqlValue[]): Promise<Rows> {
    return this.#attempt(readRows, statement, values);
  }

  async table(statement: Statement, values: readonly SqlValue[]): Promise<Table> {
    const result = this.#attempt(runAny, statement, values);
    // Class code that writes SQL may end a transaction.
    this.#mayHaveEnded = true;
    return result;
  }

  #attempt<T>(run: Run<T>, statement: Statement, values: readonly SqlValue[]): T {
    try {
      this.check();
      if (this.longest === Infinity) return run(this.statements, statement, values);
      // A statement cannot be interrupted: after one that took too long, nothing else runs until the
      // transaction is rolled back.
      const start = performance.now();
      const result = run(this.statements, statement, values);
      if (performance.now() - start <= this.longest) return result;
      this.#overdue = new QueryTimeoutError(this.longest, undefined);
      throw this.#overdue;
    } catch (error) {
      this.#mayHaveEnded = true;
      throw translateError(error);
    }
  }
}

type Run<T> = (
  statements: PreparedStatements,
  statement: Statement,
  values: readonly SqlValue[],
) => T;

const runChange: Run<RunResult> = (statements, statement, values) => {
  const { prepared } = statements.get(statement.sql);
  try {
    return changed(prepared, statement, values);
  } catch (error) {
    throw translateChangeError(error);
  }
};

const firstOfAll: Run<SqlValue | undefined> = (statements, statement, values) => {
  // `all`, not `get`: a changing statement that returns rows must run to its end.
  const { prepared } = statements.get(statement.sql);
  return prepared.all(...bind(statement, values))[0] as SqlValue | undefined;
};

const readJson: Run<JsonAnswer | undefined> = (statements, statement, values) =>
  firstValue(statements.get(statement.sql).prepared, statement, values) as JsonAnswer | undefined;

const readRows: Run<Rows> = (statements, statement, values) =>
  allRows(statements.rows(statement.sql).prepared, statement, values);

const runAny: Run<Table> = (statements, statement, values) => {
  const { prepared } = statements.rows(statement.sql);
  if (prepared.reader) return readTable(prepared, statement, values);
  return { columns: [], rows: [], result: changed(prepared, statement, values) };
};

function changed(prepared: Prepared, statement: Statement, values: readonly SqlValue[]): RunResult {
  const { changes, lastInsertRowid } = prepared.run(...bind(statement, values));
  return { changes, insertedKey: Number(lastInsertRowid) };
}
