import { setImmediate, setTimeout } from 'node:timers/promises';
import Database, { type Statement as Prepared } from 'better-sqlite3';
import type {
  Client,
  Executor,
  JsonAnswer,
  Rows,
  Table,
  TableSearch,
  Transaction,
  TransactionFrame,
} from '../executor.js';
import { settledWithin } from '../settled-within.js';
import type { SqlValue, Statement } from '../statement.js';
import { WriterLine } from '../writer-line.js';
import { translateError } from './errors.js';
import type { SqliteConnections } from './open.js';
import { closedError, SqliteReads, PreparedStatements } from './reads.js';
import { SqliteTransaction } from './transaction.js';

/** How long closing waits for open transactions: class code in one may never end. */
const defaultGraceMilliseconds = 5_000;

/** How long killed readers may take to exit: a process that waits for a disk does not exit at once. */
const readsMilliseconds = 2_000;

interface SqliteOptions {
  /** How long {@link SqliteExecutor.close} waits for transactions. */
  readonly graceMilliseconds?: number;
  /** The placement of long reads of a database in a file. */
  readonly offloading?: ConstructorParameters<typeof SqliteReads>[2];
  /** Milliseconds that a statement of a transaction may run; no limit if absent. */
  readonly longest?: number;
}

export class SqliteExecutor implements Executor {
  /** Class code joins the transactions of another executor, which knows them. */
  readonly part = undefined;
  readonly #reads: SqliteReads;
  readonly #graceMilliseconds: number;
  readonly #connections: SqliteConnections;
  readonly #isShared: boolean;
  readonly #statements: PreparedStatements;
  readonly #longest: number;
  #transaction: SqliteTransaction | undefined;
  readonly #begin: Prepared;
  readonly #commit: Prepared;
  #commits = 0;
  #isClosed = false;
  readonly #writers = new WriterLine();
  /** Reads that wait for the open transaction. */
  readonly #waiting: (() => void)[] = [];

  constructor(connections: SqliteConnections, options: SqliteOptions = {}) {
    this.#connections = connections;
    this.#isShared = connections.reader === connections.writer;
    this.#graceMilliseconds = options.graceMilliseconds ?? defaultGraceMilliseconds;
    this.#longest = options.longest ?? Infinity;
    this.#statements = new PreparedStatements(connections.writer);
    const readStatements = this.#isShared
      ? this.#statements
      : new PreparedStatements(connections.reader);
    this.#reads = new SqliteReads(connections.reader, readStatements, options.offloading);
    this.#begin = connections.writer.prepare('begin immediate');
    this.#commit = connections.writer.prepare('commit');
  }

  read(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Promise<JsonAnswer | undefined> {
    return this.value(statement, values, client) as Promise<JsonAnswer | undefined>;
  }

  value(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Promise<SqlValue | undefined> {
    return this.#outside(() => this.#reads.value(statement, values, client));
  }

  rows(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Rows> {
    return this.#outside(() => this.#reads.rows(statement, values, client));
  }

  table(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Table> {
    return this.#outside(() => this.#reads.table(statement, values, client));
  }

  explain(statement: Statement, values: readonly SqlValue[]): Promise<readonly TableSearch[]> {
    return this.#outside(() => this.#reads.explain(statement, values));
  }

  dataVersion(): number {
    // SQLite's own number reflects commits of other connections, in other processes, too.
    if (!this.#isShared) return this.#reads.dataVersion();
    if (this.#connections.writer.inTransaction) this.#commits += 1;
    return this.#commits;
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, frame?: TransactionFrame): Promise<T> {
    return this.#writers.run(() => this.#run(work, frame));
  }

  async close(): Promise<void> {
    await settledWithin(this.#writers.idle(), this.#graceMilliseconds);
    this.#isClosed = true;
    this.#transaction?.end();
    const reads = this.#reads.close();
    const { reader, writer } = this.#connections;
    if (writer.inTransaction) writer.exec('ROLLBACK');
    await settledWithin(reads, readsMilliseconds);
    reader.close();
    if (!this.#isShared) lastCheckpoint(writer);
    writer.close();
    this.#runWaiting();
  }

  async #run<T>(
    work: (transaction: Transaction) => Promise<T>,
    frame: TransactionFrame | undefined,
  ): Promise<T> {
    if (this.#isClosed) throw closedError();
    const { file, writer } = this.#connections;
    const transaction = new SqliteTransaction(writer, this.#statements, this.#longest, frame);
    this.#transaction = transaction;
    try {
      file?.check();
      // Requests that have waited read all that they need before the next transaction begins.
      if (this.#isShared) await setImmediate();
      await begun(this.#begin);
      transaction.prepare();
      const result = await work(transaction);
      transaction.complete();
      this.#commit.run();
      this.#commits += 1;
      return result;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (writer.inTransaction) writer.exec('ROLLBACK');
      throw translateError(error);
    } finally {
      transaction.end();
      this.#runWaiting();
    }
  }

  /** Reads when no transaction is open whose changes would be seen: a database in memory has a single connection. */
  #outside<T>(read: () => Promise<T>): Promise<T> {
    if (!this.#isShared || !this.#connections.writer.inTransaction) return read();
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        resolve(read());
      });
    });
  }

  #runWaiting(): void {
    for (const read of this.#waiting.splice(0)) read();
  }
}

/** How long a transaction waits for a writer in another process. */
const longestMilliseconds = 5_000;

/** As short as most transactions: even many short ones leave a gap now and then. */
export const longestPauseMilliseconds = 4;

/**
 * Begins a transaction, when no other process locks the database any more. SQLite's own waiting would block the reads
 * of this process, so the writing connection does not wait by itself (`busy_timeout`).
 * @param begin `begin immediate`
 * @throws SqliteError `SQLITE_BUSY` if another process locks it for too long
 */
async function begun(begin: Prepared): Promise<void> {
  const end = performance.now() + longestMilliseconds;
  for (let pause = 1; ; pause = Math.min(pause * 2, longestPauseMilliseconds)) {
    try {
      begin.run();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
    }
    await setTimeout(pause);
    if (!begin.database.open) throw closedError();
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

/** How long other processes may delay the checkpoint; closing the database takes them less time. */
const checkpointMilliseconds = 250;

/** Moves the log into the database file: SQLite does so for the very last connection, and processes that close together may have none. */
function lastCheckpoint(writer: Database.Database): void {
  try {
    writer.pragma(`busy_timeout = ${checkpointMilliseconds}`);
    writer.pragma('wal_checkpoint(truncate)');
  } catch {
    // The disk is full or fails: the log is read at the next start.
  }
}
