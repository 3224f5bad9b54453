import { type ListedPath, type ListKind, listError, parseAttributeList } from './attribute-list.js';

/** Which attributes an answer holds, by their names alone. */
export interface ProjectionNode {
  /** Empty for the root, the entity itself. */
  readonly name: string;
  /** Every attribute of the entity, and beside them the children. */
  readonly all: boolean;
  /** In order of first mention. None, and `all` false: a plain attribute, or a relation deferred. */
  readonly children: readonly ProjectionNode[];
}

/** The lists of a request, as text. */
export interface ProjectionTexts {
  /** `a,b` of `/Employee/a,b`. */
  readonly pathList?: string | undefined;
  readonly attributes?: string | undefined;
  readonly expand?: string | undefined;
}

interface GrowingNode extends ProjectionNode {
  all: boolean;
  readonly children: GrowingNode[];
}

/** Children by name, so that a long list takes linear time. */
type Index = Map<GrowingNode, Map<string, GrowingNode>>;

/**
 * Merges a request's lists (protocol 9.1, 9.2 and section 24): `$attributes` wins over the path's list, and `$expand` adds
 * every relation that it names, and those on the way, with all their attributes. Without the first two lists the entity
 * keeps all its attributes. Answers `undefined` when the request has no list at all.
 *
 * @param expandDepth most relations that one path may follow
 * @throws RequestError 400 as `parseAttributeList`, and 1804 or 1805 for a path that is too deep
 */
export function projectionTree(
  { pathList, attributes, expand }: ProjectionTexts,
  expandDepth: number,
): ProjectionNode | undefined {
  const names = attributes ?? pathList;
  if (names === undefined && expand === undefined) return undefined;
  const root: GrowingNode = { name: '', all: names === undefined, children: [] };
  const index: Index = new Map();
  if (names !== undefined) {
    const kind = attributes === undefined ? 'path' : '$attributes';
    for (const item of parseAttributeList(names, kind)) {
      checkDepth(item, kind, item.path.length - (item.all ? 0 : 1), expandDepth);
      let node = root;
      for (const name of item.path) node = childOf(node, name, index);
      if (item.all) node.all = true;
    }
  }
  if (expand !== undefined) {
    for (const item of parseAttributeList(expand, '$expand')) {
      checkDepth(item, '$expand', item.path.length, expandDepth);
      let node = root;
      for (const name of item.path) {
        node = childOf(node, name, index);
        node.all = true;
      }
    }
  }
  return root;
}

function checkDepth(item: ListedPath, kind: ListKind, relations: number, limit: number): void {
  if (relations > limit) {
    throw listError(kind, item.start, `a path must not follow more than ${limit} relations`);
  }
}

function childOf(parent: GrowingNode, name: string, index: Index): GrowingNode {
  let children = index.get(parent);
  if (children === undefined) {
    children = new Map();
    index.set(parent, children);
  }
  let child = children.get(name);
  if (child === undefined) {
    child = { name, all: false, children: [] };
    children.set(name, child);
    parent.children.push(child);
  }
  return child;
}
