import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import type { Call } from '../access/call.js';
import { Views } from '../access/views.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import { classEvents } from '../class/events.js';
import { ambientDatabase } from '../class/make-class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import { linkDataclasses } from '../dataclass/dataclasses.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { Pending } from '../dialect/pending.js';
import { emptyPlans } from '../query/reading-context.js';
import { restrictingBy } from './asked-restrictions.js';
import { Catalog } from './catalog.js';
import { allFunctions, serverFunctions } from './catalog-functions.js';
import { handlersInCall, hasComputed } from './computed-attributes.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import { dataclassService } from './dataclass-service.js';
import { openHost, plainClasses, serverClasses } from './open-classes.js';
import { requireMedia, type ServedMedia } from './served-media.js';
import type { ServiceContext } from './service-context.js';
import { serviceContexts } from './service-contexts.js';
import { ViewedServices } from './viewed-services.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly services: Services;
  }
}

export interface DatastoreOptions {
  /** Only for a model with class code. */
  readonly classes?: ClassRegistry;
}

/** What functions are served with. */
export interface FunctionParts {
  readonly host: ClassHost;
  readonly registry: ClassRegistry;
  readonly definitions: readonly DataclassDefinition[];
  /** Of a model without roles. */
  readonly context: ServiceContext;
  /** Of one with roles. */
  readonly viewed?: ViewedServices;
}

/** What requests are answered with. */
interface Services {
  /** Of the whole model. */
  readonly context: ServiceContext;
  /** What answers the requests to a dataclass, each with what its session may see. */
  readonly handlersOf: (dataclass: string) => DataclassHandlers;
  readonly catalogOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Catalog>;
  /** What functions are called with; none without class code. */
  readonly functions: FunctionParts | undefined;
  /** None for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  /** A call of a session, which can ask what it may see. */
  readonly callOf: (session: Session) => Call;
  /** The datastore for code of requests alone; made when it is first asked for. */
  readonly callersDatastore: () => object;
}

/** Makes `app.datastore`, and with it what reads and writes entities by what their session may see. */
export const datastore = fastifyPlugin<DatastoreOptions>(
  (app, { classes }, done) => {
    try {
      app.decorate('services', openServices(app, classes));
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  },
  { name: 'drs-datastore', dependencies: ['drs-sessions'] },
);

function openServices(app: FastifyInstance, classes: ClassRegistry | undefined): Services {
  const { setup, definitions, sessions, stores, calls } = app;
  const { settings, limits, tellError } = setup;
  const isRestricted = definitions.some((each) => each.restrict === true);
  const withClasses = serverClasses({
    registry: classes,
    database: app.database,
    calls,
    isRestricted,
    joined: setup.joined,
  });
  const database = withClasses?.database ?? app.database;
  const media = app.hasPlugin('drs-media') ? app.media : undefined;
  if (hasMedia(definitions)) requireMedia(media);
  const shared = { definitions, settings, limits, stores, media, sessions, tellError };
  const contextOf = serviceContexts({
    ...shared,
    database,
    classes: withClasses,
    hostOf: () => host,
  });
  const context = contextOf(linkDataclasses(definitions), emptyPlans());
  const isViewed = settings.roles !== undefined || isRestricted;
  const ofHosts = {
    locks: stores.locks,
    seenBy: isViewed ? (call: Call) => viewed.contextOf(call) : undefined,
    lifecycle: classEvents(definitions),
    tellFailure: (err: Error) => {
      setup.log.error({ err });
    },
  };
  const host: ClassHost | undefined =
    withClasses === undefined
      ? undefined
      : openHost(app, { ...ofHosts, context, calls, registry: withClasses.registry });
  // A server without class code pays nothing for a datastore that nobody asks for.
  const plainParts = once(() => {
    const plain = serviceContexts({
      ...shared,
      database: ambientDatabase(database, calls),
      classes: undefined,
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
      withClasses === undefined
        ? plainParts()
        : { ...ofHosts, context, registry: withClasses.registry };
    return openHost(app, { ...parts, calls: calls.ofRequests(), isSecond: true }).datastore;
  });
  const ofServer = serverFunctions(classes);
  const catalog = { settings, uniqueId: database.uniqueId, functions: ofServer };
  const functions =
    host === undefined || classes === undefined
      ? undefined
      : { host, registry: classes, definitions, context };
  const inCalls = (handlers: DataclassHandlers): DataclassHandlers =>
    withClasses === undefined || !hasComputed(definitions)
      ? handlers
      : handlersInCall(handlers, calls, (...given) => sessions.of(...given));
  if (!isViewed) {
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
  const viewed = new ViewedServices(
    new Views(definitions, allFunctions(ofServer)),
    (request, reply) => sessions.of(request, reply),
    contextOf,
    host === undefined || !isRestricted ? undefined : restrictingBy(host),
  );
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
