import type {
  Attribute,
  Dataclass,
  JsonValue,
  RelatedEntitiesAttribute,
  RelatedEntityAttribute,
  RelationAliasAttribute,
  StorageType,
} from '../../../generator/model/model.js';
import { compareValues } from './comparison.js';
import type { Filter } from './filter.js';
import { matches, typeOf } from './matches.js';
import { compareProperties } from './property-order.js';
import type { Entity, Store, Way } from './store.js';

/** A request for one dataclass, or for one entity's relation. */
export interface Query {
  readonly filter?: Filter | undefined;
  readonly orderby?: readonly OrderItem[] | undefined;
  /** `order by` inside the filter; `orderby` goes before it (filters F9). */
  readonly filterOrder?: readonly OrderItem[] | undefined;
  readonly skip?: number | undefined;
  readonly top?: number | undefined;
}

export interface OrderItem {
  readonly path: readonly string[];
  readonly isDescending: boolean;
}

/** Lists of a request: `$attributes`, `$expand`, and names in the path. */
export interface Lists {
  readonly attributes?: readonly Path[] | undefined;
  readonly expand?: readonly Path[] | undefined;
  readonly inPath?: readonly string[] | undefined;
}

/** Names, and perhaps `*` as the last. */
export type Path = readonly string[];

type Json = Readonly<Record<string, unknown>>;

/** `/rest/Company(7)` as tests compare it: the server decides how a key is encoded in it. */
export function address(entity: Entity, relation?: string): string {
  const name = relation === undefined ? '' : `/${relation}?$expand=${relation}`;
  return `${entity.dataclass.name} ${String(entity.key)}${name}`;
}

/** The entities of a dataclass or of a relation that a query asks for, in its order, before paging. */
export function selection(
  store: Store,
  entities: readonly Entity[],
  { filter, orderby, filterOrder }: Query,
): readonly Entity[] {
  const kept =
    filter === undefined ? entities : entities.filter((each) => matches(store, each, filter));
  const [first] = kept;
  if (first === undefined) return [];
  const order = orderby ?? (filter === undefined ? [] : (filterOrder ?? []));
  const items = order.map(({ path, isDescending }) => {
    const names = path.map((name) => ({ name }));
    return { way: store.way(first.dataclass, names), isDescending };
  });
  const ranked = kept.map((entity) => ({
    entity,
    values: items.map(({ way }) => store.valueAt(entity, way)),
  }));
  ranked.sort((a, b) => {
    for (const [index, { way, isDescending }] of items.entries()) {
      const order = compareAt(store, way, a.values[index] ?? null, b.values[index] ?? null);
      if (order !== 0) return isDescending ? -order : order;
    }
    return store.compareKeys(a.entity, b.entity);
  });
  return ranked.map(({ entity }) => entity);
}

/** The order of two values at the end of a path. */
export function compareAt(store: Store, way: Way, a: JsonValue, b: JsonValue): number {
  const { type } = typeOf(store, way.end);
  return type === 'object'
    ? compareProperties(a, b, store.fold)
    : compareValues(a, b, type, store.fold);
}

/** The answer to a collection read (protocol P3.9). */
export function collectionAnswer(
  store: Store,
  dataclass: Dataclass,
  entities: readonly Entity[],
  query: Query & Lists,
): Json {
  const selected = selection(store, entities, query);
  const skip = query.skip ?? 0;
  const sent = selected.slice(skip, skip + (query.top ?? store.model.limits.pageSize));
  return {
    __entityModel: dataclass.name,
    __GlobalStamp: store.count,
    __COUNT: selected.length,
    __SENT: sent.length,
    __FIRST: skip,
    __ENTITIES: sent.map((each) => entityAnswer(store, each, query)),
  };
}

/** One entity with the attributes that lists choose (protocol P3.8, P3.10). */
export function entityAnswer(store: Store, entity: Entity, lists: Lists): Json {
  const { attributes, expand = [], inPath } = lists;
  const paths: Path[] = [...(attributes ?? inPath?.map((each) => [each]) ?? [['*']])];
  for (const path of expand) {
    for (let length = 1; length <= path.length; length += 1) {
      paths.push([...path.slice(0, length), '*']);
    }
  }
  const { __TIMESTAMP, ...rest } = listed(store, entity, paths);
  const isInPath = attributes === undefined && inPath !== undefined;
  return isInPath ? rest : { __TIMESTAMP, ...rest };
}

function listed(store: Store, entity: Entity, paths: readonly Path[]): Record<string, unknown> {
  const json: Record<string, unknown> = {
    __KEY: String(entity.key),
    __TIMESTAMP: entity.timestamp,
    __STAMP: 1,
  };
  const isAll = paths.some((path) => path.length === 1 && path[0] === '*');
  for (const attribute of entity.dataclass.attributes) {
    const named = paths.filter(([first]) => first === attribute.name);
    if (!attribute.exposed || (!isAll && named.length === 0)) continue;
    const beyond = named.map((path) => path.slice(1)).filter((path) => path.length > 0);
    json[attribute.name] = attributeJson(store, entity, attribute, beyond);
  }
  return json;
}

function attributeJson(
  store: Store,
  entity: Entity,
  attribute: Attribute,
  beyond: readonly Path[],
): unknown {
  switch (attribute.kind) {
    case 'relationAlias':
      return attribute.many
        ? manyJson(store, entity, attribute, beyond)
        : oneJson(store, entity, attribute, beyond);
    case 'relatedEntity':
      return oneJson(store, entity, attribute, beyond);
    case 'relatedEntities':
      return manyJson(store, entity, attribute, beyond);
    case 'storage':
    case 'computed':
    case 'alias':
    case 'aggregate':
      return sent(store, attribute, store.value(entity, attribute));
  }
}

function oneJson(
  store: Store,
  entity: Entity,
  attribute: RelatedEntityAttribute | RelationAliasAttribute,
  beyond: readonly Path[],
): unknown {
  const related = store.one(entity, attribute);
  if (related === undefined) return null;
  if (beyond.length > 0) return listed(store, related, beyond);
  return { __deferred: { uri: address(related), __KEY: String(related.key) } };
}

function manyJson(
  store: Store,
  entity: Entity,
  attribute: RelatedEntitiesAttribute | RelationAliasAttribute,
  beyond: readonly Path[],
): unknown {
  const uri = address(entity, attribute.name);
  return beyond.length === 0
    ? { __deferred: { uri } }
    : inlineCollection(store, entity, attribute, beyond);
}

function inlineCollection(
  store: Store,
  entity: Entity,
  relation: RelatedEntitiesAttribute | RelationAliasAttribute,
  beyond: readonly Path[],
): Json {
  const related = store.many(entity, relation);
  const page = related.slice(0, store.model.limits.pageSize);
  return {
    __ENTITYSET: address(entity, relation.name),
    __GlobalStamp: store.count,
    __COUNT: related.length,
    __SENT: page.length,
    __FIRST: 0,
    __ENTITIES: page.map((each) => listed(store, each, beyond)),
  };
}

/** Protocol P4.5: a model may choose days as `d!m!yyyy`. */
export function sent(
  store: Store,
  attribute: { readonly type: StorageType; readonly dateOnly: boolean },
  value: JsonValue,
): JsonValue {
  if (attribute.type !== 'date' || !attribute.dateOnly || typeof value !== 'string') return value;
  if (store.model.protocol.dateOnlyFormat !== 'bang') return value;
  const [year, month, day] = value.split('-') as [string, string, string];
  return `${String(Number(day))}!${String(Number(month))}!${year}`;
}
