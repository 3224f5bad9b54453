import Database from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import { registerFunctions } from './functions.js';
import type { LoadVectors } from './vector-extension.js';

/** The two connections of a server: one that writes, and one for reads, which see only what is committed. */
export interface Connections {
  readonly writer: Database.Database;
  /** The same as `writer` for a database in memory, which no second connection can see. */
  readonly reader: Database.Database;
}

/** How long a statement waits for another process that holds the database. */
const busyTimeoutMilliseconds = 5_000;

/**
 * Opens the database that a `DATABASE_URL` names: `sqlite:./data.sqlite`, `sqlite:/absolute/path` or `sqlite::memory:`.
 * @param prepare looks at the database before anything in it changes, and may refuse it
 * @param loadVectors only for a model with vectors
 * @throws Error that names the path, when it cannot be opened; and what `prepare` throws
 */
export function openConnections(
  url: string,
  fold: Fold,
  prepare: (database: Database.Database) => void,
  loadVectors?: LoadVectors,
): Connections {
  const file = databaseFile(url);
  const open = (readonly: boolean): Database.Database => {
    const database = connect(file, readonly, fold);
    try {
      loadVectors?.(database);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  };
  const writer = open(false);
  try {
    prepare(writer);
    if (file === ':memory:') return { writer, reader: writer };
    writer.pragma('journal_mode = WAL');
    writer.pragma('synchronous = NORMAL');
    return { writer, reader: open(true) };
  } catch (error) {
    writer.close();
    throw error;
  }
}

function databaseFile(url: string): string {
  const scheme = 'sqlite:';
  if (!url.startsWith(scheme) || url.length === scheme.length) {
    throw new Error(
      `DATABASE_URL is ${JSON.stringify(url)}; this server takes sqlite:<path> or sqlite::memory:.`,
    );
  }
  return url.slice(scheme.length).replace(/^\/\/(?=\/)/, '');
}

function connect(file: string, readonly: boolean, fold: Fold): Database.Database {
  let database: Database.Database;
  try {
    database = new Database(file, { readonly, timeout: busyTimeoutMilliseconds });
  } catch (error) {
    throw new Error(`Cannot open the database ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  database.pragma('foreign_keys = ON');
  database.pragma('cache_size = -65536');
  registerFunctions(database, fold);
  return database;
}
