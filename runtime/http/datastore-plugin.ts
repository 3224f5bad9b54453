import type { FastifyInstance } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import type { RequestScopes } from '../access/request-scope.js';
import { ScopeExecutor } from '../access/scope-executor.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import { type ClassData, createClassHost } from '../class/make-class-host.js';
import type { ClassRegistry, DataclassClasses } from '../class/registry.js';
import { linkDataclasses } from '../dataclass/dataclasses.js';
import { SetDefinitions } from '../entity-set/set-definitions.js';
import { FilterParser } from '../filter/prepared-filter.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { allFunctions, serverFunctions } from './catalog.js';
import {
  type CodeHooks,
  type ModelView,
  permissionsOf,
  requireClassCode,
  type ServedClasses,
} from './optional-plugins.js';
import { requireMedia, type ServedMedia } from './served-media.js';
import { ServedModel } from './served-model.js';
import { DataclassObject } from '../class/dataclass.js';
import { Datastore } from '../class/datastore.js';
import { Entity } from '../class/entity.js';
import { EntitySelection } from '../class/selection.js';
import type { EntityTypes } from '../class/types.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly services: Services;
  }
}

/** The model as each session sees it. */
export interface ServedModels {
  /** As the server's own code sees it. */
  readonly whole: ServedModel;
  /** As a session sees it, with the privileges that it holds now. */
  readonly visible: { of(session: Session): ServedModel };
}

/** What is needed to answer requests. */
interface Services {
  readonly models: ServedModels;
  /** Whether sessions may see less than the whole model. */
  readonly isLimited: boolean;
  /** Whether class code may run inside requests that read, and inside those that write. */
  readonly runsIn: ServedClasses['runsIn'];
  /** None without class code. */
  readonly classes: { readonly host: ClassHost; readonly registry: ClassRegistry } | undefined;
  /** None for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  /** The datastore for code of requests only; made when it is first used. */
  readonly requestDatastore: () => object;
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

/** Bytes of the statements of each kind that one view keeps; there may be many views. */
const planBytes = 2 * 1024 * 1024;

interface ServedData extends ClassData {
  readonly models: ServedModels;
}

function openServices(app: FastifyInstance): Services {
  const { setup, definitions, scopes, stores, database } = app;
  const { settings, limits, reportError } = setup;
  const code = app.hasPlugin('drs-class-code') ? app.classCode : undefined;
  if (code === undefined) requireClassCode(definitions);
  const media = app.hasPlugin('drs-media') ? app.media : undefined;
  if (hasMedia(definitions)) requireMedia(media);
  const permissions = permissionsOf(app);
  const { pageSize } = limits;
  const { dateOnlyFormat, reportFormat } = settings;
  const reading = {
    options: { pageSize, dateOnlyFormat, reportFormat },
    filters: new FilterParser(limits, settings),
  };
  const functions = serverFunctions(code?.registry);
  const shared = { ...reading, settings, limits, stores, media, reportError, functions };
  const whole = wholeView(definitions);
  const modelsOn = (hooks: Omit<CodeHooks, 'executor'>): ServedModels => {
    const setDefinitions = new SetDefinitions(hooks.database);
    const parts = { ...shared, ...hooks, setDefinitions };
    const model = new ServedModel(parts, whole);
    const views = permissions?.byView(
      definitions,
      allFunctions(functions),
      (view) => new ServedModel(parts, view, planBytes),
    );
    return { whole: model, visible: views ?? { of: () => model } };
  };
  const dataOn = (hooks: CodeHooks): ServedData => {
    const models = modelsOn(hooks);
    return {
      models,
      context: models.whole.context,
      executor: hooks.executor,
      lifecycle: hooks.lifecycle,
      visibleTo: permissions && ((session) => models.visible.of(session).context),
    };
  };
  const registry = once(() => code?.registry ?? plainClasses(definitions));
  const hostOf = (
    hostScopes: RequestScopes,
    dataOf: (host: ClassHost) => ServedData,
  ): { readonly host: ClassHost; readonly data: ServedData } => {
    const logFailure = (err: Error): void => {
      setup.log.error({ err });
    };
    const parts = { registry: registry(), scopes: hostScopes, locks: stores.locks, logFailure };
    const opened = createClassHost(parts, dataOf);
    setup.closeAtEnd(() => opened.host.afterCommit.end());
    return opened;
  };
  const opened = once(() =>
    hostOf(scopes, (host) => {
      const model = { ...reading, database, dataclasses: whole.dataclasses };
      return dataOn(code?.hooksOf(host, model) ?? plainHooks(app));
    }),
  );
  // A server without class code does not pay for a datastore that nobody uses.
  if (code === undefined) app.decorate('datastore', { getter: () => opened().host.datastore });
  else app.decorate('datastore', opened().host.datastore);
  const requestDatastore = once(() => {
    const { data } = opened();
    const { host } = hostOf(scopes.ofRequests(), (own) => ({
      ...data,
      lifecycle: code?.lifecycleOf(own),
    }));
    return host.datastore;
  });
  return {
    models: code === undefined ? modelsOn({ ...noHooks, database }) : opened().data.models,
    isLimited: permissions !== undefined,
    runsIn: code?.runsIn ?? { reads: false, writes: false },
    classes: code && { host: opened().host, registry: code.registry },
    media,
    requestDatastore,
  };
}

/** The model without limits. */
function wholeView(definitions: readonly DataclassDefinition[]): ModelView {
  return {
    dataclasses: linkDataclasses(definitions),
    catalog: definitions,
    lists: () => true,
    requireExecution: () => undefined,
  };
}

const noHooks = { lifecycle: undefined, computed: undefined, restrictions: undefined };

/** For the datastore of a server without class code. */
function plainHooks({ database, scopes }: FastifyInstance): CodeHooks {
  const executor = new ScopeExecutor(database.executor, scopes);
  return { ...noHooks, executor, database: { ...database, executor } };
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
