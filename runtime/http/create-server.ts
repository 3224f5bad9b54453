import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { pino } from 'pino';
import { type ReadQuotas, readServerQuotas } from '../access/quotas.js';
import { type Environment, readSetting } from '../protocol/environment.js';
import { allowOrigins, type Origins, originsFrom } from './cross-site.js';
import {
  type ErrorHandler,
  errorHandler,
  type ErrorLog,
  errorReporter,
  type ErrorReporter,
} from './errors.js';
import { http } from './node-http.js';
import { processesOfServer } from './one-of-several.js';
import { prepareOwnRoutes } from './own-routes.js';
import { maxUrlLength } from './reading-parameters.js';
import { sendJson } from './reply.js';
import { echoRequestId, logRequests, requestId } from './request-log.js';
import { BodyTimeout, type LoadLog, loadSettings, RequestGate } from './request-gate.js';
import { type Limits, limitsFrom, type Settings, trustedProxies } from './settings.js';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorName, protocolError } from '../protocol/errors.js';
import type { FastifyServerOptions } from 'fastify';
import type { LoginModule } from '../access/login-module.js';
import type { StatementObserver, StatementWrapper } from '../dialect/database.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** How the server was set up, for the plugins that it is made of. */
    readonly setup: ServerSetup;
  }
}

/** The settings of the server as a whole, from the model and the environment. */
export interface ServerSetup {
  readonly settings: Settings;
  readonly limits: Limits;
  readonly environment: Environment;
  readonly options: AppOptions;
  readonly origins: Origins;
  readonly quotas: ReadQuotas;
  readonly log: ServerLog;
  readonly reportError: ErrorReporter;
  readonly answerError: ErrorHandler;
  /** How many processes of this machine serve; this one is one of them. */
  readonly processes: number;
  /** Call it before the database is opened: its statements are run by the wrapper. */
  wrapStatements(wrap: StatementWrapper): void;
  readonly statementWrappers: readonly StatementWrapper[];
}

/** What a server writes about itself. */
interface ServerLog extends LoadLog, ErrorLog {
  debug(what: object, message?: string): void;
  info(message: string): void;
  warn(message: string): void;
  warn(what: object, message?: string): void;
}

const unready = new Set<FastifyInstance>();

/**
 * Closes the servers of this process whose start has failed; errors of their hooks are consequences
 * of that.
 */
export async function closeUnready(): Promise<void> {
  for (const app of unready) await app.close().catch(() => undefined);
}

/**
 * A Fastify instance without data: it limits the load of the process, and answers `/health`.
 * Plugins add everything else; they load with `ready()`, `listen()` or `inject()`, and closing the
 * instance closes what they have opened.
 * @throws Error that names the wrong setting
 */
export function createServer(settings: Settings, options: AppOptions): FastifyInstance {
  const environment = options.environment ?? process.env;
  const limits = limitsFrom(settings.limits, environment);
  const load = loadSettings(environment, limits);
  const origins = originsFrom(settings.origins ?? [], environment);
  const quotas = readServerQuotas(readSetting(environment, 'QUOTAS') ?? '', 'QUOTAS');
  const level = readSetting(environment, 'LOG_LEVEL');
  // Requests below /rest use it as it is: a child logger for each of them would cost a tenth of a
  // small read.
  const hasLog = readSetting(environment, 'REQUEST_LOG');
  const portOfMetrics = readSetting(environment, 'METRICS_PORT');
  const isTraced = readSetting(environment, 'TRACING');
  const isExplored = readSetting(environment, 'EXPLORER') ?? isDeveloped(environment);
  const ownLog = options.logger === undefined ? pino({ level }, pino.destination(2)) : undefined;
  if (hasLog && ownLog?.isLevelEnabled('info') === false) {
    throw new Error(
      `REQUEST_LOG is on, and LOG_LEVEL is ${level}, which leaves its lines out: set LOG_LEVEL to info.`,
    );
  }
  const loggerInstance: FastifyBaseLogger | undefined = ownLog;
  const reportError = errorReporter(ownLog);
  const answerError = errorHandler(reportError);
  const gate = new RequestGate(load, origins);
  const app: FastifyInstance = fastify({
    ...(loggerInstance === undefined ? { logger: options.logger ?? false } : { loggerInstance }),
    logController: new ErrorsAlone(),
    bodyLimit: limits.bodySize,
    trustProxy: trustedProxies(environment),
    return503OnClosing: false,
    // A large database may take long to open.
    pluginTimeout: 0,
    genReqId: requestId,
    rewriteUrl: (request) => rewriteUrl(request.url ?? '/'),
    clientErrorHandler: (error, socket) => {
      answerClientError(error, socket, origins);
    },
    frameworkErrors: (error, request, reply: FastifyReply) => {
      // No hook runs before it.
      echoRequestId(request.raw, reply.raw);
      void reply.headers(origins.headersFor(request.headers));
      if (isBelowRest(request.raw.url ?? '')) answerError(error, request, reply);
      else void reply.status(error.statusCode ?? 500).send(plainError(error));
    },
    serverFactory: gate.servers(maxUrlLength + 16 * 1024),
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: maxUrlLength,
    },
  });
  const log = ownLog ?? app.log;
  const statementWrappers: StatementWrapper[] = [];
  unready.add(app);
  app.addHook('onReady', (done) => {
    unready.delete(app);
    done();
  });
  // Fastify runs the hooks that were added last first, so hooks of the user find the database open.
  app.addHook('onClose', async () => {
    unready.delete(app);
    // A start may have failed before a plugin has opened something.
    const { services, stores, scopes, database } = app as Partial<FastifyInstance>;
    await services?.end();
    await stores?.close();
    scopes?.close();
    await database?.end();
  });
  const setup: ServerSetup = {
    settings,
    limits,
    environment,
    options,
    origins,
    quotas,
    log,
    reportError,
    answerError,
    processes: processesOfServer(),
    wrapStatements: (wrap) => statementWrappers.push(wrap),
    statementWrappers,
  };
  app.decorate('setup', setup);
  gate.guard(app, log);
  if (hasLog) logRequests(app, log);
  if (isExplored) app.register(import('./explorer.js'));
  if (isTraced) app.register(import('./tracing.js'));
  if (portOfMetrics !== undefined) app.register(import('./metrics.js'), { port: portOfMetrics });
  allowOrigins(app, origins);
  for (const address of ['/health', '/health/live']) {
    app.get(address, (_request, reply) => sendJson(reply, '{"ok":true}'));
  }
  prepareOwnRoutes(app);
  options.extend?.(app);
  return app;
}

/** Whether the server was started by `npm run dev`. */
function isDeveloped(environment: Environment): boolean {
  return environment['npm_lifecycle_event'] === 'dev';
}

/** Logs errors of requests, and no successful requests. */
class ErrorsAlone extends LogController {
  override incomingRequest(): void {
    // Nothing has gone wrong yet.
  }

  override requestCompleted(): void {
    // An error is logged where it is answered.
  }

  override routeNotFound(): void {
    // The client gets the error.
  }

  override streamError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    const isGone = 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
    if (!isGone) super.streamError(error, request, reply);
  }
}

/** Whether a URL belongs to the protocol; other URLs are the user's. */
function isBelowRest(url: string): boolean {
  return (
    url.startsWith(root) && (url.length === root.length || '/?#'.includes(url.charAt(root.length)))
  );
}

const root = '/rest';

/**
 * Rewrites a path as clients spell it to the spelling of the routes: `%24` to `$`, and brackets
 * around a key to parentheses (protocol P1.2). The query stays as it is.
 */
function rewriteUrl(url: string): string {
  if (!isBelowRest(url)) return url;
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (!/[[%]/.test(path)) return url;
  const plain = path
    .replace(/%24/g, '$')
    .replace(/%5B/gi, '[')
    .replace(/%5D/gi, ']')
    .split('/')
    // Behind the dataclass, brackets are for the elements of an array.
    .map((segment, index) => (index === dataclassAt ? withParentheses(segment) : segment))
    .join('/');
  return query === -1 ? plain : plain + url.slice(query);
}

/** The position of the dataclass in `/rest/Employee[12]`. */
const dataclassAt = 2;

/**
 * `Employee[12]` as `Employee(12)`; only the outermost pair, because a key may contain brackets.
 */
function withParentheses(segment: string): string {
  const open = segment.indexOf('[');
  const close = segment.lastIndexOf(']');
  const parenthesis = segment.indexOf('(');
  if (open === -1 || close < open || (parenthesis !== -1 && parenthesis < open)) return segment;
  return `${segment.slice(0, open)}(${segment.slice(open + 1, close)})${segment.slice(close + 1)}`;
}

/** The body of an error outside of the protocol, as Fastify writes it. */
function plainError({ statusCode = 500, code, message }: FastifyError): object {
  return { statusCode, code, error: http.STATUS_CODES[statusCode], message };
}

/** Errors of Node's HTTP parser, which come before there is a request that Fastify could answer. */
const parserErrors: Readonly<
  Record<string, { readonly status: string; readonly name: ErrorName; readonly message: string }>
> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    name: 'uriTooLong',
    message: 'The address and the headers are too long.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    name: 'malformedUrl',
    message: 'The request did not arrive in time.',
  },
};

const malformed = {
  status: '400 Bad Request',
  name: 'malformedUrl',
  message:
    'The request is malformed. Characters of an address that are not ASCII must be percent-encoded.',
} as const;

interface ParserError extends NodeJS.ErrnoException {
  /** What the parser read last: a Buffer, whatever its type in Fastify. */
  readonly rawPacket?: unknown;
}

/** Answers a broken request with an `__ERROR` body as well, and closes the connection. */
function answerClientError(error: ParserError, socket: Socket, origins: Origins): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return;
  const { status, name, message } = parserErrors[error.code ?? ''] ?? malformed;
  const body = JSON.stringify({ __ERROR: [protocolError(name, message)] });
  const received = (error.rawPacket as Buffer | undefined) ?? Buffer.alloc(0);
  const answer = (headers: IncomingHttpHeaders): void => {
    const allowed = Object.entries(origins.headersFor(headers));
    socket.end(
      [
        `HTTP/1.1 ${status}`,
        'Content-Type: application/json; charset=utf-8',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Connection: close',
        ...allowed.map((each) => each.join(': ')),
        '',
        body,
      ].join('\r\n'),
    );
  };
  if (error instanceof BodyTimeout) answer(error.request.headers);
  else if (error.code === 'HPE_HEADER_OVERFLOW' && !origins.isEmpty) {
    findOrigin(socket, received, answer);
  } else answer(originIn(received.toString('latin1')));
}

function originIn(text: string): IncomingHttpHeaders {
  const origin = /\r\norigin:[ \t]*([^\s,]+)[ \t]*\r\n/i.exec(text)?.[1];
  return origin === undefined ? {} : { origin };
}

/** Bytes behind a head that is too long, and milliseconds for them to arrive. */
const mostUnread = 1024 * 1024;
const longestUnread = 2_000;

/** Behind an address that is too long, the origin of the page has still to arrive. */
function findOrigin(
  socket: Socket,
  received: Buffer,
  found: (headers: IncomingHttpHeaders) => void,
): void {
  let text = '';
  let bytes = 0;
  const end = (): void => {
    clearTimeout(timer);
    socket.off('data', read).off('end', end).off('close', end).resume();
    found(originIn(text));
  };
  const read = (chunk: Buffer): void => {
    bytes += chunk.length;
    text = text.slice(-1000) + chunk.toString('latin1');
    if (/\r\n\r\n|\r\norigin:[^\r]*\r\n/i.test(text) || bytes > mostUnread) end();
  };
  const timer = setTimeout(end, longestUnread);
  socket.on('data', read).on('end', end).on('close', end);
  read(received);
}

/** Options for code that builds the service. */
export interface AppOptions {
  /** The URL of the database; `DATABASE_URL` if it is left out. */
  readonly databaseUrl?: string;
  /**
   * Fastify's `logger`. If left out, warnings and errors go to stderr as JSON lines, from
   * `LOG_LEVEL` (info) up.
   */
  readonly logger?: FastifyServerOptions['logger'];
  /** Called with each SQL statement and its values before it runs: for tracing. */
  readonly onStatement?: StatementObserver;
  /** Replaces the user's `src/login.ts` in tests. A model without roles has none. */
  readonly login?: LoginModule;
  /** The source of settings; `process.env` if left out. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Called before the routes below `/rest` are registered: for plugins that inspect each route that
   * is registered after them, as those for rate limits or API descriptions do. Hooks may be added
   * later as well.
   */
  readonly extend?: (app: FastifyInstance) => void;
}
