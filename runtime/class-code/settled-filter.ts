import type { ComparisonNode, FilterNode } from '../filter/ast.js';
import type { FilterInputs } from '../filter/inputs.js';
import type { PreparedFilter } from '../filter/prepared-filter.js';
import { shapeOf } from '../filter/print.js';
import type { FilterInput } from '../filter/slots.js';

/** A filter with the values of one request, in which nothing is left for class code to say. */
export interface SettledFilter {
  readonly filter: PreparedFilter;
  readonly inputs: FilterInputs;
}

/** The value of one comparison. */
export interface Given {
  readonly input: FilterInput;
  readonly isNull: boolean;
  readonly isPattern: boolean;
}

/** A tree that is settled, and its values. */
export interface Settled {
  readonly node: FilterNode;
  /** None for a written `null`. */
  readonly given: ReadonlyMap<ComparisonNode, Given>;
}

/** The same tree with other comparisons. */
export function rebuilt(
  node: FilterNode,
  other: (comparison: ComparisonNode) => FilterNode,
): FilterNode {
  switch (node.kind) {
    case 'comparison':
      return other(node);
    case 'computed':
      throw new Error('A filter is settled once.');
    case 'not':
      return { kind: 'not', operand: rebuilt(node.operand, other) };
    case 'and':
    case 'or':
    case 'except':
      return {
        kind: node.kind,
        left: rebuilt(node.left, other),
        right: rebuilt(node.right, other),
      };
  }
}

/** The value at a position of a filter. */
export function givenAt({ inputs, nulls, patterns }: FilterInputs, position: number): Given {
  return {
    input: inputs[position] as FilterInput,
    isNull: nulls.includes(position),
    isPattern: patterns.includes(position),
  };
}

/** Numbers the values as the shape of the filter numbers them. */
export function together({ orderBy }: PreparedFilter, { node, given }: Settled): SettledFilter {
  const { shape, comparisons } = shapeOf(node);
  const values = comparisons.map((each) => given.get(each) as Given);
  const marked = (isMarked: (value: Given) => boolean): number[] =>
    values.flatMap((value, index) => (isMarked(value) ? [index] : []));
  const inputs: FilterInputs = {
    inputs: values.map(({ input }) => input),
    nulls: marked(({ isNull }) => isNull),
    patterns: marked(({ isPattern }) => isPattern),
  };
  return { filter: { filter: node, orderBy, shape, sources: [], constants: inputs }, inputs };
}
