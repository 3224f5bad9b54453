import { type Pending, caught } from './pending.js';
import type { SqlValue, Statement } from './statement.js';

/** JSON as a statement gives it: as bytes where it is long, since those need no decoding. */
export type JsonAnswer = string | Uint8Array;

/** A database in the same process answers at once, and a small read does without what a promise costs. */
export type PendingAnswer = Pending<JsonAnswer | undefined>;

/** Runs statements. Reads never wait for a write transaction that is open. */
export interface Executor {
  /** The first column of the first row; `undefined` when there is no row or the value is null. */
  read(statement: Statement, values: readonly SqlValue[]): PendingAnswer;
  /** The same for a value that is no answer yet. */
  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined>;
  /** All columns of all rows. */
  rows(statement: Statement, values: readonly SqlValue[]): Pending<Rows>;
  /**
   * All rows, with the names of their columns.
   * @throws Error for a statement that may change something
   */
  table(statement: Statement, values: readonly SqlValue[]): Pending<Table>;
  /** How the database would run a statement with these values: the tables that it would read, in its order. */
  explain(statement: Statement, values: readonly SqlValue[]): Pending<readonly TableSearch[]>;
  /** A number that is another one whenever reads may see other data than before, whoever changed it. */
  dataVersion(): Pending<number>;
  /**
   * Runs `work` in one transaction and stores what it did, or nothing of it when it throws. Transactions run one after the
   * other.
   */
  write<T>(work: (transaction: Transaction) => Pending<T>): Pending<T>;
  close(): Promise<void>;
}

/** How the rows of one table are found, as the database's own plan says. */
export interface TableSearch {
  /** The name that the statement gives the table. */
  readonly alias: string;
  /** Columns by whose values an index gives the rows. */
  readonly columns: readonly string[];
  /** The key by which the table itself is kept gives the rows. */
  readonly byKey: boolean;
}

/** Rows of a statement; the values of a row are in the order of its columns. */
export type Rows = readonly (readonly SqlValue[])[];

/** What a statement that the runtime did not write gives. */
export interface Table {
  /** Names may be there twice; none for a statement that gives no rows. */
  readonly columns: readonly string[];
  readonly rows: Rows;
  /** None for a statement that reads. */
  readonly result?: RunResult;
}

/** What a statement did. */
export interface RunResult {
  readonly changes: number;
  readonly insertedKey: number;
}

export interface Transaction {
  /**
   * @returns how many rows changed, and the key that the database drew for the last new one
   * @throws ConstraintError when the database refuses the change; the transaction itself goes on.
   */
  run(statement: Statement, values: readonly SqlValue[]): Pending<RunResult>;
  /** The first column of the first row; `undefined` when there is no row. */
  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined>;
  /** As {@link Executor.read}, but what the transaction did is seen. */
  read(statement: Statement, values: readonly SqlValue[]): Pending<JsonAnswer | undefined>;
  /** As {@link Executor.rows}, but what the transaction did is seen; the statement may change something too. */
  rows(statement: Statement, values: readonly SqlValue[]): Pending<Rows>;
  /** The same with the names of the columns, for any statement. */
  table(statement: Statement, values: readonly SqlValue[]): Pending<Table>;
}

/** A constraint of the schema that a change would break. */
export class ConstraintError extends Error {
  constructor(
    readonly kind: 'unique' | 'foreignKey' | 'notNull' | 'check' | 'expression',
    /** SQL names of the table and the column with a dot between, where the database tells them. */
    readonly column: string | undefined,
    cause: unknown,
  ) {
    super(`${kind} constraint failed`, { cause });
  }
}

/** The database cannot take part in this request now: locked, full, read-only, out of reach. */
export class DatabaseUnavailableError extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
  }
}

/**
 * The database has given up a transaction that met others, such as one that waited for a transaction that waited for it. The
 * same transaction has a chance once the others have ended.
 */
export class ConflictError extends DatabaseUnavailableError {}

/** A statement ran for longer than the limit `queryTimeout` allows, and was stopped. */
export class QueryTimeoutError extends Error {
  /** @param milliseconds the limit */
  constructor(
    readonly milliseconds: number,
    cause: unknown,
  ) {
    super(`a statement ran for longer than ${milliseconds} ms`, { cause });
  }
}

/** The database cannot hold a value, or compute with it: U+0000 in a text, or a number that is too large, for one. */
export class UnusableValueError extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
  }
}

/** The database takes no statement of this size: a request follows too many relations, for one. */
export class TooComplexError extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
  }
}

/**
 * Runs a transaction, and once more where it met others and the database gave it up. Class code must not run in it: what that
 * has done outside of the database would be done twice.
 */
export function againAfterConflict<T>(write: () => Pending<T>): Pending<T> {
  return caught(write, (error) => {
    if (!(error instanceof ConflictError)) throw error;
    return write();
  });
}
