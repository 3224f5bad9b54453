import type { FunctionType, StorageType } from '../protocol/definition.js';

/**
 * What an OpenAPI document describes: the part of a model that its reader may use. The server makes
 * it from its definitions, and `drs-gen openapi` from the model.
 */
export interface DescribedModel {
  readonly name: string;
  /** The reader has to log in before anything else. */
  readonly isOnlyLogin: boolean;
  /** The value of `$format` for reports. */
  readonly reportFormat: string;
  readonly dateOnlyFormat: 'iso' | 'bang';
  readonly maxPageSize: number;
  /** Entities in one body. */
  readonly batchSize: number;
  /** In the order of the model. */
  readonly dataclasses: readonly DescribedDataclass[];
  /** Of the datastore. */
  readonly functions: readonly DescribedFunction[];
  readonly singletons: readonly {
    readonly name: string;
    readonly functions: readonly DescribedFunction[];
  }[];
}

/** A dataclass with what its reader may use of it, and nothing else. */
export interface DescribedDataclass {
  readonly name: string;
  readonly canRead: boolean;
  readonly canCreate: boolean;
  readonly canUpdate: boolean;
  readonly canDrop: boolean;
  readonly keyType: StorageType;
  /** In the order of the model. */
  readonly attributes: readonly DescribedAttribute[];
  readonly functions: {
    readonly dataclass: readonly DescribedFunction[];
    readonly selection: readonly DescribedFunction[];
    readonly entity: readonly DescribedFunction[];
  };
}

export type DescribedAttribute = DescribedValue | DescribedRelation;

interface AttributeUse {
  readonly name: string;
  readonly canRead: boolean;
  readonly canCreate: boolean;
  readonly canUpdate: boolean;
  /** Never null. */
  readonly mandatory: boolean;
  /** A new entity must have a value. */
  readonly required: boolean;
}

export interface DescribedValue extends AttributeUse {
  readonly kind: 'value';
  readonly type: StorageType;
  readonly dateOnly: boolean;
  /** Stored with the entity: an entity can be looked up by it. */
  readonly isUnique: boolean;
  readonly rules: ValueRules;
}

export type DescribedRelation = DescribedToOne | DescribedToMany;

interface DescribedToOne extends AttributeUse {
  readonly kind: 'toOne';
  /** A dataclass that the reader may read. */
  readonly target: string;
}

/** `canCreate` and `canUpdate`: a save may create entities in its list. */
export interface DescribedToMany extends AttributeUse {
  readonly kind: 'toMany';
  readonly target: string;
  /** The relation of the target that leads back; a reader who may send a list may set it. An alias has none. */
  readonly inverse?: string;
}

/** What a value must comply with. */
export interface ValueRules {
  readonly enum?: readonly (string | number)[] | undefined;
  readonly min?: number | string | undefined;
  readonly max?: number | string | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  /** Source of a regular expression with the flag `u`. */
  readonly pattern?: string | undefined;
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly dimensions?: number | undefined;
}

export interface DescribedFunction {
  readonly name: string;
  readonly onHTTPGet: boolean;
  readonly params: readonly {
    readonly name: string;
    readonly type: FunctionType;
    readonly optional: boolean;
  }[];
  readonly returns: FunctionType;
  readonly mandatoryResult?: true | undefined;
}
