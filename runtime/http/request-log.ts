import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { newUuid } from '../protocol/uuid.js';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a request asks for: a closed list, so that metrics can be counted by it. */
type RequestKind =
  | 'read'
  | 'entity'
  | 'entityset'
  | 'save'
  | 'delete'
  | 'function'
  | 'upload'
  | 'catalog'
  | 'directory'
  | 'info'
  | 'own'
  | 'unknown';

/** The names of the model in a request, and what it asks for; nothing that clients can make up. */
interface RequestFacts {
  /** The dataclass, or the class or singleton of a function; none for other requests. */
  readonly dataclass?: string;
  readonly kind: RequestKind;
}

const setMethods: ReadonlySet<string> = new Set(['entityset', 'subentityset', 'release']);

/** @param request that has found its route */
export function factsOf({ method, query, routeOptions }: FastifyRequest): RequestFacts {
  const { url, config } = routeOptions;
  if (url === undefined) return { kind: 'unknown' };
  if (config.function !== undefined) {
    return { dataclass: config.function.split('.', 1)[0] ?? '', kind: 'function' };
  }
  const { dataclass } = config;
  if (dataclass !== undefined) return { dataclass, kind: dataclassKind(method, url, query) };
  if (!url.startsWith('/rest')) return { kind: 'own' };
  const [, , first = ''] = url.split('/', 3);
  return { kind: serverKinds.get(first) ?? 'unknown' };
}

const serverKinds: ReadonlyMap<string, RequestKind> = new Map([
  ['$catalog', 'catalog'],
  ['$openapi', 'catalog'],
  ['$directory', 'directory'],
  ['$upload', 'upload'],
  ['$info', 'info'],
  ['$entityset', 'entityset'],
]);

function dataclassKind(method: string, url: string, query: unknown): RequestKind {
  const requested = methodParameter(query as Readonly<Record<string, unknown>>);
  if (setMethods.has(requested)) return 'entityset';
  if (method === 'POST') return requested === 'delete' ? 'delete' : 'save';
  return url.includes('(:key') ? 'entity' : 'read';
}

function methodParameter(query: Readonly<Record<string, unknown>>): string {
  for (const name in query) {
    if (name.toLowerCase() === '$method') return String(query[name]).replaceAll(/["'\s]/g, '');
  }
  return '';
}

/** An ID of a proxy or client: short, and without what could break a line or a header. */
const idPattern = /^[\w.:+/=@-]{1,128}$/;

/** The valid `X-Request-Id` of a request. */
function givenRequestId({ headers }: IncomingMessage): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' && idPattern.test(given) ? given : undefined;
}

/** Answers a request with the valid ID that it brings. */
export function echoRequestId(request: IncomingMessage, response: ServerResponse): void {
  const id = givenRequestId(request);
  if (id !== undefined && !response.headersSent) response.setHeader('X-Request-Id', id);
}

/** The log that takes the lines. */
interface RequestLogger {
  info(what: object, message: string): void;
}

/** The addresses that something asks every few seconds. */
const ofHealth = '/health';

/** Writes one line for each request when its answer is sent, or its client has gone. */
export function logRequests(app: FastifyInstance, log: RequestLogger): void {
  const sizes = new WeakMap<FastifyReply, AnswerSize>();
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id);
    if (request.routeOptions.url?.startsWith(ofHealth) !== true) {
      let isSent = false;
      reply.raw.once('finish', () => {
        isSent = true;
      });
      reply.raw.once('close', () => {
        log.info(lineOf(request, reply, isSent, sizes.get(reply)), 'request');
      });
    }
    done();
  });
  app.addHook('onSend', function drsMeasureAnswer(_request, reply, payload, done) {
    sizes.set(reply, sizeOf(reply, payload));
    done(null, payload);
  });
}

/** The size of an answer's body. */
interface AnswerSize {
  /** Unknown for a body that is sent piece by piece. */
  readonly bytes: number | undefined;
  /** Entities; only for answers that say how many they hold. */
  readonly rows: number | undefined;
}

function lineOf(
  request: FastifyRequest,
  reply: FastifyReply,
  isSent: boolean,
  size?: AnswerSize,
): object {
  const { server } = request;
  const session = server.hasDecorator('sessions') ? server.sessions.known(request) : undefined;
  return {
    reqId: request.id,
    user: session?.userName,
    ...factsOf(request),
    function: request.routeOptions.config.function,
    method: request.method,
    status: isSent ? reply.statusCode : undefined,
    isAborted: isSent ? undefined : true,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    rows: size?.rows,
    bytes: size?.bytes,
  };
}

function sizeOf(reply: FastifyReply, payload: unknown): AnswerSize {
  if (typeof payload === 'string' || payload instanceof Uint8Array) {
    return { bytes: Buffer.byteLength(payload), rows: rowsIn(payload) };
  }
  if (payload === undefined || payload === null) return { bytes: 0, rows: undefined };
  const length = reply.getHeader('content-length');
  return { bytes: length === undefined ? undefined : Number(length), rows: undefined };
}

/** The fields of an answer before its entities. */
const headLength = 512;

/** A collection says how many entities it holds; an entity has its key before its attributes. */
function rowsIn(json: string | Uint8Array): number | undefined {
  const head =
    typeof json === 'string'
      ? json.slice(0, headLength)
      : Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8', 0, headLength);
  const sent = /^\{[^[{]*?"__SENT":(\d+)/.exec(head)?.[1];
  if (sent !== undefined) return Number(sent);
  if (/^\{[^[{]*?(?:"__STATUS":\{"success":true\}[^[{]*?)?"__KEY":/.test(head)) return 1;
  if (typeof json !== 'string' || !json.startsWith('{"__ENTITIES":[')) return undefined;
  return (JSON.parse(json) as { readonly __ENTITIES: readonly unknown[] }).__ENTITIES.length;
}

/** The first digits of the IDs of this process, which no other one has. */
const digitsOfProcess = newUuid().slice(0, 22);

let requests = 0;

/**
 * The valid ID that a request brings, or one that no other request of any server has. It is a number
 * within the process: a random ID costs a fiftieth of a small read.
 */
export function requestId(request: IncomingMessage): string {
  return givenRequestId(request) ?? ownId();
}

function ownId(): string {
  requests += 1;
  return digitsOfProcess + String(requests).padStart(10, '0');
}

/** The request on whose behalf code runs, for what is written about statements. */
const current = new AsyncLocalStorage<FastifyRequest>();

/** Keeps the request for {@link currentRequest}. */
export function followRequests(app: FastifyInstance): void {
  const follow = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    current.run(request, done);
  };
  app.addHook('onRequest', follow);
  // In between the body is read, whose events belong to no request.
  app.addHook('preValidation', follow);
}

export function currentRequest(): FastifyRequest | undefined {
  return current.getStore();
}
