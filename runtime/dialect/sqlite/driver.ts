import { availableParallelism } from 'node:os';
import { type Environment, setting } from '../../protocol/environment.js';
import type { DatabaseDriver } from '../driver.js';
import { migrateOptions } from '../schema/start.js';
import { copyDatabase } from './copy.js';
import type { Synchronous } from './open.js';
import { openDatabase, planDatabase } from './open-database.js';

/** Databases in a file, or in the server's memory. */
export const sqliteDriver: DatabaseDriver = {
  schemes: ['sqlite'],
  urls: 'sqlite:<path> or sqlite::memory:',
  open: (url, schema, fold, { hasVectors, queryTimeout, environment, data, log }) =>
    openDatabase(url, schema, fold, {
      hasVectors,
      queryTimeout,
      synchronous: synchronousFrom(environment),
      readers: readersFrom(environment),
      migration: migrateOptions(environment),
      ...(data === undefined ? {} : { data }),
      ...(log === undefined ? {} : { log }),
    }),
  plan: planDatabase,
  copy: copyDatabase,
};

/** @throws Error that names `SQLITE_SYNCHRONOUS`, when it is neither `normal` nor `full` */
function synchronousFrom(environment: Environment): Synchronous {
  const text = setting(environment, 'SQLITE_SYNCHRONOUS', 'normal');
  if (text === 'normal' || text === 'full') return text;
  throw new Error(`SQLITE_SYNCHRONOUS is ${JSON.stringify(text)}; it must be normal or full.`);
}

/**
 * How many processes may run reads that take long, beside the server's own: as many as there are cores, three at least, where
 * `READERS` says nothing. With two, one statement that runs for long would hold up all that nothing is known of yet: the last one
 * is kept for what is known to be short.
 * @throws Error that names `READERS`, when it is not a positive whole number
 */
function readersFrom(environment: Environment): number {
  const text = setting(environment, 'READERS', '');
  if (text === '') return Math.max(3, availableParallelism());
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`READERS is ${JSON.stringify(text)}; it must be a positive whole number.`);
}
