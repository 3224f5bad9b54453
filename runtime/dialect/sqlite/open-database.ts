import { resolve } from 'node:path';
import type { Database } from '../database.js';
import { type Fold, foldWithoutAccents } from '../../protocol/fold.js';
import { sqliteDialect } from './dialect.js';
import { SqliteExecutor } from './executor.js';
import { type Connections, openConnections, type Prepare, type Synchronous } from './open.js';
import { PlacedReads } from './readers/placed-reads.js';
import { ReaderPool } from './readers/reader-pool.js';
import { WriteAheadLog } from './readers/write-ahead-log.js';
import { prepareSchema } from './schema.js';
import { vectorExtension } from './vector-extension.js';

/** How many processes there may be for reads that take long, where nothing is said. */
const usualReaders = 2;

export interface OpenOptions {
  readonly hasVectors?: boolean;
  readonly synchronous?: Synchronous;
  /** How many processes there may be for reads that take long. */
  readonly readers?: number;
  /** Milliseconds that a statement may run; none, or `null`, for no limit. */
  readonly queryTimeout?: number | null;
}

/**
 * Opens the database of a `DATABASE_URL` and creates its schema, or adds to the one that is there what it lacks.
 * @param options.hasVectors whether the model has vector attributes
 * @throws Error when it cannot be opened, SchemaMismatchError when it was made for another model
 */
export async function openDatabase(
  url: string,
  schema: readonly string[],
  fold: Fold,
  options: OpenOptions = {},
): Promise<Database> {
  const loadVectors = options.hasVectors === true ? await vectorExtension() : undefined;
  let added: readonly string[] = [];
  const prepare: Prepare = (database) => {
    added = prepareSchema(database, schema, fold);
  };
  const connections = openConnections(
    url,
    fold,
    options.synchronous ?? 'normal',
    prepare,
    loadVectors,
  );
  try {
    const uniqueId = connections.writer
      .prepare(`select "value" from "__datastore" where "name" = 'uniqueID'`)
      .pluck()
      .get();
    return {
      dialect: sqliteDialect(fold),
      executor: executorOf(connections, fold, options),
      uniqueId: String(uniqueId),
      isOfOneProcess: connections.file === undefined,
      added,
    };
  } catch (error) {
    connections.reader.close();
    connections.writer.close();
    throw error;
  }
}

function executorOf(connections: Connections, fold: Fold, options: OpenOptions): SqliteExecutor {
  const { hasVectors = false, readers = usualReaders, queryTimeout } = options;
  const { reader, writer, file, path } = connections;
  if (file === undefined || path === undefined) {
    if (queryTimeout == null) return new SqliteExecutor(connections);
    throw new Error(
      'There is a limit queryTimeout, and the database is in memory, where a statement cannot be stopped: name a file in DATABASE_URL, or take the limit away.',
    );
  }
  const longest = queryTimeout ?? Infinity;
  const settings = {
    file: resolve(path),
    isFoldedWithoutAccents: fold === foldWithoutAccents,
    hasVectors,
  };
  const pool = new ReaderPool(
    settings,
    { processes: readers, longest },
    file,
    new WriteAheadLog(writer, path),
  );
  return new SqliteExecutor(connections, {
    reads: new PlacedReads(reader, pool, longest),
    longest,
  });
}
