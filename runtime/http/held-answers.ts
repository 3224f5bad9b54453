import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http, whenClosed } from './node-http.js';
import type { AnswerMemory } from './answer-memory.js';
import { closedAfterBody, isBodyUnread } from './receive-body.js';
import { isFollowed } from './waiting-requests.js';

/** A connection whose client has not read its answers yet. */
interface Holder {
  bytes: number;
  readonly forget: () => void;
}

/**
 * The answers that are written and not yet read by their clients: their bytes are limited, whatever
 * clients do. If the limit is reached, the connections that have been slow for longest are cut, so
 * a client that does not read takes no memory from those that do. A connection that reads nothing
 * for some time is cut as well.
 */
export class HeldAnswers {
  readonly #holders = new Map<Socket, Holder>();
  #bytes = 0;

  /**
   * @param most bytes of all of them
   * @param patience milliseconds without a byte read
   * @param cut called for each connection that is cut to make room
   */
  constructor(
    private readonly most: number,
    private readonly patience: number,
    private readonly cut: () => void,
  ) {}

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Counts an answer that is written as a whole, and that the system has not taken completely.
   * @param last what it was ended with; Node counts the characters of a text, not its bytes
   */
  keep(answer: ServerResponse, last?: unknown): void {
    const uncounted = typeof last === 'string' ? Buffer.byteLength(last) - last.length : 0;
    const bytes = answer.writableLength + uncounted;
    const { socket } = answer.req;
    if (socket.destroyed) return;
    const holder = this.#holderOf(socket);
    holder.bytes += bytes;
    this.#bytes += bytes;
    answer.once('close', () => {
      this.#take(socket, holder, bytes);
    });
    this.watch(socket);
    this.#makeRoom();
  }

  /** Cuts a connection whose client has stopped reading. */
  watch(socket: Socket): void {
    socket.setTimeout(this.patience);
  }

  #holderOf(socket: Socket): Holder {
    const known = this.#holders.get(socket);
    if (known !== undefined) return known;
    const forget = whenClosed(socket, () => {
      this.#take(socket, holder, holder.bytes);
    });
    const holder: Holder = { bytes: 0, forget };
    this.#holders.set(socket, holder);
    return holder;
  }

  #take(socket: Socket, holder: Holder, bytes: number): void {
    if (this.#holders.get(socket) !== holder) return;
    holder.bytes -= bytes;
    this.#bytes -= bytes;
    if (holder.bytes > 0) return;
    this.#holders.delete(socket);
    holder.forget();
  }

  #makeRoom(): void {
    for (const [socket, holder] of this.#holders) {
      if (this.#bytes <= this.most) return;
      this.#take(socket, holder, holder.bytes);
      socket.destroy();
      this.cut();
    }
  }
}

type WriteDone = (error: Error | null | undefined) => void;

/**
 * The class of a server's answers, each of which reports that its client reads slower than it is
 * written.
 * @param isClosing whether the server stops: then answers say `Connection: close`, so that a client
 * sends nothing more on a connection that is closed behind it
 */
export function watchedResponse(
  held: HeldAnswers,
  memory: AnswerMemory,
  isClosing: () => boolean = () => false,
): typeof ServerResponse<IncomingMessage> {
  return class WatchedResponse extends http.ServerResponse {
    override writeHead(status: number, ...given: readonly unknown[]): this {
      // Requests behind it would be handled and never answered.
      if (isClosing() && !isFollowed(this)) this.shouldKeepAlive = false;
      const [headers] = given as [OutgoingHttpHeaders];
      return isBodyUnread(this.req)
        ? super.writeHead(status, closedAfterBody(this, headers))
        : super.writeHead(status, ...(given as [OutgoingHttpHeaders]));
    }

    override write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
      const isTaken = super.write(chunk, encoding as BufferEncoding, done as WriteDone);
      if (!isTaken) held.watch(this.req.socket);
      return isTaken;
    }

    override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
      super.end(chunk, encoding as BufferEncoding, done as () => void);
      if (this.writableLength > 0) held.keep(this, chunk);
      // Code that has replaced this method may keep what it gets.
      else memory.written(this, this.end === WatchedResponse.prototype.end ? chunk : undefined);
      return this;
    }
  };
}
