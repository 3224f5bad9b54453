import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { From, keyColumn, selecting } from '../dataclass/source.js';
import type { BuiltQuery } from '../dialect/compile.js';
import type { OrderTerm, Sql } from '../dialect/dialect.js';
import type { SqlValue } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { all, always, any, never, not } from '../filter/logic.js';
import { inputPositions } from '../filter/prepared-filter.js';
import { Similarities } from '../filter/similarities.js';
import type { FilterSlots } from '../filter/slots.js';
import { filterCondition } from '../filter/to-sql.js';
import type { EntityQuery } from '../protocol/queries.js';
import type { QueryContext } from '../query/context.js';
import { orderList } from '../query/order-sql.js';
import type { Selection } from '../query/selection.js';
import type { SeenModel } from './seen-model.js';
import {
  alternatives,
  type FilterNode,
  isOrderedNode,
  type SelectionNode,
  type SliceNode,
} from './selection-node.js';
import { orderOfNode } from './selection-order.js';
import { relatedCondition } from './selection-related.js';
import type { NodeWriter } from './selection-writing.js';

/** Writes the columns that are read of each entity. */
export type WriteColumns = (from: From) => readonly Sql[];

interface Outermost {
  readonly part?: Sql | undefined;
  readonly of?: SelectionNode;
}

/**
 * Writes a tree of selections into one statement. What a selection holds is a condition over the table of its dataclass,
 * relations and slices being subqueries in it, so that no entity is there twice.
 */
export class SelectionWriter implements NodeWriter {
  /**
   * @param model as the code sees it that reads the tree
   * @param positions of the first input of each node that has any
   * @param selection what the inputs' values make of conditions
   */
  constructor(
    readonly context: QueryContext,
    readonly model: SeenModel,
    private readonly positions: ReadonlyMap<SelectionNode, number>,
    private readonly selection: Selection,
    private readonly slots: FilterSlots,
  ) {}

  condition(from: From, node: SelectionNode, nesting: number): Sql | undefined {
    const parts: Sql[] = [];
    for (let at: SelectionNode | undefined = node; at !== undefined;) {
      const { part, of }: Outermost = this.#outermost(from, at, nesting);
      if (part !== undefined) parts.push(part);
      at = of;
    }
    // The innermost condition first, as it was asked for.
    return parts.length === 0 ? undefined : all(parts.reverse());
  }

  /**
   * A query for columns of the entities, in order: of a slice from the end, in the opposite order. A listed key without entity
   * may have a row, all of it null.
   */
  rows(dataclass: Dataclass, node: SelectionNode, columns: WriteColumns): Sql | BuiltQuery {
    const { aliases, dialect } = this.context;
    if (node.kind === 'keys' && dataclass.key.type !== 'string') {
      const list = dialect.each(this.value(node, 0), valueTypeOf(dataclass.key.type));
      const from = new From(aliases, dataclass, { list });
      // A condition that the entity is there would have SQLite begin with the table, all of it.
      return sql`select ${sql.join(columns(from))} ${from.clause}${from.order}`;
    }
    if (!isOrderedNode(node)) {
      const from = new From(aliases, dataclass, 'table');
      return this.select(from, node, sql.join(columns(from)), 0);
    }
    // Sorting moves keys alone, and a limit has the database keep the order of the subquery.
    const chosen = new From(aliases, dataclass, 'table');
    const keyed = sql`${keyColumn(chosen.root)} as "key"`;
    const keys = sql`${this.select(chosen, node, keyed, 0, true)}`;
    const from = new From(aliases, dataclass, { rows: keys, dialect });
    return sql`select ${sql.join(columns(from))} ${from.clause}${from.order}`;
  }

  order(from: From, node: SelectionNode): readonly OrderTerm[] {
    return orderOfNode(this, from, node);
  }

  /** @param from a `table` */
  select(
    from: From,
    node: SelectionNode,
    columns: Sql,
    nesting: number,
    hasLimit = false,
  ): EntityQuery {
    const inner = node.kind === 'slice' ? node.of : node;
    const condition = this.condition(from, inner, nesting);
    const terms = this.order(from, inner);
    const isReversed = node.kind === 'slice' && node.fromEnd;
    const order = orderList(this.context, isReversed ? terms.map(reversed) : terms);
    const entities = from.root.dataclass.queries.entities(this.context.dialect.db);
    const ordered = selecting(from.complete(entities, condition), columns).orderBy(order);
    if (node.kind === 'slice') return this.#limited(ordered, node);
    return hasLimit ? ordered.limit(sql.lit(Number.MAX_SAFE_INTEGER)) : ordered;
  }

  value(node: SelectionNode, offset: number): Sql {
    const input = this.#position(node) + offset;
    return sql`${this.slots.take(input, 'tree', ({ value }) => value as SqlValue)}`;
  }

  within(similarities: Similarities): SelectionWriter {
    const context = { ...this.context, similarities };
    return new SelectionWriter(context, this.model, this.positions, this.selection, this.slots);
  }

  /** What a node says of its entities itself, and what it says it about. */
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
        return { part: dialect.isIn(value, this.value(node, 0), valueTypeOf(key.type)) };
      }
      case 'filter':
        return { part: this.#filter(from, node, nesting), of: node.of };
      case 'asked':
        // What a client compares vectors with gives no order to code that compares others.
        return { part: this.within(new Similarities()).condition(from, node.of, nesting) };
      case 'ordered':
        return { of: node.of };
      case 'related':
        return { part: relatedCondition(this, from, node, nesting) };
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

  #limited(query: EntityQuery, node: SliceNode): EntityQuery {
    const { dialect } = this.context;
    const [skip, take] = [this.value(node, 0), this.value(node, 1)];
    const limited = query.limit(dialect.integer(take).$castTo<number>());
    return limited.offset(dialect.integer(skip).$castTo<number>());
  }

  #filter(from: From, node: FilterNode, nesting: number): Sql {
    const { dialect, aliases, similarities } = this.context;
    const { nulls, patterns, mismatched } = this.selection;
    const first = this.#position(node);
    const { filter } = node.filter;
    const inputs = new Map([...inputPositions(filter)].map(([at, input]) => [at, first + input]));
    const context = {
      dialect,
      aliases,
      similarities,
      slots: this.slots,
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
