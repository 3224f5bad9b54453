import { type CallSlot, Slot, type SqlValue } from '../dialect/statement.js';
import type { ComparisonInput } from '../protocol/comparison-value.js';
import type { PlaceholderValue } from './ast.js';

/** The value of one comparison in one request. */
export interface FilterInput extends ComparisonInput {
  /** What it was put in the place of, where it came in `$params`. */
  readonly placeholder?: PlaceholderValue;
  /** Where it stands in the filter, where it was written there. */
  readonly start?: number;
  /** The members of a list that was written in the filter. */
  readonly items?: readonly FilterInput[];
}

/**
 * Makes the value to bind; `undefined` when the input cannot be a value of the attribute's type.
 * @throws RequestError 400 with 1280 for a list or an object
 */
export type Convert = (input: FilterInput) => SqlValue | undefined;

/** The values that a filter's statement binds: which input each one is made from, and how. */
export class FilterSlots {
  readonly #byPurpose = new Map<string, Slot | CallSlot>();
  readonly #sources: { readonly input: number; readonly convert: Convert }[] = [];
  readonly #slotAt: (index: number) => Slot | CallSlot;

  /** @param first the position of the filter's first value in the statement's list of values, or what stands for a value */
  constructor(first: number | ((index: number) => CallSlot)) {
    this.#slotAt = typeof first === 'number' ? (index) => new Slot(first + index) : first;
  }

  /** The slot for an input and a purpose; the same one each time, since a filter may stand in a statement twice. */
  take(input: number, purpose: string, convert: Convert): Slot | CallSlot {
    const name = `${input} ${purpose}`;
    const known = this.#byPurpose.get(name);
    if (known !== undefined) return known;
    const slot = this.#slotAt(this.#sources.length);
    this.#sources.push({ input, convert });
    this.#byPurpose.set(name, slot);
    return slot;
  }

  /** Appends the values to bind to `values`; answers the inputs that fit their attribute's type no way. */
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
