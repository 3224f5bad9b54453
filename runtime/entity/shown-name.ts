import type { Dataclass } from '../dataclass/dataclasses.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';

const nameless = 'An attribute';

/** How a message to a client calls a stored attribute: what is not exposed has no name there. */
export function shownName(dataclass: Dataclass, attribute: StorageDefinition | undefined): string {
  if (attribute === undefined) return nameless;
  const isKnown = dataclass.permissions?.onlyCreated.has(attribute.name) === true;
  if (attribute.exposed !== false || isKnown) return attribute.name;
  if (attribute.key === true) return '__KEY';
  // A foreign key that no client can name is spoken of by its relation.
  const relation = dataclass.attributes.find(
    (each) =>
      each.kind === 'relatedEntity' && each.foreignKey === attribute.name && each.exposed !== false,
  );
  return relation?.name ?? nameless;
}

/** The same for a relation: one that is not exposed is spoken of by its foreign key. */
export function shownRelation(dataclass: Dataclass, relation: RelatedEntityDefinition): string {
  return relation.exposed === false
    ? shownName(dataclass, dataclass.foreignKey(relation))
    : relation.name;
}
