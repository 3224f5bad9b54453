import { type Environment, setting } from '../../protocol/environment.js';
import type { DatabaseDriver } from '../driver.js';
import { migrateOptions } from '../schema/start.js';
import { copyPostgres, openPostgres, planPostgres } from './open-database.js';

/** Databases of a PostgreSQL server. */
export const postgresDriver: DatabaseDriver = {
  schemes: ['postgres', 'postgresql'],
  urls: 'postgres://<user>:<password>@<host>:<port>/<database>',
  open: (url, schema, fold, { queryTimeout, environment, data, log }) => {
    const start = {
      migration: migrateOptions(environment),
      ...(data === undefined ? {} : { data }),
      ...(log === undefined ? {} : { log }),
    };
    const options = { queryTimeout, size: poolSize(environment) };
    return openPostgres(url, schema, fold, options, start);
  },
  plan: planPostgres,
  copy: copyPostgres,
};

/**
 * Connections at once, from `DATABASE_POOL`. Each is a process of PostgreSQL's, which takes 100 unless it is told otherwise.
 * @throws Error that names `DATABASE_POOL`, when it is no whole number of at least 2
 */
function poolSize(environment: Environment): number {
  const text = setting(environment, 'DATABASE_POOL', '10');
  const size = Number(text);
  // One more than transactions have, which may read beside themselves.
  if (/^\d+$/.test(text) && Number.isSafeInteger(size) && size >= 2) return size;
  throw new Error(
    `DATABASE_POOL is ${JSON.stringify(text)}; it must be a whole number of at least 2.`,
  );
}
