import type { Database } from '../database.js';
import type { Fold } from '../../protocol/fold.js';
import { sqliteDialect } from './dialect.js';
import { SqliteExecutor } from './executor.js';
import { openConnections, type Synchronous } from './open.js';
import { prepareSchema } from './schema.js';
import { type LoadVectors, vectorExtension } from './vector-extension.js';

export interface OpenOptions {
  readonly hasVectors?: boolean;
  readonly synchronous?: Synchronous;
}

/**
 * Opens the database of a `DATABASE_URL` and creates its schema, or compares it with the one that is there.
 * @param options.hasVectors whether the model has vector attributes
 * @throws Error when it cannot be opened, SchemaMismatchError when it was made for another model
 */
export async function openDatabase(
  url: string,
  schema: readonly string[],
  fold: Fold,
  { hasVectors = false, synchronous = 'normal' }: OpenOptions = {},
): Promise<Database> {
  return open(url, schema, fold, synchronous, hasVectors ? await vectorExtension() : undefined);
}

function open(
  url: string,
  schema: readonly string[],
  fold: Fold,
  synchronous: Synchronous,
  loadVectors: LoadVectors | undefined,
): Database {
  const connections = openConnections(
    url,
    fold,
    synchronous,
    (database) => {
      prepareSchema(database, schema, fold);
    },
    loadVectors,
  );
  try {
    const uniqueId = connections.writer
      .prepare(`select "value" from "__datastore" where "name" = 'uniqueID'`)
      .pluck()
      .get();
    return {
      dialect: sqliteDialect(fold),
      executor: new SqliteExecutor(connections),
      uniqueId: String(uniqueId),
    };
  } catch (error) {
    connections.reader.close();
    connections.writer.close();
    throw error;
  }
}
