import type { ServedDatabase } from '../../runtime/dialect/driver.js';
import { postgresDriver } from '../../runtime/dialect/postgres/open.js';
import { sqliteDriver } from '../../runtime/dialect/sqlite/open-database.js';
import { postgresVectors } from '../../runtime/vectors/postgres.js';
import { sqliteVectors } from '../../runtime/vectors/sqlite.js';
import { postgresDatabase } from './postgres.js';
import { isOnPostgres } from './server.js';

/**
 * The parts of a server that a test assembles with the runtime of the repository instead of the
 * emitted one.
 */
export interface TestServed {
  readonly databases: readonly ServedDatabase[];
  readonly databaseUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Call it after the end of the server. */
  readonly drop: () => Promise<void>;
}

/**
 * Creates an empty database for such a server: SQLite, unless the tests run on PostgreSQL.
 * @param load imports a generated module of the model by name
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
