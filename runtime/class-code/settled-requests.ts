import type { NameScope } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Pending } from '../dialect/pending.js';
import type { ComputedRequests } from '../query/computed-requests.js';
import type { OrderItem } from '../query/order-by.js';
import { orderOf, requestName, type SelectionRequest } from '../query/selection-request.js';
import type { ClassHost } from '../class/class-host.js';
import { ComputedAccessors } from './computed-accessors.js';
import { ComputedFilters } from './computed-filters.js';
import { ComputedOrders, orderName } from './computed-orders.js';
import type { FilterNode, OrderedNode, SelectionNode } from '../class/selection-node.js';
import { NodeTree, treeRequest } from '../class/selection-tree.js';
import type { SettledFilter } from './settled-filter.js';

/** Asks class code what a request's filters and orders mean, those of a selection of class code among them. */
export class SettledRequests implements ComputedRequests {
  readonly #filters: ComputedFilters;
  readonly #orders: ComputedOrders;

  constructor(host: ClassHost) {
    const { filters, options, database } = host.context;
    const accessors = new ComputedAccessors(host);
    this.#filters = new ComputedFilters(accessors, filters, database.dialect);
    this.#orders = new ComputedOrders(accessors, database.dialect, options);
  }

  settle<R extends SelectionRequest>(request: R): Pending<R> {
    const { base, dataclass } = request;
    if (base.kind === 'tree' && base.tree instanceof NodeTree) {
      return this.#settledTree(request, base.tree) as Pending<R>;
    }
    const filter =
      request.filter === undefined
        ? undefined
        : this.#filters.settle(dataclass, request.filter, request.inputs, 'exposed');
    if (filter !== undefined) {
      return this.#settledRequest(request, filter, this.#orderBeside(request));
    }
    const order = this.#orders.settle(dataclass, orderOf(request), 'exposed');
    return order === undefined ? request : this.#settledRequest(request, undefined, order);
  }

  /** Never throws at once: nobody would wait for the filter, which is being asked already and may fail as well. */
  async #orderBeside(request: SelectionRequest): Promise<readonly OrderItem[] | undefined> {
    return this.#orders.settle(request.dataclass, orderOf(request), 'exposed');
  }

  async #settledRequest<R extends SelectionRequest>(
    request: R,
    filter: Pending<SettledFilter> | undefined,
    order: Pending<readonly OrderItem[] | undefined>,
  ): Promise<R> {
    // Both are asked by now: the one that fails first is the answer, and the failure of the other one is waited for too.
    const [settled, items] = await Promise.all([filter, order]);
    const { dataclass, base } = request;
    return {
      ...request,
      ...(settled === undefined
        ? {}
        : { ...settled, name: requestName(dataclass, base, settled.filter, settled.inputs) }),
      ...(items === undefined ? {} : { order: items, orderBy: orderName(items) }),
    };
  }

  async #settledTree(
    request: SelectionRequest,
    { model, root }: NodeTree,
  ): Promise<SelectionRequest> {
    const settled = await this.#node(root, new Map());
    if (settled === root) return request;
    return treeRequest(model, settled, request.dataclass);
  }

  /** @param known a node that is used twice stays one, so that its values are bound once */
  async #node(
    node: SelectionNode,
    known: Map<SelectionNode, SelectionNode>,
  ): Promise<SelectionNode> {
    const done = known.get(node);
    if (done !== undefined) return done;
    const settled = await this.#settledNode(node, known);
    known.set(node, settled);
    return settled;
  }

  async #settledNode(
    node: SelectionNode,
    known: Map<SelectionNode, SelectionNode>,
  ): Promise<SelectionNode> {
    switch (node.kind) {
      case 'all':
      case 'entity':
      case 'keys':
      // It names nothing that class code computes.
      case 'asked':
        return node;
      case 'filter':
        return this.#filterNode(node, await this.#node(node.of, known));
      case 'ordered':
        return this.#orderedNode(node, await this.#node(node.of, known));
      case 'related':
      case 'slice': {
        const of = await this.#node(node.of, known);
        return of === node.of ? node : { ...node, of };
      }
      case 'and':
      case 'or':
      case 'minus': {
        const left = await this.#node(node.left, known);
        const right = await this.#node(node.right, known);
        return left === node.left && right === node.right ? node : { ...node, left, right };
      }
    }
  }

  async #filterNode(node: FilterNode, of: SelectionNode): Promise<SelectionNode> {
    const { dataclass } = node;
    const settled = await this.#filters.settle(dataclass, node.filter, node.inputs, codeNames);
    const items = await this.#items(dataclass, node.items);
    if (settled === undefined && items === undefined)
      return of === node.of ? node : { ...node, of };
    const { filter, inputs } = settled ?? node;
    const orderBy =
      items === undefined || filter.orderBy === undefined
        ? filter.orderBy
        : { ...filter.orderBy, text: orderName(items) };
    return { ...node, of, inputs, filter: { ...filter, orderBy }, items: items ?? node.items };
  }

  async #orderedNode(node: OrderedNode, of: SelectionNode): Promise<SelectionNode> {
    const items = await this.#items(node.dataclass, node.items);
    if (items !== undefined) return { ...node, of, items, text: orderName(items) };
    return of === node.of ? node : { ...node, of };
  }

  async #items(
    dataclass: Dataclass,
    items: readonly OrderItem[],
  ): Promise<readonly OrderItem[] | undefined> {
    return this.#orders.settle(dataclass, items, codeNames);
  }
}

/** What class code may name. */
const codeNames: NameScope = 'all';
