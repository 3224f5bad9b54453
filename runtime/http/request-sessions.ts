import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BearerTokens, LoginAttempts } from '../access/login-module.js';
import { type Carrier, RequestSession } from '../access/request-session.js';
import type { Origin } from '../access/session.js';
import type { SessionRecord } from '../access/session-store.js';
import type { Sessions } from '../access/sessions.js';
import { type ProtocolError, protocolError } from '../protocol/errors.js';
import { ownText } from '../protocol/own-text.js';

/** The part of a `User-Agent` that is shown to those who meet a lock. */
const longestUserAgent = 200;

/**
 * The property in which a request keeps its session: a weak map with an entry for each request makes
 * garbage collection expensive.
 */
const own = Symbol('session');

interface Known {
  [own]?: RequestSession | undefined;
}

const sessionEnded = protocolError('loginRequired', 'The session has ended: log in again.');

/** Finds the session of a request; for one without a cookie that costs a look at one header. */
export class RequestSessions {
  /** Answers that carry a session's cookie and may not be sent yet. */
  readonly #carrying = new WeakMap<SessionRecord, readonly WeakRef<CookieCarrier>[]>();
  readonly #pattern: RegExp;

  /**
   * @param cookie its name
   * @param logins `undefined` if nobody can log in
   * @param tokens `undefined` if bearer tokens are not accepted
   */
  constructor(
    readonly sessions: Sessions,
    readonly cookie: string,
    private readonly logins: LoginAttempts | undefined,
    private readonly tokens: BearerTokens | undefined,
  ) {
    this.#pattern = cookiePattern(cookie);
  }

  /**
   * The session of a request, the same one at each call; for a request without a cookie, a guest
   * without state.
   */
  async of(request: FastifyRequest, reply: FastifyReply): Promise<RequestSession> {
    return this.known(request) ?? this.#find(request, reply);
  }

  /**
   * Finds the session of a request again, as a new request with its cookie or token would: for an
   * answer that lasts.
   */
  renewed(request: FastifyRequest, reply: FastifyReply): Promise<RequestSession> {
    (request as Known)[own] = undefined;
    return this.#find(request, reply);
  }

  async #find(request: FastifyRequest, reply: FastifyReply): Promise<RequestSession> {
    const { cookie, authorization } = request.headers;
    const bearer = this.tokens?.of(authorization);
    if (bearer !== undefined && this.tokens !== undefined) {
      return this.#made(request, reply, await this.#ofToken(this.tokens, bearer));
    }
    const token = this.#cookieOf(cookie);
    const record = token === undefined ? undefined : await this.sessions.store.find(token);
    return this.#made(request, reply, record);
  }

  #cookieOf(header: string | undefined): string | undefined {
    return header === undefined ? undefined : this.#pattern.exec(header)?.[1];
  }

  /** A guest in place of a requester who cannot be identified. */
  guest(request: FastifyRequest, reply: FastifyReply): RequestSession {
    return this.#made(request, reply, undefined);
  }

  /** The session of a request, if it was found before. */
  known(request: FastifyRequest): RequestSession | undefined {
    return (request as Known)[own];
  }

  /**
   * The error that a guest gets beside a denial if the request has the cookie of a session that has
   * ended, or that never was.
   */
  endOf(request: FastifyRequest): ProtocolError | undefined {
    const { cookie } = request.headers;
    const known = this.known(request);
    if (cookie === undefined || known === undefined || known.id !== undefined) return undefined;
    return this.#cookieOf(cookie) === undefined ? undefined : sessionEnded;
  }

  /** A token is verified once; its session is found again until one of the two ends. */
  async #ofToken(tokens: BearerTokens, token: string): Promise<SessionRecord | undefined> {
    const name = tokens.nameOf(token);
    const known = await this.sessions.store.find(name);
    if (known !== undefined) return known;
    const { store } = this.sessions;
    const begun = await this.sessions.watch(async (haveEnded) => {
      const { login, expires } = await tokens.grantOf(token);
      // Another request with the token may have been faster.
      const made = await store.find(name);
      if (made !== undefined) return made;
      const foreign = { token: name, ends: expires * 1000 };
      const record = this.sessions.begin({ grant: login, foreign });
      await store.flush(record, false);
      // Another server may have been faster.
      if (record.hasEnded) return store.find(name);
      if (!(await haveEnded(login.userName))) return record;
      store.remove(record);
      await store.flush(record, false);
      return 'ended';
    });
    // The user was changed meanwhile.
    return begun === 'ended' ? this.#ofToken(tokens, token) : begun;
  }

  #made(
    request: FastifyRequest,
    reply: FastifyReply,
    record: SessionRecord | undefined,
  ): RequestSession {
    // Two parts of one request may have waited for the store.
    const known = this.known(request);
    if (known !== undefined) return known;
    const carrier = new CookieCarrier(request, reply, this);
    const session = new RequestSession(this.sessions, carrier, this.logins, record);
    (request as Known)[own] = session;
    return session;
  }

  /**
   * Sends the token of a session with an answer.
   * @param replaced the session that it replaces
   */
  carry(carrier: CookieCarrier, record: SessionRecord, replaced?: SessionRecord): void {
    if (replaced !== undefined) this.#withdraw(replaced);
    this.#carryAll(carrier, record);
  }

  /**
   * An answer with the token of a guest must not replace the cookie of the user that the guest has
   * become.
   */
  #withdraw(record: SessionRecord): void {
    for (const each of this.#carrying.get(record) ?? []) each.deref()?.withdraw();
    this.#carrying.delete(record);
  }

  /**
   * If two requests renew one cookie, the answer that is sent last must not bring the older one.
   */
  #carryAll(carrier: CookieCarrier, record: SessionRecord): void {
    const earlier = this.#carrying.get(record) ?? [];
    const waiting = earlier.filter((each) => each.deref()?.isSent === false);
    for (const each of waiting) each.deref()?.put(record.token);
    const isNew = !waiting.some((each) => each.deref() === carrier);
    if (isNew) carrier.put(record.token);
    this.#carrying.set(record, isNew ? [...waiting, new WeakRef(carrier)] : waiting);
  }
}

/** The answer to one request. */
class CookieCarrier implements Carrier {
  #origin: Origin | undefined;
  #carried: SessionRecord | undefined;

  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
    private readonly sessions: RequestSessions,
  ) {}

  get origin(): Origin {
    return (this.#origin ??= originOf(this.request));
  }

  get isSent(): boolean {
    return this.reply.raw.headersSent;
  }

  carry(record: SessionRecord | undefined, replaced?: SessionRecord): void {
    this.#carried = record;
    if (record === undefined) this.put(undefined);
    else this.sessions.carry(this, record, replaced);
  }

  synchronize(isStored: boolean): void {
    const carried = this.#carried;
    if (carried === undefined) return;
    const isOpening = isStored && !carried.hasEnded && carried.token !== '';
    if (isOpening) this.put(carried.token);
    else if (!isStored || carried.wasReplaced || carried.token === '') this.withdraw();
    // The answer to an error of the store is settled as well.
    if (!isStored) this.#carried = undefined;
  }

  /**
   * Code may continue after its answer was sent: then the client never learns of the session, and
   * it expires.
   */
  put(token: string | undefined): void {
    if (!this.isSent) setCookie(this.request, this.reply, this.sessions.cookie, token);
  }

  withdraw(): void {
    if (!this.isSent) withdrawCookie(this.reply, this.sessions.cookie);
  }
}

function originOf({ ip, socket, headers }: FastifyRequest): Origin {
  const userAgent = headers['user-agent'] ?? '';
  return {
    host: ownText(`${ip}:${socket.remotePort ?? 0}`),
    address: ownText(ip),
    userAgent: ownText(userAgent.slice(0, longestUserAgent)),
  };
}

/**
 * Finds the value of a name in a `Cookie` header: 32 hexadecimal digits, or nothing that could be a
 * session's. Of several, the first.
 */
export function cookiePattern(name: string): RegExp {
  return new RegExp(`(?:^|;)\\s*${name.replaceAll('.', '\\.')}="?([0-9A-F]{32})"?\\s*(?:;|$)`);
}

/**
 * Puts a session's cookie on an answer, in place of one that it already has (`access.md#sessions`).
 * @param token `undefined` to make the client forget the cookie
 */
function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  token: string | undefined,
): void {
  const others = otherCookies(reply, name);
  const life = token === undefined ? '; Max-Age=0' : '';
  const site = sameSiteOf(request, name);
  const cookie = `${name}=${token ?? ''}; Path=/; HttpOnly; SameSite=${site}${life}`;
  reply.removeHeader('set-cookie');
  reply.header('set-cookie', others.length === 0 ? cookie : [...others, cookie]);
}

/**
 * A browser sends the cookie for pages of another site only if it is `None`, which it accepts only
 * with `Secure`. Pages of sites that are not listed cannot change anything with it (protocol P1.12).
 */
function sameSiteOf(request: FastifyRequest, name: string): string {
  const { headers, server } = request;
  const isListed = server.setup.origins.has(headers.origin);
  if (isListed && headers['sec-fetch-site'] === 'cross-site') return 'None; Secure';
  // Browsers accept names with these prefixes only so.
  const isMarked = /^__(?:Host|Secure)-/.test(name);
  return isMarked || isSecure(request) ? 'Lax; Secure' : 'Lax';
}

/** Removes a session's cookie from an answer: the client keeps the one that it has. */
function withdrawCookie(reply: FastifyReply, name: string): void {
  const others = otherCookies(reply, name);
  reply.removeHeader('set-cookie');
  if (others.length > 0) reply.header('set-cookie', others);
}

function otherCookies(reply: FastifyReply, name: string): string[] {
  const cookies = [reply.getHeader('set-cookie') ?? []].flat().map(String);
  return cookies.filter((cookie) => !cookie.startsWith(`${name}=`));
}

/** A proxy that ends TLS sets this header; a client that pretends to be one only hurts itself. */
function isSecure({ protocol, headers }: FastifyRequest): boolean {
  const forwarded = headers['x-forwarded-proto'];
  const first = (Array.isArray(forwarded) ? forwarded[0] : forwarded)?.split(',')[0];
  return protocol === 'https' || first?.trim().toLowerCase() === 'https';
}
