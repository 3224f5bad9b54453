import type { Database } from '../dialect/database.js';
import { observedExecutor, type StatementObserver } from '../dialect/observed-executor.js';
import { openDatabase } from '../dialect/sqlite/open-database.js';
import { fold, foldWithoutAccents } from '../protocol/fold.js';
import type { GeneratedModel } from './app-options.js';
import { type Environment, synchronousFrom } from './settings.js';

type OpenedModel = Pick<GeneratedModel, 'definitions' | 'schema' | 'settings'>;

/**
 * Opens the database of a model, whose schema is created or compared.
 * @param observe called with each statement before it runs
 */
export async function openObserved(
  url: string,
  { definitions, schema, settings }: OpenedModel,
  environment: Environment,
  observe: StatementObserver | undefined,
): Promise<Database> {
  const textFold = settings.accentInsensitive ? foldWithoutAccents : fold;
  const synchronous = synchronousFrom(environment);
  const hasVectors = definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && each.type === 'vector'),
  );
  const database = await openDatabase(url, schema, textFold, { hasVectors, synchronous });
  return observe === undefined
    ? database
    : { ...database, executor: observedExecutor(database.executor, observe) };
}
