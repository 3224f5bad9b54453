import Database from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import { SchemaPendingError } from '../schema/start.js';
import { SchemaMismatchError } from '../schema-mismatch.js';
import { DatabaseFile } from './database-file.js';
import { registerFunctions } from './functions.js';
import type { LoadVectors } from './vector-extension.js';

/** The two connections of a server: one that writes, and one for reads, which see only what is committed. */
export interface Connections {
  readonly writer: Database.Database;
  /** The same as `writer` for a database in memory, which no second connection can see. */
  readonly reader: Database.Database;
  /** None for a database in memory. */
  readonly file: DatabaseFile | undefined;
  /** Path of that. */
  readonly path: string | undefined;
}

/**
 * When a commit reaches the disk: `full` before it is acknowledged; `normal` some moments later, so that a loss of power, but
 * no end of the process, may take the last commits back, whole ones only.
 */
export type Synchronous = 'normal' | 'full';

/** Looks at a database before anything in it changes, and may refuse it. */
export type Prepare = (database: Database.Database) => void;

/** How long a start, or a read, waits for another process that holds the database. */
const busyTimeoutMilliseconds = 5_000;

const readerCacheKibibytes = 16_384;

/** The most that SQLite takes. */
const readerMappedBytes = 0x7fff_0000;

/**
 * Opens the database that a `DATABASE_URL` names: `sqlite:./data.sqlite`, `sqlite:/absolute/path` or `sqlite::memory:`.
 * @param synchronous for a database in a file
 * @param loadVectors only for a model with vectors
 * @throws Error that names the path, when it cannot be opened; and what `prepare` throws
 */
export function openConnections(
  url: string,
  fold: Fold,
  synchronous: Synchronous,
  prepare: Prepare,
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
  let writer: Database.Database | undefined;
  try {
    writer = open(false);
    prepare(writer);
    if (file === ':memory:') {
      return { writer, reader: writer, file: undefined, path: undefined };
    }
    writer.pragma('journal_mode = WAL');
    writer.pragma(`synchronous = ${synchronous}`);
    // The executor waits instead, and lets reads go on.
    writer.pragma('busy_timeout = 0');
    const reader = open(true);
    // SQLite opens its files with the first read.
    reader.pragma('schema_version');
    return { writer, reader, file: new DatabaseFile(file), path: file };
  } catch (error) {
    writer?.close();
    if (error instanceof SchemaMismatchError || error instanceof SchemaPendingError) throw error;
    throw cannotOpen(file, error);
  }
}

/**
 * Opens one more connection to a database that a server has open, in another process.
 * @throws Error that names the path
 */
export function openReader(
  file: string,
  fold: Fold,
  loadVectors: LoadVectors | undefined,
): Database.Database {
  try {
    const database = connect(file, true, fold);
    // Long reads go through whole tables: they take pages where the system has them, without a copy and a call for each. What
    // cannot be read then ends the process, and only this one.
    database.pragma(`cache_size = -${readerCacheKibibytes}`);
    database.pragma(`mmap_size = ${readerMappedBytes}`);
    loadVectors?.(database);
    return database;
  } catch (error) {
    throw cannotOpen(file, error);
  }
}

export function databaseFile(url: string): string {
  const scheme = 'sqlite:';
  if (!url.startsWith(scheme) || url.length === scheme.length) {
    throw new Error(
      `DATABASE_URL is ${JSON.stringify(url)}; this server takes sqlite:<path> or sqlite::memory:.`,
    );
  }
  return url.slice(scheme.length).replace(/^\/\/(?=\/)/, '');
}

function connect(file: string, readonly: boolean, fold: Fold): Database.Database {
  const database = new Database(file, { readonly, timeout: busyTimeoutMilliseconds });
  database.pragma('foreign_keys = ON');
  database.pragma('cache_size = -65536');
  registerFunctions(database, fold);
  return database;
}

/** @param error SQLite's own tells neither the file nor what was tried */
export function cannotOpen(file: string, error: unknown): unknown {
  if (!(error instanceof Database.SqliteError || error instanceof TypeError)) return error;
  return new Error(`Cannot open the database ${file}: ${error.message}`, { cause: error });
}
