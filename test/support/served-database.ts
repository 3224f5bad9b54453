import type { ServedDatabase } from '../../runtime/dialect/driver.js';
import { postgresDriver } from '../../runtime/dialect/postgres/open.js';
import { sqliteDriver } from '../../runtime/dialect/sqlite/open-database.js';
import { postgresVectors } from '../../runtime/vectors/postgres.js';
import { sqliteVectors } from '../../runtime/vectors/sqlite.js';
import { postgresDatabase } from './postgres.js';
import { isOnPostgres } from './server.js';

/** What a server takes whose parts a test puts together, with the repository's own runtime in the place of the emitted one. */
export interface TestServed {
  readonly databases: readonly ServedDatabase[];
  readonly databaseUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  /** To be called when the server has ended. */
  readonly drop: () => Promise<void>;
}

/**
 * An empty database for such a server: SQLite, unless tests run on PostgreSQL.
 * @param load a module that was generated for the model, by its name
 */
export async function servedDatabase(
  load: (name: string) => Promise<object>,
  sqliteUrl: string,
): Promise<TestServed> {
  const kind = isOnPostgres ? 'postgres' : 'sqlite';
  const schemas = (await load(`schema/${kind}`)) as Readonly<Record<string, readonly string[]>>;
  const schema = schemas[`${kind}Schema`] as readonly string[];
  const served = (driver: ServedDatabase['driver']): readonly ServedDatabase[] => [
    {
      driver,
      schema,
      defaultUrl: sqliteUrl,
      vectors: isOnPostgres ? postgresVectors : sqliteVectors,
    },
  ];
  if (!isOnPostgres) {
    return {
      databases: served(sqliteDriver),
      databaseUrl: sqliteUrl,
      environment: {},
      drop: () => Promise.resolve(),
    };
  }
  const { url, drop } = await postgresDatabase();
  const environment = { DATABASE_POOL: '3' };
  return { databases: served(postgresDriver), databaseUrl: url, environment, drop };
}
