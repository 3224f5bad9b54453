import type { Rows, Transaction } from './executor.js';
import type { SqlValue } from './statement.js';

/** A statement with the values of its placeholders `$1`, `$2` and so on. */
export type StateStatement = readonly [sql: string, ...values: SqlValue[]];

/** The tables of the state, as one version of the runtime needs them. */
export interface StateSchema {
  /** Raised with each change of the tables. */
  readonly version: number;
  /** Creates what is missing; tables are named as {@link StateDatabase} describes. */
  readonly statements: (words: StateWords) => readonly string[];
}

/** Words of SQL that differ between databases. */
interface StateWords {
  /** The type of bytes. */
  readonly bytes: string;
  /** Precedes `table` where a crash of the database may empty the table. */
  readonly unlogged: string;
  /** Whether statements of the application can call functions of the state: see {@link StateDatabase.schema}. */
  readonly hasFunctions: boolean;
}

/**
 * The database in which servers keep what they remember about their clients: a schema of the application's own
 * database, or a file beside it. Statements name tables as `drs_state.session`, whatever the schema is called.
 */
export interface StateDatabase {
  /** The time in milliseconds as an expression of SQL: one clock for all servers. */
  readonly now: string;
  /**
   * The schema of the state, with tables and functions, in the application's own database; none if
   * the state is another database.
   */
  readonly schema: string | undefined;
  /** Ends a subquery that chooses rows to change, and skips those that others are changing. */
  readonly skipLocked: string;
  /**
   * Runs statements as one transaction: all of them take effect, or none.
   * @returns the rows of the last one
   * @throws DatabaseUnavailableError while the database cannot be reached; ConstraintError
   */
  run(...statements: readonly StateStatement[]): Promise<Rows>;
  /** Reads within a transaction of the application's database, where the state is part of it. */
  readWithin(transaction: Transaction, statement: StateStatement): Promise<Rows>;
  /**
   * Takes a name for this process; those who wait for it get it when it is released, or the process
   * that has it dies.
   * @param lost called if the database can no longer keep the name for this process
   * @returns what releases it; `undefined` if another one has it, and this one does not wait
   * @throws DatabaseUnavailableError
   */
  take(
    name: string,
    isWaiting: boolean,
    lost: (error: Error) => void,
  ): Promise<Release | undefined>;
  close(): Promise<void>;
}

/** The SQLSTATE with which a function of the state refuses the change of a row: see `LockedRowError`. */
export const lockedRowState = 'LK001';

/** Releases a name that was taken. */
export type Release = () => Promise<void>;

/** Opens the state that belongs to a database. */
export interface StateAccess {
  /** Whether servers of several machines may have this database open. */
  readonly isForMachines: boolean;
  /** @throws Error with the reason, also for a state of a newer version */
  open(schema: StateSchema): Promise<StateDatabase>;
}

/** @throws Error if a newer runtime has made the tables */
export function requireVersion(found: number, { version }: StateSchema, place: string): void {
  if (found <= version) return;
  throw new Error(
    `${place} holds the state of newer servers (version ${found}; this server knows ${version}): update this server, or set STATE=memory.`,
  );
}
