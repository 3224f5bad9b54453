import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Environment, readSetting } from '../protocol/environment.js';
import { refuse } from '../protocol/errors.js';

/**
 * Headers of answers that a page of another origin may read, in addition to those that browsers
 * always show.
 */
const exposedHeaders = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Length',
  'Content-Range',
  'ETag',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

/** Seconds that a browser remembers the answer to a preflight. */
const preflightAge = 600;

/** The front ends on other hosts that may use the server: the origins of their pages. */
export class Origins {
  readonly #listed: ReadonlySet<string>;

  constructor(listed: readonly string[]) {
    this.#listed = new Set(listed);
  }

  get isEmpty(): boolean {
    return this.#listed.size === 0;
  }

  has(origin: string | undefined): boolean {
    return origin !== undefined && this.#listed.has(origin);
  }

  /** The headers that let a listed page read an answer. */
  headersFor({ origin }: IncomingHttpHeaders): Readonly<Record<string, string>> {
    if (this.isEmpty) return {};
    if (origin === undefined || !this.has(origin)) return { vary: 'Origin' };
    return {
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': exposedHeaders,
    };
  }
}

/**
 * The origins of the model, or those of `ORIGINS` instead, separated by commas.
 * @throws Error that names the variable if one of them is no origin
 */
export function originsFrom(ofModel: readonly string[], environment: Environment): Origins {
  return new Origins(readSetting(environment, 'ORIGINS') ?? ofModel);
}

/**
 * Answers preflights of listed origins, and lets their pages read all answers: those of the user's
 * own routes, of `/health`, and errors. It is a hook without a route, so that a plugin of the user's
 * may have the route `OPTIONS *`, as `@fastify/cors` does. Call it before anything that may refuse a
 * request, so that a page can read the reason.
 */
export function allowOrigins(app: FastifyInstance, origins: Origins): void {
  if (origins.isEmpty) return;
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers } = request;
    void reply.headers(origins.headersFor(headers));
    const requested = headers['access-control-request-method'];
    if (method !== 'OPTIONS' || requested === undefined || !origins.has(headers.origin)) {
      done();
      return;
    }
    // A preflight allows every method and header; the request itself is checked by its route.
    void reply
      .code(204)
      .headers({
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        'access-control-allow-methods': requested,
        'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
        'access-control-max-age': String(preflightAge),
      })
      .send();
  });
}

/**
 * Refuses a request that a browser sends for a page of another site (protocol P1.12): because JSON
 * is read under any content type, no preflight protects it. A client that is not a browser sends
 * neither header. A page of a listed origin is allowed, and so is a request with a bearer token and
 * no cookie: no browser adds such a token by itself, and it sends a preflight before a page of
 * another site can.
 * @throws RequestError 403
 */
export function refuseCrossSite({ headers, server }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isForeign =
    site === 'cross-site' ||
    site === 'same-site' ||
    (origin !== undefined && hostOf(origin) !== headers.host?.toLowerCase());
  if (!isForeign || server.setup.origins.has(origin) || bearsToken(headers)) return;
  throw refuse(
    'crossSite',
    'A page of another site may not change data here, unless ORIGINS lists its origin.',
  );
}

function bearsToken({ authorization, cookie }: IncomingHttpHeaders): boolean {
  return cookie === undefined && /^bearer +\S/i.test(authorization ?? '');
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}
