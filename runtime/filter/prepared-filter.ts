import { BoundedCache } from '../dialect/bounded-cache.js';
import { refuse } from '../protocol/errors.js';
import type { ComparisonNode, FilterNode, FilterValue } from './ast.js';
import { type FilterLimits, parseFilter } from './parser.js';
import { shapeOf } from './print.js';
import type { FilterInput } from './slots.js';

/** A filter that was parsed once: what does not depend on `$params`. */
export interface PreparedFilter {
  readonly filter: FilterNode;
  /** The same for filters that differ in values alone. */
  readonly shape: string;
  readonly values: readonly FilterValue[];
}

/** The values of a filter in one request. */
export interface FilterInputs {
  readonly inputs: readonly FilterInput[];
  /** Inputs that are null, which changes the condition: `is null` takes no value. */
  readonly nulls: readonly number[];
}

/** Each condition costs the database work of its own; a longer filter is refused before any is done. */
const maxConditions = 500;

/** Of all filters that are kept. */
const maxFilterBytes = 16 * 1024 * 1024;

/** What the nodes of a condition take up, roughly. */
const bytesPerCondition = 600;

/** Parses filters, and keeps those that were parsed last. */
export class FilterParser {
  readonly #prepared = new BoundedCache<PreparedFilter>(
    maxFilterBytes,
    ({ shape, values }) => shape.length + values.length * bytesPerCondition,
  );

  constructor(private readonly limits: FilterLimits) {}

  /** @throws RequestError 400 with the place in the text and what was expected there */
  prepare(text: string): PreparedFilter {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    const filter = parseFilter(text, this.limits);
    const { shape, values } = shapeOf(filter);
    if (values.length > maxConditions) {
      throw refuse('invalidQuery', `$filter has more than ${maxConditions} conditions.`);
    }
    const prepared: PreparedFilter = { filter, shape, values };
    this.#prepared.set(text, prepared);
    return prepared;
  }
}

/**
 * Puts the values of `$params` in the place of placeholders.
 * @throws RequestError 400 with 1279 when there are too few
 */
export function filterInputs(
  { values }: PreparedFilter,
  params: readonly unknown[] | undefined,
): FilterInputs {
  const inputs: FilterInput[] = [];
  const nulls: number[] = [];
  for (const value of values) {
    if (value.kind === 'literal') {
      inputs.push(value);
    } else if (value.kind === 'placeholder') {
      if (params === undefined || value.index >= params.length) {
        throw refuse(
          'placeholderMissing',
          `Character ${value.start + 1} of $filter: $params has no value for :${value.index + 1}.`,
        );
      }
      const param = params[value.index];
      if (param === null) nulls.push(inputs.length);
      inputs.push({ value: param, placeholder: value });
    }
  }
  return { inputs, nulls };
}

/** Numbers the comparisons of a filter as its shape numbers their values. */
export function inputPositions(filter: FilterNode): ReadonlyMap<ComparisonNode, number> {
  const positions = new Map<ComparisonNode, number>();
  const waiting: FilterNode[] = [filter];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'comparison') {
      if (node.value.kind !== 'null') positions.set(node, positions.size);
    } else if (node.kind === 'not') {
      waiting.push(node.operand);
    } else {
      waiting.push(node.right, node.left);
    }
  }
  return positions;
}
