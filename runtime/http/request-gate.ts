import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { fastifyUnderPressure } from '@fastify/under-pressure';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyServerFactory,
  onSendHookHandler,
  preParsingHookHandler,
} from 'fastify';
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { type Environment, readSetting, textOf } from '../protocol/environment.js';
import { refuse, refuseBusy, type RequestError } from '../protocol/errors.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import type { Origins } from './cross-site.js';
import { http } from './node-http.js';
import { errorHeaders, errorJson } from './reply.js';
import { echoRequestId } from './request-log.js';
import type { Limits } from './settings.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler reads the body as it arrives, and keeps nothing of it in memory. */
    readonly streamsBody?: boolean;
  }
}

/** The log of refusals: what was refused, and how often since the last entry. */
export interface LoadLog {
  warn(what: object, message: string): void;
}

/** What an answer is sent as; `null` if it has no body. */
type Payload = string | Uint8Array | object | null | undefined;

/** Milliseconds between two log entries: refusals come in large numbers. */
const logInterval = 10_000;

/** Addresses that are always admitted: load changes neither whether the server lives nor whether its database answers. */
const isOfHealth = /^\/health(?:\/(?:live|ready))?(?:\?|$)/;

/** Requests that a client may send over one connection before the first of them is answered. */
const mostPipelined = 100;

/** Bodies and answers that are not larger are not counted: a connection has as much in any case. */
const notCounted = 16 * 1024;

/** A request, while it takes memory that is counted. */
interface Occupant {
  readonly socket: Socket;
  bodyBytes: number;
  answerBytes: number;
  isReleased: boolean;
}

/**
 * Limits what clients can occupy, which Node and Fastify limit for each request and connection
 * only: requests beyond what fits are refused with 503 and `Retry-After`, and clients that do not
 * read are disconnected. Requests for `/health` are always admitted.
 */
export class RequestGate {
  readonly #occupants = new WeakMap<IncomingMessage, Occupant>();
  /** Requests whose bodies may take longer than `REQUEST_TIMEOUT`, as long as bytes arrive. */
  readonly #streamed = new WeakSet<IncomingMessage>();
  /** Requests that were sent before earlier ones of their connection were answered. */
  readonly #pipelined = new WeakMap<Socket, Set<Occupant>>();
  #allPipelined = 0;
  #bodyBytes = 0;
  /** Requests whose answers are not sent completely, the oldest first. */
  readonly #unread = new Set<Occupant>();
  #unreadBytes = 0;
  #isClosing = false;
  #refused = 0;
  #cut = 0;
  #logged = -logInterval;
  #isLate = (): boolean => false;
  #log: LoadLog | undefined;

  /** @param origins those whose pages may read a refusal */
  constructor(
    private readonly settings: LoadSettings,
    private readonly origins: Pick<Origins, 'headersFor'>,
  ) {}

  /**
   * Makes HTTP servers that hand on requests which are admitted. They close connections beyond the
   * limit, and those that send nothing, or never the end of a request, or read nothing of an answer.
   * @param maxHeaderSize bytes of an address and all headers together; beyond them it is 431
   */
  servers(maxHeaderSize: number): FastifyServerFactory {
    const { keepAliveTimeout, maxConnections } = this.settings;
    const requestTimeout = this.settings.requestTimeout * 1000;
    return (handler) => {
      const options = {
        maxHeaderSize,
        keepAliveTimeout: keepAliveTimeout * 1000,
        // It would include the time of an upload: see `#limitBody`.
        requestTimeout: 0,
        headersTimeout: requestTimeout,
        connectionsCheckingInterval: Math.min(longestInterval, requestTimeout / 2),
      };
      const server = http.createServer(options, (request, response) => {
        // A small body arrives with its head, and then needs no timer.
        if (isBodyUnread(request))
          setImmediate(() => {
            this.#limitBody(request, response, server);
          });
        response.setTimeout(requestTimeout).on('timeout', closeUnread);
        if (this.#isAdmitted(request, response)) handler(request, response);
        else this.#refuse(request, response);
      });
      server.maxConnections = maxConnections;
      return server;
    };
  }

  /** Call it before hooks are added that see answers as they are sent. */
  guard(app: FastifyInstance, log: LoadLog): void {
    this.#log = log;
    app.addHook('preParsing', this.#countBody);
    const drsLimitAnswer: onSendHookHandler<Payload> = (request, reply, payload, done) => {
      const error = this.#send(request, reply, payload);
      if (error === undefined) done(null, payload);
      else done(error);
    };
    app.addHook('onSend', drsLimitAnswer);
    app.addHook('preClose', (done) => {
      this.#isClosing = true;
      done();
    });
    const { maxWait } = this.settings;
    // In an instance of its own: its hook would cost each request more than the check.
    app.register(async (measuring) => {
      await measuring.register(fastifyUnderPressure, {
        maxEventLoopDelay: maxWait,
        // The plugin takes an interval without a measurement for an endless delay.
        sampleInterval: Math.max(1000, maxWait),
      });
      this.#isLate = () => measuring.isUnderPressure();
    });
  }

  /** Ends a request whose body does not arrive in time; an upload only if nothing of it arrives. */
  #limitBody(request: IncomingMessage, response: ServerResponse, server: Server): void {
    if (request.complete || request.destroyed) return;
    const { socket } = request;
    let { bytesRead } = socket;
    const timer = setTimeout(() => {
      if (request.complete) return;
      const isRead = this.#streamed.has(request) && !response.writableEnded;
      if (isRead && socket.bytesRead > bytesRead) {
        bytesRead = socket.bytesRead;
        timer.refresh();
        return;
      }
      if (!server.emit('clientError', new BodyTimeout(request), socket)) socket.destroy();
    }, this.settings.requestTimeout * 1000).unref();
    request.once('close', () => {
      clearTimeout(timer);
    });
  }

  #isAdmitted(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#isLate() && this.#hasTurn(request, response)) return true;
    return isOfHealth.test(request.url ?? '');
  }

  /** Whether a request waits behind no more than may wait. */
  #hasTurn(request: IncomingMessage, response: ServerResponse): boolean {
    if (response.socket !== null) return true;
    const behind = this.#pipelined.get(request.socket)?.size ?? 0;
    if (behind >= mostPipelined || this.#allPipelined >= this.settings.maxConnections) return false;
    this.#occupant(request, response);
    return true;
  }

  /** Answers without Fastify: a refusal must cost next to nothing. */
  #refuse(request: IncomingMessage, response: ServerResponse): void {
    this.#logRefusal();
    echoRequestId(request, response);
    if (this.#keepUntilRead(request, response)) response.setHeader('connection', 'keep-alive');
    const { status, headers, json } = crowded;
    response
      .writeHead(status, { ...headers, ...this.origins.headersFor(request.headers) })
      .end(json);
  }

  /**
   * Counts a body as it arrives, so that a client that does not send it takes no room. One that does
   * not fit in beside the bodies of others is refused.
   */
  readonly #countBody: preParsingHookHandler = (request, reply, payload, done) => {
    if (request.routeOptions.config.streamsBody === true) this.#streamed.add(request.raw);
    if (!isBodyCounted(request)) {
      done(null, payload);
      return;
    }
    const declared = Number(request.headers['content-length'] ?? 0);
    if (this.#bodyBytes + declared > this.settings.transferMemory) {
      this.#logRefusal();
      done(refuseBusy(noRoom));
      return;
    }
    const chunks = this.#arriving(payload, this.#occupant(request.raw, reply.raw));
    const counted = Readable.from(chunks, { objectMode: false });
    // As with a request of Node: if nobody listens any more, nobody needs the error.
    counted.on('error', () => undefined);
    done(null, counted);
  };

  async *#arriving(payload: Readable, occupant: Occupant): AsyncGenerator<Buffer> {
    // The connection is kept for the answer.
    for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
      const { length } = chunk as Buffer;
      // The rest after the answer is dropped.
      if (!occupant.isReleased) {
        if (this.#bodyBytes + length > this.settings.transferMemory) {
          this.#logRefusal();
          throw refuseBusy(noRoom);
        }
        this.#bodyBytes += length;
        occupant.bodyBytes += length;
      }
      yield chunk as Buffer;
    }
  }

  #occupant(request: IncomingMessage, response: ServerResponse): Occupant {
    return getOrInsertComputed(this.#occupants, request, () => {
      const occupant = { socket: request.socket, bodyBytes: 0, answerBytes: 0, isReleased: false };
      response.once('close', () => {
        this.#release(occupant);
      });
      if (response.socket === null) {
        this.#lineOf(request.socket).add(occupant);
        this.#allPipelined += 1;
      }
      return occupant;
    });
  }

  /** Node emits nothing at an answer that waits behind another one when their connection closes. */
  #lineOf(socket: Socket): Set<Occupant> {
    return getOrInsertComputed(this.#pipelined, socket, () => {
      const behind = new Set<Occupant>();
      socket.once('close', () => {
        for (const each of behind) this.#release(each);
      });
      return behind;
    });
  }

  /** Call it when the answer is sent, or the connection is closed. */
  #release(occupant: Occupant): void {
    this.#bodyBytes -= occupant.bodyBytes;
    this.#unreadBytes -= occupant.answerBytes;
    occupant.bodyBytes = 0;
    occupant.answerBytes = 0;
    occupant.isReleased = true;
    this.#unread.delete(occupant);
    if (this.#pipelined.get(occupant.socket)?.delete(occupant) === true) this.#allPipelined -= 1;
  }

  /**
   * Prepares the connection for an answer.
   * @returns an error for an answer that is larger than all together may be, because it would be
   *   cut in the middle; a stream is sent in pieces, and has no size
   */
  #send({ raw }: FastifyRequest, reply: FastifyReply, payload: Payload): Error | undefined {
    const { transferMemory: most } = this.settings;
    const bytes = bytesOf(payload);
    if (bytes > most) {
      const message = `The answer has ${bytes} bytes; this server sends at most ${most} at once (TRANSFER_MEMORY). Request less of it, for example with a smaller $top.`;
      return refuse('tooLarge', message);
    }
    echoRequestId(raw, reply.raw);
    // Fastify would close the connection.
    if (this.#keepUntilRead(raw, reply.raw)) void reply.header('connection', 'keep-alive');
    const isBehind = reply.raw.socket === null;
    if (bytes > (isBehind ? 0 : notCounted)) this.#watch(raw, reply.raw, bytes);
    return undefined;
  }

  /** Whether the connection must stay open until the rest of the body is read: see {@link answerBeforeBody}. */
  #keepUntilRead(request: IncomingMessage, response: ServerResponse): boolean {
    // Requests behind it would be handled and never answered.
    if (this.#isClosing && !this.#isFollowed(request)) response.shouldKeepAlive = false;
    if (!isBodyUnread(request)) return false;
    answerBeforeBody(request, response);
    return true;
  }

  /** Whether later requests of the same connection wait; some may be earlier than this one. */
  #isFollowed(request: IncomingMessage): boolean {
    const behind = this.#pipelined.get(request.socket);
    const own = this.#occupants.get(request);
    return [...(behind ?? [])].some((each) => each !== own);
  }

  /** Counts an answer until it is sent, and disconnects the slowest clients if there is no room. */
  #watch(request: IncomingMessage, response: ServerResponse, bytes: number): void {
    const { socket } = request;
    // An injected request has no connection, and after the end of one nothing is released.
    if (!(socket instanceof Socket) || socket.destroyed) return;
    const { transferMemory } = this.settings;
    const answered = this.#occupant(request, response);
    answered.answerBytes += bytes;
    this.#unreadBytes += bytes;
    this.#unread.add(answered);
    for (const each of this.#unread) {
      if (this.#unreadBytes <= transferMemory) return;
      this.#release(each);
      if (each.socket.destroyed) continue;
      each.socket.destroy();
      this.#cut += 1;
      this.#logLoad();
    }
  }

  #logRefusal(): void {
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
    this.#log?.warn({ refused, cut }, text);
  }
}

/** Whether the body of a request is kept in memory, unless it is small, or is refused for its size. */
function isBodyCounted(request: FastifyRequest): boolean {
  const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && Number(declared ?? 0) <= notCounted) return false;
  const { bodyLimit, config } = request.routeOptions;
  return config.streamsBody !== true && Number(declared ?? 0) <= bodyLimit;
}

function bytesOf(payload: Payload): number {
  if (payload instanceof Uint8Array) return payload.length;
  // A character has at most three bytes.
  if (typeof payload !== 'string' || payload.length * 3 <= notCounted) return 0;
  return Buffer.byteLength(payload);
}

/** Whether a part of the body has not arrived yet. */
function isBodyUnread({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

/**
 * Most clients send all of a body before they read the answer. If the connection were closed
 * meanwhile, as Fastify wants it, the system would reset it, and they would get no answer: so the
 * rest of the body is read and dropped first, for as long as a request may take to arrive.
 */
function answerBeforeBody(request: IncomingMessage, response: ServerResponse): void {
  const isLast = !response.shouldKeepAlive;
  const { socket } = request;
  response.once('finish', () => {
    if (!request.complete) request.resume();
    if (!isLast) return;
    if (request.complete) socket.destroySoon();
    else request.once('end', socket.destroySoon.bind(socket));
  });
}

const noRoom = 'The bodies of other requests take up the memory that is meant for them.';

/** The refusal of a request, written once. */
const crowded = written(refuseBusy('More requests have come at once than the server can answer.'));

function written(error: RequestError): {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly json: string;
} {
  const json = errorJson(error);
  const headers = { ...errorHeaders(error), 'content-length': Buffer.byteLength(json) };
  return { status: error.status, headers, json };
}

/** How much a server does at once, and how long it waits for its clients. */
interface LoadSettings {
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

/**
 * @param limits of bodies in memory; the largest body must fit
 * @throws Error that names the variable that is wrong
 */
export function loadSettings(
  environment: Environment,
  { bodySize, uploadSize }: Pick<Limits, 'bodySize' | 'uploadSize'>,
): LoadSettings {
  const largestBody = Math.max(bodySize, uploadSize);
  const transferMemory = readSetting(environment, 'TRANSFER_MEMORY');
  if (textOf(environment, 'TRANSFER_MEMORY') !== undefined && transferMemory < largestBody) {
    throw new Error(
      `TRANSFER_MEMORY is ${transferMemory}; it must not be less than the largest body, ${largestBody}.`,
    );
  }
  return {
    maxWait: readSetting(environment, 'MAX_WAIT'),
    maxConnections: readSetting(environment, 'MAX_CONNECTIONS'),
    transferMemory: Math.max(transferMemory, largestBody),
    requestTimeout: readSetting(environment, 'REQUEST_TIMEOUT'),
    keepAliveTimeout: readSetting(environment, 'KEEP_ALIVE_TIMEOUT'),
  };
}

/** The body of a request did not arrive in time; it has the code of Node's error for headers that do not. */
export class BodyTimeout extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT';

  constructor(readonly request: IncomingMessage) {
    super('The body of a request did not arrive in time.');
  }
}

/** Closes a connection on which nothing has moved, unless it waits for the server. */
function closeUnread(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

/** The longest time between two checks for slow clients, in milliseconds. */
const longestInterval = 30_000;
