import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { refuse, type RequestError, refuseBusy } from '../protocol/errors.js';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { whenClosed } from './node-http.js';

type BodyDone = (error: Error | null, body?: Buffer) => void;

/**
 * Reads the body of a request as bytes. It may be as large as its route allows, and all bodies together as large as they may be.
 * @param usual bytes that every route allows
 */
export function receiveBody(
  request: FastifyRequest,
  payload: Readable,
  usual: number,
  done: BodyDone,
): void {
  const isTooLarge = (bytes: number): boolean =>
    bytes > usual && bytes > request.routeOptions.bodyLimit;
  const tooLarge = (): Error => bodyTooLarge(Math.max(usual, request.routeOptions.bodyLimit));
  const declared = request.headers['content-length'];
  if (isTooLarge(Number(declared ?? 0))) {
    done(tooLarge());
    return;
  }
  const counted = countedBody(request.raw);
  const chunks: Buffer[] = [];
  let length = 0;

  const end = (error: Error | null): void => {
    payload.removeListener('data', onData);
    payload.removeListener('end', onEnd);
    payload.removeListener('error', onError);
    if (error !== null) done(error);
    // A chunk has its own memory: nothing else that was read is kept with it.
    else done(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length));
  };
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    if (isTooLarge(length)) end(tooLarge());
    else if (counted?.grow(chunk.length) === false) end(refuseBusy(noRoom));
    else chunks.push(chunk);
  };
  const onEnd = (): void => {
    // A connection ends with its length; a request that is injected may say what it wants.
    const isWhole = declared === undefined || length === Number(declared);
    end(isWhole ? null : refuse('badBody', 'The length of the body differs from Content-Length.'));
  };
  const onError = (error: Error): void => {
    end(Object.assign(error, { statusCode: 400 }));
  };
  payload.on('data', onData);
  payload.on('end', onEnd);
  payload.on('error', onError);
  payload.resume();
}

/**
 * The rest of a body whose request is answered already: how long its client may send nothing, and
 * how much is read of it. `REQUEST_TIMEOUT` limits the time of all of it.
 */
const idleMilliseconds = 2_000;
const mostRestBytes = 128 * 1024 * 1024;

/** Whether a part of the body has not arrived yet. */
export function isBodyUnread({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

/**
 * Most clients send all of a body before they read the answer. If the connection were closed
 * meanwhile, the system would reset it, and they would get no answer: so the rest of the body is
 * read and dropped first.
 * @param headers those of Fastify close the connection at once
 */
export function closedAfterBody(
  response: ServerResponse,
  headers: OutgoingHttpHeaders = {},
): OutgoingHttpHeaders {
  const isLast = !response.shouldKeepAlive;
  response.shouldKeepAlive = true;
  // Node's own listener would read on without a limit.
  response.prependOnceListener('finish', () => {
    void discardRest(response.req).then((isComplete) => {
      if (isLast || !isComplete) response.req.socket.destroySoon();
    });
  });
  return { ...headers, connection: 'keep-alive' };
}

/** @returns whether the body has ended within the limits */
function discardRest(request: IncomingMessage): Promise<boolean> {
  if (request.complete) return Promise.resolve(true);
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', end).off('close', end);
      resolve(request.complete);
    };
    const onData = (chunk: Uint8Array): void => {
      bytes += chunk.length;
      timer.refresh();
      if (bytes > mostRestBytes) end();
    };
    const timer = setTimeout(end, idleMilliseconds).unref();
    request.on('data', onData).on('end', end).on('close', end);
    request.resume();
    request.read(0);
  });
}

/** 413. */
export function bodyTooLarge(most: number): RequestError {
  return refuse('tooLarge', `The body has at most ${most} bytes.`);
}

/** Bodies that are not larger are not counted: a connection has as much in any case. */
const notCounted = 16 * 1024;

/** The message of the 503 when `TRANSFER_MEMORY` is used up. */
export const noRoom = 'The bodies of other requests take up the memory that is meant for them.';

/** The bodies of requests that are not answered yet: no more bytes than there may be. */
export class BodyMemory {
  #bytes = 0;

  /** @param most bytes of all of them */
  constructor(private readonly most: number) {}

  /** Bytes that are counted now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether there is room for the body that a request says it has; for one that says nothing, when it comes. */
  hasRoom({ headers }: IncomingMessage): boolean {
    const declared = Number(headers['content-length'] ?? 0);
    return declared <= notCounted || declared > this.most || this.#bytes + declared <= this.most;
  }

  /** Counts what comes of the body of a request, until it is answered. */
  count(request: IncomingMessage, response: ServerResponse): void {
    const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers;
    if (encoding === undefined && Number(declared ?? 0) <= notCounted) return;
    const counted = new CountedBody((bytes) => this.#take(bytes));
    (request as CountedRequest)[ofRequest] = counted;
    const end = (): void => {
      this.#bytes -= counted.end();
      forget();
    };
    const forget = whenClosed(request.socket, end);
    response.once('close', end);
  }

  #take(bytes: number): boolean {
    if (this.#bytes + bytes > this.most) return false;
    this.#bytes += bytes;
    return true;
  }
}

const ofRequest = Symbol('body');

interface CountedRequest {
  [ofRequest]?: CountedBody;
}

/** The body of one request, while it comes. */
class CountedBody {
  #bytes = 0;
  #isOver = false;

  constructor(private readonly takes: (bytes: number) => boolean) {}

  /** @returns whether there is room for so many more bytes of it */
  grow(bytes: number): boolean {
    if (this.#isOver) return true;
    if (!this.takes(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * Its request is answered, or nobody waits for that: what still comes is thrown away.
   * @returns what was counted of it, the first time
   */
  end(): number {
    const bytes = this.#isOver ? 0 : this.#bytes;
    this.#isOver = true;
    return bytes;
  }
}

/** The counted body of a request; none where it is small, or came by no connection. */
export function countedBody(request: IncomingMessage): CountedBody | undefined {
  return (request as CountedRequest)[ofRequest];
}
