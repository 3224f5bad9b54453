import type { ComputedDefinition } from '../protocol/definition.js';
import type { Sql } from './sql.js';

/** A value that SQL can hold. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A placeholder for a value of the request: its position in the request's list of values. */
export class Slot {
  constructor(readonly index: number) {}
}

/**
 * A placeholder for a value that belongs to the call that runs the statement. Only a `CallValueBinder` can run such
 * a statement.
 */
export class CallSlot {
  /** @param owner identifies the value: the call stores values by owner */
  constructor(
    readonly owner: object,
    readonly index: number,
  ) {}
}

/**
 * A placeholder for the condition under which an entity of a dataclass is visible. The condition differs by call
 * and is computed when the statement runs (`class-code/call-values.ts`); a statement that still holds the placeholder
 * cannot run.
 */
export class RestrictionSlot {
  /**
   * @param dataclass its name
   * @param alias of its table in the query
   */
  constructor(
    readonly dataclass: string,
    readonly alias: string,
  ) {}
}

/** A statement that is compiled once and run with many lists of values. */
export interface Statement {
  readonly sql: string;
  /** In the order of the SQL's placeholders. */
  readonly bindings: readonly (SqlValue | Slot | CallSlot | RestrictionSlot)[];
  /** Absent if the query holds no {@link RestrictionSlot}. */
  readonly restricted?: RestrictedStatement;
  /** The places of the result that class code fills; most statements have none. */
  readonly computed?: readonly ComputedPlace[];
  /** Set for a page of all entities in the order of an index, which reads no row beyond the page. */
  readonly isPage?: true;
}

/** The restricted dataclasses that a statement reads. */
export interface RestrictedStatement {
  /** Names of the dataclasses. */
  readonly dataclasses: readonly string[];
  /** Writes the statement with a condition for each placeholder. */
  write(conditionOf: (slot: RestrictionSlot) => Sql): Statement;
}

/** A place in a JSON result for a value that class code computes. */
export interface ComputedPlace {
  /** Name of the dataclass. */
  readonly dataclass: string;
  readonly attribute: ComputedDefinition;
  /** A report writes a boolean as a text. */
  readonly form: 'json' | 'report';
}

/**
 * Delimits the place of a value that class code computes: number of the place, stamp and key as JSON, separated by
 * commas. JSON always escapes this character, so no value can be taken for such a mark.
 */
export const computedMark = '\u0001';

/** The values to bind, in the order of the statement's placeholders. */
export function bind(statement: Statement, values: readonly SqlValue[]): SqlValue[] {
  const bound = new Array<SqlValue>(statement.bindings.length);
  for (let i = 0; i < bound.length; i += 1) {
    const binding = statement.bindings[i] as Statement['bindings'][number];
    if (binding instanceof Slot) bound[i] = values[binding.index] as SqlValue;
    else if (binding instanceof CallSlot) throw new Error('A value of the call is missing.');
    else if (binding instanceof RestrictionSlot) {
      throw new Error(`The restriction of ${binding.dataclass} was not resolved.`);
    } else bound[i] = binding;
  }
  return bound;
}
