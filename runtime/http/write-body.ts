import type { Dataclass } from '../dataclass/dataclasses.js';
import { keyOf } from '../entity/decode.js';
import type { Body } from '../entity/decoded.js';
import { refuse } from '../protocol/errors.js';
import type { Fold } from '../protocol/fold.js';
import { readJson } from './body.js';

/** The entities of a body. */
export interface BodyEntities {
  readonly entities: readonly Body[];
  /** Whether the body is a list, be it of one entity. */
  readonly isList: boolean;
}

/** The text of the key that an address contains. */
export interface AddressKey {
  readonly text: string;
}

interface BodyRules {
  readonly dataclass: Dataclass;
  readonly fold: Fold;
  /** The largest number of entities. */
  readonly batchSize: number;
  readonly addressKey: AddressKey | undefined;
}

/**
 * Reads the entities of a body, or refuses the body as a whole before anything of it is stored.
 * @throws RequestError 400 for what is no entity and for a key that is not the address's (1806), 413 for too many entities
 */
export function readEntities(
  rawBody: unknown,
  contentType: string | undefined,
  { dataclass, fold, batchSize, addressKey }: BodyRules,
): BodyEntities {
  const body = readJson(rawBody, contentType);
  const isList = Array.isArray(body);
  const entities: readonly unknown[] = isList ? body : [body];
  if (entities.length > batchSize) {
    throw refuse(
      'tooLarge',
      `The body has ${entities.length} entities; at most ${batchSize} are taken.`,
    );
  }
  if (!entities.every(isEntity)) {
    throw refuse('badBody', 'The body must be an entity as a JSON object, or a list of such.');
  }
  if (addressKey === undefined) return { entities, isList };
  if (isList) {
    throw refuse('badBody', 'The address names one entity: the body must be a JSON object.');
  }
  const [entity] = entities as readonly [Body];
  return { entities: [withKey(entity, addressKey.text, dataclass, fold)], isList };
}

function isEntity(json: unknown): json is Body {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/** The key of the address completes a body without one (protocol P7.2). */
function withKey(entity: Body, text: string, dataclass: Dataclass, fold: Fold): Body {
  const { __KEY: sent = null } = entity;
  if (sent === null) return { ...entity, __KEY: text };
  if (comparable(keyOf(dataclass, sent), fold) !== comparable(keyOf(dataclass, text), fold)) {
    throw refuse('malformedUrl', 'The __KEY of the body is not the key in the address.');
  }
  return entity;
}

function comparable(key: string | number | undefined, fold: Fold): string | number | undefined {
  return typeof key === 'string' ? fold(key) : key;
}
