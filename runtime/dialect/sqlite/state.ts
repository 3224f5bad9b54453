import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import Database, { type Statement as Prepared } from 'better-sqlite3';
import { DatabaseUnavailableError, type Rows } from '../executor.js';
import type { SqlValue } from '../statement.js';
import {
  type Release,
  requireVersion,
  type StateDatabase,
  type StateSchema,
  type StateStatement,
} from '../state-database.js';
import { DatabaseFile } from './database-file.js';
import { translateError } from './errors.js';
import { cannotOpen } from './open.js';

/** How long a change waits for those of other processes, which take some microseconds each. */
const busyTimeoutMilliseconds = 5_000;
/** How often somebody who waits for a name asks for it. */
const askMilliseconds = 50;
/** The write-ahead log is cut back to this size. */
const mostLogBytes = 64 * 1024 * 1024;

/** The state of the processes of one machine, in a file beside the database. */
export class SqliteState implements StateDatabase {
  readonly now = `(unixepoch('subsec') * 1000.0)`;
  /** Changes run one after the other. */
  readonly skipLocked = '';
  readonly schema = undefined;
  readonly #prepared = new Map<string, ReadyStatement>();
  readonly #file: DatabaseFile;
  /** Files whose locks this process has. */
  readonly #taken = new Set<Database.Database>();
  readonly #begin: Prepared;
  readonly #beginReading: Prepared;
  readonly #commit: Prepared;

  private constructor(
    private readonly database: Database.Database,
    private readonly path: string,
  ) {
    this.#file = new DatabaseFile(path);
    this.#begin = database.prepare('begin immediate');
    this.#beginReading = database.prepare('begin');
    this.#commit = database.prepare('commit');
  }

  /** Opens or creates the state; errors name the path. */
  static open(path: string, schema: StateSchema): SqliteState {
    let database: Database.Database | undefined;
    try {
      database = new Database(path, { timeout: busyTimeoutMilliseconds });
      database.pragma('journal_mode = WAL');
      // A power failure may log out those who logged in during the last moments.
      database.pragma('synchronous = NORMAL');
      database.pragma(`journal_size_limit = ${mostLogBytes}`);
      database.pragma('foreign_keys = ON');
      const made = database;
      made
        .transaction(() => {
          requireVersion(Number(made.pragma('user_version', { simple: true })), schema, path);
          const words = { bytes: 'blob', unlogged: '', hasFunctions: false };
          for (const each of schema.statements(words)) made.exec(unqualified(each));
          made.pragma(`user_version = ${schema.version}`);
        })
        .immediate();
      return new SqliteState(made, path);
    } catch (error) {
      database?.close();
      throw cannotOpen(path, error);
    }
  }

  async run(...statements: readonly StateStatement[]): Promise<Rows> {
    const { database } = this;
    try {
      this.#file.check();
      const all = statements.map(([text, ...values]) => ({ ...this.#statement(text), values }));
      const [first] = all;
      if (all.length === 1 && first !== undefined) return rowsOf(first);
      (all.every(({ prepared }) => prepared.readonly) ? this.#beginReading : this.#begin).run();
      let rows: Rows = [];
      for (const each of all) rows = rowsOf(each);
      this.#commit.run();
      return rows;
    } catch (error) {
      if (database.open && database.inTransaction) database.exec('rollback');
      throw translateError(error);
    }
  }

  /** The transaction has the only connection that writes to the database: nobody else changes it. */
  readWithin(_transaction: unknown, statement: StateStatement): Promise<Rows> {
    return this.run(statement);
  }

  /**
   * The lock of a file of its own, which the operating system ends with its process. Nobody removes
   * the file: others may be about to lock it.
   */
  async take(name: string, isWaiting: boolean): Promise<Release | undefined> {
    const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
    const file = new Database(`${this.path}-${hash}`, { timeout: 0 });
    for (;;) {
      try {
        file.exec('begin exclusive');
        break;
      } catch (error) {
        const isTaken = error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY';
        if (isTaken && isWaiting && this.database.open) {
          await setTimeout(askMilliseconds, undefined, { ref: false });
          continue;
        }
        file.close();
        if (isTaken && !isWaiting) return undefined;
        throw isTaken ? new DatabaseUnavailableError('the database is closed', error) : error;
      }
    }
    this.#taken.add(file);
    return () => {
      this.#taken.delete(file);
      file.close();
      return Promise.resolve();
    };
  }

  async close(): Promise<void> {
    for (const each of this.#taken) each.close();
    this.database.close();
  }

  #statement(text: string): ReadyStatement {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    // The package takes values only by their position.
    const order = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number) - 1);
    const prepared = this.database.prepare(unqualified(text).replaceAll(/\$\d+/g, '?'));
    if (prepared.reader) prepared.raw();
    const made = { prepared, order };
    this.#prepared.set(text, made);
    return made;
  }
}

interface ReadyStatement {
  readonly prepared: Prepared;
  /** The position of the value of each placeholder. */
  readonly order: readonly number[];
}

function rowsOf({
  prepared,
  order,
  values,
}: ReadyStatement & { readonly values: readonly SqlValue[] }): Rows {
  const bound = order.map((position) => values[position] ?? null);
  if (prepared.reader) return prepared.all(...bound) as Rows;
  prepared.run(...bound);
  return [];
}

/** The file holds nothing else. */
function unqualified(text: string): string {
  return text.replaceAll('drs_state.', '');
}
