import type { Database, Statement as Prepared } from 'better-sqlite3';
import { BoundedCache } from '../bounded-cache.js';
import type {
  Executor,
  JsonAnswer,
  PendingAnswer,
  RunResult,
  TableSearch,
  Transaction,
} from '../executor.js';
import type { Pending } from '../pending.js';
import { bind, type SqlValue, type Statement } from '../statement.js';
import { translateChangeError, translateError } from './errors.js';
import { explained } from './explain.js';
import type { Connections } from './open.js';

/** Of all prepared statements of a connection. */
const maxPreparedBytes = 64 * 1024 * 1024;

/** What is kept of a statement for each character of its text: up to 17 by measurement, and the text itself. */
const bytesPerCharacter = 20;

export class SqliteExecutor implements Executor {
  readonly #reader: StatementCache;
  readonly #connections: Connections;
  readonly #isShared: boolean;
  readonly #transaction: SqliteTransaction;
  readonly #dataVersion: Prepared;
  readonly #begin: Prepared;
  readonly #commit: Prepared;
  #commits = 0;
  /** Ends when the last transaction asked for so far has ended. */
  #writers: Promise<unknown> = Promise.resolve();

  constructor(connections: Connections) {
    this.#connections = connections;
    this.#isShared = connections.reader === connections.writer;
    this.#reader = new StatementCache(connections.reader);
    this.#dataVersion = connections.reader.prepare('pragma data_version').pluck();
    this.#begin = connections.writer.prepare('begin immediate');
    this.#commit = connections.writer.prepare('commit');
    this.#transaction = new SqliteTransaction(
      this.#isShared ? this.#reader : new StatementCache(connections.writer),
    );
  }

  read(statement: Statement, values: readonly SqlValue[]): PendingAnswer {
    return this.value(statement, values) as PendingAnswer;
  }

  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined> {
    // One connection alone sees what is not committed yet; a database in memory has no other.
    if (this.#isShared && this.#connections.writer.inTransaction) {
      return this.#writers.then(() => this.value(statement, values));
    }
    try {
      return firstValue(this.#reader.get(statement.sql), statement, values);
    } catch (error) {
      throw translateError(error);
    }
  }

  explain(statement: Statement, values: readonly SqlValue[]): Pending<readonly TableSearch[]> {
    if (this.#isShared && this.#connections.writer.inTransaction) {
      return this.#writers.then(() => this.explain(statement, values));
    }
    try {
      return explained(this.#connections.reader, statement, values);
    } catch (error) {
      throw translateError(error);
    }
  }

  dataVersion(): number {
    // SQLite's own number tells of what other connections commit, those of other processes included.
    if (!this.#isShared) return this.#dataVersion.get() as number;
    if (this.#connections.writer.inTransaction) this.#commits += 1;
    return this.#commits;
  }

  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const result = this.#writers.then(() => this.#run(work));
    this.#writers = result.catch(() => undefined);
    return result;
  }

  async #run<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { writer } = this.#connections;
    try {
      this.#begin.run();
      const result = await work(this.#transaction);
      this.#commit.run();
      this.#commits += 1;
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some errors, a full disk for one.
      if (writer.inTransaction) writer.exec('ROLLBACK');
      throw translateError(error);
    }
  }

  async close(): Promise<void> {
    await this.#writers;
    this.#connections.reader.close();
    this.#connections.writer.close();
  }
}

class SqliteTransaction implements Transaction {
  constructor(private readonly statements: StatementCache) {}

  run(statement: Statement, values: readonly SqlValue[]): Promise<RunResult> {
    return attempt(() => {
      const prepared = this.statements.get(statement.sql);
      try {
        const { changes, lastInsertRowid } = prepared.run(...bind(statement, values));
        return { changes, insertedKey: Number(lastInsertRowid) };
      } catch (error) {
        throw translateChangeError(error);
      }
    });
  }

  value(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    return attempt(() => {
      // `all`, not `get`: a statement that returns rows of a change must run to its end.
      const rows = this.statements.get(statement.sql).all(...bind(statement, values));
      return rows[0] as SqlValue | undefined;
    });
  }

  read(statement: Statement, values: readonly SqlValue[]): Promise<JsonAnswer | undefined> {
    return attempt(
      () => firstValue(this.statements.get(statement.sql), statement, values) as JsonAnswer,
    );
  }
}

function attempt<T>(work: () => T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(translateError(error));
  }
}

function firstValue(
  prepared: Prepared,
  statement: Statement,
  values: readonly SqlValue[],
): SqlValue | undefined {
  const answer = prepared.get(...bind(statement, values)) as SqlValue | undefined;
  return answer ?? undefined;
}

/** Prepared statements of one connection by their SQL text; a statement that returns rows gives their first column. */
class StatementCache {
  readonly #prepared = new BoundedCache<Prepared>(
    maxPreparedBytes,
    ({ source }) => source.length * bytesPerCharacter,
  );

  constructor(private readonly database: Database) {}

  get(text: string): Prepared {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    const prepared = this.database.prepare(text);
    if (prepared.reader) prepared.pluck();
    this.#prepared.set(text, prepared);
    return prepared;
  }
}
