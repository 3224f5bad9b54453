import { isRelation, leadsToMany } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { AttributeDefinition } from '../protocol/definition.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import type { LongNames } from '../protocol/names.js';
import { type ListedPath, type ListKind, listError, parseAttributeList } from './attribute-list.js';
import type { Parameters } from './parameters.js';

/** The attributes of an entity in an answer. */
export interface Projection {
  /** A list in the path leaves `__TIMESTAMP` out (protocol P3.10). */
  readonly hasTimestamp: boolean;
  /** In model order. */
  readonly fields: readonly ProjectedField[];
}

export interface ProjectedField {
  readonly attribute: AttributeDefinition;
  /** If set, the related entity or entities replace the deferred relation. */
  readonly expanded: Projection | undefined;
}

/** The place of a list of attributes, which decides the answer to an unknown name (protocol P3.19). */
type ListOrigin = 'path' | 'attributes' | 'expand';

/** Sent with every entity, listed or not. */
const alwaysSent: ReadonlySet<string> = new Set(['__KEY', '__STAMP', '__TIMESTAMP']);

/** Every exposed attribute, relations deferred. */
function wholeEntity(dataclass: Dataclass): Projection {
  const fields = [...dataclass.exposedAttributes.values()].map((attribute) => ({
    attribute,
    expanded: undefined,
  }));
  return { hasTimestamp: true, fields };
}

/** The attributes that a client selects. @throws RequestError 404 in a path, 400 in a parameter, with 1500 and 1804 or 1805 */
function project(
  dataclass: Dataclass,
  node: ProjectionNode,
  origin: ListOrigin,
  isRoot = true,
): Projection {
  for (const [name, child] of node.children) {
    if (dataclass.exposedAttributes.has(name)) continue;
    if (!alwaysSent.has(name)) throw unknownAttribute(dataclass, name, origin);
    const [beyond] = child.children.keys();
    if (beyond !== undefined) throw unknownAttribute(dataclass, beyond, origin);
  }
  const fields: ProjectedField[] = [];
  for (const attribute of dataclass.exposedAttributes.values()) {
    const child = node.children.get(attribute.name);
    if (child === undefined && !node.all) continue;
    fields.push({ attribute, expanded: expansion(dataclass, attribute, child, origin) });
  }
  return { hasTimestamp: !(isRoot && origin === 'path'), fields };
}

function expansion(
  dataclass: Dataclass,
  attribute: AttributeDefinition,
  child: ProjectionNode | undefined,
  origin: ListOrigin,
): Projection | undefined {
  if (child === undefined || (!child.all && child.children.size === 0)) return undefined;
  if (isRelation(attribute)) {
    return project(dataclass.target(attribute), child, origin, false);
  }
  const [beyond] = child.children.keys();
  if (beyond === undefined) return undefined;
  if (attribute.kind !== 'alias' && attribute.type === 'object') {
    throw refuse(
      origin === 'expand' ? 'expandList' : 'attributeList',
      `"${attribute.name}" is an object: it is sent as a whole, its property "${beyond}" cannot be listed.`,
    );
  }
  throw unknownAttribute(dataclass, beyond, origin);
}

/** The errors of a name that does not exist for this client (protocol P3.19, P11.27). */
export function unknownAttribute(
  dataclass: Pick<Dataclass, 'name'>,
  name: string,
  origin: ListOrigin,
): RequestError {
  return new RequestError(origin === 'path' ? 404 : 400, [
    protocolError(
      'attributeNotFound',
      `The "${name}" attribute cannot be found in the "${dataclass.name}" dataclass`,
    ),
    protocolError(
      origin === 'expand' ? 'expandList' : 'attributeList',
      `Cannot completely build a list of attributes with "${name}" for the "${dataclass.name}" dataclass`,
    ),
  ]);
}

/** The attributes in an answer, by their names only. */
export interface ProjectionNode {
  /** Whether every attribute of the entity is selected, in addition to the children. */
  readonly all: boolean;
  /** In order of first mention. None, and `all` false: a plain attribute, or a deferred relation. */
  readonly children: ReadonlyMap<string, ProjectionNode>;
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
  readonly children: Map<string, GrowingNode>;
}

/**
 * Merges a request's lists (protocol P3.8): `$attributes` wins over the path's list, and `$expand`
 * adds every relation that it names, and those on the way, with all their attributes. Without the
 * first two lists the entity keeps all its attributes. Returns `undefined` if the request has no
 * list at all.
 *
 * @param expandDepth most relations that one path may follow
 * @param long names of the model that need no brackets
 * @throws RequestError 400 as `parseAttributeList`, and 1804 or 1805 for a path that is too deep
 */
export function projectionTree(
  { pathList, attributes, expand }: ProjectionTexts,
  expandDepth: number,
  long?: LongNames,
): ProjectionNode | undefined {
  const names = attributes ?? pathList;
  if (names === undefined && expand === undefined) return undefined;
  const root: GrowingNode = { all: names === undefined, children: new Map() };
  if (names !== undefined) {
    const kind = attributes === undefined ? 'path' : '$attributes';
    for (const item of parseAttributeList(names, kind, long)) {
      checkDepth(item, kind, item.path.length - (item.all ? 0 : 1), expandDepth);
      let node = root;
      for (const name of item.path) node = childOf(node, name);
      if (item.all) node.all = true;
    }
  }
  if (expand !== undefined) {
    for (const item of parseAttributeList(expand, '$expand', long)) {
      checkDepth(item, '$expand', item.path.length, expandDepth);
      let node = root;
      for (const name of item.path) {
        node = childOf(node, name);
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

function childOf({ children }: GrowingNode, name: string): GrowingNode {
  const child = children.get(name) ?? { all: false, children: new Map<string, GrowingNode>() };
  children.set(name, child);
  return child;
}

/** Two levels of to-many relations fit with pages of 100, three levels only with a few entities. */
const maxRelatedEntities = 2_000_000;

/** The most entities that one entity can bring along over to-many relations, a page each. */
export function mostRelated({ fields }: Projection, pageSize: number): number {
  let most = 0;
  for (const { attribute, expanded } of fields) {
    if (expanded === undefined) continue;
    const beyond = mostRelated(expanded, pageSize);
    most += leadsToMany(attribute) ? pageSize * (1 + beyond) : beyond;
  }
  return most;
}

/** Relations of relations multiply: too large answers are refused before any work. @throws RequestError 400 with 1805 */
export function refuseTooManyRelated(count: number): void {
  if (count <= maxRelatedEntities) return;
  throw refuse(
    'expandList',
    `The expanded relations could return more than ${maxRelatedEntities} entities: name fewer of them, or a smaller $top.`,
  );
}

/** The attributes that a request's lists select; all, if there is no list. */
export function projectionOf(
  dataclass: Dataclass,
  pathList: string | undefined,
  { attributes, expand }: Pick<Parameters, 'attributes' | 'expand'>,
  { limits }: { readonly limits: { readonly expandDepth: number } },
): Projection {
  const texts = { pathList, attributes, expand };
  const tree = projectionTree(texts, limits.expandDepth, dataclass.longNames);
  if (tree === undefined) return wholeEntity(dataclass);
  const origin =
    attributes !== undefined ? 'attributes' : pathList !== undefined ? 'path' : 'expand';
  return project(dataclass, tree, origin);
}
