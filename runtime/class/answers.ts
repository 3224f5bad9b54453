import type { EventError } from '../entity/lifecycle.js';

/**
 * What a function that the model declares may return: a value of its type or nothing, at once or later. An emitted base class
 * declares its functions so; a class may promise more, for instance that there is always a value.
 */
export type FunctionResult<T> = T | null | undefined | Promise<T | null | undefined>;

/** What `validateSave`, `saving`, `validateDrop` and `dropping` return: nothing, or why the entity is refused. */
export type EventAnswer = EventError | undefined | Promise<EventError | undefined> | Promise<void>;

/** A filter in the query language, and the values of its placeholders. */
export interface FilterWithValues {
  readonly filter: string;
  readonly values?: readonly unknown[];
}

/** What `restrict` returns: which entities the session may see; `null` for all of them. */
export type Restriction = FilterWithValues | string | null;

/** A comparison of a filter with an attribute that class code computes. */
export interface ComputedQuery {
  readonly operator: string;
  readonly value: unknown;
}

/** An order by an attribute that class code computes. */
export interface ComputedOrder {
  readonly direction: 'asc' | 'desc';
}
