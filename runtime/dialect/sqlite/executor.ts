import Database, { type Statement as Prepared } from 'better-sqlite3';
import type {
  Client,
  Executor,
  PendingAnswer,
  Rows,
  Table,
  TableSearch,
  Transaction,
  TransactionFrame,
} from '../executor.js';
import { type Pending, settledWithin, whenThere } from '../pending.js';
import type { SqlValue, Statement } from '../statement.js';
import { WriterLine } from '../writer-line.js';
import { translateError } from './errors.js';
import type { SqliteConnections } from './open.js';
import { closedError, SqliteReads, PreparedStatements } from './reads.js';
import { SqliteTransaction } from './transaction.js';
import { setTimeout } from 'node:timers/promises';

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
  readonly #transaction: SqliteTransaction;
  readonly #begin: Prepared;
  readonly #commit: Prepared;
  #commits = 0;
  #isClosed = false;
  readonly #writers = new WriterLine();
  /** Reads that wait for the open transaction. */
  #waiting: (() => void)[] = [];

  constructor(connections: SqliteConnections, options: SqliteOptions = {}) {
    this.#connections = connections;
    this.#isShared = connections.reader === connections.writer;
    this.#graceMilliseconds = options.graceMilliseconds ?? defaultGraceMilliseconds;
    const statements = new PreparedStatements(connections.writer);
    const readStatements = this.#isShared ? statements : new PreparedStatements(connections.reader);
    this.#reads = new SqliteReads(connections.reader, readStatements, options.offloading);
    this.#begin = connections.writer.prepare('begin immediate');
    this.#commit = connections.writer.prepare('commit');
    this.#transaction = new SqliteTransaction(connections.writer, statements, options.longest);
  }

  read(statement: Statement, values: readonly SqlValue[], client?: Client): PendingAnswer {
    return this.value(statement, values, client) as PendingAnswer;
  }

  value(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Pending<SqlValue | undefined> {
    return this.#mustWait
      ? this.#afterTransaction(() => this.#reads.value(statement, values, client))
      : this.#reads.value(statement, values, client);
  }

  rows(statement: Statement, values: readonly SqlValue[], client?: Client): Pending<Rows> {
    return this.#mustWait
      ? this.#afterTransaction(() => this.#reads.rows(statement, values, client))
      : this.#reads.rows(statement, values, client);
  }

  table(statement: Statement, values: readonly SqlValue[], client?: Client): Pending<Table> {
    return this.#mustWait
      ? this.#afterTransaction(() => this.#reads.table(statement, values, client))
      : this.#reads.table(statement, values, client);
  }

  explain(statement: Statement, values: readonly SqlValue[]): Pending<readonly TableSearch[]> {
    return this.#mustWait
      ? this.#afterTransaction(() => this.#reads.explain(statement, values))
      : this.#reads.explain(statement, values);
  }

  dataVersion(): number {
    // SQLite's own number reflects commits of other connections, in other processes, too.
    if (!this.#isShared) return this.#reads.dataVersion();
    if (this.#connections.writer.inTransaction) this.#commits += 1;
    return this.#commits;
  }

  write<T>(work: (transaction: Transaction) => Pending<T>, frame?: TransactionFrame): Pending<T> {
    return this.#writers.run(() => this.#run(work, frame));
  }

  async close(): Promise<void> {
    await settledWithin(this.#writers.idle(), this.#graceMilliseconds);
    this.#isClosed = true;
    this.#transaction.close();
    const reads = this.#reads.close();
    const { reader, writer } = this.#connections;
    if (writer.inTransaction) writer.exec('ROLLBACK');
    if (reads !== undefined) await settledWithin(reads, readsMilliseconds);
    reader.close();
    if (!this.#isShared) lastCheckpoint(writer);
    writer.close();
    this.#runWaiting();
  }

  #run<T>(
    work: (transaction: Transaction) => Pending<T>,
    frame: TransactionFrame | undefined,
  ): Pending<T> {
    if (this.#isClosed) throw closedError();
    const undone = (error: unknown): never => {
      throw this.#undone(error);
    };
    try {
      this.#connections.file?.check();
      const pending = isBegun(this.#begin)
        ? this.#begun(work, frame)
        : beginLater(this.#begin).then(() => this.#begun(work, frame));
      return pending instanceof Promise ? pending.catch(undone) : pending;
    } catch (error) {
      return undone(error);
    }
  }

  #begun<T>(
    work: (transaction: Transaction) => Pending<T>,
    frame: TransactionFrame | undefined,
  ): Pending<T> {
    // Another process may have locked the database until this one was closing it.
    if (this.#isClosed) throw closedError();
    this.#transaction.begin(frame);
    return whenThere(work(this.#transaction), (result) => this.#committed(result));
  }

  #committed<T>(result: T): T {
    this.#transaction.check();
    this.#transaction.complete();
    this.#commit.run();
    this.#commits += 1;
    // Before the next transaction begins, for which the waiting reads would have to wait, too.
    this.#runWaiting();
    return result;
  }

  /** @returns the error to throw */
  #undone(error: unknown): unknown {
    const { writer } = this.#connections;
    // After some errors, such as a full disk, SQLite has already rolled back.
    if (writer.inTransaction) writer.exec('ROLLBACK');
    this.#runWaiting();
    return translateError(error);
  }

  /** Whether reads would see uncommitted changes: a database in memory has a single connection. */
  get #mustWait(): boolean {
    return this.#isShared && this.#connections.writer.inTransaction;
  }

  #afterTransaction<T>(read: () => Pending<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(read());
        } catch (error) {
          reject(translateError(error));
        }
      });
    });
  }

  #runWaiting(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (const read of waiting) read();
  }
}

/** How long a transaction waits for a writer in another process. */
const longestMilliseconds = 5_000;

/** As short as most transactions: even many short ones leave a gap now and then. */
export const longestPauseMilliseconds = 4;

/**
 * Begins a transaction when no other process locks the database any more. SQLite's own waiting would block the reads
 * of this process, so the writing connection does not wait by itself (`busy_timeout`).
 * @param begin `begin immediate`
 * @throws SqliteError `SQLITE_BUSY` if another process locks it for too long
 */
async function beginLater(begin: Prepared): Promise<void> {
  const end = performance.now() + longestMilliseconds;
  let pause = 1;
  while (performance.now() < end) {
    await setTimeout(pause);
    if (!begin.database.open) {
      throw closedError();
    }
    if (isBegun(begin)) return;
    pause = Math.min(pause * 2, longestPauseMilliseconds);
  }
  begin.run();
}

function isBegun(begin: Prepared): boolean {
  try {
    begin.run();
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
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
