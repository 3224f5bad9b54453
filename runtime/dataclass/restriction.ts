import type { Sql } from '../dialect/dialect.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import type { Dataclass } from './dataclasses.js';
import type { From, Source } from './source.js';

/**
 * Which entities of a dataclass may be seen: what `restrict(session)` of its class says (protocol section 17.9). To all who
 * read or write, the others do not exist.
 */
export interface Restriction {
  /** The condition that an entity of a table may be seen; it brings no table into the statement around it. */
  condition(source: Source): Sql;
}

/** A dataclass with all of its entities, for what the data itself needs: unique values, keys that are taken, references. */
export function unrestricted(dataclass: Dataclass): Dataclass {
  return dataclass.restriction === undefined ? dataclass : { ...dataclass, restriction: undefined };
}

/**
 * Where the related key of a to-one relation stands: in the foreign key, or, where entities of the target may be hidden, in
 * the target itself, so that a relation to a hidden entity is null (protocol decision 28).
 */
export function relatedKeyOf(
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
): { readonly source: Source; readonly attribute: StorageDefinition; readonly isJoined: boolean } {
  const target = source.dataclass.target(relation);
  if (target.restriction === undefined) {
    return { source, attribute: source.dataclass.foreignKey(relation), isJoined: false };
  }
  return { source: from.follow(source, relation), attribute: target.key, isJoined: true };
}
