import { type Dataclass, dataclassIn } from '../../dataclass/dataclasses.js';
import type { From } from '../../dataclass/source.js';
import { requireAttributeInCode, requireReadInCode } from '../../dataclass/permissions.js';
import type { BuiltQuery } from '../../dialect/compile.js';
import type { Dialect, Sql } from '../../dialect/dialect.js';
import type { OrderTerm } from '../../query/order-sql.js';
import type { SqlValue } from '../../dialect/statement.js';
import type { FilterInputs } from '../../filter/inputs.js';
import type { FilterInput } from '../../filter/slots.js';
import type { QueryContext } from '../../query/context.js';
import type { Selection, SelectionTree } from '../../query/selection.js';
import {
  requestName,
  resolved,
  type SelectionRequest,
  shapeName,
} from '../../query/selection-request.js';
import type { VisibleModel } from './context.js';
import {
  type SelectionFilterNode,
  isOrderedNode,
  type KeysNode,
  listed,
  overParts,
  partsOf,
  type SelectionNode,
} from './selection-node.js';
import { SelectionWriter, type WriteColumns } from './selection-writer.js';

/**
 * A tree of selections in one request: its shape, which selects statements, and how to write it.
 */
export class NodeTree implements SelectionTree {
  readonly shape: string;
  readonly isOrdered: boolean;
  readonly inputs: FilterInputs;
  /** The position of the first input of each node among those of the tree. */
  readonly #positions: ReadonlyMap<SelectionNode, number>;

  /**
   * @param model as the reading code sees it
   * @throws PermissionError for what that code may not read
   */
  constructor(
    readonly model: VisibleModel,
    readonly root: SelectionNode,
  ) {
    requireReadable(model, root);
    const reading = new TreeReading(model.database.dialect);
    this.shape = reading.shapeOf(root);
    this.inputs = reading;
    this.#positions = reading.positions;
    this.isOrdered = isOrderedNode(root);
  }

  condition(context: QueryContext, from: From, selection: Selection): Sql | undefined {
    return this.#writer(context, selection).condition(from, this.root, 0);
  }

  order(context: QueryContext, from: From, selection: Selection): readonly OrderTerm[] {
    return this.#writer(context, selection).order(from, this.root);
  }

  /**
   * A query for columns of the entities, in order; if `isReversed`, the last entity comes first.
   */
  rows(context: QueryContext, selection: Selection, columns: WriteColumns): Sql | BuiltQuery {
    return this.#writer(context, selection).rows(selection.dataclass, this.root, columns);
  }

  /** Whether {@link NodeTree.rows} returns the last entity first. */
  get isReversed(): boolean {
    return this.root.kind === 'slice' && this.root.fromEnd;
  }

  #writer(context: QueryContext, selection: Selection): SelectionWriter {
    return new SelectionWriter(context, this.model, this.#positions, selection);
  }
}

/**
 * @throws PermissionError for what the reading code may not read; the names in its filters are
 * checked later
 */
function requireReadable(model: VisibleModel, node: SelectionNode): void {
  const alias = node.kind === 'related' ? node.alias : undefined;
  if (alias?.isEnd !== false) requireReadInCode(dataclassIn(model, node.dataclass.name));
  if (alias?.isEnd === true) {
    requireAttributeInCode(dataclassIn(model, alias.owner.name), alias.name);
  } else if (node.kind === 'related' && alias === undefined) {
    requireAttributeInCode(dataclassIn(model, node.of.dataclass.name), node.relation.name);
  }
  for (const part of partsOf(node)) requireReadable(model, part);
}

/** A selection of class code as a request of its own, with the tree that writes it. */
export interface TreeRequest extends SelectionRequest {
  readonly tree: NodeTree;
}

/**
 * @param model as the reading code sees it
 * @param dataclass as the reader of the answer sees it; if left out, as that code does
 */
export function treeRequest(
  model: VisibleModel,
  node: SelectionNode,
  dataclass: Dataclass = dataclassIn(model, node.dataclass.name),
): TreeRequest {
  const tree = new NodeTree(model, node);
  const base = { kind: 'tree', tree } as const;
  const { inputs } = tree;
  return {
    tree,
    dataclass,
    base,
    baseValue: null,
    filter: undefined,
    inputs,
    name: requestName(dataclass, base, undefined, inputs),
    orderBy: undefined,
    orderOrigin: { parameter: '$orderby', start: 0 },
  };
}

/**
 * A selection for the code that reads it now. A client's filter is part of the statement as long as
 * the code sees what the client's session saw; for other code, such as promoted code, it is the
 * list of entities that the session sees.
 * @param known a node that is used twice stays one, so that its values are bound once
 */
export async function readableNode(
  node: SelectionNode,
  known = new Map<SelectionNode, SelectionNode>(),
): Promise<SelectionNode> {
  const done = known.get(node);
  if (done !== undefined || !node.isRequested) return done ?? node;
  let read: SelectionNode = node;
  if (node.kind !== 'requested') read = await overParts(node, (part) => readableNode(part, known));
  else if (!node.requester.seesTheSame()) {
    read = listed(node.dataclass, await node.requester.keys());
  }
  known.set(node, read);
  return read;
}

/**
 * A selection as a request, after class code has resolved it. What the code may not read is refused
 * before the first await: the stack of that error has the line of code that does not await either.
 */
export async function resolvedTree(model: VisibleModel, node: SelectionNode): Promise<TreeRequest> {
  const readable = node.isRequested ? await readableNode(node) : node;
  return resolved(model, treeRequest(model, readable));
}

/** Walks a tree once for each request: its shape, and its values in that order. */
class TreeReading implements FilterInputs {
  readonly positions = new Map<SelectionNode, number>();
  readonly inputs: FilterInput[] = [];
  readonly nulls: number[] = [];
  readonly patterns: number[] = [];
  readonly #numbers = new Map<SelectionNode, number>();

  constructor(private readonly dialect: Dialect) {}

  shapeOf(node: SelectionNode): string {
    const number = this.#numbers.get(node);
    // The values of a node that is used twice are bound once.
    if (number !== undefined) return `#${number}`;
    this.#numbers.set(node, this.#numbers.size);
    switch (node.kind) {
      case 'all':
        return 'all';
      case 'entity':
        this.#addValues(node, node.key);
        return 'entity';
      case 'keys':
        this.#addValues(node, keyList(this.dialect, node));
        return 'keys';
      case 'requested':
        if (!node.requester.seesTheSame()) {
          throw new Error('What a client chose is read for another session: see readableNode.');
        }
        return `requested(${this.shapeOf(node.of)})`;
      case 'filter': {
        const { shape, orderBy } = node.filter;
        const text = `filter(${this.shapeOf(node.of)}${shapeName([shape, orderBy?.text])})`;
        this.#addInputs(node);
        return text;
      }
      case 'ordered':
        return `ordered(${this.shapeOf(node.of)}${shapeName([node.text])})`;
      case 'related': {
        const { of, relation, alias } = node;
        // What may be read is checked when a statement is written, and an alias needs other privileges than its path.
        const opened = alias === undefined ? '' : `${alias.owner.name}.${alias.name}=`;
        return `${opened}${of.dataclass.name}.${relation.name}(${this.shapeOf(of)})`;
      }
      case 'and':
      case 'or':
      case 'minus':
        return `${node.kind}(${this.shapeOf(node.left)},${this.shapeOf(node.right)})`;
      case 'slice': {
        const text = `${node.fromEnd ? 'last' : 'first'}(${this.shapeOf(node.of)})`;
        this.#addValues(node, node.skip, node.take);
        return text;
      }
    }
  }

  #addValues(node: SelectionNode, ...values: readonly SqlValue[]): void {
    this.positions.set(node, this.inputs.length);
    for (const value of values) this.inputs.push({ value });
  }

  #addInputs(node: SelectionFilterNode): void {
    const { inputs, nulls, patterns } = node.inputs;
    const first = this.inputs.length;
    this.positions.set(node, first);
    for (const each of inputs) this.inputs.push(each);
    for (const each of nulls) this.nulls.push(first + each);
    for (const each of patterns) this.patterns.push(first + each);
  }
}

/** The keys as a JSON list in the form in which they are compared, each once. */
function keyList(dialect: Dialect, { dataclass, keys }: KeysNode): string {
  if (dataclass.key.type !== 'string') return keys.page(0, keys.length);
  const folded = new Set<string>();
  for (const key of keys) folded.add(dialect.foldText(String(key)));
  return JSON.stringify([...folded]);
}
