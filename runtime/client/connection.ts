import { type ErrorReason, isRecord, type JsonRecord, reasonsOf, RestError } from './errors.js';
import type { ConnectOptions } from './types.js';

/** A request below `/rest`. */
export interface ClientRequest {
  /** Its parts are encoded: `/Company(7)`. */
  readonly path: string;
  /** Parameters that are `undefined` are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly method?: 'GET' | 'POST';
  /** Sent as JSON, or as it is if it is a Blob. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Whether it may be sent twice: the second one changes nothing. Reads by GET may. */
  readonly isRepeatable?: boolean;
  /** Whether its filter may be sent in the body of a POST. */
  readonly mayAsk?: boolean;
  /** ID of the last message that was received of a stream. */
  readonly last?: string | undefined;
  /** Whether it is sent even if its page is closed; then it has no long body. */
  readonly isKept?: boolean;
}

/** How many times a request is sent again. */
const usualRetries = 2;

/** Characters of an address above which a filter is sent in the body: proxies refuse long addresses. */
const longAddress = 4096;

/** The longest pause before a request is sent again, in seconds: a longer one means a server that is down. */
const longestPause = 10;

/** Sends requests to one server, as one session. */
export class Connection {
  /** Address of `/rest`. */
  readonly base: string;
  readonly #options: ConnectOptions;
  /** The cookies of the session, for programs other than browsers: a browser keeps them itself. */
  readonly #cookies = new Map<string, string>();

  constructor(url: string, options: ConnectOptions) {
    const plain = url.replace(/\/+$/, '');
    this.base = plain.endsWith('/rest') ? plain : `${plain}/rest`;
    this.#options = options;
  }

  urlOf({ path, query = {} }: Pick<ClientRequest, 'path' | 'query'>): string {
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    return `${this.base}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
  }

  /**
   * @returns the JSON of the answer
   * @throws RestError if the server refuses the request, or cannot be reached
   */
  async json(request: ClientRequest): Promise<unknown> {
    const response = await this.send(request);
    const body = await bodyOf(response, request);
    const reasons = reasonsOf(body);
    if (!response.ok || reasons.length > 0) throw new RestError(response.status, reasons);
    return body;
  }

  /** Sends a request whose answer is an object: see {@link json}. */
  async object(request: ClientRequest): Promise<JsonRecord> {
    const body = await this.json(request);
    if (isRecord(body)) return body;
    throw unexpected(request, 'an object');
  }

  /**
   * Sends a request, and sends it again if the server is busy and a repetition changes nothing.
   * @returns the answer, whatever its status is
   * @throws RestError with status 0 if there is none; the reason of the signal if it aborts
   */
  async send(given: ClientRequest): Promise<Response> {
    const request = this.#withShortAddress(given);
    const { method = 'GET', isRepeatable = method === 'GET', signal } = request;
    const { retries = usualRetries } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const response = await this.#sendOnce(request);
      const pause = isRepeatable && attempt < retries ? pauseOf(response) : undefined;
      if (pause === undefined) return response;
      await response.body?.cancel();
      await waiting(pause, signal);
    }
  }

  #withShortAddress(request: ClientRequest): ClientRequest {
    const { mayAsk, query = {} } = request;
    if (mayAsk !== true || this.urlOf(request).length <= longAddress) return request;
    const { $filter, $params, ...others } = query;
    if ($filter === undefined && $params === undefined) return request;
    const params = $params === undefined ? undefined : (JSON.parse($params) as unknown);
    return {
      ...request,
      method: 'POST',
      isRepeatable: request.method !== 'POST',
      query: others,
      body: { $filter, $params: params },
    };
  }

  async #sendOnce(request: ClientRequest): Promise<Response> {
    const { method = 'GET', body, signal, isKept, last } = request;
    const { token, fetch: send = globalThis.fetch } = this.#options;
    const bearer = typeof token === 'function' ? await token() : token;
    const headers: Record<string, string> = {};
    if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`;
    if (this.#cookies.size > 0) {
      headers['cookie'] = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    }
    if (last !== undefined) headers['last-event-id'] = last;
    if (body !== undefined && !(body instanceof Blob)) headers['content-type'] = 'application/json';
    const init: RequestInit = {
      method,
      headers,
      credentials: bearer === undefined ? 'include' : 'omit',
      ...(signal === undefined ? {} : { signal }),
      ...(isKept === true ? { keepalive: true } : {}),
      ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
    };
    const url = this.urlOf(request);
    let response: Response;
    try {
      response = await send(url, init);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      const message = `${method} ${url} was not answered: ${error instanceof Error ? error.message : String(error)}`;
      throw new RestError(0, [{ message, errCode: 0 }], { cause: error });
    }
    this.#keepCookies(response);
    return response;
  }

  #keepCookies({ headers }: Response): void {
    // Older browsers do not have the method.
    const lines = (headers as Partial<Headers>).getSetCookie?.call(headers) ?? [];
    for (const line of lines) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      const name = pair.slice(0, at).trim();
      if (/;\s*max-age=0/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, pair.slice(at + 1).trim());
    }
  }
}

/** Milliseconds until a request may be sent again; `undefined` if that is of no use. */
function pauseOf({ status, headers }: Response): number | undefined {
  const text = headers.get('retry-after') ?? '';
  if (status !== 503 || !/^\d{1,9}$/.test(text) || Number(text) > longestPause) return undefined;
  // A random part, so that clients that were refused together do not return together.
  return Number(text) * 1000 * (1 + Math.random() / 4);
}

/** @throws the reason of the signal if it aborts */
export function waiting(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

/** @throws RestError if the answer is not JSON */
export async function bodyOf(response: Response, request: ClientRequest): Promise<unknown> {
  const text = await response.text();
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch (error) {
    const reasons: readonly ErrorReason[] = [
      { message: `${request.path} was answered with something that is not JSON.`, errCode: 0 },
    ];
    throw new RestError(response.status, reasons, { cause: error });
  }
}

function unexpected({ path }: ClientRequest, expected: string): RestError {
  const message = `${path} was not answered with ${expected}: is this the address of a server of the model?`;
  return new RestError(200, [{ message, errCode: 0 }]);
}
