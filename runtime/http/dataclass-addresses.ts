import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DataclassHandlers } from './dataclass-handlers.js';
import {
  DataclassRoutes,
  endOfName,
  parenthesis,
  partsBehind,
  type Route,
} from './dataclass-routes.js';
import { limitedBodies } from './limited-bodies.js';
import type { BodySizes } from './media-addresses.js';
import { answerNotFound } from './not-found.js';
import { guardPost } from './request-guards.js';
import type { DataclassRequest } from './service-context.js';

/** Where Fastify hands over; its own routes go first. */
export const servedAddress = '/rest/*';

/** What a request leads to. */
interface Found {
  readonly route: Route;
  readonly params: DataclassRequest['params'];
}

/**
 * The addresses of all dataclasses behind two routes of Fastify. A route of its own for each address costs a server of many
 * dataclasses most of its start, so each dataclass gets its table when the first request names it.
 */
export class DataclassAddresses {
  readonly #makers = new Map<string, () => DataclassRoutes>();
  readonly #made = new Map<string, DataclassRoutes>();

  /**
   * What the emitted code adds a dataclass with; it is called back at the first request to the dataclass.
   * @param functions none without class code
   */
  serving<Functions>(
    services: (dataclass: string) => DataclassHandlers,
    functions: Functions,
  ): (
    dataclass: string,
    register: (routes: DataclassRoutes, service: DataclassHandlers, functions: Functions) => void,
  ) => void {
    return (dataclass, register) => {
      if (this.#makers.has(dataclass)) throw new Error(`${dataclass} is served twice.`);
      this.#makers.set(dataclass, () => {
        const routes = new DataclassRoutes(dataclass);
        register(routes, services(dataclass), functions);
        return routes;
      });
    };
  }

  /** How many dataclasses were asked for so far. */
  get madeCount(): number {
    return this.#made.size;
  }

  /**
   * @param rest what stands behind `/rest/`, if the URL holds nothing encoded
   * @param url as it came
   */
  find(method: 'GET' | 'POST', rest: string, url: string): Found | undefined {
    const path = isEncoded(url) ? decodedRest(url) : rest;
    const end = endOfName(path);
    const routes = this.#routesOf(path.slice(0, end));
    if (routes === undefined) return undefined;
    if (path.charCodeAt(end) === parenthesis && !path.includes('/', end)) {
      const ofEntity = routes.findEntity(method);
      if (ofEntity === undefined) return undefined;
      return { route: ofEntity, params: { key: decoded(path.slice(end + 1)) } };
    }
    const parts = partsBehind(path, end);
    const route = routes.find(method, parts);
    if (route === undefined) return undefined;
    const params: Partial<Record<keyof DataclassRequest['params'], string>> = {};
    for (const [at, name] of route.names) params[name] = decoded(parts[at] ?? '');
    return { route, params };
  }

  /** What a URL names as a dataclass that has no addresses; `undefined` where it has some, or names none. */
  unknownIn(url: string): string | undefined {
    const path = decodedRest(url);
    const name = path.slice(0, endOfName(path));
    return name === '' || name.startsWith('$') || this.#makers.has(name) ? undefined : name;
  }

  #routesOf(dataclass: string): DataclassRoutes | undefined {
    const made = this.#made.get(dataclass);
    if (made !== undefined) return made;
    const routes = this.#makers.get(dataclass)?.();
    if (routes !== undefined) this.#made.set(dataclass, routes);
    return routes;
  }
}

/** Lets Fastify serve the addresses; what is at none of them is answered like any address where nothing is. */
export function registerAddresses(
  app: FastifyInstance,
  addresses: DataclassAddresses,
  { usual, images, imageAddresses }: BodySizes,
): void {
  app.get(servedAddress, (request, reply) => {
    const { '*': rest } = request.params as Rest;
    return answer(addresses, addresses.find('GET', rest, request.raw.url ?? ''), request, reply);
  });
  const limits = limitedBodies(usual, images, ({ params }) => {
    const { route } = (params as Found | undefined) ?? {};
    return route !== undefined && imageAddresses.has(route.address);
  });
  app.post(servedAddress, {
    ...limits,
    // Before the body is read: it depends on the address how large that may be.
    onRequest: (request, _reply, done) => {
      const { '*': rest } = request.params as Rest;
      const found = addresses.find('POST', rest, request.raw.url ?? '');
      request.params = found;
      if (found !== undefined) guardPost(request.headers);
      done();
    },
    handler: (request, reply) =>
      answer(addresses, request.params as Found | undefined, request, reply),
  });
}

/** What Fastify finds behind `/rest/`, decoded. */
interface Rest {
  readonly '*': string;
}

function answer(
  addresses: DataclassAddresses,
  found: Found | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown {
  if (found === undefined) {
    return answerNotFound(request, reply, addresses.unknownIn(request.raw.url ?? ''));
  }
  request.params = found.params;
  return found.route.handler(request as DataclassRequest, reply);
}

/** Whether something is encoded in the path of a URL. */
function isEncoded(url: string): boolean {
  const percent = url.indexOf('%');
  if (percent === -1) return false;
  const query = url.indexOf('?');
  return query === -1 || percent < query;
}

/**
 * What stands behind `/rest/` in a URL, with all decoded but what separates: an encoded slash is a part of a key, an encoded
 * parenthesis is none. Fastify has refused URLs that cannot be decoded.
 */
function decodedRest(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  const local = path.startsWith('/') ? path : path.slice(path.indexOf('/', path.indexOf('//') + 2));
  const rest = decodeURI(local.replaceAll('%25', '%2525')).slice('/rest/'.length);
  return rest.endsWith('/') ? rest.slice(0, -1) : rest;
}

function decoded(part: string): string {
  return part.includes('%') ? decodeURIComponent(part) : part;
}
