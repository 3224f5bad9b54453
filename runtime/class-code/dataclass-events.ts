import type { Transaction } from '../dialect/executor.js';
import type { EntityEvent, EventError, LiveEntity } from '../entity/lifecycle.js';
import type { EventName } from '../protocol/definition.js';

/** The events of one dataclass. */
export interface DataclassEvents {
  has(event: EventName): boolean;
  /** A new entity, as class code makes one. */
  create(): LiveEntity;
  /** Reads entities in the transaction that runs, in no certain order; those that do not exist are left out. */
  load(keys: readonly (string | number)[]): Promise<readonly LiveEntity[]>;
  /** A text that {@link revived} makes the entity from when it does not exist any more. */
  textOf(entity: LiveEntity): string;
  revived(text: string): LiveEntity;
  /**
   * Runs one event of an entity.
   * @returns what it refuses with
   * @throws EventFailure when class code throws
   */
  run(entity: LiveEntity, event: EntityEvent): Promise<EventError | undefined>;
}

/** The events of all dataclasses, and the savepoints that they run in. */
export interface ModelEvents {
  /** `undefined` for a dataclass that declares none. */
  eventsOf(dataclass: string): DataclassEvents | undefined;
  /**
   * Runs work in a savepoint of the transaction that this call is part of, or in a transaction of its own where there is none.
   * Class code that runs within joins it. Work that throws is undone.
   * @param work is told how many saves and deletions with events it is within, itself counted
   * @throws EventFailure when events led to too many saves and deletions within each other
   */
  within<T>(work: (transaction: Transaction, depth: number) => Promise<T>): Promise<T>;
}
