import type { ComputedDefinition } from '../protocol/definition.js';
import type { Sql } from './sql.js';

/** A value that SQL can hold. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** Stands in a query for a value that only a request knows: the position of that value in the request's list. */
export class Slot {
  constructor(readonly index: number) {}
}

/**
 * Stands for a value that the call brings in which the statement runs, whatever it is run for. Only a `CallValueBinder`
 * can run such a statement.
 */
export class CallSlot {
  /** @param owner whose values: the same object finds them in the call */
  constructor(
    readonly owner: object,
    readonly index: number,
  ) {}
}

/**
 * Stands in a query for the condition that an entity of a dataclass may be seen. It differs by call, and is asked for when the
 * statement runs (`access/call-values.ts`): a statement that still holds one cannot run.
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

/** A statement that is written once and run with many lists of values. */
export interface Statement {
  readonly sql: string;
  /** In the order of the SQL's placeholders. */
  readonly bindings: readonly (SqlValue | Slot | CallSlot | RestrictionSlot)[];
  /** None where the query holds no {@link RestrictionSlot}. */
  readonly restricted?: RestrictedStatement;
  /** Where class code has to put values into the JSON that the statement gives; most have none. */
  readonly computed?: readonly ComputedPlace[];
  /** Set for a page of all entities: in the order of an index, no row behind the page is read. */
  readonly isPage?: true;
}

/** What a statement reads of dataclasses that restrict sessions. */
export interface RestrictedStatement {
  /** Names of the dataclasses. */
  readonly dataclasses: readonly string[];
  /** Writes the statement with conditions in the place of its slots. */
  write(conditionOf: (slot: RestrictionSlot) => Sql): Statement;
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
    const binding = statement.bindings[i] as Statement['bindings'][number];
    if (binding instanceof Slot) bound[i] = values[binding.index] as SqlValue;
    else if (binding instanceof CallSlot) throw new Error('A value of the call is missing.');
    else if (binding instanceof RestrictionSlot) {
      throw new Error(`It was not asked which entities of ${binding.dataclass} may be seen.`);
    } else bound[i] = binding;
  }
  return bound;
}
