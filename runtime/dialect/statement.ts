import type { ComputedDefinition } from '../protocol/definition.js';

/** A value that SQL can hold. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** Stands in a query for a value that only a request knows: the position of that value in the request's list. */
export class Slot {
  constructor(readonly index: number) {}
}

/**
 * Stands for a value that the call brings in which the statement runs, whatever it is run for. Only a `callValuesExecutor`
 * can run such a statement.
 */
export class CallSlot {
  /** @param owner whose values: the same object finds them in the call */
  constructor(
    readonly owner: object,
    readonly index: number,
  ) {}
}

/** A statement that is written once and run with many lists of values. */
export interface Statement {
  readonly sql: string;
  /** In the order of the SQL's placeholders. */
  readonly bindings: readonly (SqlValue | Slot | CallSlot)[];
  /** Where class code has to put values into the JSON that the statement gives; most have none. */
  readonly computed?: readonly ComputedPlace[];
}

/** A place in an answer that holds a value of class code. */
export interface ComputedPlace {
  /** Name of the dataclass. */
  readonly dataclass: string;
  readonly attribute: ComputedDefinition;
  /** A report writes a boolean as a text. */
  readonly form: 'json' | 'report';
}

/**
 * Stands around what tells the place and the entity of a value of class code: the number of the place, the stamp, and the key
 * as JSON, with commas between. JSON never holds this character as it is, and so no value can be taken for such a mark.
 */
export const computedMark = '\u0001';

/** The values to bind, in the order of the statement's placeholders. */
export function bind(statement: Statement, values: readonly SqlValue[]): SqlValue[] {
  const bound = new Array<SqlValue>(statement.bindings.length);
  for (let i = 0; i < bound.length; i += 1) {
    const binding = statement.bindings[i] as SqlValue | Slot | CallSlot;
    if (binding instanceof Slot) bound[i] = values[binding.index] as SqlValue;
    else if (!(binding instanceof CallSlot)) bound[i] = binding;
    else throw new Error('A value of the call is missing.');
  }
  return bound;
}
