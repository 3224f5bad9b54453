import {
  parseDocument,
  isAlias,
  visit,
  type Alias,
  type Document,
  type ParsedNode,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type YAMLMap,
} from 'yaml';
import { syntaxProblems } from './syntax-problems.js';
import type { Place, SourceEntry, SourceKey, SourceNode, SourceScalar } from './tree.js';
import type { YamlProblem, YamlProblemKind } from './yaml-problem.js';

/** Reads YAML 1.2, and so JSON too, into a tree whose nodes know their places. */
export function readTree(file: string, text: string): BuiltTree {
  const document = parseDocument(text, {
    prettyErrors: false,
    // Equal keys are found below, in linear time; a version directive must not bring back the yes
    // and no of YAML 1.1.
    uniqueKeys: false,
    schema: 'core',
    resolveKnownTags: false,
    stringKeys: true,
    logLevel: 'error',
  });
  const failures = [...document.errors, ...document.warnings];
  if (failures.length > 0) {
    return { problems: syntaxProblems(failures, text) };
  }
  // Few files have anchors, and finding them takes a walk over the whole document.
  const targets = text.includes('&') ? aliasTargets(document) : new Map<never, never>();
  return buildTree(file, document, targets);
}

/** The node of each alias: the last one before it with its name. */
function aliasTargets(document: Document.Parsed): ReadonlyMap<Alias, ParsedNode> {
  const anchors = new Map<string, ParsedNode>();
  const targets = new Map<Alias, ParsedNode>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target !== undefined) targets.set(node, target);
      } else if (node.anchor !== undefined) {
        anchors.set(node.anchor, node as ParsedNode);
      }
    },
  });
  return targets;
}

interface BuiltTree {
  /** Absent if the file cannot be understood. */
  readonly root?: SourceNode;
  readonly problems: readonly YamlProblem[];
}

/** Far more than a model needs, and few enough for the stack. */
const maxDepth = 100;
/** The number of nodes that aliases may add to those that are written down. */
const maxAliasNodes = 100_000;

interface Builder {
  readonly file: string;
  readonly targets: ReadonlyMap<Alias, ParsedNode>;
  readonly problems: YamlProblem[];
  /** Nodes whose alias is being followed; meeting one again is a circle. */
  readonly open: Set<ParsedNode>;
  aliasNodes: number;
}

interface Where {
  readonly path: string;
  readonly depth: number;
}

/** Turns a document without errors into our tree; aliases are replaced by their nodes. */
function buildTree(
  file: string,
  document: Document.Parsed,
  targets: ReadonlyMap<Alias, ParsedNode>,
): BuiltTree {
  const builder: Builder = { file, targets, problems: [], open: new Set(), aliasNodes: 0 };
  if (document.contents === null) {
    return { problems: [{ kind: 'empty', detail: '', start: 0, end: 0, path: '' }] };
  }
  const root = build(builder, document.contents, { path: '', depth: 0 });
  const { problems } = builder;
  return problems.every((each) => each.kind === 'duplicate-key')
    ? { root, problems }
    : { problems };
}

function build(builder: Builder, node: ParsedNode, where: Where): SourceNode {
  if (where.depth > maxDepth) return failed(builder, 'too-deep', node, where);
  if (builder.open.size > 0) {
    builder.aliasNodes += 1;
    if (builder.aliasNodes === maxAliasNodes)
      return failed(builder, 'too-many-aliases', node, where);
    if (builder.aliasNodes > maxAliasNodes) return nothing(placeOf(builder, node, where));
  }
  if (isAlias(node)) return followed(builder, node, where);
  // Plain literals, because large models have many nodes.
  const { file } = builder;
  const { path, depth } = where;
  const [start, end] = node.range;
  if (isMap(node)) {
    return { kind: 'mapping', file, start, end, path, entries: entries(builder, node, where) };
  }
  if (isSeq(node)) {
    const items = node.items.map((item, index) =>
      build(builder, item, { path: `${path}[${index}]`, depth: depth + 1 }),
    );
    return { kind: 'list', file, start, end, path, items };
  }
  const value = isScalar(node)
    ? scalarValue(builder, node.value, { file, start, end, path })
    : null;
  return { kind: 'scalar', file, start, end, path, value };
}

function scalarValue(builder: Builder, value: unknown, place: Place): SourceScalar['value'] {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value !== 'number') return null;
  if (!Number.isFinite(value)) {
    const { start, end, path } = place;
    builder.problems.push({ kind: 'not-a-number', detail: '', start, end, path });
  }
  return value;
}

function followed(builder: Builder, alias: Alias.Parsed, where: Where): SourceNode {
  const target = builder.targets.get(alias);
  if (target === undefined || builder.open.has(target)) {
    return failed(builder, 'alias', alias, where, alias.source);
  }
  builder.open.add(target);
  const built = build(builder, target, where);
  builder.open.delete(target);
  return built;
}

function entries(
  builder: Builder,
  map: YAMLMap.Parsed,
  where: Where,
): ReadonlyMap<string, SourceEntry> {
  const found = new Map<string, SourceEntry>();
  const merged: SourceNode[] = [];
  for (const pair of map.items) {
    const key = keyOf(builder, pair, where);
    const at: Where = { path: key.path, depth: where.depth + 1 };
    const value = valueOf(builder, pair, key, at);
    if (isMergeKey(pair)) merged.push(...(value.kind === 'list' ? value.items : [value]));
    else if (found.has(key.name)) {
      const { start, end, path } = key;
      builder.problems.push({ kind: 'duplicate-key', detail: key.name, start, end, path });
    } else found.set(key.name, { key, value });
  }
  for (const each of merged) mergeInto(found, each);
  return found;
}

/** `<<` takes over the keys of another mapping that this one does not have itself. */
function mergeInto(found: Map<string, SourceEntry>, merged: SourceNode): void {
  if (merged.kind !== 'mapping') return;
  for (const [name, each] of merged.entries) if (!found.has(name)) found.set(name, each);
}

function isMergeKey(pair: Pair<ParsedNode, ParsedNode | null>): boolean {
  return isScalar(pair.key) && pair.key.value === '<<' && pair.key.type === 'PLAIN';
}

function keyOf(
  builder: Builder,
  pair: Pair<ParsedNode, ParsedNode | null>,
  where: Where,
): SourceKey {
  const node = isAlias(pair.key) ? (builder.targets.get(pair.key) ?? pair.key) : pair.key;
  const name = isScalar(node) && typeof node.value === 'string' ? node.value : '';
  const path = where.path === '' ? name : `${where.path}.${name}`;
  const [start, end] = pair.key.range;
  return { file: builder.file, start, end, path, name };
}

function valueOf(
  builder: Builder,
  pair: Pair<ParsedNode, ParsedNode | null>,
  key: SourceKey,
  where: Where,
): SourceNode {
  if (pair.value !== null) return build(builder, pair.value, where);
  return nothing({ file: key.file, start: key.end, end: key.end, path: key.path });
}

function placeOf(builder: Builder, node: ParsedNode, where: Where): Place {
  const [start, end] = node.range;
  return { file: builder.file, start, end, path: where.path };
}

function nothing(place: Place): SourceScalar {
  return { ...place, kind: 'scalar', value: null };
}

function failed(
  builder: Builder,
  kind: YamlProblemKind,
  node: ParsedNode,
  where: Where,
  detail = '',
): SourceScalar {
  const place = placeOf(builder, node, where);
  const { start, end, path } = place;
  builder.problems.push({ kind, detail, start, end, path });
  return nothing(place);
}
