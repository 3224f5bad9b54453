import type { FastifyInstance, FastifyReply } from 'fastify';
import type { RequestScope } from '../access/request-scope.js';
import type { Session } from '../access/session.js';
import type { Opening } from '../protocol/definition.js';
import type { AddressParts, DataclassRequest } from './service-context.js';

type Handler = (request: DataclassRequest, reply: FastifyReply) => unknown;

/** The emitted plugin registers the routes of a dataclass with these options and handlers. */
export interface DataclassRoutes {
  readonly readCollection: Handler;
  readonly writeCollection: Handler;
  readonly readEntity: Handler;
  readonly writeEntity: Handler;
  readonly writeAttributes: Handler;
  readonly readByValue: Handler;
  /** Reads attributes of all entities, or an entity set. */
  readonly readBelow: Handler;
  /** Changes the same. */
  readonly writeBelow: Handler;
  /** The largest body of a request that sets an image or a BLOB: as large as an upload. */
  readonly mediaBodyLimit: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The dataclass whose entities the route reads or changes. */
    readonly dataclass?: string;
    /** The function that the route calls, with its class or singleton: `Company.fromCity`. */
    readonly function?: string;
    /**
     * Privileges of which one is enough, by what the request does: an empty list opens to nobody,
     * and an action that is not listed is open to everyone. Attributes may need more.
     */
    readonly privileges?: {
      readonly [action in 'create' | 'read' | 'update' | 'drop' | 'execute']?: Opening;
    };
  }
  interface FastifyInstance {
    /**
     * Handlers for the routes of a dataclass.
     * @throws Error for a dataclass that the model does not expose
     */
    readonly dataclass: (name: string) => DataclassRoutes;
  }
}

/** @param address the parameters of the route, unless its path is split here */
type AddressHandler = (
  request: DataclassRequest,
  reply: FastifyReply,
  address?: AddressParts,
) => unknown;

type ScopedHandler = (
  request: DataclassRequest,
  reply: FastifyReply,
  scope: RequestScope,
  address: AddressParts,
) => unknown;

type ReadName = 'readCollection' | 'readEntity' | 'readByValue' | 'readEntitySet';
type WriteName = 'writeCollection' | 'writeEntity' | 'writeAttributes' | 'writeEntitySet';

/**
 * The handlers of a dataclass. Each request gets its scope here, and is answered by the services of
 * the dataclass as its session sees it.
 * @param nothing answers if there is nothing at the address
 * @param mediaBodyLimit see {@link DataclassRoutes}
 */
export function dataclassRoutes(
  { sessions, scopes, services }: FastifyInstance,
  name: string,
  nothing: Handler,
  mediaBodyLimit: number,
): DataclassRoutes {
  const { models, runsIn } = services;
  const scoped =
    (isInScope: boolean, answer: ScopedHandler): AddressHandler =>
    (request, reply, address = request.params) => {
      const run = (session: Session): unknown => {
        const scope = scopes.of(session);
        return isInScope
          ? scopes.run(scope, answer, request, reply, scope, address)
          : answer(request, reply, scope, address);
      };
      const session = sessions.of(request, reply);
      // At once if the session is known at once.
      if (!(session instanceof Promise)) return run(session);
      return session.then(async (found) => {
        await run(found);
        // Fastify waits for it: a read sends its answer later.
        return reply;
      });
    };
  const read = (member: ReadName): AddressHandler =>
    scoped(runsIn.reads, (request, reply, scope, address) => {
      models.visible.of(scope.session).of(name).reads[member](request, reply, scope, address);
    });
  const write = (member: WriteName): AddressHandler =>
    scoped(runsIn.writes, (request, reply, scope, address) =>
      models.visible.of(scope.session).of(name).writes[member](request, reply, scope, address),
    );
  const readCollection = read('readCollection');
  const readByValue = read('readByValue');
  const writeAttributes = write('writeAttributes');
  const below =
    (collection: AddressHandler, set: AddressHandler): Handler =>
    (request, reply) => {
      const address = addressBelow(wildcardParts(request, '/'), request.method);
      if (address === undefined) return nothing(request, reply);
      return (address.set === undefined ? collection : set)(request, reply, address);
    };
  return {
    readCollection,
    writeCollection: write('writeCollection'),
    readEntity: read('readEntity'),
    writeEntity: write('writeEntity'),
    writeAttributes,
    readByValue: (request, reply) => {
      const [lookup = '', attributes, more] = wildcardParts(request, ':');
      if (lookup === '' || attributes === '' || more !== undefined) return nothing(request, reply);
      return readByValue(request, reply, {
        lookup,
        ...(attributes === undefined ? {} : { attributes }),
      });
    },
    readBelow: below(readCollection, read('readEntitySet')),
    writeBelow: below(writeAttributes, write('writeEntitySet')),
    mediaBodyLimit,
  };
}

/**
 * `<attributes>`, `$entityset/<set>` or, for reads, `<attributes>/$entityset/<set>`; `undefined`
 * for anything else.
 */
function addressBelow(parts: readonly string[], method: string): AddressParts | undefined {
  const [first = '', second = '', third = ''] = parts;
  if (parts.includes('')) return undefined;
  if (parts.length === 1) return { attributes: first };
  if (parts.length === 2 && first === entitySet) return { set: second };
  if (method !== 'POST' && parts.length === 3 && second === entitySet)
    return { attributes: first, set: third };
  return undefined;
}

const entitySet = '$entityset';

/**
 * The segments behind a wildcard. Fastify decodes the wildcard as a whole, so a URL with an encoded
 * slash, which belongs to a value, is split before it is decoded.
 * @param mark what stands before the wildcard
 */
function wildcardParts({ params, raw }: DataclassRequest, mark: '/' | ':'): readonly string[] {
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
