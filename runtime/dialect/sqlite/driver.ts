import { type Environment, setting } from '../../protocol/environment.js';
import type { DatabaseDriver } from '../driver.js';
import type { Synchronous } from './open.js';
import { openDatabase } from './open-database.js';

/** Databases in a file, or in the server's memory. */
export const sqliteDriver: DatabaseDriver = {
  schemes: ['sqlite'],
  urls: 'sqlite:<path> or sqlite::memory:',
  open: (url, schema, fold, { hasVectors, environment }) =>
    openDatabase(url, schema, fold, { hasVectors, synchronous: synchronousFrom(environment) }),
};

/** @throws Error that names `SQLITE_SYNCHRONOUS`, when it is neither `normal` nor `full` */
function synchronousFrom(environment: Environment): Synchronous {
  const text = setting(environment, 'SQLITE_SYNCHRONOUS', 'normal');
  if (text === 'normal' || text === 'full') return text;
  throw new Error(`SQLITE_SYNCHRONOUS is ${JSON.stringify(text)}; it must be normal or full.`);
}
