import type { Sql } from '../dialect/dialect.js';
import { Slot, type SqlValue } from '../dialect/statement.js';
import type { ComparisonInput } from '../protocol/comparison-value.js';
import type { PlaceholderValue } from './ast.js';

/** The value of one comparison in one request. */
export interface FilterInput extends ComparisonInput {
  /** The placeholder that it replaced, if it came in `$params`. */
  readonly placeholder?: PlaceholderValue;
  /** A wildcard in it is an ordinary character. */
  readonly isPlain?: boolean;
  /** Equals nothing if it cannot be read: a client of Wakanda reads entities with it (protocol P14.11). */
  readonly isForgiven?: boolean;
  /** Its position in the filter, if it was written there. */
  readonly start?: number;
  /** The members of a list that was written in the filter. */
  readonly items?: readonly FilterInput[];
}

/**
 * Makes the value to bind, `undefined` for one that no value of the type equals.
 * @throws RequestError 400 with 1162 or 1280 for one that cannot be read
 */
export type Convert = (input: FilterInput) => SqlValue | undefined;

/** Takes what a statement has in the place of an input, made for a purpose. */
export type TakeValue = (input: number, purpose: string, convert: Convert) => Slot | Sql;

/** The values that a filter's statement binds: the input of each one, and its conversion. */
export class FilterSlots {
  readonly #byPurpose = new Map<string, Slot>();
  readonly #sources: { readonly input: number; readonly convert: Convert }[] = [];

  /** @param first the position of the filter's first value in the statement's list of values */
  constructor(private readonly first: number) {}

  /** Returns the slot of an input and a purpose: always one, because a statement may contain a filter twice. */
  take(input: number, purpose: string, convert: Convert): Slot {
    const name = `${input} ${purpose}`;
    const known = this.#byPurpose.get(name);
    if (known !== undefined) return known;
    const slot = new Slot(this.first + this.#sources.length);
    this.#sources.push({ input, convert });
    this.#byPurpose.set(name, slot);
    return slot;
  }

  /** Appends the values to bind to `values`; returns the inputs that no value of their types equals. */
  fill(inputs: readonly FilterInput[], values: SqlValue[]): number[] {
    const mismatched: number[] = [];
    for (const source of this.#sources) {
      const value = source.convert(inputs[source.input] as FilterInput);
      if (value === undefined) mismatched.push(source.input);
      values.push(value ?? null);
    }
    return mismatched;
  }
}
