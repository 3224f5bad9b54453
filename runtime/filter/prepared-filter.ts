import { BoundedCache } from '../dialect/bounded-cache.js';
import { refuse } from '../protocol/errors.js';
import type { ComparisonNode, FilterNode, FilterValue } from './ast.js';
import { type FilterLimits, parseFilter } from './parser.js';
import { placeholderName, shapeOf } from './print.js';
import type { FilterInput } from './slots.js';

/** A filter that was parsed once: what does not depend on `$params`. */
export interface PreparedFilter {
  readonly filter: FilterNode;
  /** The same for filters that differ in values alone. */
  readonly shape: string;
  readonly values: readonly FilterValue[];
  /** What stands behind `order by`, and where it begins (protocol 7.10). */
  readonly orderBy: { readonly text: string; readonly start: number } | undefined;
}

/** Values for placeholders: a list for `:1`, `:2`, …, an object for `:name`. */
export type FilterParams = readonly unknown[] | Readonly<Record<string, unknown>>;

/** The values of a filter in one request. */
export interface FilterInputs {
  readonly inputs: readonly FilterInput[];
  /** Inputs that are null, or lists with a null in them, which changes the condition: `is null` takes no value. */
  readonly nulls: readonly number[];
  /** Inputs that hold a wildcard, where the model has wildcards: they are not compared with `=`. */
  readonly patterns: readonly number[];
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

  /**
   * @param params for placeholders that stand for a path
   * @throws RequestError 400 with the place in the text and what was expected there
   */
  prepare(text: string, _params: FilterParams | undefined): PreparedFilter {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    const filter = parseFilter(text, this.limits);
    const { shape, values } = shapeOf(filter);
    if (values.length > maxConditions) {
      throw refuse('invalidQuery', `$filter has more than ${maxConditions} conditions.`);
    }
    const prepared: PreparedFilter = { filter, shape, values, orderBy: undefined };
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
  params: FilterParams | undefined,
): FilterInputs {
  const inputs = values.flatMap((value) => (value.kind === 'null' ? [] : [input(value, params)]));
  const nulls: number[] = [];
  inputs.forEach(({ value, items }, position) => {
    if (value === null || items?.some((item) => item.value === null) === true) nulls.push(position);
  });
  return { inputs, nulls, patterns: [] };
}

function input(value: FilterValue, params: FilterParams | undefined): FilterInput {
  if (value.kind === 'null') return { value: null };
  if (value.kind === 'literal') return value;
  if (value.kind === 'list') {
    const items = value.items.map((item) => input(item, params));
    return { value: items.map((item) => item.value), items };
  }
  const param = (params as Readonly<Record<number | string, unknown>> | undefined)?.[value.key];
  if (param === undefined) {
    throw refuse(
      'placeholderMissing',
      `Character ${value.start + 1} of $filter: $params has no value for :${placeholderName(value)}.`,
    );
  }
  return { value: param, placeholder: value };
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
