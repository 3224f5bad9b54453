import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { From } from '../dataclass/source.js';
import type { OrderTerm } from '../dialect/dialect.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { always } from '../filter/logic.js';
import type { OrderItem } from '../query/order-by.js';
import { keyOrder, orderTerms } from '../query/order-sql.js';
import { alternatives, type KeysNode, type SelectionNode } from './selection-node.js';
import { WrittenSimilarities } from './selection-similarities.js';
import type { NodeWriter } from './selection-writing.js';

/** The order of a selection whose entities are those of `from`, the key last; its condition is written before. */
export function orderOfNode(
  writer: NodeWriter,
  from: From,
  node: SelectionNode,
): readonly OrderTerm[] {
  const key = {
    value: keyOrder(writer.context, from.root),
    descending: false,
    isNeverNull: true,
  };
  return [...ownOrder(writer, from, node), key];
}

/** None where the order is that of keys. */
function ownOrder(writer: NodeWriter, from: From, node: SelectionNode): readonly OrderTerm[] {
  switch (node.kind) {
    case 'all':
    case 'entity':
    case 'related':
      return [];
    case 'keys':
      return listOrder(writer, from, node);
    case 'ordered':
      return givenOrder(writer, from, node.of, node.items);
    case 'filter':
      return node.items.length > 0
        ? givenOrder(writer, from, node, node.items)
        : ownOrder(writer, from, node.of);
    case 'asked':
    case 'slice':
      return ownOrder(writer, from, node.of);
    case 'and':
    case 'minus':
      return ownOrder(writer, from, node.left);
    case 'or':
      return appendedOrder(writer, from, alternatives(node));
  }
}

function listOrder(writer: NodeWriter, from: From, node: KeysNode): readonly OrderTerm[] {
  const { dialect } = writer.context;
  const { key } = from.root.dataclass;
  const type = valueTypeOf(key.type);
  const compared = comparableColumn(dialect, from.root, key);
  const list = dialect.each(writer.value(node, 0), type);
  const value = from.positionIn(list, dialect.plainKey(compared, type));
  return [{ value, descending: false }];
}

/** @param of what is ordered: its filters tell what vectors are compared with */
function givenOrder(
  writer: NodeWriter,
  from: From,
  of: SelectionNode,
  items: readonly OrderItem[],
): readonly OrderTerm[] {
  const similarities = new WrittenSimilarities((written) => {
    writer.within(written).condition(from, of, 0);
  });
  return orderTerms({ ...writer.context, similarities }, from, items, 'all');
}

/**
 * The entities of the first selection in its order, then those that the second one adds, and so on. An entity belongs to the
 * first that has it, and so to none before: their terms are null for it, and those behind make no difference any more.
 */
function appendedOrder(
  writer: NodeWriter,
  from: From,
  parts: readonly SelectionNode[],
): readonly OrderTerm[] {
  const last = parts.length - 1;
  const conditions = parts.map((each) => writer.condition(from, each, 0) ?? always);
  const cases = conditions
    .slice(0, last)
    .map((condition, index) => sql`when ${condition} then ${sql.lit(index)}`);
  const part = sql`case ${sql.join(cases, sql` `)} else ${sql.lit(last)} end`;
  const orders = parts.map((each) => ownOrder(writer, from, each));
  const lastOrdered = orders.findLastIndex((terms) => terms.length > 0);
  const key = { value: keyOrder(writer.context, from.root), descending: false };
  const terms = orders.slice(0, lastOrdered + 1).flatMap((own, index): readonly OrderTerm[] => {
    if (index === last) return own;
    const isHere = conditions[index] ?? always;
    return [...own, key].map((term) => ({
      ...term,
      isNeverNull: false,
      value: sql`case when ${isHere} then ${term.value} end`,
    }));
  });
  return [{ value: part, descending: false }, ...terms];
}
