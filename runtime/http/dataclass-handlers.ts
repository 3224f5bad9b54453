import type { FastifyReply } from 'fastify';
import type { Opening } from '../protocol/definition.js';
import { DataclassReads } from './dataclass-reads.js';
import { DataclassWrites } from './dataclass-writes.js';
import type { DataclassRequest, ServiceContext } from './service-context.js';

/** Answers the requests to one dataclass. */
export type DataclassHandlers = Pick<
  DataclassReads,
  'readCollection' | 'readEntity' | 'readByValue' | 'readEntitySet'
> &
  Pick<DataclassWrites, 'writeCollection' | 'writeEntity' | 'writeAttributes' | 'writeEntitySet'>;

type Handler = (request: DataclassRequest, reply: FastifyReply) => unknown;
/** The same, for Fastify, which takes any result. */
type Handlers = Readonly<Record<keyof DataclassHandlers, Handler>>;

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
  /** The largest body of a request that sets an image: as large as an upload. */
  readonly imageBodyLimit: number;
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

/**
 * Handlers that make their service at the first request: most dataclasses of a large model are
 * requested late or never.
 * @param nothing answers if there is nothing at the address
 */
export function lazyRoutes(
  make: () => DataclassHandlers,
  nothing: Handler,
  imageBodyLimit: number,
): DataclassRoutes {
  let made: Handlers | undefined;
  const service = (): Handlers => (made ??= make());
  const below =
    (collection: (service: Handlers) => Handler, set: typeof collection): Handler =>
    (request, reply) => {
      const params = paramsBelow(wildcardParts(request, '/'), request.method);
      if (params === undefined) return nothing(request, reply);
      request.params = params;
      return (params.set === undefined ? collection : set)(service())(request, reply);
    };
  return {
    readCollection: (request, reply) => service().readCollection(request, reply),
    writeCollection: (request, reply) => service().writeCollection(request, reply),
    readEntity: (request, reply) => service().readEntity(request, reply),
    writeEntity: (request, reply) => service().writeEntity(request, reply),
    writeAttributes: (request, reply) => service().writeAttributes(request, reply),
    readByValue: (request, reply) => {
      const [lookup = '', attributes, more] = wildcardParts(request, ':');
      if (lookup === '' || attributes === '' || more !== undefined) return nothing(request, reply);
      request.params = { lookup, ...(attributes === undefined ? {} : { attributes }) };
      return service().readByValue(request, reply);
    },
    readBelow: below(
      (each) => each.readCollection,
      (each) => each.readEntitySet,
    ),
    writeBelow: below(
      (each) => each.writeAttributes,
      (each) => each.writeEntitySet,
    ),
    imageBodyLimit,
  };
}

/**
 * `<attributes>`, `$entityset/<set>` or, for reads, `<attributes>/$entityset/<set>`; `undefined`
 * for anything else.
 */
function paramsBelow(
  parts: readonly string[],
  method: string,
): DataclassRequest['params'] | undefined {
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

/** The Fastify handlers of one dataclass. */
export function dataclassService(context: ServiceContext, name: string): DataclassHandlers {
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`There is no dataclass ${name}.`);
  const reads = new DataclassReads(context, dataclass);
  const { readCollection, readEntity, readByValue, readEntitySet } = reads;
  const writes = new DataclassWrites(context, dataclass, reads);
  const { writeCollection, writeEntity, writeAttributes, writeEntitySet } = writes;
  return {
    readCollection,
    readEntity,
    readByValue,
    readEntitySet,
    writeCollection,
    writeEntity,
    writeAttributes,
    writeEntitySet,
  };
}
