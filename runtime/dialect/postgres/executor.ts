import {
  DatabaseUnavailableError,
  type Executor,
  type PendingAnswer,
  type Rows,
  type Table,
  type TableSearch,
  type Transaction,
} from '../executor.js';
import type { Pending } from '../pending.js';
import type { SqlValue, Statement } from '../statement.js';
import { settledWithin } from '../settled-within.js';
import { WriterLine } from '../writer-line.js';
import type { RawAnswer, Step } from './ask.js';
import type { Connections } from './connect.js';
import {
  allRows,
  firstValue,
  plainStep,
  PostgresConnection,
  stepOf,
  tableOf,
} from './connection.js';
import { type ErrorFacts, translateError } from './errors.js';
import { explained } from './explain.js';
import { SeenTexts } from './prepared-statements.js';
import { readTable } from './read-only.js';
import { PostgresTransaction } from './transaction.js';

/** How long transactions that run may take to end when the database is closed: code of a transaction may wait forever. */
const defaultGraceMilliseconds = 5_000;

const snapshot = plainStep('select pg_current_snapshot()::text');

interface ExecutorOptions extends ErrorFacts {
  /** Connections at once, 2 at least. */
  readonly size: number;
  /** How long {@link PostgresExecutor.close} waits for transactions; some seconds when left out. */
  readonly graceMilliseconds?: number;
}

/** Runs statements on a PostgreSQL. Transactions run side by side, and see what others have committed (`READ COMMITTED`). */
export class PostgresExecutor implements Executor {
  readonly #seen = new SeenTexts();
  readonly #writers: WriterLine;
  /** Of transactions that are open. */
  readonly #open = new Set<PostgresConnection>();
  readonly #writes = new Set<Promise<unknown>>();
  #isClosed = false;
  #snapshot = '';
  #version = 0;

  constructor(
    private readonly connections: Connections,
    private readonly options: ExecutorOptions,
  ) {
    // What runs in a transaction may read outside of it: a connection is left for that, or all would wait for each other.
    this.#writers = new WriterLine(undefined, options.size - 1);
  }

  async read(statement: Statement, values: readonly SqlValue[]): Promise<Awaited<PendingAnswer>> {
    return (await this.value(statement, values)) as Awaited<PendingAnswer>;
  }

  async value(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    return firstValue(await this.#ask(stepOf(statement, values))) ?? undefined;
  }

  async rows(statement: Statement, values: readonly SqlValue[]): Promise<Rows> {
    return allRows(await this.#ask(stepOf(statement, values)));
  }

  table(statement: Statement, values: readonly SqlValue[]): Promise<Table> {
    return this.#using(async (connection) =>
      tableOf(await readTable(connection, stepOf(statement, values))),
    );
  }

  explain(statement: Statement, values: readonly SqlValue[]): Promise<readonly TableSearch[]> {
    return this.#using((connection) => explained(connection, stepOf(statement, values)));
  }

  /**
   * PostgreSQL tells which transactions a statement would see. That is another text whenever one has ended that changed
   * something, in whatever process, and the same text never comes back.
   */
  async dataVersion(): Promise<number> {
    const seen = firstValue(await this.#ask(snapshot));
    if (seen !== this.#snapshot) {
      this.#snapshot = String(seen);
      this.#version += 1;
    }
    return this.#version;
  }

  async write<T>(work: (transaction: Transaction) => Pending<T>): Promise<T> {
    if (this.#isClosed) throw closedError();
    const writing = Promise.resolve(this.#writers.run(() => this.#run(work)));
    this.#writes.add(writing);
    try {
      return await writing;
    } finally {
      this.#writes.delete(writing);
    }
  }

  async close(): Promise<void> {
    const grace = this.options.graceMilliseconds ?? defaultGraceMilliseconds;
    await settledWithin(Promise.allSettled(this.#writes), grace);
    this.#isClosed = true;
    for (const connection of this.#open) connection.release(false);
    await settledWithin(this.connections.end(), grace);
  }

  async #run<T>(work: (transaction: Transaction) => Pending<T>): Promise<T> {
    const connection = await this.#take();
    const transaction = new PostgresTransaction(connection, this.options);
    this.#open.add(connection);
    let isClean = true;
    try {
      const result = await work(transaction);
      await transaction.commit();
      return result;
    } catch (error) {
      isClean = await transaction.rollback();
      throw error;
    } finally {
      this.#open.delete(connection);
      connection.release(isClean);
    }
  }

  #ask(step: Step): Promise<RawAnswer> {
    return this.#using((connection) => connection.run([step], 0));
  }

  async #using<T>(use: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      return await use(connection);
    } catch (error) {
      throw translateError(error as Error, this.options);
    } finally {
      connection.release();
    }
  }

  async #take(): Promise<PostgresConnection> {
    if (this.#isClosed) throw closedError();
    return new PostgresConnection(await this.connections.take(), this.#seen);
  }
}

function closedError(): Error {
  return new DatabaseUnavailableError('the database is closed', undefined);
}
