import type { ComputedDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import type { Body } from './decoded.js';

/** Plain values of an entity's attributes by name, as class code reads them. */
export type EventValues = Readonly<Record<string, unknown>>;

/** What is emitted of one dataclass for the types of its events: `CompanyTypes` of `Company`. */
export interface EventTypes {
  /** Name → type as read, of the attributes that hold one value each. */
  readonly attributes: object;
  /** The same, with the key of each to-one relation. */
  readonly object: object;
  /** Every attribute that can be written. */
  readonly values: object;
}

/** Of a dataclass that is not known. */
interface AnyTypes {
  readonly attributes: EventValues;
  readonly object: EventValues;
  readonly values: EventValues;
}

/** Names of the attributes that can be written, without to-one relations, whose foreign keys hold what is stored. */
export type StoredName<T extends EventTypes> = Exclude<
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
   * Names of the attributes that have another value than they were read with, or than the model's default; images and BLOBs
   * where they were set. A relation is named by its foreign key.
   */
  readonly touched: readonly StoredName<T>[];
  /**
   * Values before the change that the session may read, without relations, images and BLOBs; `null` for a new entity.
   */
  readonly old: Readonly<Partial<T['attributes']>> | null;
}

/** What `afterSave` is given. */
export interface AfterSaveEvent<T extends EventTypes = AnyTypes> {
  readonly kind: 'afterSave';
  readonly dataClassName: string;
  /** Whether this save created the entity. */
  readonly isNew: boolean;
  readonly touched: readonly StoredName<T>[];
  readonly old: Readonly<Partial<T['attributes']>> | null;
  /** Names of the attributes whose stored values this save changed; empty when it failed. */
  readonly savedAttributes: readonly StoredName<T>[];
  /** `failed`: the database refused what `saving` had let pass, and all that the events stored will be undone. */
  readonly saveStatus: 'success' | 'failed';
}

/** What `validateDrop` and `dropping` are given. */
export interface DropEvent {
  readonly kind: 'validateDrop' | 'dropping';
  readonly dataClassName: string;
}

/** What `afterDrop` is given. */
export interface AfterDropEvent {
  readonly kind: 'afterDrop';
  readonly dataClassName: string;
  /** `failed`: the deletion was refused after `dropping`, and all that the events stored will be undone. */
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
  /** Sent to the client beside the message; JSON. */
  readonly extraDescription?: Readonly<Record<string, unknown>>;
}

/** The event object of each kind. */
export type EntityEvent = SaveEvent | AfterSaveEvent | DropEvent | AfterDropEvent;

/**
 * An entity of class code, as the saver and the deleter see it while its events run: the class code's own object when class
 * code saves or drops it, one that was made for the purpose when a client does.
 */
export interface LiveEntity {
  readonly isNew: boolean;
  /** As it is stored; `undefined` for a new entity that has none yet. */
  readonly key: string | number | undefined;
  /** That it was read with; `undefined` for a new entity. */
  readonly stamp: number | undefined;
  /** See {@link SaveEvent.touched}. */
  readonly touched: readonly string[];
  /** Names of the attributes that may be saved whatever the session may: promoted code has set them. */
  readonly granted: ReadonlySet<string>;
  /** See {@link SaveEvent.old}. */
  readonly old: EventValues | null;
  /** Sets attributes as class code would; the values are in stored form. */
  receive(values: ReadonlyMap<string, StoredValue>): void;
  /** Whether the entity is stored, and a getter gives the value, which is in stored form. */
  hasComputed(attribute: ComputedDefinition, value: StoredValue): boolean;
  /**
   * Gives a value to a setter.
   * @throws EventFailure when it throws
   */
  assignComputed(attribute: ComputedDefinition, value: StoredValue): void;
  /** What a save sends: touched attributes in JSON form, and `__KEY` and `__STAMP` where the entity is stored. */
  body(): Body;
  /**
   * Reads the entity anew when it has been stored in the transaction that runs: it is not new any more, and nothing is touched.
   * When the transaction, or the part of it that runs, is undone, the entity goes back to what it was.
   * @param key as it is stored
   * @returns names of the attributes whose stored values are other ones than before
   */
  takeOver(key: string | number): Promise<readonly string[]>;
}

/** Class code of an event threw something; never seen by class code itself, which gets what was thrown. */
export class EventFailure extends Error {
  /** @param shown the event with its class, as `CompanyEntity.saving` */
  constructor(
    readonly shown: string,
    readonly thrown: unknown,
  ) {
    super(`${shown} failed`, { cause: thrown });
  }
}
