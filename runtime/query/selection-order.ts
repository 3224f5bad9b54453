import type { From } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';
import type { FilterSlots } from '../filter/slots.js';
import type { QueryContext } from './context.js';
import type { OrderItem } from './order-by.js';
import { orderList, orderSql } from './order-sql.js';
import type { Selection } from './selection.js';

/** Whether a selection is read in another order than that of its keys. */
export function isOrdered({ base }: Pick<Selection, 'base'>, items: readonly OrderItem[]): boolean {
  return items.length > 0 || (base.kind === 'tree' && base.tree.isOrdered);
}

/**
 * The ORDER BY of a selection, written behind its condition: that of `items`, or else its own.
 * @throws RequestError 400 with 1810 for a path that cannot be ordered by
 */
export function selectionOrder(
  context: QueryContext,
  from: From,
  selection: Selection,
  items: readonly OrderItem[],
  slots: FilterSlots,
): Sql {
  const { base } = selection;
  return base.kind === 'tree' && items.length === 0
    ? orderList(context, base.tree.order(context, from, selection, slots))
    : orderSql(context, from, items);
}
