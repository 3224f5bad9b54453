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

/** What a save or a deletion has to respect, where the server has it. */
export interface Surroundings {
  readonly lifecycle?: Lifecycle | undefined;
  readonly locks?: LockTable | undefined;
}

/** Saves and deletes with the events and setters of class code. Servers of models without them do not carry what does. */
export interface Lifecycle {
  /** Whether a dataclass declares events. */
  hasEvents(dataclass: string): boolean;
  /** @returns `undefined` for a dataclass that has neither events of saves nor setters */
  saving(parts: SaveParts): EventedSaving | undefined;
  /** @returns `undefined` where no entity that a deletion can reach has events that want to know of it */
  deletion(
    dialect: Dialect,
    reach: DeletionReach,
    locks: LockTable | undefined,
  ): EventedDeletion | undefined;
}

/** What a save with events is made of. */
export interface SaveParts {
  readonly dataclass: Dataclass;
  readonly fold: Fold;
  readonly refusals: Refusals;
  readonly updater: EntityUpdater;
  readonly lockOf: (key: string | number, options: SaveOptions) => Lock | undefined;
  /** Saves without events. */
  readonly store: (
    transaction: Transaction,
    body: Body,
    options: SaveOptions,
  ) => Pending<SaveResult>;
}

export interface EventedSaving {
  /** Whether class code takes part in every save; else only in that of a value that a setter takes. */
  readonly hasEvents: boolean;
  /** @throws whatever an event throws when class code saves; for a client it is a refusal */
  save(body: Body, options: SaveOptions): Promise<SaveResult>;
}

export interface EventedDeletion {
  /**
   * Deletes what is on the common list of deletions, which is empty then.
   * @param stale set when the entity that class code deletes was changed since it was read; validateDrop has its say first
   * @throws DeletionRefused, and whatever an event throws
   */
  delete(options: DeleteOptions, stale: DeletionRefused | undefined): Promise<void>;
}

/** What became of an entity of a body. */
export type SaveResult = Saved | Refusal;

interface Saved {
  /** As it is stored, but for the case of a text. */
  readonly key: string | number;
  readonly outcome: 'created' | 'changed' | 'unchanged';
  /** Of an entity that was only checked: what it would store. */
  readonly values?: ReadonlyMap<string, StoredValue>;
}

/** How an entity is saved. */
export interface SaveOptions {
  readonly timestamp: string;
  /** `false`: nothing of it will be kept, so a changed entity keeps its stamp, and no event runs. */
  readonly isKept: boolean;
  /** Nothing of it will be kept: of all events, `validateSave` alone runs. */
  readonly isValidation?: boolean;
  /** It is checked by reads alone, which the transaction stands for: nothing is stored, and nobody waits. */
  readonly isOnlyRead?: boolean;
  readonly writer: Writer;
  /** Names of attributes that may be written whatever the session may. */
  readonly granted?: ReadonlySet<string>;
  /** ID of the session whose locks are no obstacle. */
  readonly session?: string | undefined;
  /** The class code's object that is saved, which takes over what is stored; the body is what it has to send. */
  readonly live?: LiveEntity;
}

/** How entities are deleted. */
export interface DeleteOptions {
  /** Of the entities that are changed, since they refer to deleted ones. */
  readonly timestamp: string;
  readonly writer: Writer;
  /** ID of the session whose locks are no obstacle. */
  readonly session?: string | undefined;
  /** The class code's object that is deleted: its stamp must be that of the entity, and its events are run on it. */
  readonly live?: LiveEntity;
  /** Told of the session's own locks of deleted entities, which end when the deletion is stored. */
  readonly onUnlocked?: (dataclass: Dataclass, key: string | number) => void;
}
