import type { Database } from '../dialect/database.js';
import { observedExecutor } from '../dialect/observed-executor.js';
import { setting } from '../protocol/environment.js';
import { fold, foldWithoutAccents } from '../protocol/fold.js';
import type { AppOptions, GeneratedModel } from './app-options.js';
import { chooseDatabase } from './choose-database.js';
import type { Limits } from './settings.js';

type OpenedModel = Pick<GeneratedModel, 'definitions' | 'databases' | 'settings'>;

type OpeningOptions = Pick<AppOptions, 'databaseUrl' | 'environment' | 'onStatement'>;

/**
 * Opens the database that `DATABASE_URL` names; the schema of the model is created in it, or compared.
 * @throws Error that says why, when it cannot be opened or is none that the server takes
 */
export async function openObserved(
  { definitions, databases, settings }: OpenedModel,
  { queryTimeout }: Pick<Limits, 'queryTimeout'>,
  options: OpeningOptions,
): Promise<Database> {
  const { environment = process.env, onStatement } = options;
  const inEnvironment = setting(environment, 'DATABASE_URL', '');
  const given = options.databaseUrl ?? (inEnvironment === '' ? undefined : inEnvironment);
  const chosen = chooseDatabase(databases, given);
  const textFold = settings.accentInsensitive ? foldWithoutAccents : fold;
  const hasVectors = definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && each.type === 'vector'),
  );
  const database = await chosen.driver.open(chosen.url, chosen.schema, textFold, {
    hasVectors,
    queryTimeout,
    environment,
  });
  return onStatement === undefined
    ? database
    : { ...database, executor: observedExecutor(database.executor, onStatement) };
}
