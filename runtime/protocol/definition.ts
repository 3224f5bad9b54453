import type { Aggregate } from './aggregate.js';
import type { DataclassQueries } from './queries.js';
import type { StorageType } from './storage-type.js';

/** The name of an attribute in class code. */
export function memberName({ name, member }: AttributeDefinition): string {
  return member ?? name;
}

/**
 * The tables that the generator writes for each dataclass, and all that the runtime knows about a
 * model. Names of attributes and relations are the protocol's; `column` and `table` are SQL names,
 * quoted where they are used.
 */
export interface DataclassDefinition {
  readonly name: string;
  /** Earlier names, oldest first, which saved definitions of entity sets may contain. */
  readonly renamedFrom?: readonly string[];
  readonly table: string;
  readonly collectionName: string;
  /** `false`: only relations inside the server can reach it. */
  readonly exposed: boolean;
  /** Name of the primary key attribute. */
  readonly key: string;
  /** Attributes in the order of the model, which is the order of every answer. */
  readonly attributes: readonly AttributeDefinition[];
  /** Lists of stored attributes whose values no two entities share. */
  readonly uniqueIndexes?: readonly (readonly string[])[];
  /** Functions of its three classes that clients may call. */
  readonly functions?: readonly FunctionDefinition[];
  /** The events that class code has for saves and deletions, in the order in which they run. */
  readonly events?: readonly EventName[];
  /** Class code limits which entities a session may see. */
  readonly restrict?: true;
  /** A session cannot store an entity that `restrict` would hide from it. */
  readonly restrictsWrites?: true;
  /** Clients can follow the changes of its entity sets (`live.md`). */
  readonly live?: true;
  /** Set if changes of its entities are recorded, with how long entries are kept. */
  readonly audit?: { readonly days?: number };
  /** Who may do what with its entities; a change and a deletion include what `read` needs. */
  readonly access?: DataAccess;
  /** The Kysely queries from which its statements are built. */
  readonly queries: DataclassQueries;
}

/**
 * What a session holds, or what something needs: a bit for each list of privileges of which one is
 * enough. A model with more than 31 of them has a `bigint`.
 */
export type Bits = number | bigint;

/** The privileges of which one gives a session a bit, with those that include them. */
export interface Opening {
  readonly bit: Bits;
  readonly privileges: readonly string[];
}

/**
 * The bits that a session needs for each action, all of them; everybody may do what needs none
 * (`access.md#what-roles-do`).
 */
export interface DataAccess {
  readonly create?: Bits;
  readonly read?: Bits;
  readonly update?: Bits;
  readonly drop?: Bits;
  /** Who sees it in the catalog, in addition to those who may read it; absent if nobody does. */
  readonly describe?: Bits;
}

export type EventName =
  | 'init'
  | 'validateSave'
  | 'saving'
  | 'afterSave'
  | 'validateDrop'
  | 'dropping'
  | 'afterDrop'
  | 'clientRefresh';

export type AttributeDefinition =
  | StorageDefinition
  | ExpressionDefinition
  | ComputedDefinition
  | AliasDefinition
  | AggregateDefinition
  | RelationAliasDefinition
  | RelatedEntityDefinition
  | RelatedEntitiesDefinition;

interface NamedDefinition {
  /** The name that clients write. */
  readonly name: string;
  /** The name that class code writes, if it differs. */
  readonly member?: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[];
  /** Set to `false` if clients cannot name the attribute; never `true`. */
  readonly exposed?: false;
  /** Needed in addition to what the dataclass needs. */
  readonly access?: DataAccess;
}

export interface StorageDefinition extends NamedDefinition {
  readonly kind: 'storage';
  readonly type: StorageType;
  readonly column: string;
  /**
   * The column that holds the folded text, so that an index serves comparisons without regard to
   * case.
   */
  readonly foldedColumn?: string;
  readonly dateOnly?: true;
  /** Most digits of a decimal. */
  readonly precision?: number;
  /** How many of the digits of a decimal are behind the point. */
  readonly scale?: number;
  /** How many numbers a vector has. */
  readonly dimensions?: number;
  /**
   * Columns by which a vector is compared: its norm, and the vector of norm 1 (null for a zero
   * vector) as numbers of single precision.
   */
  readonly vectorColumns?: { readonly norm: string; readonly unit: string };
  readonly key?: true;
  readonly generated?: 'sequence' | 'uuid';
  readonly unique?: true;
  readonly indexed?: true;
  readonly mandatory?: true;
  readonly readOnly?: true;
  /** The default in JSON form, as a client would send it. */
  readonly default?: unknown;
  readonly enum?: readonly (string | number)[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly pattern?: RegExp;
}

/**
 * A computed attribute with an expression, whose value the database stores in a generated
 * column.
 */
export interface ExpressionDefinition extends NamedDefinition {
  readonly kind: 'expression';
  /** No decimal. */
  readonly type: StorageType;
  readonly column: string;
  readonly dateOnly?: true;
}

/** A computed attribute without an expression: class code computes its value. */
export interface ComputedDefinition extends NamedDefinition {
  readonly kind: 'computed';
  readonly type: StorageType;
  readonly dateOnly?: true;
  /** The precision of a decimal, as that of a stored one. */
  readonly precision?: number;
  readonly scale?: number;
  /**
   * At least `get`. `get` and `set` are members of the entity class, the others methods of the
   * dataclass's class.
   */
  readonly accessors: readonly ('get' | 'set' | 'query' | 'orderBy')[];
}

export interface AliasDefinition extends NamedDefinition {
  readonly kind: 'alias';
  readonly type: StorageType;
  /** To-one relations, then an attribute. */
  readonly path: readonly string[];
  readonly dateOnly?: true;
  /** The precision of the attribute at the end of the path. */
  readonly precision?: number;
  readonly scale?: number;
}

/** A value over related entities, which the database computes for each read. */
export interface AggregateDefinition extends NamedDefinition {
  readonly kind: 'aggregate';
  readonly type: StorageType;
  readonly aggregate: Aggregate;
  /** Relations, one of them to-many, then an attribute, which `count` may leave out. */
  readonly path: readonly string[];
  /** Which entities of the last to-many relation count. */
  readonly filter?: string;
  readonly dateOnly?: true;
  /** Most digits of a decimal. */
  readonly precision?: number;
  readonly scale?: number;
}

/** An alias whose path ends in a relation: read like a relation, and never written. */
export interface RelationAliasDefinition extends NamedDefinition {
  readonly kind: 'relationAlias';
  /** The dataclass at the end of the path. */
  readonly target: string;
  /** Relations. */
  readonly path: readonly string[];
  /** There is a to-many relation in the path: it leads to a selection. */
  readonly many?: true;
}

/** A to-one relation. */
export interface RelatedEntityDefinition extends NamedDefinition {
  readonly kind: 'relatedEntity';
  readonly target: string;
  /** Name of the storage attribute that holds the related key. */
  readonly foreignKey: string;
  /** Name of the unique attribute of the target that it holds instead of the key. */
  readonly references?: string;
  readonly inverse?: string;
  /**
   * What happens to the entity of this attribute when the related one is deleted. `none`: nothing, and
   * the foreign key may hold any value.
   */
  readonly onDelete: 'restrict' | 'setNull' | 'cascade' | 'none';
  readonly mandatory?: true;
}

/** A to-many relation. */
export interface RelatedEntitiesDefinition extends NamedDefinition {
  readonly kind: 'relatedEntities';
  readonly target: string;
  /** Name of the target's to-one relation that leads back. */
  readonly inverse: string;
}

/** A function that clients may call; other methods of classes are not listed. */
export interface FunctionDefinition {
  readonly name: string;
  /** Which class has it. */
  readonly level: 'datastore' | 'dataclass' | 'selection' | 'entity' | 'singleton';
  /** It may be called with GET too. */
  readonly onHTTPGet?: true;
  readonly params: readonly ParameterDefinition[];
  readonly returns: FunctionType;
  /** Neither the result nor an item of a list is ever null. */
  readonly mandatoryResult?: true;
  /** Who may call it. */
  readonly access?: Bits;
  /** Who sees it in the catalog, in addition to those who may call it; absent if nobody does. */
  readonly describe?: Bits;
  /**
   * Privileges that its code holds in addition to those of the session, including those that they
   * contain.
   */
  readonly promote?: readonly string[];
}

export interface ParameterDefinition {
  readonly name: string;
  readonly type: FunctionType;
  /** Set if the parameter may be left out; such parameters follow all mandatory ones. */
  readonly optional?: true;
}

/**
 * The type of a parameter or a result; `void` and `message` are results only, and entities are
 * named by dataclass.
 */
export type FunctionType =
  | StorageType
  | 'dateOnly'
  | 'any'
  | 'void'
  | 'message'
  | { readonly entity: string }
  | { readonly selection: string }
  | { readonly list: FunctionType };
