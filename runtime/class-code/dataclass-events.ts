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

/**
 * What an event refuses with, as its class code returned it; `undefined` for nothing.
 * @param shown the event with its class
 * @throws TypeError for an answer that says neither: a mistake of the class code, which must not let an entity pass
 */
export function eventError(shown: string, answer: unknown): EventError | undefined {
  if (answer === undefined || answer === null) return undefined;
  const { errCode, message, attribute, seriousError, extraDescription } =
    answer as Partial<EventError>;
  if (!Number.isSafeInteger(errCode) || typeof message !== 'string') {
    throw new TypeError(
      `${shown} must return nothing, or { errCode, message } with a whole number and a text.`,
    );
  }
  if (attribute !== undefined && typeof attribute !== 'string') {
    throw new TypeError(`${shown}: attribute must be the name of an attribute.`);
  }
  return {
    errCode: errCode as number,
    message,
    ...(attribute === undefined ? {} : { attribute }),
    seriousError: seriousError === true,
    ...(extraDescription === undefined
      ? {}
      : { extraDescription: asJson(shown, extraDescription) }),
  };
}

/** The answer is written later, when nothing can go wrong any more. */
function asJson(shown: string, description: object): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(JSON.stringify(description));
  if (typeof json === 'object' && json !== null) return json as Readonly<Record<string, unknown>>;
  throw new TypeError(`${shown}: extraDescription must be an object.`);
}
