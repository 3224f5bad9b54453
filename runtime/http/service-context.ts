import type { FastifyRequest } from 'fastify';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { EntitySets } from '../entity-set/entity-sets.js';
import type { ErrorReporter } from './errors.js';
import type { ServedRestrictions } from './served-model.js';
import type { WriteContext } from '../write/save-service.js';
import type { ServedMedia } from './served-media.js';

/** What the services of all dataclasses share. */
export interface ServiceContext extends WriteContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  readonly sets: EntitySets;
  readonly media: ServedMedia | undefined;
  readonly reportError: ErrorReporter;
  /** Restricts what is stored; `undefined` if no dataclass has `restrict`. */
  readonly restrictions: ServedRestrictions | undefined;
}

/** The parts of an address behind the name of a dataclass. */
export interface AddressParts {
  readonly key?: string;
  readonly attributes?: string;
  readonly lookup?: string;
  readonly set?: string;
  /** The path behind a wildcard, decoded as a whole. */
  readonly '*'?: string;
}

/** The address of a request, as its route has split it. */
export function partsOf({ params }: FastifyRequest): AddressParts {
  return params as AddressParts;
}
