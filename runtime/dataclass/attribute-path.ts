import type {
  AliasDefinition,
  AttributeDefinition,
  ExpressionDefinition,
  ComputedDefinition,
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import type { Dataclass } from './dataclasses.js';
import { requireAttributeInCode } from './permissions.js';
import type { From, Source } from './source.js';

/** An attribute that a column holds. */
export type ColumnDefinition = StorageDefinition | ExpressionDefinition;

/** The end of a path, and the to-one and to-many relations before it. */
export interface ResolvedPath {
  readonly relations: readonly (RelatedEntityDefinition | RelatedEntitiesDefinition)[];
  readonly end:
    ColumnDefinition | ComputedDefinition | RelatedEntityDefinition | RelatedEntitiesDefinition;
  /**
   * The text of the client after the name of an object attribute: property of property, unchecked.
   */
  readonly properties: readonly string[];
}

/**
 * Why a path of a client leads nowhere: the name in it, and the dataclass without such an
 * attribute.
 */
export interface PathProblem {
  readonly kind: 'unknown';
  readonly name: string;
  readonly dataclass: string;
}

/**
 * The attributes that each entity has in addition to those of the model (protocol P4.1 to P4.4).
 */
const stamp: StorageDefinition = {
  name: '__STAMP',
  kind: 'storage',
  type: 'integer',
  column: '__STAMP',
  mandatory: true,
};
const timestamp: StorageDefinition = {
  name: '__TIMESTAMP',
  kind: 'storage',
  type: 'date',
  column: '__TIMESTAMP',
  mandatory: true,
};

/** Each name of a path costs the database a table; no database allows more. */
export const maxPathLength = 64;

/**
 * What a path may name: clients name what is exposed, class code every attribute that its session
 * may read. The filter and the order of a computed attribute may name all attributes, because the
 * computed attribute has a privilege of its own (`class-code.md#computed-attributes`).
 */
export type NameScope = 'exposed' | 'all' | 'granted';

/**
 * Follows a path of names.
 * @throws RequestError 400 for a path that is too long
 * @throws PermissionError for what class code names that its session may not read
 */
export function resolvePath(
  dataclass: Dataclass,
  names: readonly string[],
  scope: NameScope = 'exposed',
): ResolvedPath | PathProblem {
  if (names.length > maxPathLength) {
    throw refuse('invalidQuery', `A path has at most ${maxPathLength} names.`);
  }
  const relations: (RelatedEntityDefinition | RelatedEntitiesDefinition)[] = [];
  let here = dataclass;
  for (const [index, name] of names.entries()) {
    const attribute = namedAttribute(here, name, scope);
    const isLast = index === names.length - 1;
    if (attribute === undefined) return { kind: 'unknown', name, dataclass: here.name };
    if (attribute.kind === 'alias') {
      const alias = resolveAlias(here, attribute);
      return beyond(alias.end, [...relations, ...alias.relations], here, names, index);
    }
    if (attribute.kind !== 'relatedEntity' && attribute.kind !== 'relatedEntities') {
      return beyond(attribute, relations, here, names, index);
    }
    if (isLast) return { relations, end: attribute, properties: [] };
    relations.push(attribute);
    here = here.target(attribute);
  }
  throw new Error('A path has at least one name.');
}

function namedAttribute(
  dataclass: Dataclass,
  name: string,
  scope: NameScope,
): AttributeDefinition | undefined {
  if (name === '__KEY') return dataclass.key;
  if (name === '__STAMP') return stamp;
  if (name === '__TIMESTAMP') return timestamp;
  if (scope === 'exposed') return dataclass.exposedAttributes.get(name);
  if (scope === 'all') requireAttributeInCode(dataclass, name);
  return dataclass.allAttributes.get(name);
}

/**
 * The path behind the attribute at `index`, which may differ from what the client can name, and on
 * into an object.
 */
function beyond(
  end: ColumnDefinition | ComputedDefinition,
  relations: ResolvedPath['relations'],
  here: Dataclass,
  names: readonly string[],
  index: number,
): ResolvedPath | PathProblem {
  const properties = names.slice(index + 1);
  const [name] = properties;
  return name === undefined || end.type === 'object'
    ? { relations, end, properties }
    : { kind: 'unknown', name, dataclass: here.name };
}

/** An alias may pass through hidden attributes: the model allows it explicitly (protocol P3.20). */
export function resolveAlias(
  dataclass: Dataclass,
  alias: AliasDefinition,
): { readonly relations: readonly RelatedEntityDefinition[]; readonly end: ColumnDefinition } {
  const relations: RelatedEntityDefinition[] = [];
  let here = dataclass;
  for (const name of alias.path) {
    const attribute = here.allAttributes.get(name);
    if (attribute?.kind === 'relatedEntity') {
      relations.push(attribute);
      here = here.target(attribute);
    } else if (attribute?.kind === 'alias') {
      const further = resolveAlias(here, attribute);
      return { relations: [...relations, ...further.relations], end: further.end };
    } else if (attribute?.kind === 'storage' || attribute?.kind === 'expression') {
      return { relations, end: attribute };
    }
  }
  throw new Error(`The alias ${dataclass.name}.${alias.name} does not end in an attribute.`);
}

/** Joins every relation of a list in turn and returns the table at its end. */
export function followAll(
  from: From,
  start: Source,
  relations: readonly RelatedEntityDefinition[],
): Source {
  return relations.reduce((source, relation) => from.follow(source, relation), start);
}
