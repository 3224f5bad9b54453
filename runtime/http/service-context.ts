import type { FastifyRequest } from 'fastify';
import type { Calls } from '../access/call.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { EntitySets } from '../entity-set/entity-sets.js';
import type { ErrorTeller } from './errors.js';
import type { RequestSessions } from './request-sessions.js';
import type { WriteContext } from './write-service.js';

/** What the services of all dataclasses share. */
export interface ServiceContext extends WriteContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  readonly sets: EntitySets;
  readonly sessions: RequestSessions;
  readonly tellError: ErrorTeller;
  /** Set if class code runs within reads and writes, or restricts them. */
  readonly calls: Calls | undefined;
}

/** A request to an address of a dataclass. */
export type DataclassRequest = FastifyRequest<{
  Params: {
    readonly key?: string;
    readonly attributes?: string;
    readonly lookup?: string;
    readonly set?: string;
    /** The path behind the route's prefix, decoded as a whole. */
    readonly '*'?: string;
  };
}>;
