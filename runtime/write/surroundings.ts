import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { DeletionReach } from './delete-statements.js';
import type { DeletionRefused } from './delete-refusal.js';
import type { ClassEvents, LiveEntity } from './lifecycle.js';
import type { Refusal } from './refusals.js';

/** What a save or a deletion has to respect, if the server has it. */
export interface Surroundings {
  readonly lifecycle?: Lifecycle | undefined;
  readonly locks?: LockTable | undefined;
  readonly restrictions?: WriteRestrictions | undefined;
}

/** What `restrict` of the users' classes means for what is stored (`access.md#restrict`). */
export interface WriteRestrictions {
  /** Whether some entities of a dataclass are hidden from the current scope. */
  hidesSome(dataclass: string): Pending<boolean>;
  /** Runs work in a savepoint of the open transaction; if it throws, it is undone. */
  inPart<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Saves and deletes with the events and setters of class code. Servers of models without them do
 * not contain its code.
 */
export interface Lifecycle extends ClassEvents {
  /** Whether a dataclass declares events. */
  hasEvents(dataclass: string): boolean;
  /** @returns `undefined` if a deletion can reach no entity that has events for deletions */
  deletion(
    dialect: Dialect,
    reach: DeletionReach,
    locks: LockTable | undefined,
  ): EventedDeletion | undefined;
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

export type SaveResult = Saved | Refusal;

interface Saved {
  /** As it is stored, except for the case of a text. */
  readonly key: string | number;
  readonly outcome: 'created' | 'changed' | 'unchanged';
}

/**
 * What a save is for: to `store` the entity; to `validate` it, of all events by `validateSave` alone;
 * to `preview` what it would become, without events, and with the stamp that it has. The caller
 * rolls back what is not to be stored.
 */
export type SaveMode = 'store' | 'validate' | 'preview';

/** What the saves of one transaction have in common. */
export interface SaveContext {
  readonly transaction: Transaction;
  readonly timestamp: string;
  readonly mode: SaveMode;
  /** The caller rolls back its transaction, or its part, if the entity is refused. */
  readonly isAlone: boolean;
  /** ID of the session whose own locks do not count. */
  readonly session?: string | undefined;
}

export interface DeleteOptions {
  /** Of the entities that are changed because they refer to deleted ones. */
  readonly timestamp: string;
  readonly writer: 'client' | 'code';
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
