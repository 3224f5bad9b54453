import { child, itemsOf, textOf } from '../source/tree.js';
import { renameHint, type Renamed } from './renames.js';
import { isIndexable } from './storage.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';
import type { AttributeDraft, DataclassDraft } from './world.js';

/** Composite indexes as lists of storage attributes; a to-one relation stands for its foreign key. */
export function compositeIndexes(
  context: Context,
  dataclass: DataclassDraft,
  foreignKeys: ReadonlyMap<string, string>,
): readonly (readonly string[])[] {
  const known = new Set<string>();
  const indexes: (readonly string[])[] = [];
  for (const list of itemsOf(child(dataclass.node, 'indexes'))) {
    const names = indexedNames(context, dataclass, foreignKeys, itemsOf(list));
    if (names === undefined) continue;
    const attributes = names.join(', ');
    if (known.has(attributes)) context.report('index/repeated', { attributes }, list);
    else indexes.push(names);
    known.add(attributes);
  }
  return indexes;
}

/** `undefined` if an item is wrong. */
function indexedNames(
  context: Context,
  dataclass: DataclassDraft,
  foreignKeys: ReadonlyMap<string, string>,
  items: readonly SourceNode[],
): readonly string[] | undefined {
  const names = new Set<string>();
  for (const item of items) {
    const written = textOf(item);
    if (written === undefined) continue;
    const draft = dataclass.attribute.get(written);
    const name = foreignKeys.get(written) ?? written;
    if (draft === undefined && !isForeignKey(foreignKeys, written)) {
      const help =
        renameHint(`${dataclass.name}.`, written, indexedParts(dataclass)) ??
        context.suggest(written, indexableNames(dataclass));
      const fill = { dataclass: dataclass.name, attribute: written };
      context.report('index/unknown-attribute', fill, item, help);
    } else if (draft !== undefined && kindWords(draft) !== undefined) {
      const fill = { attribute: draft.label, kind: kindWords(draft) ?? '' };
      context.report('index/not-indexable', fill, item);
    } else if (names.has(name)) {
      context.report('index/repeated-attribute', { attribute: written }, item);
    } else names.add(name);
  }
  return names.size === items.length ? [...names] : undefined;
}

function isForeignKey(foreignKeys: ReadonlyMap<string, string>, name: string): boolean {
  return [...foreignKeys.values()].includes(name);
}

/** Attributes, and foreign keys that are generated for relations. */
function indexedParts({ attributes }: DataclassDraft): readonly Renamed[] {
  const made = attributes
    .filter(({ kind }) => kind === 'toOne')
    .map(({ name, earlier }) => ({
      name: `${name}_id`,
      earlier: earlier.map((each) => `${each}_id`),
    }));
  return [...attributes, ...made];
}

function indexableNames({ attributes }: DataclassDraft): readonly string[] {
  return attributes.filter((each) => kindWords(each) === undefined).map(({ name }) => name);
}

/** The kind of an attribute that cannot be in an index, in words. */
function kindWords({ kind, type }: AttributeDraft): string | undefined {
  switch (kind) {
    case 'storage':
      return type === undefined || isIndexable(type) ? undefined : `of type ${type}`;
    case 'toMany':
      return 'a to-many relation';
    case 'computed':
      return 'computed';
    case 'alias':
      return 'an alias';
    case 'toOne':
    case undefined:
      return undefined;
  }
}
