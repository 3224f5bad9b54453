import type { Aggregate } from '../../runtime/protocol/aggregate.js';
import type { StorageType } from '../../runtime/protocol/storage-type.js';

export type { StorageType };

/**
 * The model as the generator knows it after every check has passed: readonly, serialisable, defaults filled in.
 * Links between its parts are names; {@link file://./lookup.ts} follows them.
 */
export interface Model {
  readonly name: string;
  readonly description?: string;
  readonly databases: readonly Database[];
  readonly reportFormat: string;
  readonly limits: Limits;
  /** Origins of front ends on other hosts; absent when the model names none. */
  readonly origins?: readonly string[];
  readonly protocol: ProtocolOptions;
  /** Dataclasses in the order of the model file. */
  readonly dataclasses: readonly Dataclass[];
  /** Functions of the datastore class. */
  readonly functions: readonly ClassFunction[];
  readonly singletons: readonly Singleton[];
  /** Absent when the model has none. */
  readonly jobs?: readonly Job[];
  /** Absent when the model has no `roles`: everything is allowed to everyone. */
  readonly roles?: Roles;
}

export type Database = 'sqlite' | 'postgres';

/** Sizes are bytes, times are seconds; `null` means no limit. */
export interface Limits {
  readonly pageSize: number;
  readonly maxPageSize: number;
  readonly entitySetTimeout: number;
  readonly recreatedEntitySetTimeout: number;
  readonly maxEntitySetsPerSession: number | null;
  readonly maxEntitySetTimeout: number | null;
  readonly entitySetMemory: number;
  readonly sessionIdleTimeout: number;
  readonly maxSessions: number;
  readonly maxGuestSessions: number;
  readonly maxLocksPerSession: number;
  readonly bodySize: number;
  readonly uploadSize: number;
  readonly uploadSpace: number;
  readonly uploadTimeout: number;
  readonly filterLength: number;
  readonly filterDepth: number;
  readonly expandDepth: number;
  readonly batchSize: number;
  readonly queryTimeout: number | null;
}

export interface ProtocolOptions {
  /** Answers clients of this older kind of server, too, as it did. */
  readonly compatibility?: 'wakanda';
  readonly dateOnlyFormat: 'iso' | 'bang';
  readonly accentInsensitive: boolean;
  readonly wildcard: boolean;
}

export interface Dataclass {
  readonly name: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[];
  readonly table: string;
  readonly exposed: boolean;
  readonly description?: string;
  readonly collectionName: string;
  /** Name of the primary key attribute. */
  readonly key: string;
  /**
   * Attributes in model order; a foreign key that the model leaves out is appended as an unexposed
   * storage attribute.
   */
  readonly attributes: readonly Attribute[];
  readonly functions: {
    readonly dataclass: readonly ClassFunction[];
    readonly selection: readonly ClassFunction[];
    readonly entity: readonly ClassFunction[];
  };
  readonly events: readonly EventName[];
  readonly restrict: boolean;
  /** A session cannot store an entity that `restrict` would hide from it. */
  readonly restrictsWrites?: true;
  /** Clients can follow the changes of its entity sets. */
  readonly live?: true;
  /** Absent if changes of its entities are not recorded. */
  readonly audit?: Audit;
  /** Composite indexes: lists of names of storage attributes. */
  readonly indexes: readonly (readonly string[])[];
  /** Lists of attributes whose values no two entities share; each has an index. Absent if there are none. */
  readonly uniqueIndexes?: readonly (readonly string[])[];
  /**
   * In a record of what data may have. `new`: added while an earlier change is open, so a database may lack it. `dropped`:
   * a migration drops it, now or later.
   */
  readonly recorded?: 'new' | 'dropped';
  /** Absent where roles limit nothing. */
  readonly access?: DataAccess | undefined;
}

/** What the server records of changes of a dataclass. */
export interface Audit {
  /** Names of the storage attributes whose values are recorded. */
  readonly attributes: readonly string[];
  /** How long entries are kept; for ever if it is absent. */
  readonly days?: number;
}

/**
 * Names of privileges that open an action, including all that contain them, in code-point order. An
 * empty list: open to nobody.
 */
export type Opening = readonly string[];

/** Who may do what, as the roles and their inheritance say; an absent action is open to everybody. */
export interface DataAccess {
  readonly create?: Opening | undefined;
  readonly read?: Opening | undefined;
  readonly update?: Opening | undefined;
  readonly drop?: Opening | undefined;
  /** Who sees it in the catalog in addition to those who may read it; absent: nobody else. */
  readonly describe?: Opening | undefined;
}

export type Attribute =
  | StorageAttribute
  | RelatedEntityAttribute
  | RelatedEntitiesAttribute
  | ComputedAttribute
  | AliasAttribute
  | RelationAliasAttribute
  | AggregateAttribute;

interface AttributeBase {
  /** See `Dataclass.recorded`. */
  readonly recorded?: 'new' | 'dropped';
  readonly name: string;
  /** The name that clients see instead. */
  readonly restName?: string;
  /** The name in class code, in a model in which `name` is that of clients ({@link file://./served.ts}). */
  readonly member?: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[];
  /** Whether clients can name it; `false` also if it leads to a dataclass that is not exposed. */
  readonly exposed: boolean;
  readonly description?: string;
  /** What is needed in addition to the access of the dataclass. */
  readonly access?: DataAccess | undefined;
}

export interface StorageAttribute extends AttributeBase {
  readonly kind: 'storage';
  readonly type: StorageType;
  readonly column: string;
  readonly dateOnly: boolean;
  /** Most digits of a decimal. */
  readonly precision?: number;
  /** How many of the digits of a decimal are behind the point. */
  readonly scale?: number;
  /** The number of a vector's elements. */
  readonly dimensions?: number;
  readonly key: boolean;
  readonly generated?: 'sequence' | 'uuid';
  readonly unique: boolean;
  readonly indexed: boolean;
  readonly mandatory: boolean;
  readonly readOnly: boolean;
  readonly default?: JsonValue;
  readonly enum?: readonly (string | number)[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly min?: number | string;
  readonly max?: number | string;
  /** Source of a regular expression, to be compiled with the flag `u`. */
  readonly pattern?: string;
}

/** A to-one relation. */
export interface RelatedEntityAttribute extends AttributeBase {
  readonly kind: 'relatedEntity';
  /** Name of the related dataclass. */
  readonly target: string;
  /** Name of the storage attribute of this dataclass that holds the related key. */
  readonly foreignKey: string;
  /** Name of the unique attribute of the target that the foreign key holds instead of the key. */
  readonly references?: string;
  /** Name of the to-many relation of the other side, when it has one. */
  readonly inverse?: string;
  /** `none`: the foreign key may hold keys that no entity has. */
  readonly onDelete: 'restrict' | 'setNull' | 'cascade' | 'none';
  readonly mandatory: boolean;
}

/** A to-many relation. */
export interface RelatedEntitiesAttribute extends AttributeBase {
  readonly kind: 'relatedEntities';
  readonly target: string;
  /** Name of the to-one relation of the target that leads back here. */
  readonly inverse: string;
}

export interface ComputedAttribute extends AttributeBase {
  readonly kind: 'computed';
  readonly type: StorageType;
  readonly dateOnly: boolean;
  /** Most digits of a decimal, which class code computes. */
  readonly precision?: number;
  readonly scale?: number;
  /** SQL over the columns of the table; absent if class code computes the value. */
  readonly expression?: string;
  /** Column that holds the expression's value. */
  readonly column?: string;
  /** Empty when there is an expression. */
  readonly accessors: readonly Accessor[];
}

export interface AliasAttribute extends AttributeBase {
  readonly kind: 'alias';
  /** To-one relations, then the attribute at the end of the alias. */
  readonly path: readonly string[];
  /** Type of the attribute at the end of the path. */
  readonly type: StorageType;
  readonly dateOnly: boolean;
  /** Most digits of a decimal at the end of the path. */
  readonly precision?: number;
  readonly scale?: number;
}

/** An alias whose path ends in a relation: read like a relation, and never written. */
export interface RelationAliasAttribute extends AttributeBase {
  readonly kind: 'relationAlias';
  /** Relations only. */
  readonly path: readonly string[];
  /** Name of the dataclass at the end of the path. */
  readonly target: string;
  /** Whether there is a to-many relation in the path. */
  readonly many: boolean;
}

/** A value over related entities, which the database computes for each read. */
export interface AggregateAttribute extends AttributeBase {
  readonly kind: 'aggregate';
  readonly aggregate: Aggregate;
  /** Relations, one of them to-many, then an attribute, which `count` may leave out. */
  readonly path: readonly string[];
  /** Which entities of the last to-many relation count. */
  readonly filter?: string;
  readonly type: StorageType;
  readonly dateOnly: boolean;
  /** Most digits of a decimal. */
  readonly precision?: number;
  readonly scale?: number;
}

export type Accessor = 'get' | 'set' | 'query' | 'orderBy';

export type EventName =
  | 'init'
  | 'validateSave'
  | 'saving'
  | 'afterSave'
  | 'validateDrop'
  | 'dropping'
  | 'afterDrop'
  | 'clientRefresh';

export interface ClassFunction {
  readonly name: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[];
  readonly exposed: boolean;
  readonly onHTTPGet: boolean;
  readonly params: readonly Parameter[];
  readonly returns: FunctionType;
  /** Neither the result nor an item of a list is ever null. */
  readonly mandatoryResult?: true;
  readonly description?: string;
  /** Who may call it; absent: everybody. */
  readonly access?: Opening | undefined;
  /** Who sees it in the catalog in addition to those who may call it; absent: nobody else. */
  readonly describe?: Opening | undefined;
  /** Privileges that its code gets, including those that they contain. */
  readonly promote?: Opening | undefined;
}

export interface Parameter {
  readonly name: string;
  readonly type: FunctionType;
  readonly optional: boolean;
  readonly description?: string;
}

export type FunctionType =
  | {
      readonly kind: 'storage';
      readonly type: StorageType;
      /** A date without time. */
      readonly dateOnly?: true;
    }
  | { readonly kind: 'any' | 'void' | 'message' }
  | { readonly kind: 'entity' | 'selection'; readonly dataclass: string }
  | { readonly kind: 'list'; readonly of: FunctionType };

export interface Singleton {
  readonly name: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[];
  readonly scope: 'process' | 'shared' | 'session';
  readonly description?: string;
  readonly functions: readonly ClassFunction[];
}

/** Work that code of the server stores in a transaction, and that runs after its commit. */
export interface Job {
  readonly name: string;
  readonly params: readonly Parameter[];
  /** How often it runs again after it has failed. */
  readonly retries: number;
  readonly description?: string;
}

/** The roles file, names checked, and what follows from it for each resource. */
export interface Roles {
  readonly forceLogin: boolean;
  readonly restrictedByDefault: boolean;
  /** Every declared privilege with all that it contains, itself first; transitive. */
  readonly privileges: readonly Privilege[];
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
  /** The privilege that opens the explorer; absent if everyone can open it. */
  readonly explorer?: string;
}

export interface Privilege {
  readonly name: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[];
  readonly includes: readonly string[];
}

export interface Role {
  readonly name: string;
  /** Earlier names, oldest first. */
  readonly renamedFrom?: readonly string[];
  readonly privileges: readonly string[];
}

/** Who may do what with one resource; an absent action is not restricted here. */
export interface Permission {
  readonly applyTo: string;
  readonly type:
    'datastore' | 'dataclass' | 'attribute' | 'method' | 'singleton' | 'singletonMethod';
  readonly actions: Readonly<Partial<Record<Action, readonly string[]>>>;
}

export type Action = 'create' | 'read' | 'update' | 'drop' | 'execute' | 'promote' | 'describe';

export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };
