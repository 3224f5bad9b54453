import type { Fold } from '../../protocol/fold.js';
import type { Database } from '../database.js';
import type { CopyOptions, DatabaseCopy } from '../driver.js';
import type { DataOptions } from '../schema/migrate-data.js';
import type { PoolOptions } from './connect.js';
import { postgresDialect } from './dialect.js';
import { expressionFunctions } from './expression-functions.js';
import { postgresFunctions } from './functions.js';
import { copyConnection, openConnections, planConnection } from './open.js';
import type { WantedSchema } from './schema.js';

/**
 * Opens the database of a `DATABASE_URL` such as `postgres://user:password@host:5432/name`, and creates its schema, or compares
 * it with the one that is there.
 * @param schema one SQL statement each
 * @throws Error that says why, when it cannot be opened; SchemaMismatchError when it was made for another model
 */
export async function openPostgres(
  url: string,
  schema: readonly string[],
  fold: Fold,
  options: Omit<PoolOptions, 'url'>,
  start: Pick<WantedSchema, 'migration' | 'log'> & { readonly data?: DataOptions } = {},
): Promise<Database> {
  const { data, ...rest } = start;
  const wanted = {
    ...rest,
    ...wantedOf(schema),
    ...(data === undefined ? {} : { data: { ...data, fold } }),
  };
  const opened = await openConnections({ ...options, url }, wanted);
  return { dialect: postgresDialect(fold), ...opened };
}

/** What migrations would do, in words. */
export function planPostgres(
  url: string,
  schema: readonly string[],
  fold: Fold,
  data: DataOptions,
): Promise<readonly string[]> {
  return planConnection(url, { ...wantedOf(schema), data: { ...data, fold } });
}

/** Copies what servers have made in the schema that a `DATABASE_URL` names to a new one beside it. */
export function copyPostgres(
  url: string,
  target: string,
  { log }: CopyOptions,
): Promise<DatabaseCopy> {
  return copyConnection(url, { ...wantedOf([]), name: target, log });
}

function wantedOf(statements: readonly string[]): Pick<WantedSchema, 'statements' | 'functions'> {
  return { statements, functions: [...postgresFunctions(), ...expressionFunctions] };
}
