import type { IncomingHttpHeaders } from 'node:http';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import { pino } from 'pino';
import { FilterParser } from '../filter/prepared-filter.js';
import { linkDataclasses } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import { observedExecutor, type StatementObserver } from '../dialect/observed-executor.js';
import type { Synchronous } from '../dialect/sqlite/open.js';
import { openDatabase } from '../dialect/sqlite/open-database.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { fold, foldWithoutAccents } from '../protocol/fold.js';
import { methodNotAllowed, refuse } from '../protocol/errors.js';
import { Counts } from '../query/counts.js';
import { emptyPlans, type Plans } from '../query/reading-context.js';
import { systemClock } from '../entity-set/clock.js';
import type { ClassRegistry } from '../class/registry.js';
import type { LoginModule } from '../access/login-module.js';
import { Tokens } from '../access/tokens.js';
import { readServerQuotas } from '../access/server-quotas.js';
import { MemoryLockTable } from '../access/locks.js';
import { Views } from '../access/views.js';
import { removeLeftovers, UploadFolder } from '../media/upload-folder.js';
import { UploadStore } from '../media/upload-store.js';
import { EntitySets } from '../entity-set/entity-sets.js';
import { MemoryEntitySetStore } from '../entity-set/memory-store.js';
import { SetDefinitions } from '../entity-set/set-definitions.js';
import { classEvents } from '../class/events.js';
import type { FunctionService } from './function-service.js';
import { openFunctions } from './open-functions.js';
import { openClasses, serverClasses } from './open-classes.js';
import { registerInfo } from './info-service.js';
import { openSessions } from './open-sessions.js';
import { registerRelease } from './release-sets.js';
import { Catalog, registerCatalog } from './catalog.js';
import { allFunctions, serverFunctions } from './catalog-functions.js';
import { restrictingBy } from './asked-restrictions.js';
import { computedRequests, handlersInCall, hasComputed } from './computed-attributes.js';
import { answerClientError } from './client-error.js';
import { refuseCrossSite } from './cross-site.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import { dataclassService } from './dataclass-service.js';
import type { ServiceContext } from './service-context.js';
import { errorHandler, errorTeller } from './errors.js';
import { sendError, sendJson } from './reply.js';
import { maxUrlLength } from './reading-parameters.js';
import { rewriteUrl } from './rewrite-url.js';
import { registerUploads } from './upload-service.js';
import { ViewedServices } from './viewed-services.js';
import {
  limitsFrom,
  logLevel,
  setting,
  type Settings,
  synchronousFrom,
  tokenSettings,
  trustedProxies,
} from './settings.js';

/** What the generator knows about the model. */
export interface GeneratedModel {
  readonly definitions: readonly DataclassDefinition[];
  /** The database schema, one statement each. */
  readonly schema: readonly string[];
  readonly settings: Settings;
  /** The user's `src/login.ts`; without it nobody can log in. */
  readonly login?: LoginModule;
  /** Only for a model with class code. */
  readonly classes?: ClassRegistry;
}

export interface AppOptions {
  /** `sqlite:<path>` or `sqlite::memory:`; `DATABASE_URL`, or `sqlite:./data.sqlite`, when left out. */
  readonly databaseUrl?: string;
  /** Fastify's `logger`. When left out, warnings and errors go to stderr as JSON lines, from `LOG_LEVEL` (info) up. */
  readonly logger?: FastifyServerOptions['logger'];
  /** Called with each SQL statement and its values before it runs: for tracing. */
  readonly onStatement?: StatementObserver;
  /** In the place of the user's `src/login.ts`: for tests. */
  readonly login?: LoginModule;
  /** Where limits are looked up; `process.env` when left out. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const allowedMethods = new Set(['GET', 'HEAD', 'POST']);

/** A Fastify instance that serves everything but the model's own addresses, and what to register those with. */
export interface CreatedApp {
  readonly app: FastifyInstance;
  readonly services: (dataclass: string) => DataclassHandlers;
}

/** The same for a model with class code. */
export interface CreatedClassApp extends CreatedApp {
  readonly functions: FunctionService;
}

export async function createApp(
  model: GeneratedModel & { readonly classes: ClassRegistry },
  options: AppOptions,
): Promise<CreatedClassApp>;
export async function createApp(model: GeneratedModel, options: AppOptions): Promise<CreatedApp>;
export async function createApp(
  { definitions, schema, settings, login: usersLogin, classes }: GeneratedModel,
  options: AppOptions,
): Promise<CreatedApp | CreatedClassApp> {
  const login = options.login ?? usersLogin;
  const environment = options.environment ?? process.env;
  const limits = limitsFrom(settings.limits, environment);
  const url = options.databaseUrl ?? setting(environment, 'DATABASE_URL', 'sqlite:./data.sqlite');
  const level = logLevel(environment);
  const model = { definitions, schema, settings };
  const synchronous = synchronousFrom(environment);
  const tokens = await Tokens.open(tokenSettings(environment), login);
  const opened = await openObserved(url, model, synchronous, options.onStatement);
  const restricted = definitions.filter((each) => each.restrict === true).map(({ name }) => name);
  const withClasses = serverClasses(classes, opened, restricted.length > 0);
  const database = withClasses?.database ?? opened;
  const log = options.logger === undefined ? pino({ level }, pino.destination(2)) : undefined;
  const tellError = errorTeller(log);
  const answerError = errorHandler(tellError);
  const app = fastify({
    // Fastify's logger costs a tenth of a small read, also where it writes nothing.
    logger: options.logger ?? false,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodySize,
    trustProxy: trustedProxies(environment),
    // A client that stops in the middle of a request holds its connection no longer than this.
    requestTimeout: 60_000,
    return503OnClosing: false,
    rewriteUrl: (request) => rewriteUrl(request.url ?? '/'),
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply);
    },
    http: { maxHeaderSize: maxUrlLength + 16 * 1024 },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxUrlLength },
  });
  app.addHook('onClose', (_app, done) => {
    store.close();
    Promise.all([sessions.sessions.close(), uploads.close(), database.executor.close()]).then(
      () => {
        done();
      },
      done,
    );
  });
  acceptEveryBody(app);
  guardRequests(app, imageAddresses(definitions), Math.max(limits.bodySize, limits.uploadSize));
  app.setErrorHandler(answerError);
  const dataclasses = linkDataclasses(definitions);
  app.get('/health', (_request, reply) => sendJson(reply, '{"ok":true}'));
  const clock = systemClock();
  const sessions = openSessions(app, {
    settings,
    limits,
    clock,
    login,
    tokens,
    quotas: readServerQuotas(setting(environment, 'QUOTAS', ''), 'QUOTAS'),
    calls: withClasses?.calls,
  });
  const uploads = new UploadStore(limits, clock, new UploadFolder());
  if (hasMedia(definitions)) {
    await removeLeftovers();
    registerUploads(app, uploads, limits, sessions);
  }
  if (settings.isOpen) {
    (log ?? app.log).warn(
      'The model has no roles: everything is allowed to everyone who can reach this.',
    );
  }
  const { dateOnlyFormat, reportFormat } = settings;
  const answers = { pageSize: limits.pageSize, dateOnlyFormat, reportFormat };
  const store = new MemoryEntitySetStore(limits.entitySetMemory, clock);
  const kept = new SetDefinitions(database);
  const locks = new MemoryLockTable(limits.maxLocksPerSession, database.dialect.foldText);
  sessions.sessions.onEnd((session) => {
    locks.releaseAll(session);
    uploads.releaseOf(session);
    store.releaseOf(session);
  });
  sessions.sessions.onMove((from, to) => {
    locks.moveAll(from, to);
    uploads.move(from, to);
    store.moveOf(from, to);
  });
  const filters = new FilterParser(limits, settings);
  const computed = hasComputed(definitions) ? computedRequests(() => host) : undefined;
  const contextOf = (linked: ServiceContext['dataclasses'], plans: Plans): ServiceContext => {
    const { binder } = withClasses ?? {};
    const taken = binder === undefined ? undefined : binder.taken.bind(binder);
    const counts = new Counts(database, answers, plans.selections, taken);
    const reading = { database, limits, options: answers, filters, plans, counts, computed };
    const sets = new EntitySets(reading, linked, store, kept, limits);
    return {
      ...reading,
      dataclasses: linked,
      sets,
      uploads,
      sessions,
      locks,
      tellError,
      calls: withClasses?.calls,
      lifecycle: () => host?.lifecycle,
    };
  };
  const context = contextOf(dataclasses, emptyPlans());
  const ofServer = serverFunctions(classes);
  const isViewed = settings.roles !== undefined || restricted.length > 0;
  const host = openClasses(app, withClasses, {
    locks,
    context,
    seenBy: isViewed ? (call) => viewed.contextOf(call) : undefined,
    lifecycle: classEvents(definitions),
    tellFailure: (err) => {
      (log ?? app.log).error({ err });
    },
  });
  registerInfo(app, sessions, store, limits);
  registerRelease(app, context.sets, sessions);
  const catalog = { settings, uniqueId: database.uniqueId, functions: ofServer };
  const functionParts =
    host === undefined || classes === undefined
      ? undefined
      : { host, registry: classes, definitions, context };
  const restricting =
    host === undefined || restricted.length === 0 ? undefined : restrictingBy(host, restricted);
  const inCalls = (handlers: DataclassHandlers): DataclassHandlers =>
    computed === undefined || withClasses === undefined
      ? handlers
      : handlersInCall(handlers, withClasses.calls, (...given) => sessions.of(...given));
  if (!isViewed) {
    const whole = new Catalog({ ...catalog, definitions });
    registerCatalog(app, settings, () => whole);
    const services = (name: string): DataclassHandlers => inCalls(dataclassService(context, name));
    if (functionParts === undefined) return { app, services };
    return { app, services, functions: openFunctions(functionParts) };
  }
  const viewed = new ViewedServices(
    new Views(definitions, allFunctions(ofServer)),
    (request, reply) => sessions.of(request, reply),
    contextOf,
    restricting,
  );
  registerCatalog(app, settings, (request, reply) => viewed.catalogOf(request, reply, catalog));
  const services = (name: string): DataclassHandlers => inCalls(viewed.handlers(name));
  if (functionParts === undefined) return { app, services };
  return { app, services, functions: openFunctions({ ...functionParts, viewed }) };
}

async function openObserved(
  url: string,
  { definitions, schema, settings }: GeneratedModel,
  synchronous: Synchronous,
  observe: StatementObserver | undefined,
): Promise<Database> {
  const textFold = settings.accentInsensitive ? foldWithoutAccents : fold;
  const hasVectors = definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && each.type === 'vector'),
  );
  const database = await openDatabase(url, schema, textFold, { hasVectors, synchronous });
  return observe === undefined
    ? database
    : { ...database, executor: observedExecutor(database.executor, observe) };
}

/** Where an image is set in one step: its body may be as large as an upload. */
function imageAddresses(definitions: readonly DataclassDefinition[]): ReadonlySet<string> {
  return new Set(
    definitions
      .filter(({ attributes }) =>
        attributes.some((each) => each.kind === 'storage' && each.type === 'image'),
      )
      .map(({ name }) => `/rest/${name}(:key/:attributes`),
  );
}

function hasMedia(definitions: readonly DataclassDefinition[]): boolean {
  return definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && /^(?:image|blob)$/.test(each.type)),
  );
}

/** Bodies arrive as bytes: clients label JSON as all sorts of things, or send none with a label (protocol decision 3). */
function acceptEveryBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
}

/** Fastify refuses a content type that is none; here it says nothing, whatever it is (protocol decision 3). */
function passOverContentType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type !== undefined && !/^[^\s/;]+\/[^\s/;]+\s*(?:;|$)/.test(type)) {
    delete headers['content-type'];
  }
}

/** Guards are put on the routes that need them: what runs for every request is paid for by every read. */
function guardRequests(app: FastifyInstance, images: ReadonlySet<string>, imageSize: number): void {
  app.addHook('onRoute', (route) => {
    if (route.method !== 'POST') return;
    if (images.has(route.url)) route.bodyLimit = imageSize;
    route.onRequest = (request, _reply, done) => {
      refuseCrossSite(request.headers);
      passOverContentType(request.headers);
      done();
    };
  });
  app.setNotFoundHandler(answerNotFound);
}

function answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (allowedMethods.has(request.method)) {
    return sendError(reply, refuse('notFound', 'Nothing is at this address.'));
  }
  const message = `${request.method} is not served: read with GET, change with POST.`;
  return sendError(reply, methodNotAllowed(message, 'GET, HEAD, POST'));
}
