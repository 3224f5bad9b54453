import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Statement } from '../dialect/statement.js';
import type { Body } from './decode.js';
import type { DeletionReach } from './delete-statements.js';
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
  hidesSome(dataclass: string): Promise<boolean>;
  /**
   * Whether the conditions that complete a statement read nothing but the rows of their dataclasses, so
   * that a statement can apply them to the rows that it changes.
   */
  areOfRows(statement: Statement): Promise<boolean>;
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
  deletion(dialect: Dialect, reach: DeletionReach): DropEvents | undefined;
}

/** Events of the deletions of one dataclass, and of those that these cascade to. */
export interface DropEvents {
  /**
   * Deletes the listed entities with their events. Everything happens in one savepoint.
   * @param live the object that class code deletes
   * @throws DeletionRefused, and EventFailure if an event throws
   */
  delete(live: LiveEntity | undefined, steps: DeletionSteps): Promise<void>;
}

/**
 * The steps of a deletion whose entities are listed. They run no class code themselves.
 * @returns events that have to run before all steps are taken again, because they may delete, add
 * or relate entities; `undefined` if the entities are deleted
 */
export type DeletionSteps = (
  transaction: Transaction,
  events: DeletionEvents,
) => Promise<PendingEvents | undefined>;

export type PendingEvents = () => Promise<void>;

/** Events of one deletion. */
export interface DeletionEvents {
  /**
   * Finds listed entities for which an event did not run yet.
   * @returns runs it for some of them, and throws if one refuses; `undefined` if there are none
   */
  next(kind: 'validateDrop' | 'dropping'): Promise<PendingEvents | undefined>;
  /** Keeps what afterDrop needs of the listed entities, which are deleted next. */
  keepDropped(): Promise<void>;
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
  /** When entities change that refer to deleted ones. */
  readonly timestamp: string;
  /** ID of the session whose own locks do not count. */
  readonly session?: string | undefined;
  /**
   * The class code's object that is deleted: its stamp must be that of the entity, and its events
   * run on it.
   */
  readonly live?: LiveEntity;
  /** The only entity, if a client says which stamp it must have. */
  readonly stamped?: Pick<LiveEntity, 'key' | 'stamp'> | undefined;
  /** Gets the session's own locks of deleted entities, which end when the deletion is committed. */
  readonly onUnlocked?: (dataclass: Dataclass, key: string | number) => void;
}

/** The uploads that the entities of one request use. */
export interface UploadsOfEntities {
  /** Bytes read for this request so far. */
  readonly bytes: number;
  /** How many values were read for it. */
  readonly taken: number;
  /** Reads what bodies of a dataclass name; call it before their transaction begins. */
  load(dataclass: Dataclass, bodies: readonly Body[]): Promise<void>;
  /** Stores how much of the uploads was used; call it when the entities are stored. */
  settle(): Promise<void>;
  /** Call it when the loaded uploads are no longer needed. */
  release(): void;
  /** Replaces `{"ID": "…"}` by the bytes of loaded uploads. */
  applied(dataclass: Dataclass, body: Body): Body;
  /**
   * Entities were not stored: their bytes can be used again.
   * @param since {@link taken} before these entities
   */
  giveBack(since: number): void;
}
