import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestClient } from '../access/request-client.js';
import type { RequestScope } from '../access/request-scope.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { readsByBody } from './reading-parameters.js';
import { type Answer, sendAnswer } from './reply.js';
import type { DataclassServices } from './served-model.js';
import { partsOf, type AddressParts } from './service-context.js';

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

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
  request: FastifyRequest,
  reply: FastifyReply,
  address?: AddressParts,
) => Promise<unknown>;

/** How requests of one kind are answered. */
type Answering = (
  request: FastifyRequest,
  scope: RequestScope,
  address: AddressParts,
  services: DataclassServices,
) => Promise<Answer>;

/**
 * The handlers of a dataclass. Each request gets its scope here.
 * @param nothing answers if there is nothing at the address
 * @param mediaBodyLimit see {@link DataclassHandlers}
 */
export function dataclassHandlers(
  { sessions, scopes, services }: FastifyInstance,
  { name }: DataclassDefinition,
  nothing: Handler,
  mediaBodyLimit: number,
): DataclassHandlers {
  const dataclass = services.models.ofRequests.servicesOf(name);
  /** @param writing answers POST, if it is not answered as GET */
  const handler =
    (reading: Answering, writing?: Answering): AddressHandler =>
    async (request, reply, address = partsOf(request)) => {
      const isWrite = writing !== undefined && request.method === 'POST' && !readsByBody(request);
      const answering = isWrite ? writing : reading;
      const session = await sessions.of(request, reply);
      const scope = scopes.of(session, request.id, new RequestClient(reply.raw));
      const answer = await scopes.run(scope, () => answering(request, scope, address, dataclass));
      sendAnswer(reply, name, answer);
      return reply;
    };
  const readCollection: Answering = (request, scope, address, { reads }) =>
    reads.readCollection(request, scope, address);
  const readEntity: Answering = (request, scope, address, { reads }) =>
    reads.readEntity(request, scope, address);
  const writeAttributes: Answering = (request, scope, address, { writes }) =>
    writes.writeAttributes(request, scope, address);
  const readByValue = handler((request, scope, address, { reads }) =>
    reads.readByValue(request, scope, address),
  );
  const attributesOfAll = handler(readCollection, writeAttributes);
  const entitySet = handler(
    (request, scope, address, { reads }) => reads.readEntitySet(request, scope, address),
    (request, scope, address, { writes }) => writes.writeEntitySet(request, scope, address),
  );
  return {
    collection: handler(readCollection, (request, scope, address, { writes }) =>
      writes.writeCollection(request, scope, address),
    ),
    entity: handler(readEntity, (request, scope, address, { writes }) =>
      writes.writeEntity(request, scope, address),
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
function segmentsBehind(request: FastifyRequest, mark: '/' | ':'): readonly string[] {
  const { '*': rest = '' } = partsOf(request);
  const { url = '' } = request.raw;
  if (!/%2f/i.test(url)) return rest.split('/');
  const path = /^[^?#]*?\/rest\/([^?#]*)/.exec(url)?.[1] ?? '';
  const end = path.endsWith('/') ? -1 : undefined;
  return path
    .slice(path.indexOf(mark) + 1, end)
    .split('/')
    .map(decodeURIComponent);
}
