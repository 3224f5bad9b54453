import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import type { Database } from '../database.js';
import { type Fold, foldWithoutAccents } from '../../protocol/fold.js';
import type { DataOptions } from '../schema/migrate-data.js';
import { SchemaPendingError } from '../schema-mismatch.js';
import {
  migrateOptions,
  schemaHash,
  type StartOptions,
  usualMigration,
  waitMilliseconds,
} from '../schema-version.js';
import { sqliteDialect } from './dialect.js';
import { SqliteExecutor } from './executor.js';
import type { Adapted } from './migration/adapt.js';
import {
  type SqliteConnections,
  databaseFile,
  openConnections,
  type Prepare,
  type Synchronous,
} from './open.js';
import { Placements } from './readers/placement.js';
import type { ReaderPool } from './readers/reader-pool.js';
import { WriteAheadLog } from './database-file.js';
import { SqliteSchema } from './schema.js';
import { SqliteState } from './state.js';
import { vectorExtension } from './vector-extension.js';
import { availableParallelism } from 'node:os';
import { readSetting } from '../../protocol/environment.js';
import type { DatabaseDriver } from '../driver.js';

/** The default number of processes for long reads. */
const usualReaders = 2;

/** The number of attempts, 6 seconds each, that a start makes while another process locks the database. */
const mostBusy = 100;

interface OpenOptions {
  readonly hasVectors?: boolean;
  readonly synchronous?: Synchronous;
  /** Maximum number of processes for long reads. */
  readonly readers?: number;
  /** Milliseconds that a statement may run; no limit if absent or `null`. */
  readonly queryTimeout?: number | null;
  /** What the start may do to the schema; by default it migrates it to the model. */
  readonly migration?: StartOptions;
  /** What the server knows about its data in addition to their schema. */
  readonly data?: DataOptions | undefined;
  /** Called with what the start finds and waits for. */
  readonly log?: ((words: string) => void) | undefined;
}

/**
 * Opens the database of a `DATABASE_URL`. Creates its schema, or adds what an existing one lacks.
 * @param options.hasVectors whether the model has vector attributes
 * @throws Error if it cannot be opened, SchemaMismatchError if it belongs to another model
 */
export async function openDatabase(
  url: string,
  schema: readonly string[],
  fold: Fold,
  options: OpenOptions = {},
): Promise<Database> {
  const { hasVectors, synchronous = 'normal', log, migration = usualMigration } = options;
  const { data = { forms: [] } } = options;
  const loadVectors = hasVectors === true ? await vectorExtension() : undefined;
  const open = (prepare: Prepare): Promise<SqliteConnections> =>
    whenFree(() => openConnections(url, fold, synchronous, prepare, loadVectors), log);
  const wanted = {
    path: databaseFile(url),
    statements: schema,
    forms: data.forms,
    migrations: data.migrations?.names ?? [],
    fold,
    migration,
    data,
    log,
  };
  const { connections, added } = await openAsModel(wanted, open);
  try {
    const uniqueId = connections.writer
      .prepare(`select "value" from "__datastore" where "name" = 'uniqueID'`)
      .pluck()
      .get();
    return {
      dialect: sqliteDialect(fold),
      executor: executorOf(connections, fold, options),
      uniqueId: String(uniqueId),
      schemaHash: schemaHash(schema),
      isOfOneProcess: connections.file === undefined,
      state: stateBeside(connections.path),
      added,
    };
  } catch (error) {
    connections.reader.close();
    connections.writer.close();
    throw error;
  }
}

/** The schema or the values of the database are not those of the model, or migrations may have open steps. */
class OtherSchemaError extends Error {}

/** Most starts find the database as the last one left it, and need nothing that changes a schema. */
async function openAsModel(
  wanted: Adapted,
  open: (prepare: Prepare) => Promise<SqliteConnections>,
): Promise<{ readonly connections: SqliteConnections; readonly added: readonly string[] }> {
  try {
    const connections = await open((database) => {
      requireCurrent(database, wanted);
    });
    return { connections, added: [] };
  } catch (error) {
    if (!(error instanceof OtherSchemaError)) throw error;
  }
  const { openAdapted } = await import('./migration/adapt.js');
  return openAdapted(wanted, open);
}

/** Creates the schema in an empty database. @throws OtherSchemaError */
function requireCurrent(database: Sqlite.Database, wanted: Adapted): void {
  const { path, migrations, migration } = wanted;
  const schema = new SqliteSchema(database, wanted);
  if (migrations.length === 0 || path === ':memory:') {
    if (schema.isCurrent) return;
    if (migration.mode === 'auto' && schema.isEmpty) {
      // Another process may start at the same time.
      const create = (): boolean => {
        if (schema.isEmpty) schema.create();
        return schema.isCurrent;
      };
      if (database.transaction(create).immediate()) return;
    }
  }
  throw new OtherSchemaError();
}

function stateFile(path: string): string {
  return `${resolve(path)}-state`;
}

/** The state is in a file beside the database: sessions change far more often than their users notice. */
function stateBeside(path: string | undefined): Database['state'] {
  if (path === undefined) return undefined;
  const file = stateFile(path);
  return {
    isForMachines: false,
    // Synchronous work whose errors reject the promise.
    open: (schema) => Promise.resolve().then(() => SqliteState.open(file, schema)),
  };
}

/** Waits while another server changes the database or has to change it. */
async function whenFree(
  open: () => SqliteConnections,
  log: OpenOptions['log'],
): Promise<SqliteConnections> {
  let reported = '';
  for (let attempt = 1; ; attempt += 1) {
    try {
      return open();
    } catch (error) {
      const words = waitingFor(error);
      if (words === undefined || (attempt > mostBusy && !(error instanceof SchemaPendingError))) {
        throw error;
      }
      if (words !== reported) log?.(words);
      reported = words;
      await setTimeout(waitMilliseconds);
    }
  }
}

function waitingFor(error: unknown): string | undefined {
  if (error instanceof SchemaPendingError) return error.message;
  const cause = error instanceof Error ? error.cause : undefined;
  const isBusy = cause instanceof Sqlite.SqliteError && cause.code.startsWith('SQLITE_BUSY');
  return isBusy
    ? 'Another process changes the database: the server waits until it has ended.'
    : undefined;
}

function executorOf(
  connections: SqliteConnections,
  fold: Fold,
  options: OpenOptions,
): SqliteExecutor {
  const { hasVectors = false, readers = usualReaders, queryTimeout } = options;
  const { reader, writer, file, path } = connections;
  if (file === undefined || path === undefined) {
    if (queryTimeout == null) return new SqliteExecutor(connections);
    throw new Error(
      'The limit queryTimeout is set, and the database is in memory, where a statement cannot be stopped: name a file in DATABASE_URL, or remove the limit.',
    );
  }
  const longest = queryTimeout ?? Infinity;
  const settings = {
    file: resolve(path),
    isFoldedWithoutAccents: fold === foldWithoutAccents,
    hasVectors,
  };
  const openPool = async (): Promise<ReaderPool> => {
    const { ReaderPool } = await import('./readers/reader-pool.js');
    const log = new WriteAheadLog(writer, path);
    return new ReaderPool(settings, { processes: readers, longest }, file, log);
  };
  return new SqliteExecutor(connections, {
    offloading: { placements: new Placements(reader, longest !== Infinity), openPool },
    longest,
  });
}

/** The driver for databases in a file or in memory. */
export const sqliteDriver: DatabaseDriver = {
  schemes: ['sqlite'],
  urls: 'sqlite:<path> or sqlite::memory:',
  open: (url, schema, fold, { hasVectors, queryTimeout, environment, data, log }) =>
    openDatabase(url, schema, fold, {
      hasVectors,
      queryTimeout,
      synchronous: readSetting(environment, 'SQLITE_SYNCHRONOUS'),
      // One reader is reserved for queries known to finish within a second, so with two, a single
      // long statement would delay all new queries.
      readers: readSetting(environment, 'READERS') ?? Math.max(3, availableParallelism()),
      migration: migrateOptions(environment),
      data,
      log,
    }),
  plan: async (url, schema, fold, data) => {
    const { planMigrations } = await import('./migration/adapt.js');
    return planMigrations({ path: databaseFile(url), statements: schema, fold, data });
  },
  copy: async (url, target, options) => {
    const { copyDatabase } = await import('./migration/adapt.js');
    return copyDatabase(url, target, options);
  },
  withState: async (url, schema, use) => {
    const file = stateFile(databaseFile(url));
    if (!existsSync(file)) return;
    const state = SqliteState.open(file, schema);
    try {
      await use(state);
    } finally {
      await state.close();
    }
  },
};
