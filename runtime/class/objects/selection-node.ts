import { type NameScope, type Relation, relationsOf } from '../../dataclass/attribute-path.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import { type Key, type KeyList, keysOf, type KeyType } from '../../entity-set/key-list.js';
import type { FilterInputs } from '../../filter/inputs.js';
import type { PreparedFilter } from '../../filter/prepared-filter.js';
import type { RelationAliasDefinition } from '../../protocol/definition.js';
import { refuse } from '../../protocol/errors.js';
import type { OrderItem } from '../../query/order-by.js';
import type { EntityObject } from './types.js';

/**
 * The description of a lazy selection of class code. A node never changes, so selections share it.
 */
export type SelectionNode =
  | AllNode
  | EntityNode
  | KeysNode
  | RequestedNode
  | SelectionFilterNode
  | OrderedNode
  | RelatedNode
  | CombinedNode
  | SliceNode;

interface Node {
  /** The dataclass of the selection's entities. */
  readonly dataclass: Dataclass;
  /**
   * How many nodes it consists of; one that is used twice counts twice, because it is written
   * twice.
   */
  readonly size: number;
  /** How many nested nodes select by the result of others: each is a subquery. */
  readonly depth: number;
  /** Whether it contains an {@link RequestedNode}. */
  readonly isRequested: boolean;
}

interface AllNode extends Node {
  readonly kind: 'all';
}

interface EntityNode extends Node {
  readonly kind: 'entity';
  /** As it is stored. */
  readonly key: Key;
}

/** In the order of the list; keys without entity are ignored. */
export interface KeysNode extends Node {
  readonly kind: 'keys';
  readonly keys: KeyList;
}

/** What a client selected: its filter and its order name what the client may, not what code may. */
interface RequestedNode extends Node {
  readonly kind: 'requested';
  readonly of: SelectionNode;
  readonly requester: SelectionRequester;
}

/** The session to which a client's filter and order apply. */
interface SelectionRequester {
  /** Whether the calling code now sees exactly what the session saw. */
  seesTheSame(): boolean;
  /** What the session sees of the selection, in order. */
  keys(): Promise<KeyList>;
}

export interface SelectionFilterNode extends Node {
  readonly kind: 'filter';
  readonly of: SelectionNode;
  /** The names that its paths may use. */
  readonly names: NameScope;
  readonly filter: PreparedFilter;
  readonly inputs: FilterInputs;
  /** The items of `order by` in the filter. */
  readonly items: readonly OrderItem[];
}

interface OrderedNode extends Node {
  readonly kind: 'ordered';
  readonly of: SelectionNode;
  readonly text: string;
  readonly items: readonly OrderItem[];
}

/** The entities at the other end of a relation, each once, in the order of their keys. */
interface RelatedNode extends Node {
  readonly kind: 'related';
  readonly of: SelectionNode;
  readonly relation: Relation;
  /**
   * The alias whose path contains the relation: its privileges, not those of the path, open the
   * entities at its end.
   */
  readonly alias?: { readonly owner: Dataclass; readonly name: string; readonly isEnd: boolean };
}

/**
 * `and` and `minus` keep the order of the first selection; `or` begins with its entities (protocol
 * P9.14).
 */
interface CombinedNode extends Node {
  readonly kind: 'and' | 'or' | 'minus';
  readonly left: SelectionNode;
  readonly right: SelectionNode;
}

export interface SliceNode extends Node {
  readonly kind: 'slice';
  readonly of: SelectionNode;
  readonly skip: number;
  readonly take: number;
  /** Whether both count from the end. */
  readonly fromEnd: boolean;
}

const single = { size: 1, depth: 0, isRequested: false };

/** Each node is a condition of the statement. */
const maxSize = 500;

/** SQLite's parser takes less than 30 nested subqueries, and filters contain some too. */
const maxDepth = 20;

export function allOf(dataclass: Dataclass): AllNode {
  return { kind: 'all', dataclass, ...single };
}

/** @param key as it is stored */
export function entityOf(dataclass: Dataclass, key: Key): EntityNode {
  return { kind: 'entity', dataclass, key, ...single };
}

export function listed(dataclass: Dataclass, keys: KeyList): KeysNode {
  return { kind: 'keys', dataclass, keys, ...single };
}

/** @param keys as they are stored */
export function ofKeys(dataclass: Dataclass, keys: Iterable<Key>): KeysNode {
  return listed(dataclass, keysOf(dataclass.key.type as KeyType, keys));
}

/**
 * @throws RequestError 400 with 1162 for a selection of too many parts, as all these functions do
 */
export function filtered(
  of: SelectionNode,
  filter: PreparedFilter,
  inputs: FilterInputs,
  items: readonly OrderItem[],
  names: NameScope = 'all',
): SelectionFilterNode {
  return { kind: 'filter', of, filter, inputs, items, names, ...over(of.dataclass, [of], 0) };
}

/** @param of consists of filters and orders that name what is exposed */
export function requested(of: SelectionNode, requester: SelectionRequester): RequestedNode {
  return { kind: 'requested', of, requester, ...over(of.dataclass, [of], 0), isRequested: true };
}

export function ordered(of: SelectionNode, text: string, items: readonly OrderItem[]): OrderedNode {
  return { kind: 'ordered', of, text, items, ...over(of.dataclass, [of], 0) };
}

function related(of: SelectionNode, relation: Relation): RelatedNode {
  return { kind: 'related', of, relation, ...over(of.dataclass.target(relation), [of], 1) };
}

/** The entities to which a relation, or each relation of an alias in turn, leads. */
export function reachedFrom(
  of: SelectionNode,
  relation: Relation | RelationAliasDefinition,
): SelectionNode {
  if (relation.kind !== 'relationAlias') return related(of, relation);
  const { dataclass: owner } = of;
  const { name, path } = relation;
  return relationsOf(owner, relation).reduce<SelectionNode>(
    (node, each, index) => ({
      ...related(node, each),
      alias: { owner, name, isEnd: index === path.length - 1 },
    }),
    of,
  );
}

/** @param right of the same dataclass */
export function combined(
  kind: CombinedNode['kind'],
  left: SelectionNode,
  right: SelectionNode,
): CombinedNode {
  return { kind, left, right, ...over(left.dataclass, [left, right], 0) };
}

/**
 * The entities at `start` and behind it, before `end`, as `Array.prototype.slice` counts: a negative position counts from the
 * end.
 */
export function sliced(of: SelectionNode, start: number, end: number | undefined): SelectionNode {
  if (end === undefined) {
    return start >= 0 ? taken(of, start, Infinity, false) : taken(of, 0, -start, true);
  }
  if (start >= 0) {
    return end >= 0
      ? taken(of, start, Math.max(0, end - start), false)
      : taken(taken(of, start, Infinity, false), -end, Infinity, true);
  }
  return end < 0
    ? taken(of, -end, Math.max(0, end - start), true)
    : combined('and', taken(of, 0, end, false), taken(of, 0, -start, true));
}

function taken(of: SelectionNode, skip: number, take: number, fromEnd: boolean): SelectionNode {
  if (skip === 0 && take === Infinity) return of;
  const most = Math.min(take, Number.MAX_SAFE_INTEGER);
  if (of.kind === 'slice' && of.fromEnd === fromEnd) {
    const left = Math.max(0, of.take - skip);
    return slice(of.of, of.skip + skip, Math.min(most, left), fromEnd);
  }
  return slice(of, skip, most, fromEnd);
}

function slice(of: SelectionNode, skip: number, take: number, fromEnd: boolean): SliceNode {
  const most = Math.min(skip, Number.MAX_SAFE_INTEGER);
  // A slice that is read directly, as by first(), is no subquery.
  const node = over(of.dataclass, [of], 1, maxDepth + 1);
  return { kind: 'slice', of, skip: most, take, fromEnd, ...node };
}

/** Whether the entities come in another order than that of their keys. */
export function isOrderedNode(node: SelectionNode): boolean {
  switch (node.kind) {
    case 'keys':
    case 'ordered':
    case 'or':
      return true;
    case 'all':
    case 'entity':
    case 'related':
      return false;
    case 'filter':
      return node.items.length > 0 || isOrderedNode(node.of);
    case 'requested':
    case 'slice':
      return isOrderedNode(node.of);
    case 'and':
    case 'minus':
      return isOrderedNode(node.left);
  }
}

/** The parts of an `or`, in order. */
export function alternatives(node: SelectionNode): readonly SelectionNode[] {
  const parts: SelectionNode[] = [];
  const waiting = [node];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (at.kind === 'or') waiting.push(at.right, at.left);
    else parts.push(at);
  }
  return parts;
}

/** The nodes of which a node is made. */
export function partsOf(node: SelectionNode): readonly SelectionNode[] {
  if ('of' in node) return [node.of];
  return 'left' in node ? [node.left, node.right] : [];
}

/** A copy of a node over other parts. */
export async function overParts(
  node: SelectionNode,
  replace: (part: SelectionNode) => Promise<SelectionNode>,
): Promise<SelectionNode> {
  if ('of' in node) {
    const of = await replace(node.of);
    return of === node.of ? node : { ...node, of };
  }
  if (!('left' in node)) return node;
  const left = await replace(node.left);
  const right = await replace(node.right);
  return left === node.left && right === node.right ? node : { ...node, left, right };
}

function over(
  dataclass: Dataclass,
  parts: readonly SelectionNode[],
  deeper: 0 | 1,
  deepest = maxDepth,
): Node {
  const size = parts.reduce((sum, each) => sum + each.size, 1);
  const depth = Math.max(...parts.map((each) => each.depth)) + deeper;
  const problem =
    size > maxSize
      ? `is made of at most ${maxSize} others`
      : depth > deepest
        ? `follows at most ${maxDepth} relations and slices, one after the other`
        : undefined;
  if (problem !== undefined) {
    const remedy = 'read keys() in between, and continue with fromKeys()';
    throw refuse('invalidQuery', `A selection ${problem}: ${remedy}.`);
  }
  return { dataclass, size, depth, isRequested: parts.some((each) => each.isRequested) };
}

/** The entities of a selection that class code fills itself: `newSelection()`. */
export class HeldEntities {
  readonly #entities = new Map<Key, EntityObject>();
  #node: KeysNode | undefined;

  constructor(private readonly dataclass: Dataclass) {}

  /** In the order in which they were added. */
  get entities(): readonly EntityObject[] {
    return [...this.#entities.values()];
  }

  /** A selection of the database: the keys of the entities that are stored. */
  get node(): KeysNode {
    return (this.#node ??= ofKeys(this.dataclass, this.#entities.keys()));
  }

  has(key: Key): boolean {
    return this.#entities.has(key);
  }

  /** An object of an entity that is there already replaces the former one. */
  add(key: Key, entity: EntityObject): void {
    this.#entities.set(key, entity);
    this.#node = undefined;
  }
}
