import type {
  AttributeDefinition,
  DataclassDefinition,
  EventName,
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { type DataclassQueries, queriesOf } from '../protocol/queries.js';
import type { Permissions } from './permissions.js';
import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import { RestrictionSlot } from '../dialect/statement.js';

/** A definition with resolved names, from which queries are written. */
export interface Dataclass {
  readonly name: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[] | undefined;
  readonly table: string;
  readonly exposed: boolean;
  readonly key: StorageDefinition;
  /** In model order. */
  readonly attributes: readonly AttributeDefinition[];
  /** The attributes that a client may name. */
  readonly exposedAttributes: ReadonlyMap<string, AttributeDefinition>;
  readonly allAttributes: ReadonlyMap<string, AttributeDefinition>;
  /** The events that class code has. */
  readonly events: readonly EventName[];
  /** The queries from which statements over it are built. */
  readonly queries: DataclassQueries;
  /** None if roles limit nothing, as for the server's own code. */
  readonly permissions?: Permissions;
  /** None if every entity is visible. */
  readonly restriction?: RowRestriction | undefined;
  target(relation: RelatedEntityDefinition | RelatedEntitiesDefinition): Dataclass;
  /** The column that holds the related key of a to-one relation. */
  foreignKey(relation: RelatedEntityDefinition): StorageDefinition;
  /** The to-one relation of the target whose other side a to-many relation is. */
  inverse(relation: RelatedEntitiesDefinition): RelatedEntityDefinition;
}

/**
 * Links the definitions of a datastore by their names.
 * @param permissions by the name of their dataclass
 * @param restrictions by the name of their dataclass
 */
export function linkDataclasses(
  definitions: readonly DataclassDefinition[],
  permissions?: ReadonlyMap<string, Permissions>,
  restrictions?: ReadonlyMap<string, RowRestriction>,
): ReadonlyMap<string, Dataclass> {
  const dataclasses = new Map<string, Dataclass>();
  for (const definition of definitions) {
    const allowed = permissions?.get(definition.name);
    const restriction = restrictions?.get(definition.name);
    dataclasses.set(definition.name, {
      ...link(definition, dataclasses),
      ...(allowed === undefined ? {} : { permissions: allowed }),
      ...(restriction === undefined ? {} : { restriction }),
    });
  }
  return dataclasses;
}

/** @throws Error for a name that is no dataclass of the model */
export function dataclassIn(
  { dataclasses }: { readonly dataclasses: ReadonlyMap<string, Dataclass> },
  name: string,
): Dataclass {
  const dataclass = dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`The model has no dataclass ${name}.`);
  return dataclass;
}

function link(
  definition: DataclassDefinition,
  dataclasses: ReadonlyMap<string, Dataclass>,
): Dataclass {
  const allAttributes = new Map(definition.attributes.map((each) => [each.name, each]));
  const target = (relation: { readonly target: string }): Dataclass =>
    known(dataclasses.get(relation.target), relation.target);
  return {
    name: definition.name,
    renamedFrom: definition.renamedFrom,
    table: definition.table,
    exposed: definition.exposed,
    key: known(allAttributes.get(definition.key), definition.key) as StorageDefinition,
    attributes: definition.attributes,
    queries: queriesOf(definition.queries),
    exposedAttributes: new Map(
      definition.attributes
        .filter((each) => each.exposed !== false)
        .map((each) => [each.name, each]),
    ),
    allAttributes,
    events: definition.events ?? [],
    target,
    foreignKey: (relation) =>
      known(allAttributes.get(relation.foreignKey), relation.foreignKey) as StorageDefinition,
    inverse: (relation) =>
      known(
        target(relation).allAttributes.get(relation.inverse),
        relation.inverse,
      ) as RelatedEntityDefinition,
  };
}

function known<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`The generated definitions do not hold ${name}.`);
  return found;
}

/**
 * A dataclass with all of its entities, for what the data itself needs: unique values, used keys,
 * references.
 */
export function unrestricted(dataclass: Dataclass): Dataclass {
  return dataclass.restriction === undefined ? dataclass : { ...dataclass, restriction: undefined };
}

/**
 * Which entities of a dataclass are visible: what `restrict(session)` of its class returns
 * (`access.md#restrict`). For readers and writers, the others do not exist.
 */
interface RowRestriction {
  /**
   * The condition that an entity is visible; it adds no table to the statement around it.
   * @param alias the table's name there
   */
  condition(alias: string): Sql;
}

/**
 * The restriction of a dataclass for any scope that reads it; its condition is resolved when a
 * statement runs.
 * @param name of the dataclass
 */
export function restrictionOf(name: string): RowRestriction {
  return { condition: (alias) => sql`${new RestrictionSlot(name, alias)}` };
}
