import { setTimeout as sleep } from 'node:timers/promises';
import { type RequestError, refuseBusy } from '../protocol/errors.js';
import type { SqlValue, Statement } from './statement.js';

/** The JSON that a statement returns: bytes if it is long, because bytes need no decoding. */
export type JsonAnswer = string | Uint8Array;

/** The client of a request, which may disconnect before it is answered. */
export interface Client {
  readonly hasLeft: boolean;
  /** Aborts when it leaves. */
  readonly signal: AbortSignal;
}

/** The refusal of a read whose client has left; nobody receives it. */
export function clientLeft(): RequestError {
  return refuseBusy('The client disconnected before it was answered.');
}

/** Runs statements. Reads never wait for a write transaction that is open; those of a client stop when it leaves. */
export interface Executor {
  /** The first column of the first row; `undefined` when there is no row or the value is null. */
  read(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Promise<JsonAnswer | undefined>;
  /** The first column of the first row, for a value that is not JSON; `undefined` as for `read`. */
  value(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Promise<SqlValue | undefined>;
  /** All columns of all rows. */
  rows(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Rows>;
  /** All rows with the names of their columns; throws for a statement that may change something. */
  table(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Table>;
  /** The plan of a statement with these values: the tables that the database would read, in order. */
  explain(statement: Statement, values: readonly SqlValue[]): Promise<readonly TableSearch[]>;
  /** Changes whenever reads may see other data; `undefined` if `Dialect.tablesVersion` tells the version. */
  dataVersion(): number | undefined;
  /**
   * Runs `work` in one transaction, which is committed, or rolled back if `work` throws.
   * @param frame what the transaction runs around the work
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, frame?: TransactionFrame): Promise<T>;
  /**
   * Runs one statement as a transaction of its own, in one round trip. It raises the counter of
   * changes itself; see `DirectChanges`. Absent where a transaction makes no round trips, and inside of one.
   * @returns its rows
   * @throws ConstraintError when the database refuses the change
   */
  readonly change?:
    | ((
        statement: Statement,
        values: readonly SqlValue[],
        frame?: TransactionFrame,
      ) => Promise<Rows>)
    | undefined;
  /**
   * Runs `work` in a savepoint of the open transaction, with all code that joins it; see `inPart`.
   * `undefined` where no code joins a transaction. It depends on the open transaction, so an executor
   * around another one returns that one's with a getter.
   */
  readonly part: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  close(): Promise<void>;
}

/** Statements that a transaction runs before and after its work. */
export interface TransactionFrame {
  readonly begin: Statement;
  /** The values of `begin`. */
  readonly values: readonly SqlValue[];
  /** Has no values; absent where what `begin` does ends with the transaction. */
  readonly end?: Statement;
}

/** How the database's plan finds the rows of one table. */
export interface TableSearch {
  /** The alias of the table in the statement. */
  readonly alias: string;
  /** Columns of the index that finds the rows. */
  readonly columns: readonly string[];
  /** Whether the primary key of the table finds the rows. */
  readonly byKey: boolean;
}

/** Rows of a statement; the values of a row are in the order of its columns. */
export type Rows = readonly (readonly SqlValue[])[];

/** The result of a statement that the runtime did not write. */
export interface Table {
  /** Names may repeat; empty for a statement that returns no rows. */
  readonly columns: readonly string[];
  readonly rows: Rows;
  /** Absent for a statement that reads. */
  readonly result?: RunResult;
}

/** The effect of a statement. */
export interface RunResult {
  readonly changes: number;
  readonly insertedKey: number;
}

/** An open transaction. `run` and `table` may change data and lock rows; everything else only reads. */
export interface Transaction {
  /** @throws ConstraintError when the database refuses the change; the transaction itself continues */
  run(statement: Statement, values: readonly SqlValue[]): Promise<RunResult>;
  /** The first column of the first row; `undefined` when there is no row. */
  value(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined>;
  /** Reads as {@link Executor.read} does; sees the changes of the transaction. */
  read(statement: Statement, values: readonly SqlValue[]): Promise<JsonAnswer | undefined>;
  /** Reads as {@link Executor.rows} does; sees the changes of the transaction. */
  rows(statement: Statement, values: readonly SqlValue[]): Promise<Rows>;
  /** Runs any statement, and returns its rows with the names of the columns. */
  table(statement: Statement, values: readonly SqlValue[]): Promise<Table>;
  /**
   * The first column of the first row of a statement whose changes stay even if the transaction is
   * rolled back. PostgreSQL runs it in a transaction of its own, so that it holds no locks for long.
   */
  aside(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined>;
  /** Adds to the counter of changes (protocol P4.3), as the last statement, so that transactions do not wait. */
  raiseStamp(changes: number): void;
}

/** A change violates a constraint of the schema. */
export class ConstraintError extends Error {
  constructor(
    readonly kind: 'unique' | 'foreignKey' | 'notNull' | 'check' | 'expression',
    /** SQL names of the table and the column, joined by a dot, if the database reports them. */
    readonly column: string | undefined,
    cause: unknown,
  ) {
    super(`${kind} constraint failed`, { cause });
  }
}

/** Another session has locked the row that a change meets: see `DatabaseLockTable`. */
export class LockedRowError extends Error {
  constructor(cause: unknown) {
    super('another session has locked the entity', { cause });
  }
}

/** `restrict` for writes would hide what a change stores from the session that makes it. */
export class HiddenRowError extends Error {
  constructor(cause: unknown) {
    super('the session does not see the entity that it stores', { cause });
  }
}

/** The database cannot serve this request now: it is locked, full, read-only or unreachable. */
export class DatabaseUnavailableError extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
  }
}

/** The connection broke during a commit: what it should have stored may be stored. */
export class UnknownOutcomeError extends DatabaseUnavailableError {}

/** The database rolled a transaction back because of others, for example a deadlock. It can be retried. */
export class ConflictError extends DatabaseUnavailableError {}

/** A statement exceeded `queryTimeout` and was stopped. */
export class QueryTimeoutError extends Error {
  /** @param milliseconds the limit */
  constructor(
    readonly milliseconds: number,
    cause: unknown,
  ) {
    super(`a statement ran for longer than ${milliseconds} ms`, { cause });
  }
}

/** The database cannot store a value or compute with it, for example U+0000 in a text or a number that is too large. */
export class UnusableValueError extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
  }
}

/** The database rejects a statement of this size, for example because a request follows too many relations. */
export class TooComplexError extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
  }
}

/** How often a transaction is retried after conflicts. */
const mostRetries = 2;

/** The longest pause before a retry: two transactions that met do not begin again at the same time. */
const retryPauseMilliseconds = 50;

/**
 * Retries a transaction after a conflict, at most {@link mostRetries} times. Class code must not run
 * in it: its other effects would happen twice.
 */
export async function againAfterConflict<T>(write: () => Promise<T>): Promise<T> {
  for (let retries = mostRetries; ; retries -= 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof ConflictError) || retries === 0) throw error;
    }
    await sleep(Math.random() * retryPauseMilliseconds);
  }
}
