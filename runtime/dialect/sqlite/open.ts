import Database from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import { SchemaMismatchError, SchemaPendingError } from '../schema-mismatch.js';
import { DatabaseFile } from './database-file.js';
import { unusableDriver } from './errors.js';
import { registerFunctions } from './functions.js';
import type { LoadVectors } from './vector-extension.js';

/** The two connections of a server: one writes, the other reads and sees committed data only. */
export interface SqliteConnections {
  readonly writer: Database.Database;
  /** Identical to `writer` for a database in memory, which a second connection cannot see. */
  readonly reader: Database.Database;
  /** Absent for a database in memory. */
  readonly file: DatabaseFile | undefined;
  /** The path of the file. */
  readonly path: string | undefined;
}

/** `full`: a commit reaches the disk before it is acknowledged. `normal`: a power loss may lose the last commits. */
export type Synchronous = 'normal' | 'full';

/** Examines a database before anything in it changes; throws to refuse it. */
export type Prepare = (database: Database.Database) => void;

/** How long a start or a read waits for another process that locks the database. */
const busyTimeoutMilliseconds = 5_000;

const readerCacheKibibytes = 16_384;

/** The maximum of SQLite. */
const readerMappedBytes = 0x7fff_0000;

/**
 * Opens the database of a `DATABASE_URL`: `sqlite:./data.sqlite`, `sqlite:/absolute/path` or `sqlite::memory:`.
 * @param synchronous for a database in a file
 * @param loadVectors only for a model with vectors
 * @throws Error that names the path if it cannot be opened; and what `prepare` throws
 */
export function openConnections(
  url: string,
  fold: Fold,
  synchronous: Synchronous,
  prepare: Prepare,
  loadVectors?: LoadVectors,
): SqliteConnections {
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
    // The executor waits instead and keeps serving reads.
    writer.pragma('busy_timeout = 0');
    const reader = open(true);
    // SQLite opens its files at the first read.
    reader.pragma('schema_version');
    return { writer, reader, file: new DatabaseFile(file), path: file };
  } catch (error) {
    writer?.close();
    if (error instanceof SchemaMismatchError || error instanceof SchemaPendingError) throw error;
    throw cannotOpen(file, error);
  }
}

/** Opens a further connection to a database that a server has open, in another process. */
export function openReader(
  file: string,
  fold: Fold,
  loadVectors: LoadVectors | undefined,
): Database.Database {
  try {
    const database = connect(file, true, fold);
    // Long reads scan whole tables: memory-mapped pages spare them a copy and a system call for each page. A read
    // error then ends the process, which is this reader only.
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
      `DATABASE_URL is ${JSON.stringify(url)}; this server accepts sqlite:<path> or sqlite::memory:.`,
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

/** @param error of SQLite; its message names neither the file nor the operation */
export function cannotOpen(file: string, error: unknown): unknown {
  const unusable = unusableDriver(error);
  if (unusable !== undefined) return unusable;
  if (!(error instanceof Database.SqliteError || error instanceof TypeError)) return error;
  return new Error(`Cannot open the database ${file}: ${error.message}`, { cause: error });
}
