import { type NameScope, resolvePath } from '../../dataclass/attribute-path.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import type { ComputedRequests } from '../../query/selection-request.js';
import { type OrderItem, maxOrderItems, parseOrderBy } from '../../query/order-by.js';
import { orderOf, requestName, type SelectionRequest } from '../../query/selection-request.js';
import type { ClassContext } from '../objects/context.js';
import { ComputedAccessors, checked } from './computed-accessors.js';
import { ComputedFilters } from './computed-filters.js';
import {
  overParts,
  type SelectionFilterNode,
  type SelectionNode,
} from '../objects/selection-node.js';
import { NodeTree, treeRequest } from '../objects/selection-tree.js';
import { From } from '../../dataclass/source.js';
import type { Dialect } from '../../dialect/dialect.js';
import type { ComputedDefinition } from '../../protocol/definition.js';
import { refuse } from '../../protocol/errors.js';
import { writtenName } from '../../protocol/names.js';
import type { AnswerOptions } from '../../query/context.js';
import { orderTerms } from '../../query/order-sql.js';
import { queryContext } from '../../query/selection.js';
import type { ReadingContext } from '../../query/reading-context.js';

/**
 * Resolves a request's filters and orders through class code, including those of a selection of
 * class code.
 */
export class RequestResolver implements ComputedRequests {
  readonly #filters: ComputedFilters;
  readonly #orders: ComputedOrders;

  constructor(
    host: ClassContext,
    { filters, options, database }: Pick<ReadingContext, 'filters' | 'options' | 'database'>,
  ) {
    const accessors = new ComputedAccessors(host);
    this.#filters = new ComputedFilters(accessors, filters, database.dialect);
    this.#orders = new ComputedOrders(accessors, database.dialect, options);
  }

  async resolve<R extends SelectionRequest>(request: R): Promise<R> {
    const { base, dataclass, filter, inputs } = request;
    if (base.kind === 'tree' && base.tree instanceof NodeTree) {
      return this.#resolvedTree(request, base.tree) as Promise<R>;
    }
    // A wrong order is refused before class code is asked for the filter.
    const order = orderOf(request);
    const [resolved, items] = await Promise.all([
      filter && this.#filters.resolve(dataclass, filter, inputs, 'exposed'),
      this.#orders.resolve(dataclass, order, 'exposed'),
    ]);
    if (resolved === undefined && items === undefined) return request;
    return {
      ...request,
      ...(resolved === undefined
        ? {}
        : { ...resolved, name: requestName(dataclass, base, resolved.filter, resolved.inputs) }),
      ...(items === undefined ? {} : { order: items, orderBy: orderName(items) }),
    };
  }

  async #resolvedTree(
    request: SelectionRequest,
    { model, root }: NodeTree,
  ): Promise<SelectionRequest> {
    const resolved = await this.#node(root, new Map());
    if (resolved === root) return request;
    return treeRequest(model, resolved, request.dataclass);
  }

  /**
   * @param known resolved nodes: a node that is used twice stays one, so that its values are bound
   * once
   */
  async #node(
    node: SelectionNode,
    known: Map<SelectionNode, SelectionNode>,
  ): Promise<SelectionNode> {
    const done = known.get(node);
    if (done !== undefined) return done;
    const resolved = await this.#resolvedNode(node, known);
    known.set(node, resolved);
    return resolved;
  }

  async #resolvedNode(
    node: SelectionNode,
    known: Map<SelectionNode, SelectionNode>,
  ): Promise<SelectionNode> {
    // It names nothing that class code computes.
    if (node.kind === 'requested') return node;
    const over = await overParts(node, (part) => this.#node(part, known));
    if (over.kind === 'filter') return this.#filterNode(over);
    if (over.kind !== 'ordered') return over;
    const items = await this.#orders.resolve(over.dataclass, over.items, codeNames);
    return items === undefined ? over : { ...over, items, text: orderName(items) };
  }

  async #filterNode(node: SelectionFilterNode): Promise<SelectionNode> {
    const { dataclass } = node;
    const resolved = await this.#filters.resolve(dataclass, node.filter, node.inputs, codeNames);
    const items = await this.#orders.resolve(dataclass, node.items, codeNames);
    if (resolved === undefined && items === undefined) return node;
    const { filter, inputs } = resolved ?? node;
    const orderBy =
      items === undefined || filter.orderBy === undefined
        ? filter.orderBy
        : { ...filter.orderBy, text: orderName(items) };
    return { ...node, inputs, filter: { ...filter, orderBy }, items: items ?? node.items };
  }
}

/** What class code may name. */
const codeNames: NameScope = 'all';

/** An item whose attribute class code computes. */
interface ComputedItem {
  readonly attribute: ComputedDefinition;
  /** The dataclass that has the attribute. */
  readonly owner: Dataclass;
  readonly relations: readonly string[];
}

/** Accessors that lead to each other, one inside the other. */
const maxDepth = 20;

/**
 * Replaces attributes that class code computes, in an order, by the orders that class code returns
 * for them (`class-code.md#computed-attributes`).
 */
class ComputedOrders {
  constructor(
    private readonly accessors: ComputedAccessors,
    private readonly dialect: Dialect,
    private readonly options: AnswerOptions,
  ) {}

  /**
   * @returns `undefined` if no item is such an attribute
   * @throws RequestError 400 for an order that becomes too long, AccessorFailedError for wrong
   * orders
   */
  async resolve(
    dataclass: Dataclass,
    items: readonly OrderItem[],
    names: NameScope,
  ): Promise<readonly OrderItem[] | undefined> {
    const isAny = items.some((each) => computedItemOf(dataclass, each, names) !== undefined);
    return isAny ? this.#resolved(dataclass, items, names, 0) : undefined;
  }

  async #resolved(
    dataclass: Dataclass,
    items: readonly OrderItem[],
    names: NameScope,
    depth: number,
  ): Promise<readonly OrderItem[]> {
    const resolved = new Map<string, OrderItem>();
    for (const item of items) {
      const computed = computedItemOf(dataclass, item, names);
      const own = computed === undefined ? [item] : await this.#ask(computed, item, depth);
      for (const each of own) {
        const name = each.path.map(writtenName).join('.');
        if (!resolved.has(name)) resolved.set(name, each);
      }
      if (resolved.size > maxOrderItems) {
        const problem = `an order names at most ${maxOrderItems} attributes`;
        throw refuse(
          'orderBy',
          `${item.place}: ${problem}, those that class code returns included.`,
        );
      }
    }
    return [...resolved.values()];
  }

  async #ask(
    { attribute, owner, relations }: ComputedItem,
    { descending, place }: OrderItem,
    depth: number,
  ): Promise<readonly OrderItem[]> {
    const direction = descending ? 'desc' : 'asc';
    const said = await this.accessors.orderBy(owner, attribute, { direction });
    const resolved = await checked(said, async (text) => {
      if (depth === maxDepth) {
        throw new Error(`orders of class code lead to more than ${maxDepth} others`);
      }
      const items = await this.#resolved(owner, parseOrderBy(text), 'granted', depth + 1);
      this.#tryOut(owner, items);
      return items;
    });
    return resolved.map((each) => ({
      path: [...relations, ...each.path],
      descending: each.descending,
      place,
      names: 'granted',
    }));
  }

  /** An error in an order of class code is not the client's fault. */
  #tryOut(dataclass: Dataclass, items: readonly OrderItem[]): void {
    const context = queryContext(this.dialect, this.options);
    orderTerms(context, new From(context.aliases, dataclass), items, 'granted');
  }
}

/**
 * A text that identifies an order, and that no client can write: it is part of the key of a
 * statement.
 */
function orderName(items: readonly OrderItem[]): string {
  const texts = items.map(
    ({ path, descending, names = 'own' }) =>
      `${names} ${path.map(writtenName).join('.')}${descending ? ' desc' : ''}`,
  );
  return `!${texts.join()}`;
}

/** Writing the order refuses what does not exist or cannot be ordered by. */
function computedItemOf(
  dataclass: Dataclass,
  { path, names: own }: OrderItem,
  names: NameScope,
): ComputedItem | undefined {
  const resolved = resolvePath(dataclass, path, own ?? names);
  if ('kind' in resolved || resolved.end.kind !== 'computed') return undefined;
  const { relations, end: attribute, properties } = resolved;
  const isToMany = relations.some(({ kind }) => kind === 'relatedEntities');
  if (isToMany || properties.length > 0) return undefined;
  if (!attribute.accessors.includes('orderBy')) return undefined;
  const owner = relations.reduce((here, relation) => here.target(relation), dataclass);
  return { attribute, owner, relations: path.slice(0, -1) };
}
