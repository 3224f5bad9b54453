import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { whenClosed } from './node-http.js';

/** Requests that a client may send over one connection before the first of them is answered. */
const mostBehind = 100;

const behind = Symbol('behind');

interface CountedBehind {
  [behind]?: number;
}

/**
 * Requests that wait for something: their body, the database, class code. A client may send
 * requests without waiting for answers, so the number of connections is no limit. What is answered
 * at once is never counted.
 */
export class WaitingRequests {
  #count = 0;
  /** One for all. */
  readonly #end = (): void => {
    this.#count -= 1;
  };

  /** @param most of all connections together */
  constructor(private readonly most: number) {}

  /** How many there are now. */
  get count(): number {
    return this.#count;
  }

  /** Whether one more may wait. */
  hasRoom({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (this.#count >= this.most) return false;
    return !isBehind(response) || ((socket as CountedBehind)[behind] ?? 0) < mostBehind;
  }

  /** Call it if a request was not answered at once. */
  add({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#count += 1;
    if (isBehind(response)) this.#addBehind(socket, response);
    else response.on('close', this.#end);
  }

  #addBehind(socket: Socket & CountedBehind, response: ServerResponse): void {
    socket[behind] = (socket[behind] ?? 0) + 1;
    (response as CountedBehind)[behind] = 1;
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      this.#count -= 1;
      socket[behind] = (socket[behind] ?? 0) - 1;
      forget();
    };
    const forget = whenClosed(socket, end);
    response.on('close', end);
  }
}

/**
 * Whether later requests of the same connection wait; some may be earlier than this answer's own.
 */
export function isFollowed(response: ServerResponse): boolean {
  const { [behind]: all = 0 } = response.req.socket as CountedBehind;
  const { [behind]: own = 0 } = response as CountedBehind;
  return all > own;
}

/**
 * Whether an answer waits for others of its connection: it gets no event when the connection
 * closes.
 */
function isBehind({ socket }: ServerResponse): boolean {
  return socket === null;
}
