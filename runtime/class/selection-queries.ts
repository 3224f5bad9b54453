import { filterInputs } from '../filter/prepared-filter.js';
import { parseOrderBy } from '../query/order-by.js';
import type { DataclassCode } from './class-host.js';
import { filtered, ordered, type SelectionNode } from './selection-node.js';
import { paramsOf } from './selection-values.js';

/**
 * What of a selection a filter holds for.
 * @throws RequestError 400 for a filter that cannot be read, or lacks values
 */
export function queried(
  { host }: DataclassCode,
  node: SelectionNode,
  text: string,
  values: readonly unknown[],
): SelectionNode {
  const params = paramsOf(values);
  const filter = host.context.filters.prepare(text, params);
  const inputs = filterInputs(filter, params);
  const { orderBy } = filter;
  const items =
    orderBy === undefined
      ? []
      : parseOrderBy(orderBy.text, { parameter: '$filter', start: orderBy.start });
  return filtered(node, filter, inputs, items);
}

/** @throws RequestError 400 with 1810 for an order that cannot be read */
export function orderedBy(node: SelectionNode, text: string): SelectionNode {
  return ordered(node, text, parseOrderBy(text));
}
