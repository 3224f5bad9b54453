import { booleanOf, child, entry, itemsOf, isNull, textOf } from '../../source/tree.js';
import type { ErrorObject } from 'ajv';
import { eventNames, oldEventNames } from '../../source/vocabulary.js';
import { isWordForKey } from '../type-hints.js';
import type { Place, SourceKey, SourceNode } from '../../source/tree.js';
import type { JsonSchema } from '../../source/schema/json-schema.js';
import type { Context } from '../context.js';

/** A part of the file with its key. */
export interface Part {
  readonly node: SourceNode;
  readonly key?: SourceKey;
}

/** Reports an error of the schema check in our words, at the node or key that is meant. */
export function describeError(context: Context, root: Part, error: ErrorObject): void {
  const part = partAt(root, error.instancePath);
  const what = labelOf(part);
  const at = placeOf(part);
  const schema = error.parentSchema as JsonSchema;
  switch (error.keyword) {
    case 'additionalProperties':
      unknownKey(
        context,
        part,
        (error.params as { additionalProperty: string }).additionalProperty,
        schema,
      );
      return;
    case 'required': {
      const key = (error.params as { missingProperty: string }).missingProperty;
      context.report('shape/missing-key', { owner: what, key }, part.key ?? startOf(part.node));
      return;
    }
    case 'type': {
      // Errors about the items of a list of texts are reported with the list.
      if (schema.type === 'string' && schema.enum !== undefined) return;
      const expected = typeWords(schema);
      const fill = { what, expected, found: foundWords(part.node) };
      context.report('shape/wrong-type', fill, at, typeHelp(part.node, schema));
      return;
    }
    case 'const':
    case 'enum':
      // A value of another type is reported as that, once.
      if (schema.type === 'boolean' && booleanOf(part.node) === undefined) return;
      unknownValue(context, part, possibleValues(root, schema));
      return;
    case 'minimum':
      context.report('shape/out-of-range', { what, bound: `at least ${schema.minimum ?? 0}` }, at);
      return;
    case 'maximum':
      context.report('shape/out-of-range', { what, bound: `at most ${schema.maximum ?? 0}` }, at);
      return;
    case 'minItems':
    case 'minProperties': {
      // An index over one attribute is reported with what to write instead.
      if (schema.minItems !== undefined && schema.minItems > 1) return;
      context.report('shape/too-few', { what }, part.key ?? at);
      return;
    }
    case 'uniqueItems': {
      const { i, j } = error.params as { readonly i: number; readonly j: number };
      const repeated = itemsOf(part.node)[Math.max(i, j)];
      context.report('shape/repeated-item', { what }, repeated ?? at);
      return;
    }
    // Names and texts with a pattern have checks of their own, which say more.
    default:
  }
}

/** The values that are possible here: events of clients of older servers need a compatibility. */
function possibleValues({ node }: Part, schema: JsonSchema): JsonSchema {
  const isOld = textOf(child(child(node, 'protocol'), 'compatibility')) !== undefined;
  if (isOld || schema.enum !== eventNames) return schema;
  return { ...schema, enum: eventNames.filter((each) => !oldEventNames.includes(each)) };
}

export function unknownKey(context: Context, part: Part, key: string, schema: JsonSchema): void {
  const known = Object.keys(schema.properties ?? {});
  const help = keyHelp(key, known) ?? context.suggest(key, known);
  const at = entry(part.node, key)?.key ?? part.node;
  context.report('shape/unknown-key', { owner: labelOf(part), key }, at, help);
}

/** @param known the keys of an attribute, or of a dataclass */
function keyHelp(key: string, known: readonly string[]): string | undefined {
  if (!isWordForKey(key)) return undefined;
  if (known.includes('key')) return 'write key: true';
  return known.includes('attributes') ? 'write key: true at the attribute' : undefined;
}

/** Reports a value that is not one of the schema's; a value of another type is reported as that. */
export function unknownValue(
  context: Context,
  part: Part,
  schema: JsonSchema,
  help?: string,
): void {
  const { node } = part;
  const words = (schema.enum ?? [schema.const]).map(String);
  const what = labelOf(part);
  if (node.kind !== 'scalar' || node.value === null) {
    const expected = words.length === 1 ? (words[0] ?? '') : `one of ${words.join(', ')}`;
    const fill = { what, expected, found: foundWords(node) };
    context.report('shape/wrong-type', fill, placeOf(part));
    return;
  }
  const value = String(node.value);
  const fill = { what, value, possible: words.join(', ') };
  context.report('shape/unknown-value', fill, node, help ?? context.suggest(value, words));
}

/** The name of a part in a message: its key, or its position in a list. */
export function labelOf({ node }: Part): string {
  const last = node.path.slice(node.path.lastIndexOf('.') + 1);
  return last === '' ? 'The file' : last;
}

/** The value, or the key if the value is left out and so has no place of its own. */
export function placeOf(part: Part): Place {
  const { node, key } = part;
  return key !== undefined && isNull(node) && node.start === node.end ? key : node;
}

export function foundWords(node: SourceNode): string {
  if (node.kind === 'list') return 'a list';
  if (node.kind === 'mapping') return 'a mapping';
  if (node.value === null) return 'empty';
  if (typeof node.value === 'string') return 'a text';
  if (typeof node.value === 'boolean') return String(node.value);
  return `the number ${node.value}`;
}

const words: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'a mapping',
  string: 'a text',
};

function typeWords(schema: JsonSchema): string {
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  return types.map((each) => words[each] ?? each).join(' or ');
}

/**
 * Two mistakes that YAML invites: yes and no are texts, and a text that looks like a number is one.
 */
function typeHelp(node: SourceNode, { type }: JsonSchema): string | undefined {
  if (node.kind !== 'scalar' || node.value === null) return undefined;
  if (type === 'string') return 'put it in quotes to make it a text';
  if (type !== 'boolean') return undefined;
  const written = String(node.value).toLowerCase();
  if (['yes', 'y', 'on', 'true', '1'].includes(written)) return 'write true';
  return ['no', 'n', 'off', 'false', '0'].includes(written) ? 'write false' : undefined;
}

function partAt(root: Part, pointer: string): Part {
  let part = root;
  for (const segment of pointer.split('/').slice(1)) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    const found = entry(part.node, name);
    const item = itemsOf(part.node)[Number(name)] ?? child(part.node, name) ?? part.node;
    part = found === undefined ? { node: item } : { node: found.value, key: found.key };
  }
  return part;
}

/** A mapping without key is the file itself or an item; its first line is enough to show. */
function startOf(node: SourceNode): Place {
  const { file, start, path } = node;
  const [first] = node.kind === 'mapping' ? node.entries.values() : [];
  return first === undefined ? { file, start, end: start, path } : { ...first.key, path };
}
