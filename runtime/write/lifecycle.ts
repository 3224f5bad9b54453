import type { Lock } from '../access/locks.js';
import type { Transaction } from '../dialect/executor.js';
import type { ComputedDefinition, EventName } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';

/** Plain values of an entity's attributes by name, as class code reads them. */
export type EventValues = Readonly<Record<string, unknown>>;

/** The emitted types of one dataclass for its events: `CompanyTypes` of `Company`. */
interface EventTypes {
  /** Name → type as read, of the attributes that hold one value each. */
  readonly attributes: object;
  /** Name → type as read, with the key of each to-one relation. */
  readonly object: object;
  /** Every attribute that can be written. */
  readonly values: object;
}

/** The types of an unknown dataclass. */
interface AnyTypes {
  readonly attributes: EventValues;
  readonly object: EventValues;
  readonly values: EventValues;
}

/** Names of the attributes that can be written, with foreign keys in place of to-one relations. */
type StoredName<T extends EventTypes> = Exclude<
  keyof T['values'],
  Exclude<keyof T['object'], keyof T['attributes']>
> &
  string;

/** The argument of `validateSave` and `saving` (`class-code.md#events`). */
export interface SaveEvent<T extends EventTypes = AnyTypes> {
  readonly kind: 'validateSave' | 'saving';
  readonly dataClassName: string;
  /** Whether this save creates the entity. */
  readonly isNew: boolean;
  /**
   * Names of the attributes whose values differ from those that were read, or from the model's
   * defaults; images and BLOBs count if they were set. A relation is named by its foreign key.
   */
  readonly touched: readonly StoredName<T>[];
  /**
   * Values before the change that the session may read, without relations, images and BLOBs; `null` for a new entity.
   */
  readonly old: Readonly<Partial<T['attributes']>> | null;
}

/** The argument of `afterSave`. */
export interface AfterSaveEvent<T extends EventTypes = AnyTypes> {
  readonly kind: 'afterSave';
  readonly dataClassName: string;
  /** Whether this save created the entity. */
  readonly isNew: boolean;
  readonly touched: readonly StoredName<T>[];
  readonly old: Readonly<Partial<T['attributes']>> | null;
  /** Names of the attributes whose stored values this save changed; empty if it failed. */
  readonly savedAttributes: readonly StoredName<T>[];
  /**
   * `failed`: the database refused what `saving` had accepted, and all that the events stored is
   * rolled back.
   */
  readonly saveStatus: 'success' | 'failed';
}

/** The argument of `validateDrop` and `dropping`. */
export interface DropEvent {
  readonly kind: 'validateDrop' | 'dropping';
  readonly dataClassName: string;
}

/** The argument of `afterDrop`. */
export interface AfterDropEvent {
  readonly kind: 'afterDrop';
  readonly dataClassName: string;
  /**
   * `failed`: the deletion was refused after `dropping`, and all that the events stored is rolled
   * back.
   */
  readonly dropStatus: 'success' | 'failed';
}

/**
 * What an event other than `afterSave` and `afterDrop` returns to refuse a save or a deletion
 * (`class-code.md#events`).
 */
export interface EventError {
  /** `errCode` of the answer's `__ERROR`; a whole number. */
  readonly errCode: number;
  /** Sent to the client. */
  readonly message: string;
  /** The attribute that is at fault; sent to a client that may know it. */
  readonly attribute?: string;
  /** Makes the refusal of a validation serious: `__STATUS` 8, not 7. */
  readonly seriousError?: boolean;
  /** Sent to the client with the message; JSON. */
  readonly extraDescription?: Readonly<Record<string, unknown>>;
}

/** The event object of each kind. */
export type EntityEvent = SaveEvent | AfterSaveEvent | DropEvent | AfterDropEvent;

/**
 * An entity of class code, as the saver and the deleter see it while its events run: the class
 * code's own object if class code saves or drops it, or one that is made for a client's request.
 */
export interface LiveEntity {
  readonly isNew: boolean;
  /** As it is stored, whatever was set since; `undefined` for a new entity that has none yet. */
  readonly key: string | number | undefined;
  /** The stamp that was read; `undefined` for a new entity. */
  readonly stamp: number | undefined;
  /** The lock of another session, null if there was none; absent if it was not read with the entity. */
  readonly lock?: Lock | null | undefined;
  /** See {@link SaveEvent.touched}. */
  readonly touched: readonly string[];
  /** Names of the attributes that may be saved whatever the session may: promoted code has set them. */
  readonly granted: ReadonlySet<string>;
  /** See {@link SaveEvent.old}. */
  readonly old: EventValues | null;
  /**
   * Whether an attribute was read with a value, which is in stored form. For an image or a BLOB it is
   * unknown.
   */
  hasStored(name: string, value: StoredValue): boolean;
  /** Sets attributes as class code would; the values are in stored form. */
  receive(values: ReadonlyMap<string, StoredValue>): void;
  /** Whether the entity is stored, and its getter returns the value, which is in stored form. */
  hasComputed(attribute: ComputedDefinition, value: StoredValue): boolean;
  /**
   * Passes a value to a setter.
   * @throws EventFailure if it throws
   */
  assignComputed(attribute: ComputedDefinition, value: StoredValue): void;
  /** The values to save, by attribute name, in stored form: what is {@link touched}. */
  changes(): ReadonlyMap<string, StoredValue>;
  /**
   * Reads the entity again after it was stored in the running transaction: it is no longer new, and
   * nothing is touched. If the transaction, or its part, is rolled back, the entity returns to its
   * former state.
   * @param key as it is stored
   * @returns names of the attributes whose stored values have changed
   */
  takeOver(key: string | number): Promise<readonly string[]>;
}

/** The users' classes, as far as saves and deletions run their events. */
export interface ClassEvents {
  /** The events of a dataclass, and the objects of its entities. */
  eventsOf(dataclass: string): EntityEvents;
  /**
   * Runs work in a part of the open transaction, or in a new transaction. Class code that runs inside
   * joins it; if code outside of it writes, it waits. If the work throws, it is undone.
   * @param work gets the number of nested saves and deletions with events, including its own
   * @param isAlone whether the open transaction, or its part, is for this work alone and is rolled
   * back with it: then it needs no part of its own
   * @throws EventFailure if events led to too many nested saves and deletions
   */
  within<T>(
    work: (transaction: Transaction, depth: number) => Promise<T>,
    isAlone?: boolean,
  ): Promise<T>;
}

/** The events of one dataclass, and the objects of its entities on which they run. */
export interface EntityEvents {
  /** Whether the dataclass declares an event. */
  has(event: EventName): boolean;
  /**
   * Creates an entity as class code does.
   * @throws EventFailure if its event `init` throws
   */
  create(): LiveEntity;
  /**
   * Reads entities in the running transaction, in any order; leaves out those that do not exist.
   * Events run on all that are saved or deleted, such as those that a cascade reaches.
   */
  load(keys: readonly (string | number)[]): Promise<readonly LiveEntity[]>;
  /**
   * Reads one entity as {@link load} does, with the lock of another session if the database holds locks.
   * @param session ID of the session whose own lock does not count
   */
  loadOne(key: string | number, session: string | undefined): Promise<LiveEntity | undefined>;
  /** A text from which {@link revived} makes the entity after it was deleted. */
  textOf(entity: LiveEntity): string;
  revived(text: string): LiveEntity;
  /**
   * Runs one event of an entity.
   * @returns the refusal, if there is one
   * @throws EventFailure if class code throws
   */
  run(entity: LiveEntity, event: EntityEvent): Promise<EventError | undefined>;
}

/** Class code of an event threw something; class code itself gets the original error instead. */
export class EventFailure extends Error {
  /** @param shown the event with its class, as `CompanyEntity.saving` */
  constructor(
    readonly shown: string,
    readonly thrown: unknown,
  ) {
    super(`${shown} failed`, { cause: thrown });
  }
}
