import { sql } from 'kysely';
import { comparableColumn } from '../../dataclass/comparable.js';
import { type Dataclass, dataclassIn, type Source } from '../../dataclass/dataclasses.js';
import {
  foreignKeyColumn,
  From,
  keyColumn,
  linkedColumn,
  linkedValue,
  selecting,
} from '../../dataclass/source.js';
import type { BuiltQuery, SelectBuilder } from '../../dialect/compile.js';
import { isIn, type Sql } from '../../dialect/dialect.js';
import type { OrderTerm } from '../../query/order-sql.js';
import type { SqlValue } from '../../dialect/statement.js';
import { valueTypeOf } from '../../dialect/value-type.js';
import { all, always, any, never, not, Similarities } from '../../filter/context.js';
import { inputPositions } from '../../filter/prepared-filter.js';
import { filterCondition } from '../../filter/to-sql.js';
import type { QueryContext } from '../../query/context.js';
import { orderList, keyOrder, orderTerms } from '../../query/order-sql.js';
import type { Selection } from '../../query/selection.js';
import type { VisibleModel } from './context.js';
import {
  alternatives,
  type SelectionFilterNode,
  isOrderedNode,
  type SelectionNode,
  type SliceNode,
  type KeysNode,
} from './selection-node.js';
import type { OrderItem } from '../../query/order-by.js';
import type {
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
} from '../../protocol/definition.js';

/** Writes the columns that are read of each entity. */
export type WriteColumns = (from: From) => readonly Sql[];

interface Outermost {
  readonly part?: Sql | undefined;
  readonly of?: SelectionNode;
}

/**
 * Writes a tree of selections into one statement. A selection becomes a condition over the table of
 * its dataclass, with subqueries for relations and slices, so that no entity appears twice.
 */
export class SelectionWriter {
  /**
   * @param model as the reading code sees it
   * @param positions of the first input of each node that has any
   * @param selection the conditions that depend on the inputs' values
   */
  constructor(
    readonly context: QueryContext,
    readonly model: VisibleModel,
    private readonly positions: ReadonlyMap<SelectionNode, number>,
    private readonly selection: Selection,
  ) {}

  /**
   * The condition that an entity of `from` belongs to a selection; none if all do.
   * @param nesting subqueries around it
   */
  condition(from: From, node: SelectionNode, nesting: number): Sql | undefined {
    const parts: Sql[] = [];
    for (let at: SelectionNode | undefined = node; at !== undefined;) {
      const { part, of }: Outermost = this.#outermost(from, at, nesting);
      if (part !== undefined) parts.push(part);
      at = of;
    }
    // The innermost condition first, as in the calls.
    return parts.length === 0 ? undefined : all(parts.reverse());
  }

  /**
   * A query for columns of the entities, in order: of a slice from the end, in the opposite order.
   * A listed key without entity may have a row of nulls.
   */
  rows(dataclass: Dataclass, node: SelectionNode, columns: WriteColumns): Sql | BuiltQuery {
    const { aliases, dialect } = this.context;
    if (node.kind === 'keys' && dataclass.key.type !== 'string') {
      const list = dialect.each(this.value(node, 0), valueTypeOf(dataclass.key.type));
      const from = new From(aliases, dataclass, { list });
      // With a condition that the entity exists, SQLite would begin with a scan of the table.
      return sql`select ${sql.join(columns(from))} ${from.clause}${from.order}`;
    }
    if (!isOrderedNode(node)) {
      const from = new From(aliases, dataclass, 'table');
      return this.select(from, node, sql.join(columns(from)), 0);
    }
    // Sorting moves only keys, and a limit makes the database keep the order of the subquery.
    const chosen = new From(aliases, dataclass, 'table');
    const keyed = sql`${keyColumn(chosen.root)} as "key"`;
    const keys = sql`${this.select(chosen, node, keyed, 0, true)}`;
    const from = new From(aliases, dataclass, { rows: keys, dialect });
    return sql`select ${sql.join(columns(from))} ${from.clause}${from.order}`;
  }

  /** The order of a selection whose entities are those of `from`, the key last; its condition is written before. */
  order(from: From, node: SelectionNode): readonly OrderTerm[] {
    const value = keyOrder(this.context, from.root);
    return [...ownOrder(this, from, node), { value, descending: false, isNeverNull: true }];
  }

  /**
   * A query for columns of the entities of a selection, which are those of `from`, in order.
   * @param from a `table`
   * @param hasLimit whether to write a limit for a selection that is no slice, too
   */
  select(
    from: From,
    node: SelectionNode,
    columns: Sql,
    nesting: number,
    hasLimit = false,
  ): SelectBuilder {
    const inner = node.kind === 'slice' ? node.of : node;
    const condition = this.condition(from, inner, nesting);
    const terms = this.order(from, inner);
    const isReversed = node.kind === 'slice' && node.fromEnd;
    const order = orderList(isReversed ? terms.map(reversed) : terms);
    const entities = from.root.dataclass.queries.entities(this.context.dialect.db);
    const ordered = selecting(from.complete(entities, condition), columns).orderBy(order);
    if (node.kind === 'slice') return this.#limited(ordered, node);
    return hasLimit ? ordered.limit(sql.lit(Number.MAX_SAFE_INTEGER)) : ordered;
  }

  /** A value of a node itself. */
  value(node: SelectionNode, offset: number): Sql {
    const input = this.#position(node) + offset;
    return sql`${this.context.slots.take(input, 'tree', ({ value }) => value as SqlValue)}`;
  }

  /** A copy of the writer, whose filters record the vectors that they compare. */
  within(similarities: Similarities): SelectionWriter {
    const context = { ...this.context, similarities };
    return new SelectionWriter(context, this.model, this.positions, this.selection);
  }

  /** The condition that a node itself adds, and the node to which it adds it. */
  #outermost(from: From, node: SelectionNode, nesting: number): Outermost {
    switch (node.kind) {
      case 'all':
        return {};
      case 'entity':
        return { part: sql`${keyColumn(from.root)} = ${this.value(node, 0)}` };
      case 'keys': {
        const { dialect } = this.context;
        const { key } = from.root.dataclass;
        const value = comparableColumn(dialect, from.root, key);
        return { part: isIn(dialect, value, this.value(node, 0), valueTypeOf(key.type)) };
      }
      case 'filter':
        return { part: this.#filter(from, node, nesting), of: node.of };
      case 'requested':
        // A client's vector comparison gives no order to code that compares other vectors.
        return { part: this.within(new Similarities()).condition(from, node.of, nesting) };
      case 'ordered':
        return { of: node.of };
      case 'related': {
        const { of, relation } = node;
        const part =
          relation.kind === 'relatedEntity'
            ? relatedByOne(this, from, of, relation, nesting)
            : relatedByMany(this, from, of, relation, nesting);
        return { part };
      }
      case 'and':
        return { part: this.condition(from, node.right, nesting), of: node.left };
      case 'minus': {
        const excluded = this.condition(from, node.right, nesting);
        return { part: excluded === undefined ? never : not(excluded), of: node.left };
      }
      case 'or': {
        const parts = alternatives(node).map((each) => this.condition(from, each, nesting));
        return { part: any(parts.map((each) => each ?? always)) };
      }
      case 'slice': {
        const inner = new From(this.context.aliases, from.root.dataclass, 'table');
        const keys = this.select(inner, node, keyColumn(inner.root), nesting + 1);
        return { part: sql`${keyColumn(from.root)} in ${keys}` };
      }
    }
  }

  #limited(query: SelectBuilder, node: SliceNode): SelectBuilder {
    const { dialect } = this.context;
    const [skip, take] = [this.value(node, 0), this.value(node, 1)];
    const limited = query.limit(dialect.integer(take).$castTo<number>());
    return limited.offset(dialect.integer(skip).$castTo<number>());
  }

  #filter(from: From, node: SelectionFilterNode, nesting: number): Sql {
    const { dialect, aliases, similarities, slots } = this.context;
    const { nulls, patterns, mismatched } = this.selection;
    const first = this.#position(node);
    const { filter } = node.filter;
    const inputs = new Map([...inputPositions(filter)].map(([at, input]) => [at, first + input]));
    const context = {
      dialect,
      aliases,
      similarities,
      slots,
      names: node.names,
      inputs,
      nulls: new Set(nulls),
      patterns: new Set(patterns),
      mismatched: new Set(mismatched),
    };
    return filterCondition(context, from, filter, nesting);
  }

  #position(node: SelectionNode): number {
    const position = this.positions.get(node);
    if (position === undefined) throw new Error('A selection is written that was not read.');
    return position;
  }
}

function reversed(term: OrderTerm): OrderTerm {
  return { ...term, descending: !term.descending };
}

/**
 * Similarities for an order whose filters may be elsewhere in the statement: they are written when
 * one is needed.
 */
class WrittenSimilarities extends Similarities {
  #isWritten = false;

  /** @param write writes the filters, whose text is not used */
  constructor(private readonly write: (similarities: Similarities) => void) {
    super();
  }

  override rankOf(source: Source, attribute: string): Sql | undefined {
    if (!this.#isWritten) {
      this.#isWritten = true;
      this.write(this);
    }
    return super.rankOf(source, attribute);
  }
}

/** The order terms before the key; empty if the order is that of keys. */
function ownOrder(writer: SelectionWriter, from: From, node: SelectionNode): readonly OrderTerm[] {
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
    case 'requested':
    case 'slice':
      return ownOrder(writer, from, node.of);
    case 'and':
    case 'minus':
      return ownOrder(writer, from, node.left);
    case 'or':
      return appendedOrder(writer, from, alternatives(node));
  }
}

function listOrder(writer: SelectionWriter, from: From, node: KeysNode): readonly OrderTerm[] {
  const { dialect } = writer.context;
  const { key } = from.root.dataclass;
  const type = valueTypeOf(key.type);
  const compared = comparableColumn(dialect, from.root, key);
  const list = dialect.each(writer.value(node, 0), type);
  const value = from.positionIn(list, dialect.storedKey(compared, type));
  return [{ value, descending: false }];
}

/** @param of what is ordered: its filters say which vectors are compared */
function givenOrder(
  writer: SelectionWriter,
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
 * The entities of the first selection in its order, then those that the second one adds, and so on.
 * An entity belongs to the first selection that contains it: the terms of earlier ones are null for
 * it, and later ones make no difference.
 */
function appendedOrder(
  writer: SelectionWriter,
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

/** The condition that a to-one relation of at least one entity of a selection leads to an entity of `from`. */
function relatedByOne(
  writer: SelectionWriter,
  from: From,
  of: SelectionNode,
  relation: RelatedEntityDefinition,
  nesting: number,
): Sql {
  const owners = ownersOf(writer, of);
  const foreignKey = foreignKeyColumn(owners.root, relation);
  const condition = writer.condition(owners, of, nesting + 1);
  const isThere = sql`${foreignKey} is not null`;
  const where = condition === undefined ? isThere : sql`${condition} and ${isThere}`;
  return sql`${linkedColumn(from.root, relation)} in (select ${foreignKey} ${owners.clause} where ${where})`;
}

/** The condition that an entity of `from` belongs to at least one entity of a selection. */
function relatedByMany(
  writer: SelectionWriter,
  from: From,
  of: SelectionNode,
  relation: RelatedEntitiesDefinition,
  nesting: number,
): Sql {
  const inverse = of.dataclass.inverse(relation);
  const foreignKey = foreignKeyColumn(from.root, inverse);
  // Otherwise the schema guarantees that a foreign key is the key of an entity; some of those may be hidden.
  const isWhole =
    inverse.onDelete !== 'none' &&
    dataclassIn(writer.model, of.dataclass.name).restriction === undefined;
  if (of.kind === 'all' && isWhole) return sql`${foreignKey} is not null`;
  if (of.kind === 'entity') {
    const owner = dataclassIn(writer.model, of.dataclass.name);
    const { aliases } = writer.context;
    return sql`${foreignKey} = ${linkedValue(aliases, owner, inverse, writer.value(of, 0))}`;
  }
  return sql`${foreignKey} in ${referredValues(writer, of, inverse, nesting + 1)}`;
}

/** The values by which entities refer to those of a selection, in parentheses. */
function referredValues(
  writer: SelectionWriter,
  of: SelectionNode,
  relation: RelatedEntityDefinition,
  nesting: number,
): Sql {
  if (of.kind === 'slice') {
    const sliced = ownersOf(writer, of, 'table');
    return sql`${writer.select(sliced, of, linkedColumn(sliced.root, relation), nesting)}`;
  }
  const owners = ownersOf(writer, of);
  const condition = writer.condition(owners, of, nesting);
  const where = condition === undefined ? sql`` : sql` where ${condition}`;
  return sql`(select ${linkedColumn(owners.root, relation)} ${owners.clause}${where})`;
}

/** The owners that the reading code may see. */
function ownersOf(
  { context, model }: SelectionWriter,
  { dataclass }: SelectionNode,
  root?: 'table',
): From {
  return new From(context.aliases, dataclassIn(model, dataclass.name), root);
}
