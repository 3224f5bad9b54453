import { setTimeout } from 'node:timers/promises';
import { ImportStop } from './messages.js';

/** How a session with a server begins. */
export interface RestLogin {
  /** Logs in with `$directory/login`. */
  readonly user?: { readonly name: string; readonly password: string } | undefined;
  /** Logs in with the function `authentify`, and these arguments. */
  readonly authentify?: readonly unknown[] | undefined;
  /** A `Cookie` header. */
  readonly cookie?: string | undefined;
}

interface ConnectionLimits {
  /** The longest that an answer may take. */
  readonly seconds: number;
  /** The longest answer. */
  readonly mebibytes: number;
}

/** An answer that is none of the expected ones. */
export class Refused extends ImportStop {
  constructor(
    place: string,
    readonly status: number,
    reason: string,
  ) {
    super('import/unreadable', place, reason);
  }
}

/** One session with a server of the protocol; nothing is asked of any other one. */
export class Connection {
  /** The address, without what may be secret. */
  readonly shown: string;
  readonly host: string;
  readonly #base: URL;
  readonly #cookies = new Map<string, string>();

  private constructor(
    address: string,
    private readonly limits: ConnectionLimits,
  ) {
    let base: URL;
    try {
      base = new URL(address);
    } catch {
      throw new ImportStop('usage', address, 'it is no address; write http://host:port');
    }
    if (base.username !== '' || base.password !== '') {
      throw new ImportStop('usage', base.host, 'name the user with --user, not in the address');
    }
    const path = base.pathname.replace(/\/+$/, '').replace(/\/rest(?:\/.*)?$/, '');
    this.#base = new URL(`${path}/rest/`, base.origin);
    this.shown = this.#base.href;
    this.host = base.hostname;
  }

  /** Opens a session, and logs in if `login` says how. */
  static async open(
    address: string,
    login: RestLogin,
    limits: ConnectionLimits,
  ): Promise<Connection> {
    const connection = new Connection(address, limits);
    if (login.cookie !== undefined) connection.#takeCookies(login.cookie);
    await connection.#logIn(login);
    return connection;
  }

  #takeCookies(text: string): void {
    for (const part of text.split(';')) {
      // What is no cookie could not be sent, or would end the header.
      if (!/^\s*[\w!#$%&'*+.^`|~-]+=[\x20-\x7e]*$/.test(part)) {
        throw new ImportStop('usage', '--cookie', 'it is no cookie; write name=value');
      }
      this.#keepCookie(part);
    }
  }

  #keepCookie(text: string): void {
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name !== undefined) this.#cookies.set(name.trim(), value.trim());
  }

  async #logIn({ user, authentify }: RestLogin): Promise<void> {
    if (user !== undefined) {
      const { name, password } = user;
      if (/[\0\r\n]/.test(name + password)) {
        throw new ImportStop('usage', '--user', 'name and password must stand on one line');
      }
      // 4D reads the headers, Wakanda reads the body.
      const answer = await this.#json('$directory/login', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'username-4D': utf8Header(name),
          'password-4D': utf8Header(password),
          'session-4D-length': '600',
        },
        body: JSON.stringify([name, password, 36_000]),
      });
      if (at(answer, 'result') !== true) {
        throw new ImportStop('import/unreadable', this.shown, 'the login was refused');
      }
    }
    if (authentify !== undefined) {
      await this.#json('$catalog/authentify', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(authentify),
      });
    }
  }

  json(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const query = Object.entries(parameters)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&');
    return this.#json(query === '' ? path : `${path}?${query}`, {});
  }

  /** @param uri as an answer has it */
  async bytes(uri: string): Promise<Uint8Array> {
    if (!URL.canParse(uri, this.#base.href)) {
      throw new Refused(this.shown, 0, 'an answer has an address that is none');
    }
    const url = new URL(uri, this.#base);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { body, type } = await this.#ask(url, {});
        if (!/^(?:text\/html|application\/json)\b/i.test(type)) return body;
        throw new Refused(this.shown, 200, `the answer to ${uri} is ${type} instead of bytes`);
      } catch (error) {
        const isPassing = error instanceof Refused && (error.status === 0 || error.status >= 500);
        if (!isPassing || attempt >= attempts) throw error;
        await setTimeout(pauseMilliseconds * attempt);
      }
    }
  }

  async #json(path: string, init: RequestInit): Promise<unknown> {
    const url = new URL(path.split('/').map(pathPart).join('/'), this.#base);
    const { body } = await this.#ask(url, init);
    const text = Buffer.from(body).toString();
    try {
      return JSON.parse(text.replace(/^\ufeff/, '')) as unknown;
    } catch {
      throw new Refused(this.shown, 0, `the answer to ${path.split('?')[0] ?? ''} is no JSON`);
    }
  }

  async #ask(
    url: URL,
    init: RequestInit,
  ): Promise<{ readonly body: Uint8Array; readonly type: string }> {
    if (url.origin !== this.#base.origin) {
      throw new Refused(this.shown, 0, 'an answer leads to another server');
    }
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = new Headers(init.headers);
    if (cookie !== '') headers.set('cookie', cookie);
    let response: Response;
    let body: Uint8Array;
    try {
      response = await fetch(url, {
        ...init,
        headers,
        // Another server must not get the password.
        redirect: 'manual',
        signal: AbortSignal.timeout(this.limits.seconds * 1000),
      });
      for (const header of response.headers.getSetCookie()) {
        this.#keepCookie(header.replace(/;.*/s, ''));
      }
      body = await this.#bodyOf(response);
    } catch (error) {
      if (error instanceof ImportStop) throw error;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new Refused(this.shown, 503, cause instanceof Error ? cause.message : String(cause));
    }
    if (response.ok) return { body, type: response.headers.get('content-type') ?? '' };
    throw new Refused(this.shown, response.status, reasonOf(response, body));
  }

  async #bodyOf(response: Response): Promise<Uint8Array> {
    const { mebibytes } = this.limits;
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += part.length;
      if (size > mebibytes * 1024 * 1024) {
        const reason = `an answer has more than ${String(mebibytes)} MiB`;
        throw new Refused(this.shown, 413, reason);
      }
      parts.push(part);
    }
    return Buffer.concat(parts);
  }
}

const attempts = 5;
const pauseMilliseconds = 500;

/** Headers hold bytes; names in all scripts are sent as UTF-8. */
function utf8Header(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The name of a dataclass may hold any character; the parameters are written already. */
function pathPart(part: string): string {
  const [name = '', ...query] = part.split('?');
  const encoded = /^\$|^[\w$,()-]*$/.test(name) ? name : encodeURIComponent(name);
  return [encoded, ...query].join('?');
}

function reasonOf({ status, headers }: Response, body: Uint8Array): string {
  if (status >= 300 && status < 400) {
    const target = headers.get('location') ?? 'another address';
    return `it leads to ${target}; if you trust that server, name its address`;
  }
  let message: string | undefined;
  try {
    const errors = at(JSON.parse(Buffer.from(body).toString()) as unknown, '__ERROR');
    message = Array.isArray(errors) ? textAt(errors[0], 'message') : undefined;
  } catch {
    // The status says enough.
  }
  const hint =
    status === 401 || status === 403
      ? '; log in with --user, --authentify or --cookie'
      : status === 402
        ? '; no licence is free, so wait, or end other sessions'
        : '';
  return `it answered ${String(status)}${message === undefined ? '' : `: ${message}`}${hint}`;
}

export function at(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

export function textAt(value: unknown, name: string): string | undefined {
  const found = at(value, name);
  return typeof found === 'string' ? found : typeof found === 'number' ? String(found) : undefined;
}

export function listAt(value: unknown, name: string): readonly unknown[] {
  const found = at(value, name);
  return Array.isArray(found) ? found : [];
}
