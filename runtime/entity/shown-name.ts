import type { Dataclass } from '../dataclass/dataclasses.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import type { ProtocolError } from '../protocol/errors.js';

const nameless = 'An attribute';

/** How a message to a client calls a stored attribute: what is not exposed has no name there. */
export function shownName(dataclass: Dataclass, attribute: StorageDefinition | undefined): string {
  return knownName(dataclass, attribute) ?? nameless;
}

/** The name by which a client knows a stored attribute; none for what it cannot know. */
export function knownName(
  dataclass: Dataclass,
  attribute: StorageDefinition | undefined,
): string | undefined {
  if (attribute === undefined) return undefined;
  const isKnown = dataclass.permissions?.onlyCreated.has(attribute.name) === true;
  if (attribute.exposed !== false || isKnown) return attribute.name;
  if (attribute.key === true) return '__KEY';
  // A foreign key that no client can name is spoken of by its relation.
  const relation = dataclass.attributes.find(
    (each) =>
      each.kind === 'relatedEntity' && each.foreignKey === attribute.name && each.exposed !== false,
  );
  return relation?.name;
}

/** The same for a relation: one that is not exposed is spoken of by its foreign key. */
export function shownRelation(dataclass: Dataclass, relation: RelatedEntityDefinition): string {
  return knownRelation(dataclass, relation) ?? nameless;
}

/** The same, where it has a name. */
export function knownRelation(
  dataclass: Dataclass,
  relation: RelatedEntityDefinition,
): string | undefined {
  return relation.exposed === false
    ? knownName(dataclass, dataclass.foreignKey(relation))
    : relation.name;
}

/** An error of class code, which may name an attribute that the requester cannot know. */
export function knownProblem(dataclass: Dataclass, problem: ProtocolError): ProtocolError {
  const { attribute, ...rest } = problem;
  if (attribute === undefined) return problem;
  if (!dataclass.exposed) return rest;
  if (dataclass.exposedAttributes.has(attribute)) return problem;
  const stored = dataclass.allAttributes.get(attribute);
  const known = stored?.kind === 'storage' ? knownName(dataclass, stored) : undefined;
  return known === undefined ? rest : { ...rest, attribute: known };
}
