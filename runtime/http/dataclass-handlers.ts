import type { Opening } from '../protocol/definition.js';
import type { DataclassReads } from './dataclass-reads.js';
import type { DataclassWrites } from './dataclass-writes.js';

/** The handlers of a dataclass's routes. */
export type DataclassHandlers = Pick<
  DataclassReads,
  'readCollection' | 'readEntity' | 'readByValue' | 'readEntitySet'
> &
  Pick<DataclassWrites, 'writeCollection' | 'writeEntity' | 'writeAttributes' | 'writeEntitySet'>;

/** What an emitted plugin registers the routes of a dataclass with. */
export interface DataclassRoutes extends DataclassHandlers {
  /** Bytes that the body of a request may have that sets an image: as many as an upload. */
  readonly imageBodyLimit: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The dataclass whose entities the route reads or changes. */
    readonly dataclass?: string;
    /** The function that the route calls, with its class or singleton: `Company.fromCity`. */
    readonly function?: string;
    /**
     * Privileges of which one is enough, by what the request does: an empty list opens to nobody, and an action that is not
     * listed is open to everyone. Attributes may ask for more.
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

/** Handlers that make their service at the first request: most dataclasses of a large model are asked for late or never. */
export function lazyHandlers(make: () => DataclassHandlers): DataclassHandlers {
  let made: DataclassHandlers | undefined;
  const service = (): DataclassHandlers => (made ??= make());
  return {
    readCollection: (request, reply) => {
      service().readCollection(request, reply);
    },
    readEntity: (request, reply) => {
      service().readEntity(request, reply);
    },
    readByValue: (request, reply) => {
      service().readByValue(request, reply);
    },
    readEntitySet: (request, reply) => {
      service().readEntitySet(request, reply);
    },
    writeCollection: (request, reply) => service().writeCollection(request, reply),
    writeEntity: (request, reply) => service().writeEntity(request, reply),
    writeAttributes: (request, reply) => service().writeAttributes(request, reply),
    writeEntitySet: (request, reply) => service().writeEntitySet(request, reply),
  };
}
