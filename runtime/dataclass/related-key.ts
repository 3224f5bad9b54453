import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import type { From, Source } from './source.js';

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
