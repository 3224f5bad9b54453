import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuseBusy } from '../protocol/busy.js';
import { BodyMemory, countedBody, noRoom } from './body-memory.js';
import type { Origins } from './cross-site.js';
import { HeldAnswers } from './held-answers.js';
import type { LoadSettings } from './load-settings.js';
import { errorHeaders, errorJson } from './reply.js';
import { isBelowRest } from './rewrite-url.js';
import { SpentBytes } from './spent-bytes.js';
import { TurnWatch } from './turn-watch.js';
import { WaitingRequests } from './waiting-requests.js';

/** Where what is refused is told: what, and how often since it was told last. */
export interface LoadLog {
  warn(what: object, message: string): void;
}

export interface GateOptions {
  readonly log: () => LoadLog;
  /** Whose pages are told that they are refused. */
  readonly origins?: Pick<Origins, 'headersFor'>;
  /** Whether code of the user sees what is sent; asked once the server is ready. */
  readonly isSendHooked?: () => boolean;
}

/** Of what is told at most: refusals are many when there are any. */
const tellEvery = 10_000;

/**
 * Stands before everything else that a server does for a request, and refuses what it cannot take now, with 503 and `Retry-After`.
 * The check costs a look at the clock. `/health` tells whether the server lives, which a crowd does not change.
 */
export class RequestGate {
  readonly held: HeldAnswers;
  readonly spent: SpentBytes;
  readonly #bodies: BodyMemory;
  readonly #waiting: WaitingRequests;
  readonly #turn: TurnWatch;
  readonly #interval: number;
  #timer: NodeJS.Timeout | undefined;
  #refused = 0;
  #told = -tellEvery;

  readonly #log: GateOptions['log'];
  readonly #origins: GateOptions['origins'];

  constructor(settings: LoadSettings, { log, origins, isSendHooked }: GateOptions) {
    this.#log = log;
    this.#origins = origins;
    this.spent = new SpentBytes(isSendHooked);
    const { maxWait, maxConnections, transferMemory, requestTimeout } = settings;
    this.held = new HeldAnswers(transferMemory, requestTimeout * 1000);
    this.#bodies = new BodyMemory(transferMemory);
    // As many as there would be if every client waited for its answer.
    this.#waiting = new WaitingRequests(maxConnections);
    this.#turn = new TurnWatch(maxWait);
    this.#interval = Math.max(1, Math.floor(maxWait / 4));
  }

  /** Whether a request is let in; one that is not is answered. */
  admits(request: IncomingMessage, response: ServerResponse): boolean {
    // What a connection had sent that was cut meanwhile.
    if (request.socket.destroyed) return false;
    const isTaken = this.#isInTime() && this.#waiting.hasRoom(request, response);
    if (!isTaken && request.url !== '/health') {
      this.#refuse(request, response, crowded);
      return false;
    }
    // Fastify reads the bodies of all other methods, those that have no route as well.
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

  /** To be called when what serves a request has returned. */
  leave(request: IncomingMessage, response: ServerResponse): void {
    if (!response.writableEnded) this.#waiting.add(request, response);
  }

  /** To be called when the server begins to listen. */
  open(): void {
    this.#turn.begin(performance.now());
    this.#timer ??= setInterval(() => {
      this.#turn.begin(performance.now());
      this.#tell();
    }, this.#interval).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Where nothing listens, whoever hands the requests over has a loop of their own. */
  #isInTime(): boolean {
    return this.#timer === undefined || this.#turn.takes(performance.now());
  }

  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { status, headers, json }: Refusal,
  ): void {
    this.#refused += 1;
    const origin = this.#origins?.headersFor(request.headers);
    response.writeHead(status, { ...headers, ...origin }).end(json);
  }

  #tell(): void {
    const now = performance.now();
    if (now - this.#told < tellEvery) return;
    const refused = this.#refused;
    const cut = this.held.takeCut();
    if (refused === 0 && cut === 0) return;
    this.#told = now;
    this.#refused = 0;
    const text =
      'The server has more to do than it can: requests were refused, or slow clients cut.';
    this.#log().warn({ refused, cut }, text);
  }
}

interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly json: string;
}

/** Written once: refusing must cost next to nothing. */
function prepared(message: string): Refusal {
  const error = refuseBusy(message);
  const json = errorJson(error);
  const headers = { ...errorHeaders(error), 'content-length': Buffer.byteLength(json) };
  return { status: error.status, headers, json };
}

const crowded = prepared('More requests have come at once than the server can answer.');
const bodiesFull = prepared(noRoom);
