import { fastifyPlugin } from 'fastify-plugin';
import type { Database } from '../dialect/database.js';
import type { ServedDatabase } from '../dialect/driver.js';
import { observedExecutor } from '../dialect/observed-executor.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { setting } from '../protocol/environment.js';
import { fold, foldWithoutAccents } from '../protocol/fold.js';
import { chooseDatabase } from './choose-database.js';
import type { ServerSetup } from './create-server.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly database: Database;
    /** Every dataclass of the model. */
    readonly definitions: readonly DataclassDefinition[];
  }
}

export interface DatabaseOptions {
  /** The databases that the server takes; the first is the default. */
  readonly databases: readonly ServedDatabase[];
  readonly definitions: readonly DataclassDefinition[];
}

/** Opens the database that `DATABASE_URL` names; the schema of the model is created in it, or compared. */
export const database = fastifyPlugin<DatabaseOptions>(
  async (app, options) => {
    const { setup } = app;
    const opened = await open(options, setup);
    setup.closeAtEnd(() => opened.executor.close());
    for (const each of opened.added ?? []) setup.log.info(`In the database, ${each}.`);
    app.decorate('database', opened);
    app.decorate('definitions', options.definitions);
  },
  { name: 'drs-database' },
);

/** @throws Error that says why, when it cannot be opened or is none that the server takes */
async function open(
  { definitions, databases }: DatabaseOptions,
  { settings, limits, environment, options, log }: ServerSetup,
): Promise<Database> {
  const inEnvironment = setting(environment, 'DATABASE_URL', '');
  const given = options.databaseUrl ?? (inEnvironment === '' ? undefined : inEnvironment);
  const chosen = chooseDatabase(databases, given);
  const textFold = settings.accentInsensitive ? foldWithoutAccents : fold;
  const hasVectors = definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && each.type === 'vector'),
  );
  const opened = await chosen.driver.open(chosen.url, chosen.schema, textFold, {
    hasVectors,
    queryTimeout: limits.queryTimeout,
    environment,
    log: (words) => {
      log.info(words);
    },
  });
  const { onStatement } = options;
  return onStatement === undefined
    ? opened
    : { ...opened, executor: observedExecutor(opened.executor, onStatement) };
}
