import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { checkModel } from '../../generator/check/check-model.js';
import { emitServer } from '../../generator/emit/emit-server.js';
import type { Model } from '../../generator/model/model.js';
import { openPostgres } from '../../runtime/dialect/postgres/open.js';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { fold } from '../../runtime/protocol/fold.js';
import { builtRuntime } from './built-runtime.js';
import { importFrom } from './compiled-server.js';
import { postgresCopies, postgresDatabase, type TestDatabase } from './postgres.js';
import { runtimePaths, writeFiles } from './written-server.js';

// The parts that emitted servers declare, each with its own type.
declare module 'fastify' {
  interface FastifyInstance {
    readonly datastore: object;
  }
  interface FastifyRequest {
    readonly ds: object;
  }
}

export const packageRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * With `TEST_DATABASE=postgres` the servers of tests run on PostgreSQL, except those with a
 * database of their own.
 */
export const isOnPostgres = process.env['TEST_DATABASE'] === 'postgres';

const models = new Map<string, Model>();

/** Checks the text of a model that must be right; the same model for the same text. */
export function modelOf(text: string): Model {
  const known = models.get(text);
  if (known !== undefined) return known;
  const input = { file: 'model.yaml', text, readBeside: () => undefined };
  const { value, problems } = checkModel(input);
  if (value !== undefined) {
    models.set(text, value);
    return value;
  }
  throw new Error(problems.map((each) => `${each.path} ${each.code}: ${each.message}`).join('\n'));
}

/** By model, and what else the files of a server depend on. */
const writtenServers = new WeakMap<Model, Map<string, string>>();

/**
 * Writes the server of a model inside the repository, so that it finds the packages of the
 * repository.
 * @param written files that a user has written, by their paths in the server
 * @param runtimeFolder see `built-runtime.ts`
 * @returns its folder; the same for the same files
 */
export function writeServer(
  model: Model,
  written: Readonly<Record<string, string>> = {},
  runtimeFolder = builtRuntime(),
): string {
  const ofModel = writtenServers.get(model) ?? new Map<string, string>();
  writtenServers.set(model, ofModel);
  const key = JSON.stringify([written, runtimeFolder]);
  const known = ofModel.get(key);
  // Tests of random models remove their servers.
  if (known !== undefined && existsSync(known)) return known;
  const folder = newServer(model, written, runtimeFolder);
  ofModel.set(key, folder);
  return folder;
}

function newServer(
  model: Model,
  written: Readonly<Record<string, string>>,
  runtimeFolder: string,
): string {
  const databases: Model['databases'] = isOnPostgres ? ['postgres', 'sqlite'] : model.databases;
  const migrations = Object.keys(written).flatMap(
    (path) => /^src\/migrations\/(\d{4}-.*)\.ts$/.exec(path)?.[1] ?? [],
  );
  const input = {
    packageRoot,
    modelFileName: 'model.yaml',
    runtimeFolder: runtimePaths(runtimeFolder),
    migrations,
  };
  const emitted = emitServer({ ...model, databases }, input);
  const files = [
    ...emitted.filter(({ path }) => !Object.hasOwn(written, path)),
    ...Object.entries(written).map(([path, text]) => ({ path, text })),
  ];
  return writeFiles(join(packageRoot, '.tmp'), files);
}

interface GeneratedApp {
  readonly buildApp: (options: AppOptions) => FastifyInstance;
}

/**
 * Generates the server of a model and starts it in this process on an empty database, by default in
 * memory. It does not refuse requests because the machine of the tests is busy.
 * @param written see {@link writeServer}
 */
export async function serverOf(
  yaml: string | Model,
  options: AppOptions = {},
  written: Readonly<Record<string, string>> = {},
): Promise<FastifyInstance> {
  const folder = writeServer(typeof yaml === 'string' ? modelOf(yaml) : yaml, written);
  const { buildApp } = (await importFrom(folder, 'src/generated/app')) as GeneratedApp;
  const environment = { MAX_WAIT: '600000', ...options.environment };
  const settings = { logger: false, ...options, environment };
  return isOnPostgres && options.databaseUrl === undefined
    ? onPostgres(folder, buildApp, settings)
    : buildApp({ databaseUrl: 'sqlite::memory:', ...settings });
}

async function onPostgres(
  folder: string,
  buildApp: GeneratedApp['buildApp'],
  options: AppOptions,
): Promise<FastifyInstance> {
  const { url, drop } = await emptyDatabase(folder);
  // Many servers run at once in one test.
  const environment = { DATABASE_POOL: '3', ...options.environment };
  const app = buildApp({ ...options, databaseUrl: url, environment });
  await app.after();
  // Hooks run one after the other, the last one first. Connections that are still open are closed.
  app.addHook('onClose', drop);
  return app;
}

/** By the folder of each server that was started before. */
const copies = new Map<string, (() => Promise<TestDatabase>) | undefined>();

/**
 * A database without entities. From the second one of a server on, its tables are copied, which is
 * faster than creating them.
 */
function emptyDatabase(folder: string): Promise<TestDatabase> {
  if (!copies.has(folder)) {
    copies.set(folder, undefined);
    return postgresDatabase();
  }
  const known = copies.get(folder) ?? postgresCopies((url) => createSchema(folder, url));
  copies.set(folder, known);
  return known();
}

async function createSchema(folder: string, url: string): Promise<void> {
  const { postgresSchema } = (await importFrom(folder, 'src/generated/schema/postgres')) as {
    readonly postgresSchema: readonly string[];
  };
  const { executor } = await openPostgres(url, postgresSchema, fold, {
    queryTimeout: null,
    size: 2,
  });
  await executor.close();
}

/** The default limit of entities in one body. */
const batch = 1000;

/** Creates entities and returns the answers of the server; a refused one makes the test fail. */
export async function create(
  app: FastifyInstance,
  dataclass: string,
  entities: readonly object[],
): Promise<readonly Record<string, unknown>[]> {
  const created: Record<string, unknown>[] = [];
  for (let start = 0; start < entities.length; start += batch) {
    created.push(...(await createBatch(app, dataclass, entities.slice(start, start + batch))));
  }
  return created;
}

async function createBatch(
  app: FastifyInstance,
  dataclass: string,
  entities: readonly object[],
): Promise<readonly Record<string, unknown>[]> {
  const response = await app.inject({
    method: 'POST',
    url: `/rest/${encodeURIComponent(dataclass)}?$method=update`,
    payload: JSON.stringify(entities),
  });
  const body: { readonly __ENTITIES?: readonly Record<string, unknown>[] } = response.json();
  const created = body.__ENTITIES;
  if (created === undefined || created.some((each) => '__ERROR' in each)) {
    throw new Error(`${dataclass}: ${response.body}`);
  }
  return created;
}
