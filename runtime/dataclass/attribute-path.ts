import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import type {
  AggregateDefinition,
  AliasDefinition,
  AttributeDefinition,
  ExpressionDefinition,
  ComputedDefinition,
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  RelationAliasDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { maxPathLength } from '../protocol/names.js';
import type { Dataclass, Source } from './dataclasses.js';
import { requireAttributeInCode, readable } from './permissions.js';
import type { Aliases } from './aliases.js';
import { foreignKeyColumn, From, linkedColumn } from './source.js';

/** An attribute whose value the database knows. */
export type ColumnDefinition = StorageDefinition | ExpressionDefinition | AggregateDefinition;

export type Relation = RelatedEntityDefinition | RelatedEntitiesDefinition;

/** An attribute that leads to a selection of entities of its target. */
export type ToManyDefinition =
  RelatedEntitiesDefinition | (RelationAliasDefinition & { readonly many: true });

export function leadsToMany(attribute: AttributeDefinition): attribute is ToManyDefinition {
  return (
    attribute.kind === 'relatedEntities' ||
    (attribute.kind === 'relationAlias' && attribute.many === true)
  );
}

/** The end of a path, and the to-one and to-many relations before it. */
export interface ResolvedPath {
  readonly relations: readonly Relation[];
  /** For each relation the position of its name in the path: an alias stands for several. */
  readonly places: readonly number[];
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
  const relations: Relation[] = [];
  const places: number[] = [];
  let here = dataclass;
  for (const [index, name] of names.entries()) {
    const attribute = namedAttribute(here, name, scope);
    const isLast = index === names.length - 1;
    if (attribute === undefined) return { kind: 'unknown', name, dataclass: here.name };
    if (attribute.kind === 'alias') {
      const alias = resolveAlias(here, attribute);
      for (const relation of alias.relations) {
        relations.push(relation);
        places.push(index);
      }
      return beyond(alias.end, { relations, places }, here, names, index);
    }
    if (!isRelation(attribute)) return beyond(attribute, { relations, places }, here, names, index);
    for (const relation of relationsOf(here, attribute)) {
      relations.push(relation);
      places.push(index);
    }
    if (relations.length > maxPathLength) {
      throw refuse('invalidQuery', `A path follows at most ${maxPathLength} relations.`);
    }
    if (isLast) {
      const end = relations.pop() as Relation;
      places.pop();
      return { relations, places, end, properties: [] };
    }
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
  if (scope === 'exposed') return readable(dataclass, name);
  const attribute = dataclass.attributesInCode.get(name);
  if (scope === 'all') requireAttributeInCode(dataclass, attribute?.name ?? name);
  return attribute;
}

/**
 * The path behind the attribute at `index`, which may differ from what the client can name, and on
 * into an object.
 */
function beyond(
  end: ColumnDefinition | ComputedDefinition,
  way: Pick<ResolvedPath, 'relations' | 'places'>,
  here: Dataclass,
  names: readonly string[],
  index: number,
): ResolvedPath | PathProblem {
  const properties = names.slice(index + 1);
  const [name] = properties;
  return name === undefined || end.type === 'object'
    ? { ...way, end, properties }
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

export function isRelation(
  attribute: AttributeDefinition,
): attribute is Relation | RelationAliasDefinition {
  return 'target' in attribute;
}

/** The relations of an alias's path, in which the generator has replaced other aliases; a relation itself. */
export function relationsOf(
  dataclass: Dataclass,
  attribute: Relation | RelationAliasDefinition,
): readonly Relation[] {
  if (attribute.kind !== 'relationAlias') return [attribute];
  let here = dataclass;
  return attribute.path.map((name) => {
    const relation = here.allAttributes.get(name);
    if (relation?.kind !== 'relatedEntity' && relation?.kind !== 'relatedEntities') {
      throw new Error(`The alias ${dataclass.name}.${attribute.name} does not end in a relation.`);
    }
    here = here.target(relation);
    return relation;
  });
}

/** An alias over to-one relations as the key of the entity to which it leads. */
export function keyAlias(
  dataclass: Dataclass,
  { name, member, target, path }: RelationAliasDefinition,
): AliasDefinition {
  const { key } = dataclass.target({ target });
  const named = member === undefined ? { name } : { name, member };
  return { kind: 'alias', ...named, type: key.type, path: [...path, key.name] };
}

/** A FROM clause with a table of it, and a condition for its rows. */
interface Reached {
  readonly from: From;
  readonly source: Source;
  readonly condition: Sql | undefined;
}

/** The relations of an aggregate's path, which an attribute may follow. */
export function relationsInPath(
  dataclass: Dataclass,
  path: readonly string[],
): readonly Relation[] {
  const relations: Relation[] = [];
  let here = dataclass;
  for (const name of path) {
    const step = here.allAttributes.get(name);
    if (step?.kind !== 'relatedEntity' && step?.kind !== 'relatedEntities') break;
    relations.push(step);
    here = here.target(step);
  }
  return relations;
}

/** The entities to which relations lead from those of a table. */
export function reached(aliases: Aliases, start: Reached, relations: readonly Relation[]): Reached {
  return relations.reduce((at, relation): Reached => {
    if (relation.kind === 'relatedEntity') {
      return { ...at, source: at.from.follow(at.source, relation) };
    }
    const owner = at.source.dataclass;
    const from = new From(aliases, owner.target(relation));
    const inverse = owner.inverse(relation);
    const where = at.condition === undefined ? sql`` : sql` where ${at.condition}`;
    // A condition, not a join: a related entity counts once, even if it is related to several of the entities.
    const keys = sql`select ${linkedColumn(at.source, inverse)} ${at.from.clause}${where}`;
    const condition = sql`${foreignKeyColumn(from.root, inverse)} in (${keys})`;
    return { from, source: from.root, condition };
  }, start);
}

/** Joins every relation of a list in turn and returns the table at its end. */
export function followAll(
  from: From,
  start: Source,
  relations: readonly RelatedEntityDefinition[],
): Source {
  return relations.reduce((source, relation) => from.follow(source, relation), start);
}
