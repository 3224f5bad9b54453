import type { singletonScopes, storageTypes, eventNames, accessors } from '../source/vocabulary.js';

// What every source yields: tables, fields and relations as the source has them, with their
// places and identities. draft.ts makes a model of it.

/** `server`: a running one, of any product. */
export type SourceKind = '4d' | 'qodly' | 'wakanda' | 'sqlite' | 'postgres' | 'server';

/**
 * What a source itself knows a part by: a uuid, or the names in a database. A second import finds
 * the part in the model by it, whatever the user calls it there.
 */
export type Identity = string;

interface Part {
  readonly id: Identity;
  /** The name in the source, which may be any text. */
  readonly name: string;
  /** The place for messages: `catalog.4DCatalog:12`, `orders.customer_id`. */
  readonly place: string;
}

export interface SourceModel {
  readonly kind: SourceKind;
  /** What the datastore could be called, the best one first; any text. */
  readonly names: readonly string[];
  readonly database?: 'postgres';
  readonly protocol?: Readonly<Record<string, string | boolean>>;
  readonly tables: readonly SourceTable[];
  readonly relations: readonly SourceRelation[];
  readonly functions: readonly SourceFunction[];
  readonly singletons: readonly SourceSingleton[];
  readonly roles?: SourceRoles;
  /** Chapters of the report that only this source has. */
  readonly remarks: readonly string[];
}

export interface SourceTable extends Part {
  readonly exposed: boolean;
  readonly description?: string | undefined;
  readonly collectionName?: string | undefined;
  /** The SQL table, if it is not the name. */
  readonly table?: string | undefined;
  readonly fields: readonly SourceField[];
  /** Fields of the primary key. */
  readonly key: readonly Identity[];
  /** Indexes over several fields. */
  readonly indexes: readonly SourceIndex[];
  readonly computed: readonly SourceComputed[];
  readonly aliases: readonly SourceAlias[];
  readonly functions: readonly SourceFunction[];
  readonly events: readonly (typeof eventNames)[number][];
  readonly restrict: boolean;
}

export interface SourceIndex {
  readonly fields: readonly Identity[];
  readonly unique: boolean;
}

export type StorageType = (typeof storageTypes)[number];

export interface SourceField extends Part {
  readonly type: StorageType;
  readonly dateOnly?: boolean;
  /** Most digits of a decimal. */
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly dimensions?: number | undefined;
  readonly generated?: 'sequence' | 'uuid' | undefined;
  readonly unique?: boolean;
  readonly indexed?: boolean;
  readonly mandatory?: boolean;
  readonly readOnly?: boolean;
  /** Null was stored as a blank value. */
  readonly blank?: boolean;
  readonly exposed?: boolean;
  /** The SQL column, if it is not the name. */
  readonly column?: string | undefined;
  readonly description?: string | undefined;
  readonly default?: string | number | boolean | undefined;
  readonly enum?: readonly (string | number)[] | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly min?: string | number | undefined;
  readonly max?: string | number | undefined;
  readonly pattern?: string | undefined;
  /** SQL of a column that the database computes. */
  readonly expression?: string | undefined;
}

export interface SourceRelation {
  readonly id: Identity;
  readonly place: string;
  /** The table whose entities have one related entity, and the fields that lead to it. */
  readonly from: RelationEnd;
  /** No fields: the key. */
  readonly to: RelationEnd;
  /** The name of the to-one relation. */
  readonly name: string;
  /** The name of the to-many relation; absent if there is none. */
  readonly inverse?: string | undefined;
  readonly onDelete?: 'cascade' | 'restrict' | 'setNull' | 'none' | undefined;
  readonly exposed: boolean;
  readonly description?: string | undefined;
}

export interface RelationEnd {
  readonly table: Identity;
  readonly fields: readonly Identity[];
}

export interface SourceComputed extends Part {
  readonly type: StorageType;
  readonly dateOnly?: boolean;
  readonly accessors: readonly (typeof accessors)[number][];
  readonly exposed: boolean;
}

export interface SourceAlias extends Part {
  /** Names of the source. */
  readonly path: readonly string[];
  readonly exposed: boolean;
}

export type FunctionLevel = 'dataclass' | 'selection' | 'entity';

export interface SourceFunction extends Part {
  /** The level of a table's function. */
  readonly level?: FunctionLevel;
  readonly onHTTPGet: boolean;
  readonly params: readonly { readonly name: string; readonly type: SourceType }[];
  readonly returns: SourceType;
}

/** A type of the model, or entities of a table, by the table's name in the source. */
export type SourceType =
  | { readonly kind: 'plain'; readonly type: string }
  | { readonly kind: 'entity' | 'selection'; readonly table: string };

export interface SourceSingleton extends Part {
  readonly scope: (typeof singletonScopes)[number];
  readonly functions: readonly SourceFunction[];
}

/** A roles file; its names are those of the source. */
export interface SourceRoles {
  readonly file: string;
  readonly forceLogin: boolean;
  readonly restrictedByDefault: boolean;
  readonly privileges: readonly {
    readonly privilege: string;
    readonly includes: readonly string[];
  }[];
  readonly roles: readonly { readonly role: string; readonly privileges: readonly string[] }[];
  readonly permissions: readonly SourcePermission[];
}

export interface SourcePermission {
  readonly place: string;
  readonly applyTo: string;
  readonly type: string;
  readonly actions: Readonly<Record<string, readonly string[]>>;
}
