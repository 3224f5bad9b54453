import { isMap, isScalar, LineCounter, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { documentText } from '../import/render.js';
import type { BrokenRule } from './rejects.js';

export interface FoundRule extends BrokenRule {
  /** The line of the rule in the model file; `undefined` if it has no line of its own there. */
  readonly line: number | undefined;
}

interface Relaxed {
  readonly rules: readonly FoundRule[];
  /** The model without the rules that were found; comments and order stay. */
  readonly text: string;
}

/** Finds rules of a model in its file. */
export function withoutRules(text: string, broken: readonly BrokenRule[]): Relaxed {
  const counter = new LineCounter();
  const document = parseDocument(text, { schema: 'core', logLevel: 'error', lineCounter: counter });
  const root: unknown = document.contents;
  const rules = broken.map((reported): FoundRule => {
    const each = { ...reported, attribute: nameInModel(root, reported) };
    const owner = document.errors.length === 0 ? ownerOf(root, each) : undefined;
    const offset = owner?.items.find(({ key }) => keyText(key) === each.rule)?.key;
    const [start] = (isScalar(offset) ? offset.range : undefined) ?? [];
    if (owner === undefined || start === undefined) return { ...each, line: undefined };
    return { ...each, line: counter.linePos(start).line };
  });
  for (const each of rules) {
    if (each.line !== undefined) ownerOf(root, each)?.delete(each.rule);
  }
  const isChanged = rules.some(({ line }) => line !== undefined);
  return { rules, text: isChanged ? documentText(document) : text };
}

/** The name in the model file of what the server names as clients do. */
function nameInModel(root: unknown, { dataclass, attribute }: BrokenRule): string {
  const own = attributesOf(root, dataclass)?.items.find(
    ({ value }) => isMap(value) && value.get('restName') === attribute,
  );
  return own === undefined ? attribute : keyText(own.key);
}

/** The mapping that has the rule: of the attribute, or of the relation whose foreign key it is. */
function ownerOf(root: unknown, { dataclass, attribute, rule }: BrokenRule): YAMLMap | undefined {
  const attributes = attributesOf(root, dataclass);
  const own = mapAt(attributes, attribute);
  if (own?.has(rule) === true) return own;
  const relation = attributes?.items.find((pair) => isOver(pair, attribute));
  return isMap(relation?.value) && relation.value.has(rule) ? relation.value : undefined;
}

function attributesOf(root: unknown, dataclass: string): YAMLMap | undefined {
  return mapAt(mapAt(mapAt(root, 'dataclasses'), dataclass), 'attributes');
}

function isOver({ key, value }: Pair, attribute: string): boolean {
  if (!isMap(value) || !value.has('to')) return false;
  const foreignKey: unknown = value.get('foreignKey') ?? `${keyText(key)}_id`;
  return foreignKey === attribute;
}

function mapAt(node: unknown, key: string): YAMLMap | undefined {
  const found: unknown = isMap(node) ? node.get(key, true) : undefined;
  return isMap(found) ? found : undefined;
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : '';
}
