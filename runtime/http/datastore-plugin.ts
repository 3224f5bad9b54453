import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import type { Call } from '../access/call.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import { ambientDatabase, type ClassParts, createClassHost } from '../class/make-class-host.js';
import type { ClassRegistry, DataclassClasses } from '../class/registry.js';
import { linkDataclasses } from '../dataclass/dataclasses.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { Pending } from '../dialect/pending.js';
import { emptyPlans } from '../query/reading-context.js';
import { Catalog, allFunctions, serverFunctions } from './catalog.js';
import { type DataclassHandlers, dataclassService } from './dataclass-handlers.js';
import { requireClassCode, type ServedClasses } from './served-classes.js';
import { requireMedia, type ServedMedia } from './served-media.js';
import { permissionsOf, type Restricting, type ServedViews } from './served-permissions.js';
import type { ServiceContext } from './service-context.js';
import { serviceContexts } from './service-contexts.js';
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

/** What is needed to serve functions. */
export interface FunctionParts {
  readonly host: ClassHost;
  readonly registry: ClassRegistry;
  readonly definitions: readonly DataclassDefinition[];
  /** Of a model without roles. */
  readonly context: ServiceContext;
  /** Of one with roles. */
  readonly viewed?: ServedViews;
}

/** What is needed to answer requests. */
interface Services {
  /** Of the whole model. */
  readonly context: ServiceContext;
  /** The handlers of a dataclass, each with what its session may see. */
  readonly handlersOf: (dataclass: string) => DataclassHandlers;
  readonly catalogOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Catalog>;
  /** Calls functions; none without class code. */
  readonly functions: FunctionParts | undefined;
  /** None for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  /** A call of a session, which resolves what the session may see. */
  readonly callOf: (session: Session) => Call;
  /** The datastore for code of requests only; made when it is first used. */
  readonly callersDatastore: () => object;
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

function openServices(app: FastifyInstance): Services {
  const { setup, definitions, sessions, stores, calls } = app;
  const { settings, limits, tellError } = setup;
  const code = app.hasPlugin('drs-class-code') ? app.classCode : undefined;
  if (code === undefined) requireClassCode(definitions);
  const database = code?.database ?? app.database;
  const media = app.hasPlugin('drs-media') ? app.media : undefined;
  if (hasMedia(definitions)) requireMedia(media);
  const shared = { settings, limits, stores, media, sessions, calls, tellError };
  const contextOf = serviceContexts({
    ...shared,
    database,
    code,
    hostOf: () => host,
  });
  const context = contextOf(linkDataclasses(definitions), emptyPlans());
  const permissions = permissionsOf(app);
  const ofHosts = {
    locks: stores.locks,
    seenBy: permissions && ((call: Call) => viewed.contextOf(call)),
    lifecycle: code?.lifecycle,
    completing: code?.computed?.completing,
    tellFailure: (err: Error) => {
      setup.log.error({ err });
    },
  };
  const host: ClassHost | undefined =
    code === undefined
      ? undefined
      : openHost(app, { ...ofHosts, context, calls, registry: code.registry });
  // A server without class code does not pay for a datastore that nobody uses.
  const plainParts = once(() => {
    const plain = serviceContexts({
      ...shared,
      database: ambientDatabase(database, calls),
      code: undefined,
      hostOf: () => undefined,
    });
    const own = plain(linkDataclasses(definitions), emptyPlans());
    return { ...ofHosts, context: own, calls, registry: plainClasses(definitions) };
  });
  if (host === undefined) {
    const plainHost = once(() => openHost(app, plainParts()));
    app.decorate('datastore', { getter: () => plainHost().datastore });
  } else app.decorate('datastore', host.datastore);
  const callersDatastore = once(() => {
    const parts =
      code === undefined ? plainParts() : { ...ofHosts, context, registry: code.registry };
    return openHost(app, { ...parts, calls: calls.ofRequests(), isSecond: true }).datastore;
  });
  const ofServer = serverFunctions(code?.registry);
  const catalog = { settings, uniqueId: database.uniqueId, functions: ofServer };
  const functions =
    host === undefined || code === undefined
      ? undefined
      : { host, registry: code.registry, definitions, context };
  const inCalls = (handlers: DataclassHandlers): DataclassHandlers =>
    code?.computed?.inCalls(handlers, calls, (...given) => sessions.of(...given)) ?? handlers;
  if (permissions === undefined) {
    const whole = new Catalog({ ...catalog, definitions });
    return {
      context,
      handlersOf: (name) => inCalls(dataclassService(context, name)),
      catalogOf: () => whole,
      functions,
      media,
      callOf: (session) => ({ session }),
      callersDatastore,
    };
  }
  const viewed = permissions.viewed({
    definitions,
    functions: allFunctions(ofServer),
    sessionOf: (request, reply) => sessions.of(request, reply),
    makeContext: contextOf,
    restricting: host === undefined ? undefined : restrictingBy(host, code),
  });
  return {
    context,
    handlersOf: (name) => inCalls(viewed.handlers(name)),
    catalogOf: (request, reply) => viewed.catalogOf(request, reply, catalog),
    functions: functions === undefined ? undefined : { ...functions, viewed },
    media,
    callOf: (session) => viewed.callOf(session),
    callersDatastore,
  };
}

function restrictingBy(host: ClassHost, code: ServedClasses | undefined): Restricting | undefined {
  const restricting = code?.restricting;
  return restricting && { calls: host.calls, restrictions: restricting.by(host) };
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

/** Makes the objects of class code. */
function openHost(app: FastifyInstance, parts: ClassParts): ClassHost {
  const host = createClassHost(parts);
  app.setup.closeAtEnd(() => host.afterCommit.end());
  return host;
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
