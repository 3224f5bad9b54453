// What users of a client see. The emitted part of a client fills these types in for a model.

import type { RestError } from './errors.js';

/** The types that drs-gen emits for one dataclass. Nothing of it exists at run time. */
export interface EntityTypes {
  readonly name: string;
  readonly key: string | number;
  /** Name → type as read, of the attributes that hold one value each. */
  readonly attributes: object;
  /** Names of those with decimals, if a dataclass of the model has any. */
  readonly decimals?: string;
  /** Names of the images and BLOBs, if there are any. */
  readonly media?: string;
  /** Name → types of the related dataclass, of the to-one relations. */
  readonly one: object;
  /** Name → types of the related dataclass, of the to-many relations. */
  readonly many: object;
  /** What `new()` and `fromObject()` take: every attribute that can be written, all of them optional. */
  readonly values: object;
  /** What `toObject()` gives. */
  readonly object: object;
  readonly entity: object;
  readonly selection: object;
}

/** A value of an `object` attribute: frozen, since a change inside it would not be saved. Set a new one. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** What an `object` attribute holds. It may be a list too: use `Array.isArray` to recognize it. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export type Vector = readonly number[];

export interface ConnectOptions {
  /** A bearer token, or a function that returns one for each request. Without it, sessions use cookies. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sends the requests instead of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Entities that one request reads; that of the model by default. */
  readonly pageSize?: number;
  /**
   * How many times a read, or a save of entities that exist, is sent again if the server is busy: it
   * answers with 503 and `Retry-After`. 2 by default, 0 for never.
   */
  readonly retries?: number;
}

export interface RequestOptions {
  /** Aborts the requests: they fail with the reason of the signal. */
  readonly signal?: AbortSignal;
}

export interface SaveOptions<T extends EntityTypes> extends RequestOptions {
  /**
   * Called if somebody else has changed the entity since it was read: returns the values to
   * store now, or null to give up. Values that it leaves out stay as they are stored.
   * @param mine the values that were to be saved
   * @param theirs the values that are stored
   */
  readonly onConflict?: (
    mine: T['object'],
    theirs: T['object'],
  ) => OnConflictAnswer<T> | Promise<OnConflictAnswer<T>>;
}

export type OnConflictAnswer<T extends EntityTypes> =
  T['values'] | Partial<T['object']> | null | undefined;

/** An entity: its attributes are properties, which the emitted types declare. */
export interface Entity<T extends EntityTypes> {
  /** `null` for a new entity. */
  readonly key: T['key'] | null;
  /** Rises with each save; 0 for an entity that is not saved yet. */
  readonly stamp: number;
  /** Whether it was never saved. */
  readonly isNew: boolean;
  /** Whether the value of an attribute was set and is not saved; without a name, whether any was. */
  touched(attribute?: keyof T['values'] & string): boolean;
  /**
   * Creates the entity, or stores what was set since it was read; without a change it does nothing.
   * @throws RestError if it is refused: the object stays as it is
   */
  save(options?: SaveOptions<T>): Promise<void>;
  /**
   * Deletes the entity, even if somebody else has changed it.
   * @throws RestError if it is refused
   */
  drop(options?: RequestOptions): Promise<void>;
  /** Reads the entity again; what was set and not saved is lost. */
  reload(options?: RequestOptions): Promise<void>;
  /**
   * Keeps other sessions from changing or deleting the entity.
   * @returns `false` if another session has locked it
   */
  lock(options?: RequestOptions): Promise<boolean>;
  /** @returns `false` if another session has locked it */
  unlock(options?: RequestOptions): Promise<boolean>;
  /** The values of all attributes; a to-one relation is its key. Images, BLOBs and to-many relations are left out. */
  toObject(): T['object'];
  /** Sets several attributes; `undefined` is ignored. */
  fromObject(values: T['values']): this;
}

/** A to-one relation of an entity. */
export interface RelatedEntity<T extends EntityTypes> {
  /** Key of the related entity, or null; known without reading it. */
  readonly key: T['key'] | null;
  /** Reads the related entity, once for this entity; `null` if there is none. */
  get(options?: RequestOptions): Promise<T['entity'] | null>;
  /** @param related an entity that is saved, its key, or null */
  set(related: T['entity'] | T['key'] | null): void;
}

/** The entity to which an alias over to-one relations leads. */
export type AliasedEntity<T extends EntityTypes> = Omit<RelatedEntity<T>, 'set'>;

/** An image or BLOB of an entity; its bytes are read when they are asked for. */
export interface Media {
  /** The address of the stored bytes, for `<img src>` in a page with a cookie; `null` if there are none. */
  readonly url: string | null;
  /** Reads the stored bytes; what was set here, as it was set. */
  read(options?: RequestOptions): Promise<Blob | null>;
  /** Uploaded and stored by `save()`. */
  set(bytes: Blob | Uint8Array | null): void;
}

/** An image or BLOB of a row of `select()`. */
export type StoredMedia = Omit<Media, 'set'>;

/** Which entities of a to-many relation a row has. */
export interface ExpandOptions {
  /** How many at most, up to the server's `maxPageSize`. */
  readonly top: number;
  /** In the language of filters. Its placeholders are names: `salary > :least`. */
  readonly filter?: string;
  /** The values of `:name`, also for the filter of `query()`, if that has names. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly orderBy?: string;
}

/**
 * Entities of one dataclass in an order. A selection holds no entities: it describes a request, and
 * each reading method reads the entities of that moment.
 * @typeParam R what it reads: entities, or after `select()` rows with the selected values
 */
export interface EntitySelection<T extends EntityTypes, R = T['entity']> {
  /**
   * The entities that match a filter, in the same order unless the filter has an `order by`.
   * @param filter in the language of filters: `city = :1 and staff.salary > :2`
   * @param values of its placeholders: texts, numbers, booleans, `Date`s, entities, null, lists of
   * those behind `in`; or one object with the values of `:name`
   */
  query(filter: string, ...values: readonly unknown[]): this;
  /** @param order paths, each with `asc` or `desc`: `employer.name desc, lastName` */
  orderBy(order: string): this;
  /**
   * Reads rows with these values instead of entities: attributes, those of related entities
   * (`employer.name`, `staff.lastName`), or all of them (`*`, `employer.*`).
   */
  select<const P extends (keyof T['attributes'] & string) | MediaName<T> | (string & {})>(
    ...paths: readonly (P & ValidPath<T, P>)[]
  ): EntitySelection<T, Row<T, P>>;
  /**
   * Reads only the first entities of a to-many relation of `select()`, which it names as a path:
   * `select('name', 'staff.lastName').expand('staff', { top: 3, orderBy: 'hiredAt desc' })`.
   */
  expand(path: (keyof T['many'] & string) | `${string}.${string}`, options: ExpandOptions): this;
  /** The entities that are in both selections, in the order of this one. */
  and(other: EntitySelection<T, unknown>): this;
  /** The entities of this selection, then the further ones of the other selection. */
  or(other: EntitySelection<T, unknown>): this;
  /** The entities that are not in the other selection, in the order of this one. */
  minus(other: EntitySelection<T, unknown>): this;
  count(options?: RequestOptions): Promise<number>;
  first(options?: RequestOptions): Promise<R | null>;
  last(options?: RequestOptions): Promise<R | null>;
  /** @param position from 0 on; -1 is the last one */
  at(position: number, options?: RequestOptions): Promise<R | null>;
  /** Reads those at the positions from `start` up to, but not including, `end`: a page of a table. */
  slice(start: number, end: number, options?: RequestOptions): Promise<R[]>;
  /** Reads all at once. */
  toArray(options?: RequestOptions): Promise<R[]>;
  /**
   * Reads page by page without an entity set: each page begins behind the last entity of the one before, whatever others
   * create and delete meanwhile. Combinations of selections, and entity sets, are read as `for await` does.
   */
  each(options?: RequestOptions): AsyncGenerator<R, undefined>;
  /** Whether an entity is stored and belongs to the selection. */
  contains(entity: T['entity'], options?: RequestOptions): Promise<boolean>;
  /** The sum: 0 if there are no numbers, and a text, which is exact, for decimals. */
  sum<P extends NumberPath<T>>(path: P, options?: RequestOptions): Promise<NumberAt<T, P>>;
  /** The average; that of decimals has 4 decimals more, and is rounded half away from zero. */
  average<P extends NumberPath<T>>(
    path: P,
    options?: RequestOptions,
  ): Promise<NumberAt<T, P> | null>;
  min<P extends ValuePath<T>>(path: P, options?: RequestOptions): Promise<ValueAt<T, P> | null>;
  max<P extends ValuePath<T>>(path: P, options?: RequestOptions): Promise<ValueAt<T, P> | null>;
  /** The different values, ascending and without null. */
  distinct<P extends ValuePath<T>>(path: P, options?: RequestOptions): Promise<ValueAt<T, P>[]>;
  /**
   * Groups the entities, and computes values for each group.
   * @param keys attributes, to-one relations and paths over them; `hiredAt:month` for a part of a
   * date (`year`, `quarter`, `month`, `day`)
   * @param terms `count`, `sum(salary)`, `average(…)`, `min(…)`, `max(…)`, `count(…)`
   */
  groupBy<const K extends GroupKey<T>, const A extends GroupTerm<T> = 'count'>(
    keys: readonly K[],
    terms?: readonly A[],
    options?: GroupOptions,
  ): Promise<GroupRow<T, K, A>[]>;
  /** Deletes all of them or none. */
  drop(options?: RequestOptions): Promise<void>;
  /**
   * Gives all of them the same values, or changes none.
   * @returns how many were changed
   */
  update(values: T['values'], options?: ChangeOptions): Promise<number>;
  /**
   * Makes an entity set of it: the server keeps the list of the entities of this moment, until
   * `release()` or its timeout.
   */
  set(options?: RequestOptions): Promise<this>;
  /**
   * Follows it: first all entities, then what changes, as it happens. A broken connection is made
   * again, and nothing is missed. For dataclasses with `live: true`.
   * @throws RestError if the session may not read it, or has ended; 413 if it has too many entities
   */
  changes(options?: ChangesOptions): AsyncGenerator<SetChange<T, R>, undefined>;
  /** Reads it into a list that keeps itself up to date: see {@link changes}. */
  live(options?: LiveOptions): Promise<LiveEntities<R>>;
  /** Releases the entity set that `set()` or a function has returned. */
  release(options?: RequestOptions): Promise<void>;
  /**
   * Reads page by page, in the list of the moment of the first page; it is released at the end
   * of the loop.
   */
  [Symbol.asyncIterator](): AsyncGenerator<R, undefined>;
}

export interface ChangesOptions extends RequestOptions {
  /** The shortest time between two messages, in milliseconds; 1000 if it is left out, at least 100. */
  readonly interval?: number;
  /** `false` for messages without the values of the entities. */
  readonly values?: boolean;
}

export interface LiveOptions extends Omit<ChangesOptions, 'values'> {
  /** Called after each change of the list. */
  readonly onChange?: () => void;
}

/**
 * A list whose content changes.
 * @typeParam R what it holds
 */
export type LiveEntities<R> = readonly R[] & {
  /** Ends it: the list stays as it is. */
  stop(): void;
  /** Resolves when it has ended: with the error, or with `undefined` after `stop()`. */
  readonly ended: Promise<unknown>;
};

/** An entity that a message names. */
export interface ListedEntity<T extends EntityTypes, R> {
  readonly key: T['key'];
  readonly stamp: number;
  /** `undefined` without values, and if it was deleted meanwhile: the next message says that it has left. */
  readonly value: R | undefined;
}

/** An entity that has a place. */
export interface PlacedEntity<T extends EntityTypes, R> extends ListedEntity<T, R> {
  /** Its position in the order of the selection, from 0. */
  readonly at: number;
}

/** What a message of {@link EntitySelection.changes} says. */
export type SetChange<T extends EntityTypes, R> =
  /** All entities in their order: the first message, and any that the server cannot tell as a difference. */
  | {
      readonly kind: 'all';
      readonly count: number;
      readonly entities: readonly ListedEntity<T, R>[];
    }
  /** To be taken in this order: entities that left; all others leave their old places, and are put in by rising positions. */
  | {
      readonly kind: 'difference';
      readonly count: number;
      readonly left: readonly T['key'][];
      readonly joined: readonly PlacedEntity<T, R>[];
      /** Entities that were saved, or that have another place. */
      readonly changed: readonly PlacedEntity<T, R>[];
    };

export interface ChangeOptions extends RequestOptions {
  /** How many entities may be changed, if these are more than one body may hold. */
  readonly atMost?: number;
}

/** Which groups are read, and in what order. */
export interface GroupOptions extends RequestOptions {
  /** A filter for groups: `count > :1 and sum(salary) > 1000`. */
  readonly having?: string;
  /** Values of the placeholders in `having`. */
  readonly values?: readonly unknown[];
  /** Keys and terms, each with `asc` or `desc`. The keys in their order if left out; they also break ties. */
  readonly orderBy?: string;
  /** The most groups. */
  readonly top?: number;
  /** Groups before the first one. */
  readonly skip?: number;
  /** Called with the number of all groups, of which `top` and `skip` may read a part. */
  readonly onCount?: (groups: number) => void;
}

/** A dataclass: `ds.Company`. */
export interface DataclassObject<T extends EntityTypes> {
  all(): T['selection'];
  /** The entities that match a filter: see `query()` of a selection. */
  query(filter: string, ...values: readonly unknown[]): T['selection'];
  /** @returns `null` if there is none */
  get(key: T['key'], options?: RequestOptions): Promise<T['entity'] | null>;
  /**
   * Changes the entity that has the same value of a unique attribute, or creates one; of a list all
   * are saved, or none.
   * @param attribute the unique attribute, or the key
   * @param values those of the entity, with a value of that attribute
   * @throws RestError whose `entity` is the one that was refused
   */
  upsert(
    attribute: keyof T['values'] & string,
    values: T['values'],
    options?: RequestOptions,
  ): Promise<T['entity']>;
  upsert(
    attribute: keyof T['values'] & string,
    values: readonly T['values'][],
    options?: RequestOptions,
  ): Promise<T['entity'][]>;
  /** Groups of all entities: see `groupBy()` of a selection. */
  groupBy<const K extends GroupKey<T>, const A extends GroupTerm<T> = 'count'>(
    keys: readonly K[],
    terms?: readonly A[],
    options?: GroupOptions,
  ): Promise<GroupRow<T, K, A>[]>;
  /** A new entity in memory, which `save()` stores. */
  readonly new: (values?: T['values']) => T['entity'];
}

/** Which recorded changes to read. */
export interface HistoryOptions<Key extends string | number> extends RequestOptions {
  /** The key of the entity whose changes are read; those of all if it is left out. */
  readonly key?: Key;
  /** In the language of filters, over `time`, `user`, `kind`, `key` and `request`: `user = :1`. */
  readonly filter?: string;
  /** The values of its placeholders. */
  readonly values?: readonly unknown[];
  readonly skip?: number;
  readonly top?: number;
}

/** A recorded change of an entity. */
export interface HistoryEntry {
  /** Greater for a later change of an entity. */
  readonly position: number;
  readonly time: Date;
  readonly key: string;
  readonly kind: 'created' | 'changed' | 'deleted';
  readonly user: string | null;
  /** The ID of the request. */
  readonly request: string | null;
  /** The former values of the attributes that differ, in the form of JSON; absent for a new entity. */
  readonly before?: Readonly<Record<string, unknown>>;
  /** The new values; absent for a deleted entity. */
  readonly after?: Readonly<Record<string, unknown>>;
}

/** The session of the client, and its user. */
export interface Session {
  /** @returns whether the login succeeded */
  login(
    user: string,
    password: string,
    options?: RequestOptions & {
      /** Seconds without a request after which the session ends. */
      readonly seconds?: number;
    },
  ): Promise<boolean>;
  logout(options?: RequestOptions): Promise<void>;
  /** The name of the user; `null` for a guest. */
  userName(options?: RequestOptions): Promise<string | null>;
  /** Whether the session holds one of the privileges. */
  hasPrivilege(...names: readonly string[]): Promise<boolean>;
}

/** The datastore of a server; the emitted types declare its dataclasses and functions. */
export interface Datastore {
  readonly session: Session;
  /**
   * Saves entities of one dataclass: all of them or none.
   * @throws RestError whose `entity` is the one that was refused
   */
  atomic<T extends EntityTypes>(
    entities: readonly Entity<T>[],
    options?: SaveOptions<T>,
  ): Promise<void>;
  /** A view of this datastore whose requests a signal aborts. Entities that it reads do not keep the signal. */
  with(options: RequestOptions): this;
}

/** One row of `select()`. */
export type Row<T extends EntityTypes, P extends string> = {
  readonly key: T['key'];
  readonly stamp: number;
} & {
  readonly [N in OwnNames<P, keyof T['attributes']> as MemberName<N>]: T['attributes'][N];
} & {
  readonly [N in OwnNames<P, MediaName<T>> as MemberName<N>]: StoredMedia;
} & {
  readonly [N in Head<P> & keyof T['one'] as MemberName<N>]: T['one'][N] extends EntityTypes
    ? Row<T['one'][N], Tail<P, N & string>> | null
    : never;
} & {
  readonly [N in Head<P> & keyof T['many'] as MemberName<N>]: T['many'][N] extends EntityTypes
    ? readonly Row<T['many'][N], Tail<P, N & string>>[]
    : never;
};

/** The property of an attribute in rows: some names are those of members that class code has. */
type MemberName<N> = N extends 'key' | 'session' | 'stamp' ? `${N}_` : N;
type OwnNames<P extends string, Names> = ('*' extends P ? Names : never) | (P & Names);
type Head<P extends string> = P extends `${infer H}.${string}` ? H : never;
type Tail<P extends string, H extends string> = P extends `${H}.${infer R}` ? R : never;

/** The path itself if it leads to a value of the model, else nothing. */
export type ValidPath<T extends EntityTypes, P extends string> = P extends
  '*' | (keyof T['attributes'] & string) | MediaName<T>
  ? P
  : P extends `${infer H}.${infer R}`
    ? H extends keyof T['one']
      ? T['one'][H] extends EntityTypes
        ? `${H}.${ValidPath<T['one'][H], R>}`
        : never
      : H extends keyof T['many']
        ? T['many'][H] extends EntityTypes
          ? `${H}.${ValidPath<T['many'][H], R>}`
          : never
        : never
    : never;

/** An attribute with values, or a path to one such as `employer.name` or `extra.size`. */
export type ValuePath<T extends EntityTypes> =
  (keyof T['attributes'] & string) | `${string}.${string}`;

export type ValueAt<T extends EntityTypes, P extends string> = P extends keyof T['attributes']
  ? NonNullable<T['attributes'][P]>
  : unknown;

/** An attribute with numbers, or a path, whose end is not known here. */
export type NumberPath<T extends EntityTypes> =
  | {
      [N in keyof T['attributes'] & string]: NonNullable<T['attributes'][N]> extends number
        ? N
        : never;
    }[keyof T['attributes'] & string]
  | DecimalName<T>
  | `${string}.${string}`;

/**
 * A sum: a text for decimals. Behind a dot it may be one if some dataclass of the model has decimals.
 */
export type NumberAt<T extends EntityTypes, P extends string> =
  P extends DecimalName<T>
    ? string
    : P extends keyof T['attributes']
      ? number
      : T extends { readonly decimals: string }
        ? number | string
        : number;

/** A key of groups. */
export type GroupKey<T extends EntityTypes> =
  ValuePath<T> | (keyof T['one'] & string) | `${string}:${DatePart}`;

type DatePart = 'year' | 'quarter' | 'month' | 'day';

/** What is computed for each group. */
export type GroupTerm<T extends EntityTypes> =
  | 'count'
  | `${'count' | 'min' | 'max'}(${ValuePath<T>})`
  | `${'sum' | 'average'}(${NumberPath<T>})`;

/** A group: its keys, and what was computed for it, under the names in the call. */
export type GroupRow<T extends EntityTypes, K extends string, A extends string> = {
  readonly [N in K]: GroupKeyAt<T, N>;
} & { readonly [N in A]: TermAt<T, N> };

type GroupKeyAt<T extends EntityTypes, K extends string> = K extends keyof T['attributes']
  ? T['attributes'][K]
  : K extends keyof T['one']
    ? string | number | null
    : K extends `${string}:${DatePart}`
      ? string | null
      : string | number | boolean | Date | null;

type TermAt<T extends EntityTypes, A extends string> = A extends 'count' | `count(${string})`
  ? number
  : A extends `sum(${infer P})`
    ? NumberAt<T, P>
    : A extends `average(${infer P})`
      ? NumberAt<T, P> | null
      : A extends `${'min' | 'max'}(${infer P})`
        ? ValueAt<T, P> | null
        : never;

type DecimalName<T extends EntityTypes> = T extends {
  readonly decimals: infer Names extends string;
}
  ? Names
  : never;

type MediaName<T extends EntityTypes> = T extends { readonly media: infer Names extends string }
  ? Names
  : never;

export type { RestError };
