import { isSendable } from '../dataclass/permissions.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type {
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import type { Fold } from '../protocol/fold.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import { integerFromText, RoundedNumber } from '../protocol/numbers.js';
import { type Body, keyOf, type SentEntity } from './decode.js';
import type { EntitySaver } from './save.js';

/** An entity of a body, with those in the lists of its to-many relations (protocol P7.31). */
export interface SentTree extends SentEntity {
  readonly saver: EntitySaver;
  /** Its place in the entity of the body that contains it, as `staff[3]`; empty for that one. */
  readonly place: string;
  readonly related: readonly {
    /** The other side of the to-many relation. */
    readonly inverse: RelatedEntityDefinition;
    readonly entities: readonly SentTree[];
  }[];
}

/** What a request says of the entity that it changes or deletes: its stamp, or that it exists. */
export type Precondition = number | 'exists';

/** How a request names the entities of its body, in addition to the body itself. */
interface Naming {
  /** The key in the address, if that names the entity. */
  readonly addressKey?: string | undefined;
  readonly ifMatch?: Precondition | undefined;
  /** The unique attribute by which the entities are found. */
  readonly upsert?: StorageDefinition | undefined;
  /** Whether the request chooses entities, and the body has values for all of them. */
  readonly isForChosen?: boolean | undefined;
}

/** How much one body may contain. */
interface BodyLimits {
  readonly batchSize: number;
  readonly expandDepth: number;
}

/** The entities of a body. */
export interface SentEntities {
  readonly entities: readonly SentTree[];
  /** Whether an entity has others in the lists of its to-many relations. */
  readonly isNested: boolean;
  /** Whether the body is a list, be it of one entity. */
  readonly isList: boolean;
}

/**
 * Reads the entities of a body, or refuses the body as a whole before anything of it is stored.
 * @param saverOf finds the saver of a dataclass
 * @throws RequestError 400 for what is no entity, for a key or a stamp that is not that of the address or of `If-Match` (1806)
 * and for lists of to-many relations that cannot be saved (protocol P7.31), 413 for too many entities
 */
export function sentEntities(
  json: unknown,
  { addressKey, ifMatch, upsert, isForChosen = false }: Naming,
  saver: EntitySaver,
  saverOf: (dataclass: Dataclass) => EntitySaver,
  { batchSize, expandDepth }: BodyLimits,
): SentEntities {
  const isList = Array.isArray(json);
  const bodies: readonly unknown[] = isList ? json : [json];
  if (bodies.length > batchSize) {
    throw refuse(
      'tooLarge',
      `The body has ${bodies.length} entities; at most ${batchSize} are taken.`,
    );
  }
  if (!bodies.every(isEntity)) {
    throw refuse('badBody', 'The body must be an entity as a JSON object, or a list of such.');
  }
  if (addressKey !== undefined && isList) {
    throw refuse('badBody', 'The address names one entity: the body must be a JSON object.');
  }
  if (ifMatch !== undefined && isList) {
    const text = 'If-Match names the stamp of one entity: the body must be a JSON object.';
    throw refuse('badBody', text);
  }
  if (isForChosen && (isList || !bodies.every(isNameless))) {
    throw refuse(
      'badBody',
      'The body must be one JSON object with the values of all entities, without __KEY and __STAMP.',
    );
  }
  let count = bodies.length;
  const treeOf = (body: Body, own: EntitySaver, place: string, depth: number): SentTree => {
    const { dataclass } = own;
    const related = listsIn(body, dataclass).map(({ relation, list }) => {
      const at = place === '' ? relation.name : `${place}.${relation.name}`;
      if (depth === expandDepth) {
        throw refuse('badBody', `${at}: lists must not nest more than ${expandDepth} levels.`);
      }
      count += list.length;
      if (count > batchSize) {
        throw refuse(
          'tooLarge',
          `The body has more than ${batchSize} entities, with those in lists of to-many relations.`,
        );
      }
      const target = saverOf(dataclass.target(relation));
      const inverse = inverseOf(relation, dataclass, at);
      const entities = list.map((each, index) => {
        const its = `${at}[${index}]`;
        if (isEntity(each)) return treeOf(each, target, its, depth + 1);
        throw refuse('badBody', `${its} must be an entity as a JSON object.`);
      });
      return { inverse, entities };
    });
    const mustExist = depth === 0 && ifMatch === 'exists';
    const isFound = depth === 0 && upsert !== undefined;
    const { address } = isForChosen
      ? own.sentToChosen(body)
      : isFound
        ? own.sentToUpsert(body, upsert)
        : own.sent(body, mustExist);
    return { body, address, saver: own, place, related };
  };
  const entities = bodies.map((body) => {
    const { dataclass, fold } = saver;
    const addressed = addressKey === undefined ? body : withKey(body, addressKey, dataclass, fold);
    const stamped = ifMatch === undefined ? addressed : withStamp(addressed, ifMatch);
    return treeOf(stamped, saver, '', 0);
  });
  const isNested = count > bodies.length;
  if (isNested && isForChosen) {
    throw refuse('badBody', 'The body must have no entities in the lists of to-many relations.');
  }
  return { entities, isNested, isList };
}

/** Whether class code takes part in the save of an entity, or of one in its lists. */
export function runsCode(entities: readonly SentTree[]): boolean {
  return entities.some(
    ({ body, saver, related }) =>
      saver.runsCode(body) || related.some((each) => runsCode(each.entities)),
  );
}

function isEntity(json: unknown): json is Body {
  if (typeof json !== 'object' || json === null) return false;
  return !Array.isArray(json) && !(json instanceof RoundedNumber);
}

function isNameless({ __KEY: key = null, __STAMP: stamp = null }: Body): boolean {
  return key === null && stamp === null;
}

const noLists: readonly never[] = Object.freeze([]);

/** The lists of to-many relations in a body; what a client may not name is refused later. */
function listsIn(
  body: Body,
  dataclass: Dataclass,
): readonly { readonly relation: RelatedEntitiesDefinition; readonly list: readonly unknown[] }[] {
  // Most bodies have no lists.
  if (!Object.values(body).some(Array.isArray)) return noLists;
  return dataclass.attributes.flatMap((relation) => {
    const { name } = relation;
    if (relation.kind !== 'relatedEntities' || !Object.hasOwn(body, name)) return [];
    const list = body[name];
    return isSendable(dataclass, relation) && Array.isArray(list) && list.length > 0
      ? [{ relation, list }]
      : [];
  });
}

/** @throws RequestError for a relation whose other side no client of this session can set */
function inverseOf(
  relation: RelatedEntitiesDefinition,
  dataclass: Dataclass,
  place: string,
): RelatedEntityDefinition {
  const inverse = dataclass.inverse(relation);
  if (isSendable(dataclass.target(relation), inverse)) return inverse;
  throw refuse(
    'valueRule',
    `${place} cannot be sent as a list: the entities in it cannot name this one.`,
  );
}

/** All entities of a body by the savers that save them, each before those in its lists. */
export function bySaver(
  entities: readonly SentTree[],
): ReadonlyMap<EntitySaver, readonly SentTree[]> {
  const found = new Map<EntitySaver, SentTree[]>();
  const add = (all: readonly SentTree[]): void => {
    for (const each of all) {
      getOrInsertComputed(found, each.saver, () => []).push(each);
      for (const { entities: related } of each.related) add(related);
    }
  };
  add(entities);
  return found;
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

/** The stamp of `If-Match` completes a body without one (protocol P7.36). */
function withStamp(entity: Body, ifMatch: Precondition): Body {
  const { __KEY: key = null, __STAMP: sent = null } = entity;
  if (key === null) {
    throw refuse(
      'methodNotApplicable',
      'If-Match applies to an entity that exists: name it by its __KEY, or by a key in the address.',
    );
  }
  if (ifMatch === 'exists') return entity;
  if (sent === null) return { ...entity, __STAMP: ifMatch };
  if ((typeof sent === 'string' ? integerFromText(sent) : sent) === ifMatch) return entity;
  throw refuse('malformedUrl', 'The __STAMP of the body is not that of If-Match.');
}

function comparable(key: string | number | undefined, fold: Fold): string | number | undefined {
  return typeof key === 'string' ? fold(key) : key;
}
