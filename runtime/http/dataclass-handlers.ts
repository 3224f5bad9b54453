import type { FastifyInstance, FastifyReply } from 'fastify';
import { RequestClient } from '../access/request-client.js';
import type { RequestScope } from '../access/request-scope.js';
import type { Session } from '../access/session.js';
import type { SessionTrial } from '../access/session-store.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { RoutePrivileges } from './route-privileges.js';
import { readsByBody } from './reading-parameters.js';
import { type Answer, sendAnswer } from './reply.js';
import type { DataclassServices } from './served-model.js';
import type { AddressParts, DataclassRequest } from './service-context.js';

type Handler = (request: DataclassRequest, reply: FastifyReply) => unknown;

/** The handlers of a dataclass: one for each address, for all methods that the emitted plugin registers there. */
export interface DataclassHandlers {
  /** `/rest/<dataclass>` */
  readonly collection: Handler;
  /** `/rest/<dataclass>(<key>)` */
  readonly entity: Handler;
  /** `/rest/<dataclass>(<key>)/<attributes>` */
  readonly attributes: Handler;
  /** `/rest/<dataclass>:<attribute>(<value>)`, and the same followed by attributes; only read. */
  readonly byValue: Handler;
  /** `/rest/<dataclass>/<attributes>`, `/$entityset/<set>`, and both. */
  readonly attributesOrSet: Handler;
  /** The largest body of a request that sets an image or a BLOB: as large as an upload. */
  readonly mediaBodyLimit: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The dataclass whose entities the route reads or changes. */
    readonly dataclass?: string;
    /** The function that the route calls, with its class or singleton: `Company.fromCity`. */
    readonly function?: string;
    /** Who may use the route; without them, everyone (`access.md#what-roles-do`). */
    readonly privileges?: RoutePrivileges | undefined;
  }
  interface FastifyInstance {
    /**
     * Handlers for the routes of a dataclass.
     * @throws Error for a dataclass that the model does not expose
     */
    readonly dataclass: (definition: DataclassDefinition) => DataclassHandlers;
  }
}

/** @param address the parameters of the route, unless its path is split here */
type AddressHandler = (
  request: DataclassRequest,
  reply: FastifyReply,
  address?: AddressParts,
) => unknown;

/** How requests of one kind are answered. */
interface Answering {
  readonly answer: (
    services: DataclassServices,
    request: DataclassRequest,
    scope: RequestScope,
    address: AddressParts,
  ) => Promise<Answer>;
  /** Whether a request may be answered while the database still checks its session, if it is plain. */
  readonly mayTry?: boolean;
}

/**
 * The handlers of a dataclass. Each request gets its scope here, and is answered by the services of
 * the dataclass as its session sees it.
 * @param nothing answers if there is nothing at the address
 * @param mediaBodyLimit see {@link DataclassHandlers}
 */
export function dataclassHandlers(
  { sessions, scopes, services, setup }: FastifyInstance,
  { name }: DataclassDefinition,
  nothing: Handler,
  mediaBodyLimit: number,
): DataclassHandlers {
  const { models, runsIn, media } = services;
  const triesReads = sessions.triesCached && !runsIn.beforeReads;
  // Uploads of a body are read before its save begins.
  const triesSaves = sessions.triesCached && media === undefined && !runsIn.savesOf.has(name);
  /**
   * @param writing answers POST, if it is not answered as GET
   * @param mayAsk whether a POST may read by a filter in its body
   */
  const handler =
    (reading: Answering, writing?: Answering, mayAsk = true): AddressHandler =>
    async (request, reply, address = request.params) => {
      const asks = mayAsk && writing !== undefined && readsByBody(request, setup.limits.bodySize);
      const isWrite = writing !== undefined && request.method === 'POST' && !asks;
      const { answer, mayTry } = isWrite ? writing : reading;
      const answered = (session: Session, trial?: SessionTrial): Promise<Answer> => {
        const scope = scopes.of(session, request.id, new RequestClient(reply.raw), trial);
        return scopes.run(scope, () =>
          answer(models.visibleTo(session).servicesOf(name), request, scope, address),
        );
      };
      const isTried = mayTry === true && !asks && isPlain(request);
      sendAnswer(reply, name, await sessions.answer(request, reply, isTried, answered));
      return reply;
    };
  const readCollection: Answering = {
    answer: ({ reads }, request, scope, address) => reads.readCollection(request, scope, address),
    mayTry: triesReads,
  };
  const readEntity: Answering = {
    answer: ({ reads }, request, scope, address) => reads.readEntity(request, scope, address),
    mayTry: triesReads,
  };
  const writeAttributes: Answering = {
    answer: ({ writes }, request, scope, address) =>
      writes.writeAttributes(request, scope, address),
  };
  const readByValue = handler({
    answer: ({ reads }, request, scope, address) => reads.readByValue(request, scope, address),
    mayTry: triesReads,
  });
  const attributesOfAll = handler(readCollection, writeAttributes);
  const entitySet = handler(
    {
      answer: ({ reads }, request, scope, address) => reads.readEntitySet(request, scope, address),
    },
    {
      answer: ({ writes }, request, scope, address) =>
        writes.writeEntitySet(request, scope, address),
    },
  );
  return {
    collection: handler(readCollection, {
      answer: ({ writes }, request, scope, address) =>
        writes.writeCollection(request, scope, address),
      mayTry: triesSaves,
    }),
    entity: handler(
      readEntity,
      {
        answer: ({ writes }, request, scope, address) =>
          writes.writeEntity(request, scope, address),
        mayTry: triesSaves,
      },
      false,
    ),
    attributes: handler(readEntity, writeAttributes),
    byValue: (request, reply) => {
      const [lookup = '', path, more] = segmentsBehind(request, ':');
      if (lookup === '' || path === '' || more !== undefined) return nothing(request, reply);
      return readByValue(request, reply, {
        lookup,
        ...(path === undefined ? {} : { attributes: path }),
      });
    },
    attributesOrSet: (request, reply) => {
      const address = addressOf(segmentsBehind(request, '/'), request.method);
      if (address === undefined) return nothing(request, reply);
      return (address.set === undefined ? attributesOfAll : entitySet)(request, reply, address);
    },
    mediaBodyLimit,
  };
}

/** Whether a GET only reads, and a POST only saves entities of its body: there is no `$lock`, and no other `$method`. */
function isPlain({ method, query }: DataclassRequest): boolean {
  const given = query as Readonly<Record<string, unknown>>;
  const expected = method === 'POST' ? 'update' : undefined;
  for (const name in given) {
    // Names in another case count as well (protocol P1.5).
    const known = name.toLowerCase();
    const isChoice = method === 'POST' && known === '$filter';
    if (known === '$lock' || isChoice || (known === '$method' && given[name] !== expected))
      return false;
  }
  return true;
}

/**
 * `<attributes>`, `$entityset/<set>` or, for reads, `<attributes>/$entityset/<set>`; `undefined`
 * for anything else.
 */
function addressOf(parts: readonly string[], method: string): AddressParts | undefined {
  const [first = '', second = '', third = ''] = parts;
  if (parts.includes('')) return undefined;
  if (parts.length === 1) return { attributes: first };
  if (parts.length === 2 && first === setMark) return { set: second };
  if (method !== 'POST' && parts.length === 3 && second === setMark)
    return { attributes: first, set: third };
  return undefined;
}

const setMark = '$entityset';

/**
 * The segments behind a wildcard. Fastify decodes the wildcard as a whole, so a URL with an encoded
 * slash, which belongs to a value, is split before it is decoded.
 * @param mark what stands before the wildcard
 */
function segmentsBehind({ params, raw }: DataclassRequest, mark: '/' | ':'): readonly string[] {
  const { '*': rest = '' } = params;
  const { url = '' } = raw;
  if (!/%2f/i.test(url)) return rest.split('/');
  const path = /^[^?#]*?\/rest\/([^?#]*)/.exec(url)?.[1] ?? '';
  const end = path.endsWith('/') ? -1 : undefined;
  return path
    .slice(path.indexOf(mark) + 1, end)
    .split('/')
    .map(decodeURIComponent);
}
