import { readable, readableAttributes } from '../dataclass/permissions.js';
import { isRelation, leadsToMany } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { AttributeDefinition } from '../protocol/definition.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import type { LongNames } from '../protocol/names.js';
import { type ListedPath, type ListKind, listError, parseAttributeList } from './attribute-list.js';
import type { ExpandedItem, Expansions, ExpandedQuery } from './expansions.js';
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
  /** Which of the related entities, and in which order; all in the order of their keys if left out. */
  readonly query?: ExpandedQuery | undefined;
}

/** The place of a list of attributes, which decides the answer to an unknown name (protocol P3.19). */
type ListOrigin = 'path' | 'attributes' | 'expand';

/** Sent with every entity, listed or not. */
const alwaysSent: ReadonlySet<string> = new Set(['__KEY', '__STAMP', '__TIMESTAMP']);

/** Every exposed attribute, relations deferred. */
function wholeEntity(dataclass: Dataclass): Projection {
  const fields = readableAttributes(dataclass).map((attribute) => ({
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
    if (readable(dataclass, name) !== undefined) continue;
    if (!alwaysSent.has(name)) throw unknownAttribute(dataclass, name, origin);
    const [beyond] = child.children.keys();
    if (beyond !== undefined) throw unknownAttribute(dataclass, beyond, origin);
  }
  const fields: ProjectedField[] = [];
  for (const attribute of readableAttributes(dataclass)) {
    const child = node.children.get(attribute.name);
    if (child === undefined && !node.all) continue;
    const query = child?.query;
    if (query !== undefined) checkQueried(dataclass, attribute, query);
    fields.push({ attribute, expanded: expansion(dataclass, attribute, child, origin), query });
  }
  return { hasTimestamp: !(isRoot && origin === 'path'), fields };
}

/** @throws RequestError 400 with 1805 for options behind what does not lead to several entities */
function checkQueried(
  { name: owner }: Dataclass,
  attribute: AttributeDefinition,
  { filter, orderBy, top, skip }: ExpandedQuery,
): void {
  const name = `"${attribute.name}" of "${owner}"`;
  if (!isRelation(attribute)) {
    throw refuse('expandList', `${name} is no relation: $expand takes no options behind it.`);
  }
  const selects = filter ?? orderBy ?? top ?? skip;
  if (leadsToMany(attribute) || selects === undefined) return;
  throw refuse(
    'expandList',
    `${name} leads to one entity: $expand takes only $expand and $attributes behind it.`,
  );
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
  /** The options of `$expand`. */
  readonly query?: ExpandedQuery | undefined;
}

/** The lists of a request. */
export interface ProjectionTexts {
  /** `a,b` of `/Employee/a,b`. */
  readonly pathList?: string | undefined;
  readonly attributes?: string | undefined;
  readonly expand?: Pick<Expansions, 'items'> | undefined;
}

interface GrowingNode extends ProjectionNode {
  all: boolean;
  readonly children: Map<string, GrowingNode>;
  query?: ExpandedQuery;
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
    addListed(root, readListed(names, kind, expandDepth, long));
  }
  if (expand !== undefined) addExpanded(root, expand.items);
  return root;
}

/** Reads a list of the path or of `$attributes`. @throws RequestError 400 with 1804 for a path that is too deep */
export function readListed(
  text: string,
  kind: 'path' | '$attributes',
  expandDepth: number,
  long?: LongNames,
): readonly ListedPath[] {
  const items = parseAttributeList(text, kind, long);
  for (const item of items) {
    checkDepth(item, kind, item.path.length - (item.all ? 0 : 1), expandDepth);
  }
  return items;
}

function addListed(root: GrowingNode, items: readonly ListedPath[]): void {
  for (const { path, all } of items) {
    let node = root;
    for (const name of path) node = childOf(node, name);
    if (all) node.all = true;
  }
}

function addExpanded(root: GrowingNode, items: readonly ExpandedItem[]): void {
  for (const { path, query } of items) {
    let node = root;
    for (const [index, name] of path.entries()) {
      node = childOf(node, name);
      if (index < path.length - 1 || query?.attributes === undefined) node.all = true;
    }
    if (query === undefined) continue;
    if (node.query !== undefined) {
      throw refuse('expandList', `$expand has options for "${path.join('.')}" more than once.`);
    }
    node.query = query;
    addListed(node, query.attributes ?? []);
    addExpanded(node, query.expand);
  }
}

/** @throws RequestError 400 with 1804 or 1805 */
export function checkDepth(
  item: ListedPath,
  kind: ListKind,
  relations: number,
  limit: number,
): void {
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
  for (const { attribute, expanded, query } of fields) {
    if (expanded === undefined) continue;
    const beyond = mostRelated(expanded, pageSize);
    most += leadsToMany(attribute) ? (query?.top ?? pageSize) * (1 + beyond) : beyond;
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
  { attributes }: Pick<Parameters, 'attributes'>,
  expand: Expansions | undefined,
  { limits }: { readonly limits: { readonly expandDepth: number } },
): Projection {
  const texts = { pathList, attributes, expand };
  const tree = projectionTree(texts, limits.expandDepth, dataclass.longNames());
  if (tree === undefined) return wholeEntity(dataclass);
  const origin =
    attributes !== undefined ? 'attributes' : pathList !== undefined ? 'path' : 'expand';
  return project(dataclass, tree, origin);
}
