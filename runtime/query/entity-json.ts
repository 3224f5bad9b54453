import { sql } from 'kysely';
import {
  type ColumnDefinition,
  followAll,
  isRelation,
  leadsToMany,
  reached,
  type Relation,
  relationsOf,
  type ToManyDefinition,
} from '../dataclass/attribute-path.js';
import { type Dataclass, isReadFromTarget, type Source } from '../dataclass/dataclasses.js';
import {
  column,
  foreignKeyColumn,
  From,
  keyColumn,
  linkedColumn,
  linkedValue,
} from '../dataclass/source.js';
import { type ShownAggregates, shownAggregates } from '../dataclass/comparable.js';
import { subquery } from '../dialect/compile.js';
import type { JsonMember, JsonPart, ObjectJson, Sql } from '../dialect/dialect.js';
import type {
  AttributeDefinition,
  ComputedDefinition,
  RelatedEntityDefinition,
  RelationAliasDefinition,
} from '../protocol/definition.js';
import type { FilterContext } from '../filter/context.js';
import { preparedCondition } from '../filter/to-sql.js';
import type { StorageType } from '../protocol/storage-type.js';
import { type AnyRow, type Attributes, type Json, queryOf } from '../protocol/queries.js';
import { atRelation } from './attribute-list.js';
import type { ExpandedQuery } from './expansions.js';
import { parseOrderBy } from './order-by.js';
import { keyOrder, orderSql } from './order-sql.js';
import type { QueryContext } from './context.js';
import type { Parameters } from './parameters.js';
import type { Projection } from './projection.js';
import { aggregateJson, keyedUri, keyJson, quotedJson, valueJson } from './value-json.js';
import { computedMark, type ComputedPlace } from '../dialect/statement.js';

/** What differs between the formats of an entity: that of the protocol, and that of `$asArray`. */
export interface EntityFormat {
  /** The members before the attributes. */
  begin(context: QueryContext, source: Source, projection: Projection): readonly JsonMember[];
  /** The key of a to-one relation that is not expanded; nothing else is written if it is null. */
  relatedKey(context: QueryContext, target: Dataclass, key: Sql): Json;
  /** A to-many relation that is not expanded. */
  relatedEntities(
    context: QueryContext,
    source: Source,
    relation: ToManyDefinition,
    ownerKey: Sql,
  ): Json;
  /** A page of an expanded to-many relation. */
  page(
    context: QueryContext,
    source: Source,
    relation: ToManyDefinition,
    ownerKey: Sql,
    page: RelatedPage,
  ): Json;
}

/** The entities of an expanded to-many relation. */
export interface RelatedPage {
  /** Returns each entity as the column `json`. */
  readonly rows: Sql;
  readonly top: number;
  readonly query: ExpandedQuery | undefined;
}

/** The format of the protocol: the fields of an entity in the order of protocol P3.10. */
export const protocolFormat: EntityFormat = {
  begin: (context, source, { hasTimestamp }) => {
    const timestamp = { name: '__TIMESTAMP', json: [quotedJson(column(source, '__TIMESTAMP'))] };
    return [
      { name: '__KEY', json: keyJson(context, source.dataclass.key, keyColumn(source)) },
      ...(hasTimestamp ? [timestamp] : []),
      { name: '__STAMP', json: [{ integer: column(source, '__STAMP') }] },
    ];
  },
  relatedKey: (context, target, key) => {
    const uri = keyedUri(context, target.name, target.key, key);
    const json = keyJson(context, target.key, key);
    return [{ short: ['{"__deferred":{"uri":"', ...uri, '","__KEY":', ...json, '}}'] }];
  },
  relatedEntities: (context, source, relation, ownerKey) => {
    const uri = relationUri(context, source, relation, ownerKey);
    return [{ short: ['{"__deferred":{"uri":"', ...uri, '"}}'] }];
  },
  // With the number of all of them (protocol P3.21): a page that is not full has all.
  page: (context, source, relation, ownerKey, { rows, top, query }) => {
    const all = relatedCount(context, source, relation, ownerKey, query);
    const isAll = sql`count(*) < ${sql.lit(top)}`;
    const count =
      query?.skip === undefined ? sql`case when ${isAll} then count(*) else ${all} end` : all;
    const head = [
      '{"__ENTITYSET":"',
      ...relationUri(context, source, relation, ownerKey),
      '","__GlobalStamp":',
      context.dialect.globalStamp,
      ',"__COUNT":',
      count,
      ',',
    ];
    return relatedPage(context, head, rows, query);
  },
};

/** The format of the protocol without the numbers of entities (protocol P3.24). */
const uncountedFormat: EntityFormat = {
  ...protocolFormat,
  page: (context, source, relation, ownerKey, { rows, query }) => {
    const uri = relationUri(context, source, relation, ownerKey);
    const stamp = context.dialect.globalStamp;
    const head = ['{"__ENTITYSET":"', ...uri, '","__GlobalStamp":', stamp, ','];
    return relatedPage(context, head, rows, query);
  },
};

/** The format of the protocol for a request. */
export function requestedFormat({ count }: Pick<Parameters, 'count'>): EntityFormat {
  return count === false ? uncountedFormat : protocolFormat;
}

function relatedPage(
  context: QueryContext,
  head: readonly JsonPart[],
  rows: Sql,
  query: ExpandedQuery | undefined,
): readonly JsonPart[] {
  const skip = skipOf(context, query);
  const first = skip === undefined ? '0' : context.dialect.integer(skip);
  const { json, from } = page(context, { head, rows, first });
  return [sql`(select ${json} ${from})`];
}

/**
 * One entity.
 * @param attributes as they were emitted
 * @param head comes first
 */
export function entityJson(
  context: QueryContext,
  from: From,
  source: Source,
  projection: Projection,
  format: EntityFormat,
  attributes: Attributes<AnyRow> = source.dataclass.queries.attributes,
  head: readonly JsonMember[] = [],
): ObjectJson {
  const members = [...head, ...format.begin(context, source, projection)];
  const aggregates = aggregatesOf(context, source, projection);
  for (const { attribute, expanded, query } of projection.fields) {
    const { name } = attribute;
    if (expanded !== undefined && isRelation(attribute)) {
      const json = expandedJson(context, source, attribute, { expanded, query }, format);
      members.push({ name, json });
    } else {
      const json = queryOf(attributes, name);
      if (json === undefined) throw new Error(`No query has the attribute ${name}.`);
      const shown = attribute.kind === 'aggregate' ? aggregates?.values.get(attribute) : undefined;
      const row = rowOf(context, from, source, attribute, format, false, shown);
      members.push({ name, json: json(row) });
    }
  }
  const object = { members, isLong: isLong(projection) };
  return aggregates === undefined ? object : { ...object, from: aggregates.from };
}

/** The aggregates of a projection, over which the object is written; none if it has none. */
function aggregatesOf(
  { dialect }: QueryContext,
  source: Source,
  { fields }: Projection,
): ShownAggregates | undefined {
  const wanted = fields.flatMap(({ attribute }) =>
    attribute.kind === 'aggregate' ? [attribute] : [],
  );
  return wanted.length === 0 ? undefined : shownAggregates(dialect, source, wanted);
}

/** Whether it contains pages of other entities. */
function isLong({ fields }: Projection): boolean {
  return fields.some(
    ({ attribute, expanded }) =>
      expanded !== undefined && (leadsToMany(attribute) || isLong(expanded)),
  );
}

/**
 * A row as an emitted attribute sees it.
 * @param isJoined whether it may be missing, because its table is joined
 * @param shown the value of an aggregate
 */
function rowOf(
  context: QueryContext,
  from: From,
  source: Source,
  attribute: AttributeDefinition,
  format: EntityFormat,
  isJoined = false,
  shown?: Sql,
): AnyRow {
  const { dataclass } = source;
  const json =
    (type: StorageType) =>
    (name: string): Json => {
      const value = valueJson(context, source, { ...columnOf(dataclass, name), type });
      return valueOfJoined(source, value, isJoined);
    };
  return {
    string: json('string'),
    uuid: json('uuid'),
    number: json('number'),
    integer: json('integer'),
    decimal: json('decimal'),
    boolean: json('boolean'),
    date: json('date'),
    duration: json('duration'),
    object: json('object'),
    image: json('image'),
    blob: json('blob'),
    vector: json('vector'),
    relatedEntity: (name) => {
      if (!isRelation(attribute)) throw misused(attribute);
      if (!isJoined && attribute.kind === 'relatedEntity') {
        return unexpandedEntity(context, source, attribute, name, format);
      }
      const key = column(source, name);
      const parts = format.relatedKey(context, dataclass.target(attribute), key);
      return [{ isNull: sql`${key} is null`, parts }];
    },
    relatedEntities: (name) => {
      if (!leadsToMany(attribute)) throw misused(attribute);
      return format.relatedEntities(context, source, attribute, column(source, name));
    },
    aggregate: (name) => {
      const found = dataclass.allAttributes.get(name);
      if (found?.kind !== 'aggregate') throw misused(attribute);
      return shown === undefined
        ? valueJson(context, source, found)
        : [aggregateJson(context, found, shown)];
    },
    computed: () => {
      if (attribute.kind !== 'computed') throw misused(attribute);
      return computedJson(context, source, attribute);
    },
    related: (...path) => {
      const target = followPath(from, source, path);
      return rowOf(context, from, target, attribute, format, true);
    },
  };
}

function misused({ name, kind }: AttributeDefinition): Error {
  return new Error(`The emitted query of the attribute ${name} is none of its kind, ${kind}.`);
}

function columnOf({ name, attributes }: Dataclass, wanted: string): ColumnDefinition {
  const found = attributes.find(
    (each): each is ColumnDefinition => 'column' in each && each.column === wanted,
  );
  if (found === undefined) throw new Error(`No attribute of ${name} has the column ${wanted}.`);
  return found;
}

function followPath(from: From, source: Source, path: readonly string[]): Source {
  return path.reduce((at, name) => {
    const relation = at.dataclass.allAttributes.get(name);
    if (relation?.kind !== 'relatedEntity') throw new Error(`${name} is no to-one relation.`);
    return from.follow(at, relation);
  }, source);
}

/** What is shown of the entities to which a relation leads. */
interface Expansion {
  readonly expanded: Projection;
  readonly query: ExpandedQuery | undefined;
}

/** The entities to which a relation leads, instead of their address. */
function expandedJson(
  context: QueryContext,
  source: Source,
  relation: Relation | RelationAliasDefinition,
  expansion: Expansion,
  format: EntityFormat,
): Json {
  const { expanded } = expansion;
  if (leadsToMany(relation)) {
    return expandedEntities(context, source, relation, keyColumn(source), expansion, format);
  }
  const [first, ...others] = relationsOf(source.dataclass, relation);
  if (first?.kind !== 'relatedEntity') throw misused(relation);
  // Not a join: the relation is followed for the rows of the answer only, whatever the database expects of a limit.
  const from = new From(context.aliases, source.dataclass.target(first));
  const target = followAll(from, from.root, others as readonly RelatedEntityDefinition[]);
  const json = valueOfJoined(
    target,
    [entityJson(context, from, target, expanded, format)],
    others.length > 0,
  );
  return [relatedRow(from, source, first, json)];
}

/** The JSON of the entity to which a to-one relation leads: the root of `from`. */
function relatedRow(
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
  json: Json,
): JsonPart {
  const isRelated = sql`${linkedColumn(from.root, relation)} = ${foreignKeyColumn(source, relation)}`;
  return { from: sql`${from.clause} where ${isRelated}`, json };
}

/** A value that is never null in its table is null if the path to it ends early. */
export function valueOfJoined(target: Source, value: Json, isJoined: boolean): Json {
  if (!isJoined) return value;
  return [{ isNull: sql`${keyColumn(target)} is null`, parts: value }];
}

/** A relation to a hidden entity is null, so its key is read from that entity (`access.md#restrict`). */
function unexpandedEntity(
  context: QueryContext,
  source: Source,
  relation: RelatedEntityDefinition,
  foreignKey: string,
  format: EntityFormat,
): Json {
  const { dataclass } = source;
  const target = dataclass.target(relation);
  if (isReadFromTarget(dataclass, relation)) {
    const from = new From(context.aliases, target);
    const json = format.relatedKey(context, target, keyColumn(from.root));
    return [relatedRow(from, source, relation, json)];
  }
  const key = column(source, foreignKey);
  const parts = format.relatedKey(context, target, key);
  return relation.mandatory === true ? parts : [{ isNull: sql`${key} is null`, parts }];
}

/** A page of the related entities, as part of the owner's row. */
function expandedEntities(
  context: QueryContext,
  source: Source,
  relation: ToManyDefinition,
  ownerKey: Sql,
  { expanded, query }: Expansion,
  format: EntityFormat,
): readonly JsonPart[] {
  const { dialect, options, aliases } = context;
  const top = query?.top ?? options.pageSize;
  const skip = skipOf(context, query);
  const offset = skip === undefined ? sql`` : sql` offset ${skip}`;
  const chosen = new From(aliases, source.dataclass.target(relation));
  const counting = { ...context, followedByAll: context.followedByExpansions };
  const condition = relatedCondition(counting, chosen, source, relation, ownerKey, query);
  const order = relatedOrder(context, chosen, query);
  const pageOf = (columns: Sql): Sql =>
    sql`select ${columns} ${chosen.clause} where ${condition} order by ${order ?? keyOrder(context, chosen.root)} limit ${sql.lit(top)}${offset}`;
  // Sorting moves only keys.
  const from =
    order === undefined
      ? chosen
      : new From(aliases, chosen.root.dataclass, {
          rows: sql`(${pageOf(sql`${keyColumn(chosen.root)} as "key"`)})`,
          dialect,
        });
  const json = entityJson(context, from, from.root, expanded, format);
  const rows = (columns: Sql): Sql =>
    from === chosen ? pageOf(columns) : sql`select ${columns} ${from.clause}${from.order}`;
  const page = { rows: subquery(dialect.objects(json, rows, 'json')), top, query };
  return format.page(context, source, relation, ownerKey, page);
}

/** The order that an expansion names; none for that of the keys. @throws RequestError 400 with 1810 */
function relatedOrder(
  context: QueryContext,
  from: From,
  query: ExpandedQuery | undefined,
): Sql | undefined {
  if (query?.orderBy === undefined) return undefined;
  const { text, origin } = query.orderBy;
  return atRelation(query.place, () =>
    orderSql(context, from, parseOrderBy(text, origin, from.root.dataclass.longNames())),
  );
}

/** The condition that an entity belongs to the owner, and matches the filter of the expansion. */
function relatedCondition(
  context: QueryContext & Pick<FilterContext, 'followedByAll'>,
  from: From,
  { dataclass }: Source,
  relation: ToManyDefinition,
  ownerKey: Sql,
  query: ExpandedQuery | undefined,
): Sql {
  const related = relatedTo(context, from.root, dataclass, relation, ownerKey);
  if (query?.filter === undefined) return related;
  const { filter, first, place } = query;
  const { expanded } = context;
  const slots: FilterContext['slots'] = {
    take: (input, purpose, convert) =>
      context.slots.take(input, purpose, (given) => atRelation(place, () => convert(given))),
  };
  const matches = atRelation(place, () =>
    preparedCondition({ ...context, slots }, from, filter, expanded, expanded.first + first),
  );
  return sql`${related} and ${matches}`;
}

/** How many of the related entities are skipped. */
function skipOf(
  { expanded, slots }: QueryContext,
  query: ExpandedQuery | undefined,
): Sql | undefined {
  if (query?.skip === undefined) return undefined;
  const slot = slots.take(expanded.first + query.skip, 'skip', ({ value }) => Number(value));
  return sql`${slot}`;
}

/** `(select count(*) …)` of the entities to which a to-many relation leads, and which match the filter of `query`. */
export function relatedCount(
  context: QueryContext,
  source: Source,
  relation: ToManyDefinition,
  ownerKey: Sql,
  query?: ExpandedQuery,
): Sql {
  const from = new From(context.aliases, source.dataclass.target(relation));
  const condition = relatedCondition(context, from, source, relation, ownerKey, query);
  return sql`(select count(*) ${from.clause} where ${condition})`;
}

/** The condition that an entity of a to-many relation's target belongs to the owner with this key. */
export function relatedTo(
  { aliases }: Pick<QueryContext, 'aliases'>,
  target: Source,
  owner: Dataclass,
  relation: ToManyDefinition,
  ownerKey: Sql,
): Sql {
  if (relation.kind === 'relationAlias') {
    const from = new From(aliases, owner);
    const condition = sql`${keyColumn(from.root)} = ${ownerKey}`;
    const way = relationsOf(owner, relation);
    const end = reached(aliases, { from, source: from.root, condition }, way);
    const where = end.condition === undefined ? sql`` : sql` where ${end.condition}`;
    return sql`${keyColumn(target)} in (select ${keyColumn(end.source)} ${end.from.clause}${where})`;
  }
  const inverse = owner.inverse(relation);
  return sql`${foreignKeyColumn(target, inverse)} = ${linkedValue(aliases, owner, inverse, ownerKey)}`;
}

/** Marks the place of a value until class code has computed it. */
export function computedJson(
  context: QueryContext,
  source: Source,
  attribute: ComputedDefinition,
  format: ComputedPlace['format'] = 'json',
): readonly JsonPart[] {
  const number = context.computed.numberOf(source, attribute, format);
  return [
    `${computedMark}${number},`,
    column(source, '__STAMP'),
    ',',
    ...keyJson(context, source.dataclass.key, keyColumn(source)),
    computedMark,
  ];
}

function relationUri(
  context: QueryContext,
  { dataclass }: Source,
  relation: ToManyDefinition,
  ownerKey: Sql,
): readonly JsonPart[] {
  const name = encodeURIComponent(relation.name);
  const owner = keyedUri(context, dataclass.name, dataclass.key, ownerKey);
  return [...owner, `/${name}?$expand=${name}`];
}

/** The entities of one answer, or its groups, and its fields before them. */
interface Page {
  /** JSON from the opening brace to the comma before `"__SENT"`. */
  readonly head: readonly JsonPart[];
  /** A subquery that returns each entity as the column `json`, in order. */
  readonly rows: Sql;
  /** What `__FIRST` says; left out if nobody knows. */
  readonly first: JsonPart | undefined;
  /** The member with the rows. */
  readonly list?: '__ENTITIES' | '__GROUPS';
}

/** A collection as JSON: the column to select, and its FROM clause. */
export function page(
  context: QueryContext,
  { head, rows, first, list = '__ENTITIES' }: Page,
): { readonly json: Sql; readonly from: Sql } {
  const { dialect } = context;
  const alias = context.aliases.next();
  const parts: readonly JsonPart[] = [
    ...head,
    '"__SENT":',
    sql`count(*)`,
    ...(first === undefined ? [] : [',"__FIRST":', first]),
    `,"${list}":[`,
    dialect.joinRows(sql`${sql.id(alias, 'json')}`),
    ']}',
  ];
  return { json: dialect.concat(parts), from: sql`from ${rows} as ${sql.id(alias)}` };
}
