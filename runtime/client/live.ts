import { bodyOf, type ClientRequest, type Connection, waiting } from './connection.js';
import { isRecord, type JsonRecord, reasonsOf, RestError } from './errors.js';

/** A stream that says nothing for so many milliseconds is dead: the server says something every 15 seconds. */
const longestSilence = 45_000;

/** The longest pause before a stream is opened again, in milliseconds. */
const longestPause = 30_000;

/** Answers after which the same request may succeed: the server starts, or has no room. */
const passing = new Set([429, 502, 503, 504]);

/** The address of a stream. */
interface StreamRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
}

/**
 * The messages of a stream of server-sent events. When the connection breaks, the stream is opened
 * again, and continues behind the last message that was received.
 *
 * @throws RestError if the server refuses the stream; the reason of the signal if it aborts
 */
export async function* messagesOf(
  connection: Connection,
  request: StreamRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<JsonRecord, never> {
  let last: string | undefined;
  let pause = 1000;
  for (let failures = 0; ; failures += 1) {
    if (failures > 0) await waiting(Math.min(longestPause, pause * 2 ** (failures - 1)), signal);
    const alive = new Silence(signal);
    try {
      const response = await sent(connection, { ...request, last, signal: alive.signal });
      if (response === undefined) continue;
      if (!response.ok && !passing.has(response.status)) {
        const body = await bodyOf(response, request);
        throw new RestError(response.status, reasonsOf(body));
      }
      if (!response.ok || response.body === null) {
        await response.body?.cancel();
        continue;
      }
      for await (const event of eventsOf(response.body, alive)) {
        failures = 0;
        pause = event.retry ?? pause;
        // Asked again, the server says why with a status.
        if (event.name === 'end') break;
        const message: unknown = event.data === '' ? undefined : JSON.parse(event.data);
        if (!isRecord(message)) continue;
        // What was yielded counts as received.
        last = event.id ?? last;
        yield message;
      }
      signal?.throwIfAborted();
    } finally {
      alive.end();
    }
  }
}

/** @returns `undefined` if the server cannot be reached */
async function sent(connection: Connection, request: ClientRequest): Promise<Response | undefined> {
  try {
    return await connection.send(request);
  } catch (error) {
    if (error instanceof RestError && error.status === 0) return undefined;
    if (request.signal?.aborted === true) return undefined;
    throw error;
  }
}

/** Aborts a request whose server is silent for too long, and with the signal of its caller. */
class Silence {
  readonly #controller = new AbortController();
  readonly #stop = (): void => {
    this.#controller.abort(this.given?.reason);
  };
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly given: AbortSignal | undefined) {
    if (given?.aborted === true) this.#stop();
    else given?.addEventListener('abort', this.#stop, { once: true });
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new Error('The server was silent.'));
    }, longestSilence);
  }

  /** Also closes a stream that is still open. */
  end(): void {
    clearTimeout(this.#timer);
    this.given?.removeEventListener('abort', this.#stop);
    this.#controller.abort();
  }
}

interface ServerEvent {
  readonly name: string;
  readonly data: string;
  readonly id?: string;
  /** Milliseconds. */
  readonly retry?: number;
}

async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  alive: Silence,
): AsyncGenerator<ServerEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const read = await reader.read().catch(() => undefined);
    // A connection that breaks ends the stream as the server does.
    if (read === undefined || read.done) return;
    const { value } = read;
    alive.heard();
    text += decoder.decode(value, { stream: true });
    const events = text.split('\n\n');
    // The last one is not complete.
    text = events.pop() ?? '';
    for (const each of events) yield eventOf(each);
  }
}

function eventOf(text: string): ServerEvent {
  let event: ServerEvent = { name: 'message', data: '' };
  for (const line of text.split('\n')) {
    const [, field = '', value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (field === 'event') event = { ...event, name: value };
    else if (field === 'data') event = { ...event, data: event.data + value };
    else if (field === 'id') event = { ...event, id: value };
    else if (field === 'retry') event = { ...event, retry: Number(value) };
  }
  return event;
}
