import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuse, refuseBusy } from '../protocol/errors.js';
import { echoRequestId } from './request-log.js';
import { BodyMemory, countedBody, noRoom } from './receive-body.js';
import type { Origins } from './cross-site.js';
import { HeldAnswers, watchedResponse } from './held-answers.js';
import { errorHeaders, errorJson } from './reply.js';
import { isBelowRest } from './rewrite-url.js';
import { AnswerMemory } from './answer-memory.js';
import { WaitingRequests } from './waiting-requests.js';
import { type Environment, setting } from '../protocol/environment.js';
import type { Limits } from './settings.js';
import { fastifyUnderPressure } from '@fastify/under-pressure';
import type { FastifyInstance, FastifyPluginAsync, FastifyServerFactory } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { http } from './node-http.js';

/** The log of refusals: what was refused, and how often since the last entry. */
export interface LoadLog {
  warn(what: object, message: string): void;
}

interface GateOptions {
  readonly log: () => LoadLog;
  /** Origins whose pages may read the refusal. */
  readonly origins?: Pick<Origins, 'headersFor'>;
  /** Whether code of the user sees what is sent; called once the server is ready. */
  readonly isSendHooked?: () => boolean;
}

/** What an answer is sent as; `null` if it has no body. */
type Payload = string | Uint8Array | object | null | undefined;

/**
 * Refuses answers that are larger than all answers together may be while clients read them: one
 * would be cut in the middle. A stream is sent in pieces, and has no size.
 * @param most bytes
 */
export function limitAnswers(app: FastifyInstance, most: number): void {
  app.addHook('onSend', function drsLimitAnswer(_request, _reply, payload: Payload, done) {
    const bytes = bytesOf(payload, most);
    if (bytes <= most) done(null, payload);
    else {
      const message = `The answer has ${bytes} bytes; this server sends at most ${most} at once (TRANSFER_MEMORY). Request less of it, for example with a smaller $top.`;
      done(refuse('tooLarge', message));
    }
  });
}

function bytesOf(payload: Payload, most: number): number {
  if (payload instanceof Uint8Array) return payload.length;
  // A character has at most three bytes.
  if (typeof payload !== 'string' || payload.length * 3 <= most) return 0;
  return Buffer.byteLength(payload);
}

/** Milliseconds between two log entries: refusals come in large numbers. */
const logInterval = 10_000;

/** Load does not change whether the server lives, nor whether its database answers. */
const isOfHealth = /^\/health(?:\/(?:live|ready))?$/;

/**
 * Comes before everything else that a server does for a request, and refuses what it has no room
 * for, with 503 and `Retry-After`: bodies and waiting requests, which Node and Fastify do not limit
 * together. Requests for `/health` are always admitted.
 */
export class RequestGate {
  readonly held: HeldAnswers;
  readonly memory: AnswerMemory;
  /** Set when the server stops. */
  isClosing = false;
  readonly #bodies: BodyMemory;
  readonly #waiting: WaitingRequests;
  #refused = 0;
  #cut = 0;
  #logged = -logInterval;

  readonly #log: GateOptions['log'];
  readonly #origins: GateOptions['origins'];

  constructor(settings: LoadSettings, { log, origins, isSendHooked }: GateOptions) {
    this.#log = log;
    this.#origins = origins;
    this.memory = new AnswerMemory(isSendHooked);
    const { maxConnections, transferMemory, requestTimeout } = settings;
    this.held = new HeldAnswers(transferMemory, requestTimeout * 1000, () => {
      this.#cut += 1;
      this.#logLoad();
    });
    this.#bodies = new BodyMemory(transferMemory);
    // As many as there would be if every client waited for its answer.
    this.#waiting = new WaitingRequests(maxConnections);
  }

  /** Whether a request is admitted; one that is not is answered here. */
  admits(request: IncomingMessage, response: ServerResponse): boolean {
    // The rest of a connection that was cut meanwhile.
    if (request.socket.destroyed) return false;
    if (!isOfHealth.test(request.url ?? '') && !this.#waiting.hasRoom(request, response)) {
      this.#refuse(request, response, crowded);
      return false;
    }
    // Fastify reads the bodies of all other methods, even if they have no route.
    if (request.method === 'GET' || request.method === 'HEAD') return true;
    if (!this.#bodies.hasRoom(request)) {
      this.#refuse(request, response, bodiesFull);
      return false;
    }
    this.#bodies.count(request, response);
    // Fastify's own parsers do not count what they read.
    if (!isBelowRest(request.url ?? '')) {
      countedBody(request)?.grow(Number(request.headers['content-length'] ?? 0));
    }
    return true;
  }

  /** Call it when the handler of a request has returned. */
  leave(request: IncomingMessage, response: ServerResponse): void {
    if (!response.writableEnded) this.#waiting.add(request, response);
  }

  /**
   * A plugin that refuses requests while the event loop is late, however long each of them takes.
   * @param maxWait milliseconds that it may be late on average
   */
  underPressure(maxWait: number): FastifyPluginAsync {
    return fastifyPlugin(async (app) => {
      await app.register(fastifyUnderPressure, {
        maxEventLoopDelay: maxWait,
        // If nothing is measured within an interval, the plugin takes it for one without end.
        sampleInterval: Math.max(1000, maxWait),
        pressureHandler: (request, reply) => {
          // Where nobody listens, requests are injected, and code that injects them in a row leaves the event loop no turn.
          if (isOfHealth.test(request.url) || !app.server.listening) return;
          this.#count();
          void reply.code(crowded.status).headers(crowded.headers).send(crowded.json);
        },
      });
    });
  }

  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { status, headers, json }: WrittenRefusal,
  ): void {
    this.#count();
    const origin = this.#origins?.headersFor(request.headers);
    response.writeHead(status, { ...headers, ...origin }).end(json);
  }

  #count(): void {
    this.#refused += 1;
    this.#logLoad();
  }

  /** Refusals within the interval after a line are counted in the next line. */
  #logLoad(): void {
    const now = performance.now();
    if (now - this.#logged < logInterval) return;
    const [refused, cut] = [this.#refused, this.#cut];
    this.#logged = now;
    this.#refused = 0;
    this.#cut = 0;
    const text =
      'The server has more to do than it can: requests were refused, or slow clients cut.';
    this.#log().warn({ refused, cut }, text);
  }
}

interface WrittenRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly json: string;
}

/** Written once: a refusal must cost next to nothing. */
function prepared(message: string): WrittenRefusal {
  const error = refuseBusy(message);
  const json = errorJson(error);
  const headers = { ...errorHeaders(error), 'content-length': Buffer.byteLength(json) };
  return { status: error.status, headers, json };
}

const crowded = prepared('More requests have come at once than the server can answer.');
const bodiesFull = prepared(noRoom);

/** How much a server does at once, and how long it waits for its clients. */
export interface LoadSettings {
  /** Milliseconds by which the event loop may be late on average; then requests are refused. */
  readonly maxWait: number;
  readonly maxConnections: number;
  /**
   * Bytes of received bodies whose requests are not answered yet; the same for answers that clients
   * have not read yet.
   */
  readonly transferMemory: number;
  /**
   * Seconds within which a request must arrive completely, and within which a client reads at least
   * a part of its answer.
   */
  readonly requestTimeout: number;
  /** Seconds that an idle connection is kept: more than proxies keep theirs, mostly 60. */
  readonly keepAliveTimeout: number;
}

const variables: Readonly<
  Record<keyof LoadSettings, { readonly variable: string; readonly usual: number }>
> = {
  maxWait: { variable: 'MAX_WAIT', usual: 1000 },
  maxConnections: { variable: 'MAX_CONNECTIONS', usual: 20_000 },
  transferMemory: { variable: 'TRANSFER_MEMORY', usual: 128 * 1024 * 1024 },
  requestTimeout: { variable: 'REQUEST_TIMEOUT', usual: 60 },
  keepAliveTimeout: { variable: 'KEEP_ALIVE_TIMEOUT', usual: 72 },
};

/** Milliseconds; timers of Node take no more. */
const longest = 2 ** 31 - 1;

/**
 * @param limits of bodies in memory; the largest body must fit
 * @throws Error that names the variable that is no positive whole number, or is too large or too
 * small
 */
export function loadSettings(
  environment: Environment,
  { bodySize, uploadSize }: Pick<Limits, 'bodySize' | 'uploadSize'>,
): LoadSettings {
  const largestBody = Math.max(bodySize, uploadSize);
  const settings = {
    maxWait: positive(environment, 'maxWait', longest),
    maxConnections: positive(environment, 'maxConnections', longest),
    transferMemory: positive(environment, 'transferMemory', Number.MAX_SAFE_INTEGER),
    requestTimeout: positive(environment, 'requestTimeout', Math.floor(longest / 1000)),
    keepAliveTimeout: positive(environment, 'keepAliveTimeout', Math.floor(longest / 1000)),
  };
  const { transferMemory } = settings;
  if (transferMemory >= largestBody) return settings;
  const { variable } = variables.transferMemory;
  if (setting(environment, variable, '') === '')
    return { ...settings, transferMemory: largestBody };
  throw new Error(
    `${variable} is ${transferMemory}; it must not be less than the largest body, ${largestBody}.`,
  );
}

function positive(environment: Environment, name: keyof LoadSettings, most: number): number {
  const { variable, usual } = variables[name];
  const text = setting(environment, variable, String(usual));
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new Error(
    `${variable} is ${JSON.stringify(text)}; it must be a whole number from 1 to ${most}.`,
  );
}

/** Bytes of an address and all headers together; beyond them it is 431. */
interface HeaderSize {
  readonly maxHeaderSize: number;
}

/** The longest time between two checks for slow clients, in milliseconds. */
const longestInterval = 30_000;

/** Makes HTTP servers that pass on the requests that the gate admits. */
export function gatedServers(
  gate: RequestGate,
  { requestTimeout, keepAliveTimeout, maxConnections }: LoadSettings,
  { maxHeaderSize }: HeaderSize,
): FastifyServerFactory {
  return (handler) => {
    const server = http.createServer(
      {
        maxHeaderSize,
        ServerResponse: watchedResponse(gate.held, gate.memory, () => gate.isClosing),
        keepAliveTimeout: keepAliveTimeout * 1000,
        // These close a connection that sends nothing, or never the end of a request.
        requestTimeout: requestTimeout * 1000,
        headersTimeout: requestTimeout * 1000,
        connectionsCheckingInterval: Math.min(longestInterval, requestTimeout * 500),
      },
      (request, response) => {
        echoRequestId(request, response);
        if (!gate.admits(request, response)) return;
        handler(request, response);
        gate.leave(request, response);
      },
    );
    server.maxConnections = maxConnections;
    return server;
  };
}
