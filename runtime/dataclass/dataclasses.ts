import type { Aliases } from './aliases.js';
import type {
  AggregateDefinition,
  AttributeDefinition,
  DataAccess,
  DataclassDefinition,
  EventName,
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { type LongNames, longNamesOf } from '../protocol/names.js';
import type { DataclassQueries } from '../protocol/queries.js';
import { hasRules } from '../protocol/rules.js';
import { allBits, type Holder, may } from '../access/bits.js';
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
  readonly allAttributes: ReadonlyMap<string, AttributeDefinition>;
  /** All attributes by their names in the model and in class code. No two attributes share a name of either kind. */
  readonly attributesInCode: ReadonlyMap<string, AttributeDefinition>;
  /**
   * Finds names of the model's attributes that hold more than letters, digits and underscores, and
   * that a client may name now.
   */
  readonly longNames: () => LongNames | undefined;
  /** The events that class code has. */
  readonly events: readonly EventName[];
  /** Attributes whose values no two entities share: each unique one, and lists of several. */
  readonly unique: readonly (readonly StorageDefinition[])[];
  /** The attributes that the model has rules for, in model order. */
  readonly ruled: readonly StorageDefinition[];
  /** The queries from which statements over it are built. */
  readonly queries: DataclassQueries;
  /** What each action needs. */
  readonly access: DataAccess | undefined;
  /** Whether somebody may not do something with its entities. */
  readonly isLimited: boolean;
  /** Who reads and writes: the scope of the running code. */
  readonly holder: () => Holder;
  /** Whether clients can follow the changes of its entity sets. */
  readonly isLive?: boolean;
  /** Absent if every entity is visible. */
  readonly restriction?: RowRestriction | undefined;
  /** Absent where nothing is read, and for a model without aggregates. */
  readonly aggregates?: WriteAggregates | undefined;
  target(relation: { readonly target: string }): Dataclass;
  /** The column that holds the related key of a to-one relation. */
  foreignKey(relation: RelatedEntityDefinition): StorageDefinition;
  /** The attribute of the target whose values the foreign key of a to-one relation holds. */
  referenced(relation: RelatedEntityDefinition): StorageDefinition;
  /** The to-one relations that lead here and whose foreign keys the database checks. */
  referring(): readonly ReferringRelation[];
  /** The to-one relation of the target whose other side a to-many relation is. */
  inverse(relation: RelatedEntitiesDefinition): RelatedEntityDefinition;
}

/** A table in a statement, with its alias there. */
export interface Source {
  readonly dataclass: Dataclass;
  readonly alias: string;
  /** Names the tables of its statement. */
  readonly aliases: Aliases;
  /** It is joined, so a row of it may be missing. */
  readonly isJoined?: true;
  /** A restriction is a condition of its statement, not a subquery in place of the table. */
  readonly isTable?: true;
}

/**
 * Writes the subquery with the values of aggregates over the same related entities, as columns `value0`, `value1` and so on.
 * @param form `shown` for values in answers, which may have more digits than a column can hold
 */
export type WriteAggregates = (
  source: Source,
  attributes: readonly AggregateDefinition[],
  form: 'compared' | 'shown',
) => Sql;

/** A to-one relation, and the dataclass that has it. */
export interface ReferringRelation {
  readonly referring: Dataclass;
  readonly relation: RelatedEntityDefinition;
}

interface Linking {
  /** Who reads and writes; the server itself if left out. */
  readonly holder?: () => Holder;
  /** Whether sessions see only what `restrict` of its classes returns. */
  readonly isRestricted?: boolean;
  /** Needed to read a model with aggregates. */
  readonly aggregates?: WriteAggregates | undefined;
}

/** Links the definitions of a datastore by their names. */
export function linkDataclasses(
  definitions: readonly DataclassDefinition[],
  { holder = everything, isRestricted = false, aggregates }: Linking = {},
): ReadonlyMap<string, Dataclass> {
  const dataclasses = new Map<string, Dataclass>();
  const longNames = longNamesIn(definitions, holder);
  for (const definition of definitions) {
    const { name, restrict, restrictsWrites } = definition;
    dataclasses.set(name, {
      ...link(definition, dataclasses),
      longNames,
      holder,
      ...(isRestricted && restrict === true
        ? { restriction: restrictionOf(name, restrictsWrites === true) }
        : {}),
      ...(aggregates === undefined ? {} : { aggregates }),
    });
  }
  return dataclasses;
}

const server: Holder = { session: { isGuest: false }, held: allBits };

function everything(): Holder {
  return server;
}

/** A name that a client may not name must be read as one that does not exist. */
function longNamesIn(
  definitions: readonly DataclassDefinition[],
  holder: () => Holder,
): Dataclass['longNames'] {
  const long = definitions
    .filter(({ exposed }) => exposed)
    .flatMap(({ access: own, attributes }) =>
      attributes
        .filter(({ name, exposed }) => exposed !== false && longNamesOf([name]) !== undefined)
        .map(({ name, access }) => ({ name, needed: [own?.read, access?.read] })),
    );
  const all = longNamesOf(long.map(({ name }) => name));
  if (long.every(({ needed }) => needed.every((each) => each === undefined))) return () => all;
  return () => {
    const { held } = holder();
    const named = long.filter(({ needed }) => needed.every((each) => may(held, each)));
    return longNamesOf(named.map(({ name }) => name));
  };
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
): Omit<Dataclass, 'longNames' | 'holder'> {
  const allAttributes = new Map(definition.attributes.map((each) => [each.name, each]));
  const members = definition.attributes.flatMap((each) =>
    each.member === undefined ? [] : [[each.member, each] as const],
  );
  const target = (relation: { readonly target: string }): Dataclass =>
    known(dataclasses.get(relation.target), relation.target);
  return {
    name: definition.name,
    renamedFrom: definition.renamedFrom,
    table: definition.table,
    exposed: definition.exposed,
    isLive: definition.live === true,
    key: known(allAttributes.get(definition.key), definition.key) as StorageDefinition,
    attributes: definition.attributes,
    queries: definition.queries,
    access: definition.access,
    isLimited:
      definition.access !== undefined ||
      definition.attributes.some(({ access }) => access !== undefined),
    allAttributes,
    attributesInCode:
      members.length === 0 ? allAttributes : new Map([...allAttributes, ...members]),
    events: definition.events ?? [],
    unique: [
      ...definition.attributes.filter(isUnique).map((each) => [each]),
      ...(definition.uniqueIndexes ?? []).map((list) =>
        list.map((each) => known(allAttributes.get(each), each) as StorageDefinition),
      ),
    ],
    ruled: definition.attributes.filter(
      (each): each is StorageDefinition => each.kind === 'storage' && hasRules(each),
    ),
    target,
    foreignKey: (relation) =>
      known(allAttributes.get(relation.foreignKey), relation.foreignKey) as StorageDefinition,
    referenced: (relation) => {
      const { key, allAttributes: all } = target(relation);
      const { references } = relation;
      return references === undefined
        ? key
        : (known(all.get(references), references) as StorageDefinition);
    },
    referring: () =>
      [...dataclasses.values()].flatMap((referring) =>
        referring.attributes.flatMap((relation) =>
          relation.kind === 'relatedEntity' &&
          relation.target === definition.name &&
          relation.onDelete !== 'none'
            ? [{ referring, relation }]
            : [],
        ),
      ),
    inverse: (relation) =>
      known(
        target(relation).allAttributes.get(relation.inverse),
        relation.inverse,
      ) as RelatedEntityDefinition,
  };
}

function isUnique(attribute: AttributeDefinition): attribute is StorageDefinition {
  return attribute.kind === 'storage' && (attribute.unique === true || attribute.key === true);
}

function known<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`The generated definitions do not hold ${name}.`);
  return found;
}

/**
 * Whether the foreign key of a to-one relation may name an entity that its readers do not find: a hidden one, or one
 * that does not exist. The relation is null then.
 */
export function mayLeadNowhere(dataclass: Dataclass, relation: RelatedEntityDefinition): boolean {
  return relation.onDelete === 'none' || dataclass.target(relation).restriction !== undefined;
}

/** Whether the key of a related entity is read from that entity, not from the foreign key. */
export function isReadFromTarget(dataclass: Dataclass, relation: RelatedEntityDefinition): boolean {
  return relation.references !== undefined || mayLeadNowhere(dataclass, relation);
}

/**
 * The relations of a restricted dataclass to itself that are read from the related entity by its key. An entity that is
 * related to itself is that entity.
 */
export function ownRelations(dataclass: Dataclass): readonly RelatedEntityDefinition[] {
  if (dataclass.restriction === undefined) return [];
  return dataclass.attributes.filter(
    (each): each is RelatedEntityDefinition =>
      each.kind === 'relatedEntity' &&
      each.target === dataclass.name &&
      each.references === undefined &&
      each.onDelete !== 'none',
  );
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
  /** Whether a session may store no entity that would be hidden from it. */
  readonly restrictsWrites: boolean;
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
function restrictionOf(name: string, restrictsWrites: boolean): RowRestriction {
  return { restrictsWrites, condition: (alias) => sql`${new RestrictionSlot(name, alias)}` };
}
