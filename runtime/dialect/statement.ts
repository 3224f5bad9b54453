import type { RawBuilder } from 'kysely';
import type { ComputedDefinition } from '../protocol/definition.js';

/** An SQL expression or clause. Results leave the database as bytes, so the type argument is always `unknown`. */
export type Sql = RawBuilder<unknown>;

/** A value that SQL can hold. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A placeholder for a value of the request: its position in the request's list of values. */
export class Slot {
  constructor(readonly index: number) {}
}

/**
 * A placeholder for the condition under which an entity of a dataclass is visible. The condition differs by scope
 * and is resolved when the statement runs (`class/hooks/restrictions.ts`); a statement that still holds the placeholder
 * cannot run.
 */
export class RestrictionSlot {
  /** @param alias of its table in the query */
  constructor(
    readonly dataclass: string,
    readonly alias: string,
  ) {}
}

/** A statement that is compiled once and run with many lists of values. */
export interface Statement {
  readonly sql: string;
  /** In the order of the SQL's placeholders. */
  readonly bindings: readonly (SqlValue | Slot | RestrictionSlot)[];
  /** Absent if the query holds no {@link RestrictionSlot}. */
  readonly restricted?: RestrictedStatement;
  /** The places of the result that class code fills; most statements have none. */
  readonly computed?: readonly ComputedPlace[];
  /** Set for what a server remembers about its clients, such as sessions: see `StateDatabase`. */
  readonly isOfState?: true;
  /** Set for the statement of an answer that has a tag: see `Dialect.tagged`. */
  readonly isTagged?: true;
  /** Set for a page of a cursor: behind the JSON, its row tells where the next page begins. */
  readonly hasPosition?: true;
  /** Set for a page of entities. */
  readonly page?: EntitiesPage;
}

/** What is known of a page before it is read. */
export interface EntitiesPage {
  /** Whether it is a page of all entities of a dataclass, which ends at its last row. */
  readonly isOfAll: boolean;
  /** The most entities. */
  readonly top: Slot;
  /** The most related entities that each of them brings along. */
  readonly related: number;
}

/** The restricted dataclasses that a statement reads. */
export interface RestrictedStatement {
  /** No other statement has the same. */
  readonly number: number;
  /** Names of the dataclasses. */
  readonly dataclasses: readonly string[];
  /** How many values the request gives; those of the conditions are behind them. */
  readonly given: number;
  /** Puts a condition in the place of each {@link RestrictionSlot}: only the conditions are compiled. */
  complete(conditionOf: (slot: RestrictionSlot) => Sql): Statement;
}

/** A place in a JSON result for a value that class code computes. */
export interface ComputedPlace {
  /** Name of the dataclass. */
  readonly dataclass: string;
  readonly attribute: ComputedDefinition;
  /** A report writes a boolean as a text. */
  readonly format: 'json' | 'report';
}

/** Delimits `<place>,<stamp>,<key as JSON>` for a value of class code. JSON escapes this character, so no value holds it. */
export const computedMark = '\u0001';

/** The values to bind, in the order of the statement's placeholders. */
export function bind(statement: Statement, values: readonly SqlValue[]): SqlValue[] {
  const bound = new Array<SqlValue>(statement.bindings.length);
  for (let i = 0; i < bound.length; i += 1) {
    const binding = statement.bindings[i] as Statement['bindings'][number];
    if (binding instanceof Slot) bound[i] = values[binding.index] as SqlValue;
    else if (binding instanceof RestrictionSlot) {
      throw new Error(`The restriction of ${binding.dataclass} is not resolved.`);
    } else bound[i] = binding;
  }
  return bound;
}
