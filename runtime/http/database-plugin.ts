import { fastifyPlugin } from 'fastify-plugin';
import { sql } from 'kysely';
import {
  type Database,
  observedExecutor,
  wrappedExecutor,
  wrappedState,
} from '../dialect/database.js';
import type { ServedDatabase, UseState } from '../dialect/driver.js';
import type { DataOptions } from '../dialect/schema/migrate-data.js';
import type { Executor } from '../dialect/executor.js';
import { settledWithin } from '../dialect/settled-within.js';
import { announceServer } from '../dialect/presence.js';
import type { Trial } from '../dialect/schema/trial.js';
import type { StateSchema } from '../dialect/state-database.js';
import type { DataclassDefinition, StorageDefinition } from '../protocol/definition.js';
import { type Environment, readSetting } from '../protocol/environment.js';
import { fold, type Fold, foldWithoutAccents } from '../protocol/fold.js';
import type { ServerSetup } from './create-server.js';
import { sendJson } from './reply.js';
import { followRequests } from './request-log.js';
import type { Settings } from './settings.js';
import { slowStatementsLogged } from './slow-statements.js';
import { isStopping } from './stop.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly database: Database & { readonly end: () => Promise<void> };
    /** Every dataclass of the model. */
    readonly definitions: readonly DataclassDefinition[];
  }
}

interface DatabaseOptions {
  /** The databases that the server supports; the first is the default. */
  readonly databases: readonly ServedDatabase[];
  readonly definitions: readonly DataclassDefinition[];
}

/** Opens the database that `DATABASE_URL` names; the schema of the model is created in it, or compared. */
export const database = fastifyPlugin<DatabaseOptions>(
  async (app, options) => {
    const { setup } = app;
    const limit = readSetting(setup.environment, 'SLOW_QUERY_MS');
    const opened = await open(options, setup);
    const leave = opened.isOfOneProcess === true ? undefined : announceServer(opened);
    for (const each of opened.added ?? []) setup.log.info(`In the database, ${each}.`);
    if (limit !== undefined) followRequests(app);
    const wrappers = [
      ...(limit === undefined ? [] : [slowStatementsLogged(opened, limit, setup.log)]),
      ...setup.statementWrappers,
    ];
    const { state } = opened;
    app.decorate('database', {
      ...opened,
      executor: wrappers.reduce<Executor>(
        (executor, wrap) => wrappedExecutor(executor, wrap),
        opened.executor,
      ),
      state: state === undefined ? undefined : wrappers.reduce(wrappedState, state),
      end: async () => {
        await leave?.();
        await opened.executor.close();
      },
    });
    app.decorate('definitions', options.definitions);
    const isReady = readiness(opened);
    app.get('/health/ready', async (_request, reply) => {
      if (!isStopping() && (await isReady())) return sendJson(reply, '{"ok":true}');
      return sendJson(reply.code(503).header('retry-after', '1'), '{"ok":false}');
    });
  },
  { name: 'drs-database' },
);

/** How long the database may take to answer a server that asks whether it is there. */
const longestAnswer = 5_000;

/** Asks the database whether it is there, once for all who ask at a time. */
function readiness({ dialect, executor }: Database): () => Promise<boolean> {
  const statement = dialect.compile(sql`select 1`);
  let check: Promise<unknown> | undefined;
  return async () => {
    let isReady = false;
    check ??= Promise.resolve()
      .then(() => executor.value(statement, []))
      .finally(() => {
        check = undefined;
      });
    const answered = check.then(() => {
      isReady = true;
    });
    await settledWithin(answered, longestAnswer);
    return isReady;
  };
}

/** How a database is opened, and what may be done to it then. */
export interface OpeningOptions extends DatabaseOptions {
  readonly accentInsensitive: boolean;
  readonly queryTimeout: number | null;
  readonly environment: Environment;
  readonly databaseUrl?: string | undefined;
  readonly withContracts?: boolean;
  /** Set to open a copy of the database for a trial of migrations. */
  readonly trial?: Trial;
  readonly log: (words: string) => void;
}

/** @throws Error that says why, when it cannot be opened or is none that the server takes */
export async function openDatabase(opening: OpeningOptions): Promise<Database> {
  const { chosen, textFold, hasVectors, data } = chosenFor(opening);
  const { vectors, audit } = chosen;
  if (hasVectors && vectors === undefined) {
    throw new Error(
      'The model has vectors: each of the databases needs what compares them, of #runtime/vectors.',
    );
  }
  const { queryTimeout, environment, log } = opening;
  const options = { hasVectors, queryTimeout, environment, data, log };
  const opened = await chosen.driver.open(chosen.url, chosen.schema, textFold, options);
  return { ...opened, dialect: { ...opened.dialect, vectors, audit } };
}

interface ChosenOptions {
  readonly chosen: ChosenDatabase;
  readonly textFold: Fold;
  readonly hasVectors: boolean;
  readonly data: DataOptions;
}

export function chosenFor(opening: OpeningOptions): ChosenOptions {
  const { definitions, databases, environment, databaseUrl, trial } = opening;
  const given = databaseUrl ?? readSetting(environment, 'DATABASE_URL');
  const stored = definitions.flatMap((dataclass) =>
    dataclass.attributes.flatMap((each) =>
      each.kind === 'storage' ? [{ dataclass, attribute: each }] : [],
    ),
  );
  const forms = stored.map(({ dataclass: { table, key, attributes }, attribute }) => ({
    table,
    column: attribute.column,
    form: formOf(attribute),
    isKey:
      attribute.name === key ||
      attributes.some(
        (each) => each.kind === 'relatedEntity' && each.foreignKey === attribute.name,
      ),
  }));
  const chosen = chooseDatabase(databases, given);
  const { migrations } = chosen;
  return {
    chosen,
    textFold: opening.accentInsensitive ? foldWithoutAccents : fold,
    hasVectors: stored.some(({ attribute }) => attribute.type === 'vector'),
    data: { forms, migrations, withContracts: opening.withContracts === true, trial },
  };
}

/** What the stored values of an attribute are, as far as the type of its column does not say it. */
function formOf({ type, dateOnly, scale }: StorageDefinition): string {
  if (type === 'decimal') return `decimal with scale ${scale ?? 0}`;
  return dateOnly === true ? 'date only' : type;
}

async function open(
  options: DatabaseOptions,
  { settings, limits, environment, options: given, log }: ServerSetup,
): Promise<Database> {
  const opened = await openDatabase({
    ...options,
    accentInsensitive: settings.accentInsensitive,
    queryTimeout: limits.queryTimeout,
    environment,
    databaseUrl: given.databaseUrl,
    log: (words) => {
      log.info(words);
    },
  });
  const { onStatement } = given;
  return onStatement === undefined
    ? opened
    : { ...opened, executor: observedExecutor(opened.executor, onStatement) };
}

/** What a command needs of the server that it belongs to. */
export interface CommandOptions extends DatabaseOptions {
  readonly settings: Settings;
}

/** Opens the database for a command, not for requests: statements may take any time. */
export function openForCommand(
  options: CommandOptions,
  log: (words: string) => void,
): Promise<Database> {
  return openDatabase(commandOpening(options, log));
}

export function commandOpening(
  { settings, ...options }: CommandOptions,
  log: (words: string) => void,
): OpeningOptions {
  return {
    ...options,
    accentInsensitive: settings.accentInsensitive,
    queryTimeout: null,
    environment: migrateEnvironment(process.env),
    log,
  };
}

/** What servers remember about their clients, for a command: see `DatabaseDriver.withState`. */
export function withServerState(
  databases: readonly ServedDatabase[],
  schema: StateSchema,
  use: UseState,
): Promise<void> {
  const url = readSetting(migrateEnvironment(process.env), 'DATABASE_URL');
  const chosen = chooseDatabase(databases, url);
  return chosen.driver.withState(chosen.url, schema, use);
}

/** Changes of the schema need the database itself: a pooler may give each statement another session. */
function migrateEnvironment(environment: Environment): Environment {
  const direct = readSetting(environment, 'DATABASE_DIRECT_URL');
  const url = direct === undefined ? {} : { DATABASE_URL: direct };
  return { ...environment, ...url, DATABASE_POOLER: '', MIGRATE: 'auto' };
}

/** A database that the server takes, and where it is. */
interface ChosenDatabase extends ServedDatabase {
  readonly url: string;
}

/**
 * The kind of database that a `DATABASE_URL` is one of.
 * @param databases those that the server takes; the first is the default
 * @param url `undefined` when none is given
 * @throws Error that says what the server takes
 */
function chooseDatabase(
  databases: readonly ServedDatabase[],
  url: string | undefined,
): ChosenDatabase {
  const [first] = databases;
  if (first === undefined) throw new Error('The server takes no database.');
  if (url === undefined) return { ...first, url: first.defaultUrl };
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')));
  const found = databases.find(({ driver }) => driver.schemes.includes(scheme));
  if (found !== undefined) return { ...found, url };
  const urls = databases.map(({ driver }) => driver.urls).join(', or ');
  throw new Error(
    `DATABASE_URL is ${JSON.stringify(withoutPassword(url))}; this server accepts ${urls}.`,
  );
}

/** What is told may stand in a log. */
function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^/?#:@]*):[^/?#]*@/, '$1:***@');
}
