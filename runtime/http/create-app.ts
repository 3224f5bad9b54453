import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { readServerQuotas } from '../access/server-quotas.js';
import { Tokens } from '../access/tokens.js';
import { Views } from '../access/views.js';
import type { LoginModule } from '../access/login-module.js';
import type { ClassHost } from '../class/class-host.js';
import { classEvents } from '../class/events.js';
import { linkDataclasses } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { setting } from '../protocol/environment.js';
import { removeLeftovers } from '../media/upload-folder.js';
import { emptyPlans } from '../query/reading-context.js';
import { nextAppState } from '../shared-state/joined-state.js';
import type { AppOptions, GeneratedModel } from './app-options.js';
import { restrictingBy } from './asked-restrictions.js';
import { Catalog, registerCatalog } from './catalog.js';
import { allFunctions, serverFunctions } from './catalog-functions.js';
import { handlersInCall, hasComputed } from './computed-attributes.js';
import { allowOrigins, originsFrom } from './cross-site.js';
import { type DataclassHandlers, lazyRoutes } from './dataclass-handlers.js';
import { dataclassService } from './dataclass-service.js';
import { errorHandler, errorTeller } from './errors.js';
import { fastifyOptions } from './fastify-options.js';
import { registerInfo } from './info-service.js';
import { loadSettings } from './load-settings.js';
import { answerNotFound } from './not-found.js';
import { openClasses, serverClasses } from './open-classes.js';
import { openFunctions } from './open-functions.js';
import { openObserved } from './open-observed.js';
import { openSessions } from './open-sessions.js';
import { openStores } from './open-stores.js';
import { registerRelease } from './release-sets.js';
import { sendJson } from './reply.js';
import { RequestGate } from './request-gate.js';
import { guardRequests } from './request-guards.js';
import { closeStores, followSessions } from './server-stores.js';
import { serviceContexts } from './service-contexts.js';
import { limitsFrom, logLevel, tokenSettings } from './settings.js';
import { whenSendIsHooked } from './spent-bytes.js';
import { registerUploads } from './upload-service.js';
import { ViewedServices } from './viewed-services.js';

/**
 * Opens the database and makes a Fastify instance that serves all that does not differ by dataclass. The plugins of dataclasses
 * find their handlers as `app.dataclass` and `app.functions`. Closing the instance closes the database.
 */
export async function createApp(
  model: GeneratedModel,
  options: AppOptions,
): Promise<FastifyInstance> {
  const joined = nextAppState();
  const { definitions, settings, classes } = model;
  const login = options.login ?? model.login;
  const environment = options.environment ?? process.env;
  const limits = limitsFrom(settings.limits, environment);
  const level = logLevel(environment);
  const tokens = await Tokens.open(tokenSettings(environment), login);
  const opened = await openObserved(model, limits, options);
  // Users are kept where the environment says. Who names a database in code, as tests do, may have none there.
  if (options.databaseUrl === undefined && options.login === undefined) {
    await openUsers(login, opened);
  }
  const isRestricted = definitions.some((each) => each.restrict === true);
  const withClasses = serverClasses(classes, opened, isRestricted);
  const database = withClasses?.database ?? opened;
  const stores = await openStores(joined, limits, database, classes);

  const ownLog = options.logger === undefined ? pino({ level }, pino.destination(2)) : undefined;
  const tellError = errorTeller(ownLog);
  const answerError = errorHandler(tellError);
  const load = loadSettings(environment, limits);
  const origins = originsFrom(settings.origins ?? [], environment);
  const gate: RequestGate = new RequestGate(load, () => log, origins);
  const { logger } = options;
  const app = fastify(fastifyOptions({ limits, environment, logger, answerError, gate, load }));
  const log = ownLog ?? app.log;
  app.addHook('onClose', async () => {
    await Promise.all([closeStores(stores), database.executor.close()]);
    stores.close();
  });
  // Before all that may refuse a request: a page is told why.
  await allowOrigins(app, origins);
  guardRequests(app);
  app.setErrorHandler(answerError);
  app.get('/health', (_request, reply) => sendJson(reply, '{"ok":true}'));
  const sessions = openSessions(app, {
    settings,
    limits,
    stores,
    login,
    tokens,
    quotas: readServerQuotas(setting(environment, 'QUOTAS', ''), 'QUOTAS'),
    calls: withClasses?.calls,
  });
  followSessions(sessions.sessions, stores);
  if (hasMedia(definitions)) {
    await removeLeftovers();
    registerUploads(app, stores.uploads, limits, sessions, !settings.isOpen);
  }
  for (const each of opened.added ?? []) log.info(`In the database, ${each}.`);
  if (settings.isOpen) {
    log.warn('The model has no roles: everything is allowed to everyone who can reach this.');
  }

  const contextOf = serviceContexts({
    definitions,
    settings,
    limits,
    database,
    stores,
    sessions,
    tellError,
    classes: withClasses,
    hostOf: () => host,
  });
  const context = contextOf(linkDataclasses(definitions), emptyPlans());
  const isViewed = settings.roles !== undefined || isRestricted;
  const host: ClassHost | undefined = openClasses(app, withClasses, {
    locks: stores.locks,
    context,
    seenBy: isViewed ? (call) => viewed.contextOf(call) : undefined,
    lifecycle: classEvents(definitions),
    tellFailure: (err) => {
      log.error({ err });
    },
  });
  registerInfo(app, sessions, stores.sets, limits);
  registerRelease(app, context.sets, sessions);
  whenSendIsHooked(app, () => {
    gate.spent.seen();
  });
  const ofServer = serverFunctions(classes);
  const catalog = { settings, uniqueId: database.uniqueId, functions: ofServer };
  const functionParts =
    host === undefined || classes === undefined
      ? undefined
      : { host, registry: classes, definitions, context };
  const inCalls = (handlers: DataclassHandlers): DataclassHandlers =>
    withClasses === undefined || !hasComputed(definitions)
      ? handlers
      : handlersInCall(handlers, withClasses.calls, (...given) => sessions.of(...given));
  const served = new Set<string>();
  const nothing = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    answerNotFound(request, reply, served);
  app.setNotFoundHandler(nothing);
  const serve = (services: (name: string) => DataclassHandlers): void => {
    const imageBodyLimit = Math.max(limits.bodySize, limits.uploadSize);
    app.decorate('dataclass', (name: string) => {
      if (!definitions.some((each) => each.name === name && each.exposed)) {
        throw new Error(`The model exposes no dataclass ${name}.`);
      }
      served.add(name);
      return lazyRoutes(() => inCalls(services(name)), nothing, imageBodyLimit);
    });
  };
  if (!isViewed) {
    const whole = new Catalog({ ...catalog, definitions });
    registerCatalog(app, settings, () => whole);
    serve((name) => dataclassService(context, name));
    if (functionParts !== undefined) app.decorate('functions', openFunctions(functionParts));
    return app;
  }
  const viewed = new ViewedServices(
    new Views(definitions, allFunctions(ofServer)),
    (request, reply) => sessions.of(request, reply),
    contextOf,
    host === undefined || !isRestricted ? undefined : restrictingBy(host),
  );
  registerCatalog(app, settings, (request, reply) => viewed.catalogOf(request, reply, catalog));
  serve((name) => viewed.handlers(name));
  if (functionParts !== undefined) {
    app.decorate('functions', openFunctions({ ...functionParts, viewed }));
  }
  return app;
}

/** Whether entities of the model have images or BLOBs. */
function hasMedia(definitions: readonly DataclassDefinition[]): boolean {
  return definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && /^(?:image|blob)$/.test(each.type)),
  );
}

/** A database that is not served is closed, so that the process can end. */
async function openUsers(login: LoginModule | undefined, { executor }: Database): Promise<void> {
  try {
    await login?.openUsers?.();
  } catch (error) {
    await executor.close();
    throw error;
  }
}
