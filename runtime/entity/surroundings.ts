import type { Lock, LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { Fold } from '../protocol/fold.js';
import type { Body } from './decoded.js';
import type { DeleteOptions } from './delete-options.js';
import type { DeletionReach } from './delete-reach.js';
import type { DeletionRefused } from './delete-refusal.js';
import type { Refusals } from './refusals.js';
import type { SaveOptions, SaveResult } from './save-options.js';
import type { EntityUpdater } from './update.js';

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
