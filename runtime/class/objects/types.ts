import type { EventError } from '../../write/lifecycle.js';

/** What is emitted of one dataclass for the types of its classes: `CompanyTypes` of `Company`. Nothing of it exists at run time. */
export interface EntityTypes {
  /** `DataStore`. */
  readonly ds: object;
  /** Name of the dataclass. */
  readonly name: string;
  readonly key: string | number;
  /** What `new()` and `fromObject()` take: every attribute that can be written, all of them optional. */
  readonly values: object;
  /** What `toObject()` gives. */
  readonly object: object;
  readonly entity: object;
  readonly selection: object;
  /** Name → type as read, of the attributes that hold one value each: storage, computed and alias. */
  readonly attributes: object;
  /** Names of those with decimals, if a dataclass of the model has any. */
  readonly decimals?: string;
}

/** A value of an `object` attribute: it is handed out frozen, since a change inside it would not be saved. Set a new one. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/**
 * What an `object` attribute holds. It may be a list too, which `Array.isArray` tells, and which `new()` and `fromObject()` take:
 * were it a part of this type, no member could be read without asking.
 */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** A vector: handed out frozen too. */
export type Vector = readonly number[];

/**
 * A to-one relation of an entity.
 * @typeParam Key the type of the related key, or of the attribute that the relation references instead
 */
export interface RelatedEntity<T extends EntityTypes, Key = T['key']> {
  /**
   * Key of the related entity, or the value that the relation references instead, as the foreign key holds it, or null;
   * known without reading the entity.
   */
  readonly key: Key | null;
  /** Reads the related entity, once for this entity; `null` where there is none. */
  get(): Promise<T['entity'] | null>;
  /**
   * @param related an entity that is saved, its key or the value that the relation references instead, or null
   * @throws AttributeError for an entity that is not saved yet, or of another dataclass, and for what can be no key
   */
  set(related: T['entity'] | Key | null): void;
}

/** The entity to which an alias over to-one relations leads, as its path was when the entity was read. */
export interface AliasedEntity<T extends EntityTypes> {
  /** Its key, or null; known without reading it. */
  readonly key: T['key'] | null;
  /** Reads it, once for this entity; `null` where there is none. */
  get(): Promise<T['entity'] | null>;
}

/** An image or BLOB of an entity; its bytes are read when they are asked for, never with the entity. */
export interface Media {
  /** Bytes; `null` where there are none. */
  readonly size: number | null;
  /**
   * Detected from the bytes, which are read for this: `image/png` and the like,
   * `application/octet-stream` for a BLOB; `null` where there are none.
   */
  readonly contentType: Promise<string | null>;
  /**
   * Reads what is stored now, which another one may have changed since the entity was read; what was set here, as it was set.
   * @throws Error when the entity was deleted since it was read
   */
  read(): Promise<Uint8Array | null>;
  /**
   * Stored by the entity's `save()`.
   * @param type what the bytes are, which is checked for an image; a BLOB's type is not kept
   * @throws AttributeError for an image that is none, or another one than `type` says
   */
  set(bytes: Uint8Array | null, type?: string): void;
}

/** What every entity object is, whatever its dataclass. */
export interface EntityObject {
  /** `null` for an entity that is not saved yet and has none. */
  readonly key: string | number | null;
  /** Rises with each save; 0 for an entity that is not saved yet. */
  readonly stamp: number;
  readonly isNew: boolean;
}

/**
 * What a function that the model declares may return: a value of its type or nothing, at once or later. An emitted base class
 * declares its functions so; a class may promise more, for instance that there is always a value.
 */
export type FunctionResult<T> = T | null | undefined | Promise<T | null | undefined>;

/** What `validateSave`, `saving`, `validateDrop` and `dropping` return: nothing, or why the entity is refused. */
export type EventAnswer = EventError | undefined | Promise<EventError | undefined> | Promise<void>;

/** A filter in the query language, and the values of its placeholders. */
export interface FilterWithValues {
  readonly filter: string;
  readonly values?: readonly unknown[];
}

/** What `restrict` returns: which entities the session may see; `null` for all of them. */
export type Restriction = FilterWithValues | string | null;

/** A comparison of a filter with an attribute that class code computes. */
export interface ComputedQuery {
  readonly operator: string;
  readonly value: unknown;
}

/** An order by an attribute that class code computes. */
export interface ComputedOrder {
  readonly direction: 'asc' | 'desc';
}
