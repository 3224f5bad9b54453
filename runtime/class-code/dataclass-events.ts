import type { Transaction } from '../dialect/executor.js';
import type { EntityEvent, EventError, LiveEntity } from '../entity/lifecycle.js';
import type { EventName } from '../protocol/definition.js';

/** The events of one dataclass. */
export interface DataclassEvents {
  has(event: EventName): boolean;
  /** Creates an entity as class code does. */
  create(): LiveEntity;
  /**
   * Reads entities in the running transaction, in any order; leaves out those that do not exist.
   */
  load(keys: readonly (string | number)[]): Promise<readonly LiveEntity[]>;
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

/** The events of all dataclasses, and the savepoints that they run in. */
export interface ModelEvents {
  /** `undefined` for a dataclass that declares none. */
  eventsOf(dataclass: string): DataclassEvents | undefined;
  /**
   * Runs work in a savepoint of the call's transaction, or in a new transaction if there is none.
   * Class code that runs inside joins it. If the work throws, it is undone.
   * @param work gets the number of nested saves and deletions with events, including its own
   * @param isAlone whether the call's transaction, or its part, is for this work alone and is rolled
   * back with it: then no savepoint is needed
   * @throws EventFailure if events led to too many nested saves and deletions
   */
  within<T>(
    work: (transaction: Transaction, depth: number) => Promise<T>,
    isAlone?: boolean,
  ): Promise<T>;
}

/**
 * The refusal that class code returned from an event; `undefined` for none.
 * @param shown the event with its class
 * @throws TypeError for any other result: a mistake of the class code, which must not let an entity
 * pass
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

/** The answer is written later, when errors are no longer possible. */
function asJson(shown: string, description: object): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(JSON.stringify(description));
  if (typeof json === 'object' && json !== null) return json as Readonly<Record<string, unknown>>;
  throw new TypeError(`${shown}: extraDescription must be an object.`);
}
