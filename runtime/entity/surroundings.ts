import type { Lock, LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { Fold } from '../protocol/fold.js';
import type { Body, Writer } from './decoded.js';
import type { DeletionReach } from './delete-reach.js';
import type { DeletionRefused } from './delete-refusal.js';
import type { Refusals, Refusal } from './refusals.js';
import type { EntityUpdater } from './update.js';
import type { StoredValue } from '../protocol/values.js';
import type { LiveEntity } from './lifecycle.js';

/** What a save or a deletion has to respect, if the server has it. */
export interface Surroundings {
  readonly lifecycle?: Lifecycle | undefined;
  readonly locks?: LockTable | undefined;
}

/**
 * Saves and deletes with the events and setters of class code. Servers of models without them do
 * not contain its code.
 */
export interface Lifecycle {
  /** Whether a dataclass declares events. */
  hasEvents(dataclass: string): boolean;
  /** @returns `undefined` for a dataclass that has neither events of saves nor setters */
  saving(parts: SaveParts): EventedSaving | undefined;
  /** @returns `undefined` if a deletion can reach no entity that has events for deletions */
  deletion(
    dialect: Dialect,
    reach: DeletionReach,
    locks: LockTable | undefined,
  ): EventedDeletion | undefined;
}

/** What is needed for saves with events. */
export interface SaveParts {
  readonly dataclass: Dataclass;
  readonly fold: Fold;
  readonly refusals: Refusals;
  readonly updater: EntityUpdater;
  readonly lockOf: (
    key: string | number,
    options: SaveOptions,
    transaction: Transaction,
  ) => Pending<Lock | undefined>;
  /** Saves without events. */
  readonly store: (
    transaction: Transaction,
    body: Body,
    options: SaveOptions,
  ) => Pending<SaveResult>;
}

export interface EventedSaving {
  /** Whether class code takes part in every save; else only in saves with a value for a setter. */
  readonly hasEvents: boolean;
  /** @throws whatever an event throws if class code saves; for a client it is a refusal */
  save(body: Body, options: SaveOptions): Promise<SaveResult>;
}

export interface EventedDeletion {
  /**
   * Deletes what is on the common list of deletions, which is empty then.
   * @param stale set if the entity that class code deletes was changed since it was read;
   * validateDrop runs first
   * @throws DeletionRefused, and whatever an event throws
   */
  delete(options: DeleteOptions, stale: DeletionRefused | undefined): Promise<void>;
}

/** The result of one entity of a body. */
export type SaveResult = Saved | Refusal;

interface Saved {
  /** As it is stored, except for the case of a text. */
  readonly key: string | number;
  readonly outcome: 'created' | 'changed' | 'unchanged';
  /** For an entity that was only checked: what it would store. */
  readonly values?: ReadonlyMap<string, StoredValue>;
}

/** How an entity is saved. */
export interface SaveOptions {
  readonly timestamp: string;
  /** `false`: the save is rolled back, so a changed entity keeps its stamp, and no event runs. */
  readonly isKept: boolean;
  /** The save is rolled back: of all events, only `validateSave` runs. */
  readonly isValidation?: boolean;
  /** The entity is checked by reads only: nothing is stored, and nobody waits. */
  readonly isOnlyRead?: boolean;
  readonly writer: Writer;
  /** Names of attributes that may be written whatever the session may. */
  readonly granted?: ReadonlySet<string>;
  /** ID of the session whose own locks do not count. */
  readonly session?: string | undefined;
  /**
   * The class code's object that is saved, which takes over what is stored; the body is its own.
   */
  readonly live?: LiveEntity;
}

/** How entities are deleted. */
export interface DeleteOptions {
  /** Of the entities that are changed because they refer to deleted ones. */
  readonly timestamp: string;
  readonly writer: Writer;
  /** ID of the session whose own locks do not count. */
  readonly session?: string | undefined;
  /**
   * The class code's object that is deleted: its stamp must be that of the entity, and its events
   * run on it.
   */
  readonly live?: LiveEntity;
  /** Gets the session's own locks of deleted entities, which end when the deletion is committed. */
  readonly onUnlocked?: (dataclass: Dataclass, key: string | number) => void;
}
