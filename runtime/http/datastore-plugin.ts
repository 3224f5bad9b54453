import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import type { RequestScopes } from '../access/request-scope.js';
import { ScopeExecutor } from '../access/scope-executor.js';
import type { ClassContext } from '../class/objects/context.js';
import type { AfterCommit } from '../class/objects/after-commit.js';
import { type ClassData, ClassHost } from '../class/objects/host.js';
import type { ClassRegistry, DataclassClasses } from '../class/objects/registry.js';
import type { Database } from '../dialect/database.js';
import { type Dataclass, linkDataclasses, type WriteAggregates } from '../dataclass/dataclasses.js';
import { aggregateWriter, checkAggregates } from '../query/aggregate-attributes.js';
import { SetDefinitions } from '../entity-set/set-definitions.js';
import { FilterParser } from '../filter/prepared-filter.js';
import { noKnownNumbers } from '../query/counts.js';
import { CursorSecret } from '../query/cursor-token.js';
import { StatementCache } from '../query/statement-cache.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { serverFunctions } from './catalog.js';
import { permissionsOf } from './open-sessions.js';
import { requireMedia, type ServedMedia } from './served-media.js';
import {
  type CodeHooks,
  type ModelParts,
  type ServedModels,
  servedModels,
} from './served-model.js';
import type { ReadingContext } from '../query/reading-context.js';
import type { Lifecycle } from '../write/surroundings.js';
import { DataclassObject } from '../class/objects/dataclass.js';
import { Datastore } from '../class/objects/datastore.js';
import { Entity } from '../class/objects/entity.js';
import { EntitySelection } from '../class/objects/selection.js';
import { Turns } from '../class/objects/turns.js';
import type { EntityTypes } from '../class/objects/types.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly services: Services;
    /** Only where the model has class code. */
    readonly classCode: ServedClasses;
  }
}

/** Runs the users' events and accessors, and asks their classes what sessions may see. */
export interface ServedClasses {
  readonly registry: ClassRegistry;
  /** Runs events and setters; none if the model declares none. */
  lifecycleOf(host: ClassContext): Lifecycle | undefined;
  /** @param model the whole model, on the database without class code */
  hooksOf(host: ClassContext, model: ClassCodeModel): CodeHooks;
}

interface ClassCodeModel extends Pick<
  ReadingContext,
  'database' | 'options' | 'filters' | 'statements'
> {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

/** What is needed to answer requests. */
interface Services {
  readonly models: ServedModels;
  /** Whether sessions may see less than the whole model. */
  readonly isLimited: boolean;
  /** Undefined without class code. */
  readonly classes: { readonly host: ClassContext; readonly registry: ClassRegistry } | undefined;
  /** Undefined for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  /** The datastore for code of requests only; made when it is first used. */
  readonly requestDatastore: () => object;
  /** Waits for class code that runs after a commit. */
  readonly end: () => Promise<void>;
}

/** Makes `app.datastore`, which reads and writes entities within what their session may see. */
export const datastore = fastifyPlugin(
  (app, _options, done) => {
    try {
      app.decorate('services', openServices(app));
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  },
  { name: 'drs-datastore', dependencies: ['drs-sessions'] },
);

interface ServedData extends ClassData {
  readonly models: ServedModels;
  /** The datastore of code outside of requests. */
  readonly ofServer: object;
}

function openServices(app: FastifyInstance): Services {
  const { definitions, scopes } = app;
  const audit = auditOf(app);
  const database = audit?.database ?? app.database;
  const code = app.hasPlugin('drs-class-code') ? app.classCode : undefined;
  if (code === undefined) requireClassCode(definitions);
  const media = app.hasPlugin('drs-media') ? app.media : undefined;
  if (hasMedia(definitions)) requireMedia(media);
  const isLimited = permissionsOf(app) !== undefined;
  const parts = sharedParts(app, database, code, media);
  const whole = wholeModel(definitions, parts.aggregates);
  const modelsOn = (hooks: Omit<CodeHooks, 'executor'>): ServedModels => {
    const setDefinitions = new SetDefinitions(hooks.database);
    return servedModels({ ...parts, ...hooks, setDefinitions }, whole, scopes, isLimited);
  };
  const works: AfterCommit[] = [];
  const registry = once(() => code?.registry ?? plainClasses(definitions));
  const turns = new Turns();
  // Code of requests gets objects of its own, which are refused where the request is unknown.
  const opened = once(() =>
    openHost(app, registry(), scopes.ofRequests(), turns, works, (host): ServedData => {
      const lifecycle = code?.lifecycleOf(host);
      const server = openHost(app, registry(), scopes, turns, works, (own) => {
        const hooks =
          code?.hooksOf(own, { ...parts, database, dataclasses: whole }) ??
          plainHooks(database, scopes);
        const models = modelsOn({ ...hooks, lifecycle });
        return {
          models,
          model: models.ofServer.context,
          executor: hooks.executor,
          lifecycle: hooks.lifecycle,
          restrictions: hooks.restrictions,
          ofRequests: models.ofRequests.context,
        };
      });
      return { ...server.data, lifecycle, ofServer: server.datastore };
    }),
  );
  const requestDatastore = (): object => opened().datastore;
  const end = async (): Promise<void> => {
    for (const each of works) await each.end();
  };
  const services = { isLimited, media, requestDatastore, end };
  if (code === undefined) {
    // A server without class code does not pay for a datastore that nobody uses.
    app.decorate('datastore', { getter: () => opened().data.ofServer });
    const executor = new ScopeExecutor(database.executor, scopes, { runsCode: false });
    const models = modelsOn({ ...noHooks, database: { ...database, executor } });
    return { ...services, models, classes: undefined };
  }
  const host = opened();
  app.decorate('datastore', host.data.ofServer);
  const classes = { host, registry: code.registry };
  return { ...services, models: host.data.models, classes };
}

/** What all models of a server share, whatever their database. */
function sharedParts(
  { setup, stores, definitions }: FastifyInstance,
  database: Database,
  code: ServedClasses | undefined,
  media: ServedMedia | undefined,
): Omit<ModelParts, keyof CodeHooks | 'setDefinitions'> {
  const { settings, limits, reportError } = setup;
  const { pageSize } = limits;
  const { dateOnlyFormat, reportFormat } = settings;
  const filters = new FilterParser(limits, settings);
  return {
    settings,
    limits,
    definitions,
    stores,
    media,
    reportError,
    options: { pageSize, dateOnlyFormat, reportFormat },
    filters,
    aggregates: hasAggregates(definitions) ? aggregateWriter(database.dialect, filters) : undefined,
    statements: new StatementCache(),
    cursors: new CursorSecret(database),
    numbers: noKnownNumbers(),
    functions: serverFunctions(code?.registry),
  };
}

/**
 * @param turns of `ds.exclusive`
 * @param works gets what runs after commits
 */
function openHost<Data extends ClassData>(
  app: FastifyInstance,
  registry: ClassRegistry,
  scopes: RequestScopes,
  turns: Turns,
  works: AfterCommit[],
  dataOf: (host: ClassContext) => Data,
): ClassHost<Data> {
  const { setup, stores } = app;
  const logFailure = (err: Error): void => {
    setup.log.error({ err });
  };
  const state = stores.state?.database;
  const host = new ClassHost(
    { registry, scopes, turns, locks: stores.locks, state, logFailure },
    dataOf,
  );
  works.push(host.afterCommit);
  if (app.hasPlugin('drs-jobs')) {
    Object.defineProperty(host.datastore, 'enqueue', { value: app.jobs.enqueueOf(host) });
  }
  return host;
}

/** The model without limits. */
function wholeModel(
  definitions: readonly DataclassDefinition[],
  aggregates: WriteAggregates | undefined,
): ReadonlyMap<string, Dataclass> {
  const dataclasses = linkDataclasses(definitions, { aggregates });
  if (aggregates !== undefined) checkAggregates(dataclasses.values());
  return dataclasses;
}

const noHooks = { lifecycle: undefined, computed: undefined, restrictions: undefined };

/** For the datastore of a server without class code. */
function plainHooks(database: Database, scopes: RequestScopes): CodeHooks {
  const executor = new ScopeExecutor(database.executor, scopes);
  return { ...noHooks, executor, database: { ...database, executor } };
}

/** @throws Error if `app.ts` registers no audit, and the model needs it */
function auditOf(app: FastifyInstance): FastifyInstance['audit'] | undefined {
  if (app.hasPlugin('drs-audit')) return app.audit;
  if (app.definitions.every(({ audit }) => audit === undefined)) return undefined;
  throw new Error(
    'The model has audit: register the plugin audit of #runtime/audit before datastore.',
  );
}

/** @throws Error if `app.ts` registers no class code, and the model needs it */
function requireClassCode(definitions: readonly DataclassDefinition[]): void {
  const needs = definitions.some(
    ({ restrict, events = [], attributes }) =>
      restrict === true || events.length > 0 || attributes.some(({ kind }) => kind === 'computed'),
  );
  if (!needs) return;
  throw new Error(
    'The model has class code: register the plugin classCode of #runtime/class before datastore.',
  );
}

function hasAggregates(definitions: readonly DataclassDefinition[]): boolean {
  return definitions.some(({ attributes }) => attributes.some(({ kind }) => kind === 'aggregate'));
}

function hasMedia(definitions: readonly DataclassDefinition[]): boolean {
  return definitions.some(({ attributes }) =>
    attributes.some(
      (each) => each.kind === 'storage' && (each.type === 'image' || each.type === 'blob'),
    ),
  );
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/**
 * The classes of a model without class code: the objects that the emitted types declare are made
 * when they are used.
 */
function plainClasses(definitions: readonly DataclassDefinition[]): ClassRegistry {
  const classes = (): DataclassClasses => ({
    dataclass: class extends DataclassObject<EntityTypes> {},
    entity: class extends Entity<EntityTypes> {},
    selection: class extends EntitySelection<EntityTypes> {},
  });
  return {
    datastore: class extends Datastore {},
    datastoreFunctions: [],
    dataclasses: Object.fromEntries(definitions.map(({ name }) => [name, classes()])),
    singletons: {},
  };
}
