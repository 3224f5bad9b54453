import { booleanOf, child, itemsOf, textOf, type SourceNode } from '../source/tree.js';
import { eventNames, oldEventNames } from '../source/vocabulary.js';
import { dataclassFunctions } from './class-functions.js';
import { aggregateAttribute } from './aggregates.js';
import { auditOf } from './audit.js';
import { computedAttribute } from './computed.js';
import { collectionNameOf } from './dataclasses.js';
import { checkShared, madeAttribute, type ForeignKey } from './foreign-keys.js';
import { toManyRelation, toOneRelation, type ToOne } from './relations.js';
import { storageAttribute, isIndexable } from './storage.js';
import { renamedFromOf, renameHint, type Renamed } from './renames.js';
import { checkColumnCount, checkColumns, writtenColumns } from './tables.js';
import {
  describedBy,
  keyDraft,
  type AttributeDraft,
  type DataclassDraft,
  type World,
} from './world.js';
import type { Attribute, Dataclass } from '../model/model.js';
import type { Aliases } from './aliases.js';
import type { Context } from './context.js';
import type { Inverses } from './inverses.js';

/** What the attributes of all dataclasses need to know about each other. */
interface Links {
  readonly world: World;
  readonly inverses: Inverses;
  readonly aliases: Aliases;
}

/** A dataclass with all its parts; incorrect parts are left out, and the model is not used then. */
export function buildDataclass(
  context: Context,
  links: Links,
  dataclass: DataclassDraft,
): Dataclass {
  const { node, name } = dataclass;
  const toOnes = relationsOf(context, links, dataclass);
  const foreignKeys = new Map(
    [...toOnes].map(([draft, { foreignKey }]) => [draft.name, foreignKey]),
  );
  const made = [...foreignKeys.values()].filter((each) => each.made);
  const named = new Map(
    [...foreignKeys].map(([relation, foreignKey]) => [relation, foreignKey.name]),
  );
  checkColumns(context, [
    ...writtenColumns(context, dataclass),
    ...made.map((each) => ({ attribute: each, column: each.column, at: each.at })),
  ]);
  const built: Dataclass = {
    name,
    ...renamedFromOf(node),
    table: dataclass.table,
    exposed: dataclass.exposed,
    ...describedBy(node),
    collectionName: collectionNameOf(dataclass),
    key: keyDraft(dataclass)?.name ?? '',
    attributes: [...attributesOf(context, links, dataclass, toOnes), ...made.map(madeAttribute)],
    functions: dataclassFunctions(context, links.world, dataclass),
    events: eventsOf(context, links.world, dataclass),
    ...restrictOf(child(node, 'restrict')),
    ...(booleanOf(child(node, 'live')) === true ? { live: true } : {}),
    ...auditOf(context, dataclass, named),
    ...compositeIndexes(context, dataclass, named),
  };
  checkColumnCount(context, built, dataclass.key);
  return built;
}

function restrictOf(node: SourceNode | undefined): Pick<Dataclass, 'restrict' | 'restrictsWrites'> {
  const writes = booleanOf(child(node, 'writes')) === true;
  const restrict = node?.kind === 'mapping' || booleanOf(node) === true;
  return writes ? { restrict, restrictsWrites: true } : { restrict };
}

function eventsOf(
  { report }: Context,
  { root }: World,
  { node }: DataclassDraft,
): Dataclass['events'] {
  const items = itemsOf(child(node, 'events'));
  const names = new Set(items.map(textOf));
  if (textOf(child(child(root, 'protocol'), 'compatibility')) === undefined) {
    for (const item of items) {
      const event = textOf(item) ?? '';
      if (!oldEventNames.includes(event)) continue;
      const instead =
        event === 'init'
          ? 'To give new entities values, use default, or the event saving.'
          : 'Without it, $refresh=true runs no event.';
      report('dataclass/old-event', { event, instead }, item);
    }
  }
  return eventNames.filter((each) => names.has(each));
}

function relationsOf(
  context: Context,
  { world, inverses }: Links,
  dataclass: DataclassDraft,
): ReadonlyMap<AttributeDraft, ToOne> {
  const found = new Map<AttributeDraft, ToOne>();
  for (const draft of dataclass.attributes) {
    if (draft.kind !== 'toOne') continue;
    const relation = toOneRelation(context, world, dataclass, draft, inverses);
    if (relation !== undefined) found.set(draft, relation);
  }
  const uses = [...found].map(([{ name }, { foreignKey }]) => ({ name, foreignKey }));
  checkShared(context, dataclass.name, uses);
  return found;
}

function attributesOf(
  context: Context,
  { world, aliases }: Links,
  dataclass: DataclassDraft,
  toOnes: ReadonlyMap<AttributeDraft, ToOne>,
): readonly Attribute[] {
  const uses = new Map<string, ForeignKey>();
  for (const { foreignKey } of toOnes.values()) uses.set(foreignKey.name, foreignKey);
  return dataclass.attributes.flatMap((draft) => {
    const found = attributeOf(draft);
    if (found === undefined) return [];
    const { restName, name } = draft;
    return [restName === undefined || restName === name ? found : { ...found, restName }];
  });

  function attributeOf(draft: AttributeDraft): Attribute | undefined {
    switch (draft.kind) {
      case 'storage': {
        const use = uses.get(draft.name);
        const isMandatory = use?.isMandatory === true;
        return storageAttribute(context, draft, { isForeignKey: use !== undefined, isMandatory });
      }
      case 'toOne':
        return toOnes.get(draft)?.relation;
      case 'toMany':
        return toManyRelation(context, world, draft);
      case 'computed':
        return computedAttribute(context, draft);
      case 'alias':
        return aliases.attribute(dataclass, draft);
      case 'aggregate':
        return aggregateAttribute(context, { world, aliases }, dataclass, draft);
      case undefined:
        return undefined;
    }
  }
}

/** Indexes as lists of storage attributes; a to-one relation stands for its foreign key. */
function compositeIndexes(
  context: Context,
  dataclass: DataclassDraft,
  foreignKeys: ReadonlyMap<string, string>,
): Pick<Dataclass, 'indexes' | 'uniqueIndexes'> {
  const known = new Set<string>();
  const indexes: (readonly string[])[] = [];
  const uniqueIndexes: (readonly string[])[] = [];
  for (const item of itemsOf(child(dataclass.node, 'indexes'))) {
    const given = item.kind === 'list' ? item : child(item, 'attributes');
    const list = itemsOf(given);
    const names = indexedNames(context, dataclass, foreignKeys, list);
    const isUnique = booleanOf(child(item, 'unique')) === true;
    if (given?.kind === 'list' && list.length < 2 && names !== undefined) {
      const attribute = textOf(list[0]) ?? 'name';
      const line = `${attribute}: { …, ${isUnique ? 'unique' : 'indexed'}: true }`;
      context.report('index/too-few', { line }, given);
      continue;
    }
    if (names === undefined || names.length === 0) continue;
    const attributes = names.join(', ');
    if (known.has(attributes)) context.report('index/repeated', { attributes }, item);
    else (isUnique ? uniqueIndexes : indexes).push(names);
    known.add(attributes);
  }
  return { indexes, ...(uniqueIndexes.length === 0 ? {} : { uniqueIndexes }) };
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
    case 'aggregate':
      return 'an aggregate';
    case 'toOne':
    case undefined:
      return undefined;
  }
}
