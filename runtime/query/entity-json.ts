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
import { type Dataclass, isReadFromTarget } from '../dataclass/dataclasses.js';
import {
  column,
  foreignKeyColumn,
  From,
  keyColumn,
  linkedValue,
  type Source,
} from '../dataclass/source.js';
import type { JsonPart, Sql } from '../dialect/dialect.js';
import type {
  AttributeDefinition,
  ComputedDefinition,
  RelatedEntityDefinition,
  RelationAliasDefinition,
  StorageType,
} from '../protocol/definition.js';
import { type AnyRow, type Attributes, type Json, queryOf } from '../protocol/queries.js';
import { keyOrder } from './order-sql.js';
import type { QueryContext } from './context.js';
import type { Parameters } from './parameters.js';
import type { Projection } from './projection.js';
import { keyedUri, keyJson, valueJson } from './value-json.js';
import { computedMark, type ComputedPlace } from '../dialect/statement.js';

/** What differs between the forms of an entity: that of the protocol, and that of `$asArray`. */
export interface EntityForm {
  /**
   * The text before the attributes, from the opening brace on, without the comma after it.
   * @param head fields that come first
   */
  begin(
    context: QueryContext,
    source: Source,
    projection: Projection,
    head: readonly JsonPart[],
  ): readonly JsonPart[];
  /** The key of a to-one relation that is not expanded; nothing else is written if it is null. */
  relatedKey(context: QueryContext, target: Dataclass, key: Sql): readonly JsonPart[];
  /** A to-many relation that is not expanded. */
  relatedEntities(
    context: QueryContext,
    source: Source,
    relation: ToManyDefinition,
    ownerKey: Sql,
  ): readonly JsonPart[];
  /** The first page of an expanded to-many relation; `rows` returns each entity as the text column `json`. */
  page(
    context: QueryContext,
    source: Source,
    relation: ToManyDefinition,
    ownerKey: Sql,
    rows: Sql,
  ): readonly JsonPart[];
}

/** The form of the protocol: the fields of an entity in the order of protocol P3.10. */
export const protocolForm: EntityForm = {
  begin: (context, source, { hasTimestamp }, head) => [
    '{',
    ...head,
    '"__KEY":',
    ...keyJson(context, source.dataclass.key, keyColumn(source)),
    ...(hasTimestamp ? [',"__TIMESTAMP":"', column(source, '__TIMESTAMP'), '"'] : []),
    ',"__STAMP":',
    { integer: column(source, '__STAMP') },
  ],
  relatedKey: (context, target, key) => [
    '{"__deferred":{"uri":"',
    ...keyedUri(context, target.name, target.key, key),
    '","__KEY":',
    ...keyJson(context, target.key, key),
    '}}',
  ],
  relatedEntities: (context, source, relation, ownerKey) => [
    '{"__deferred":{"uri":"',
    ...relationUri(context, source, relation, ownerKey),
    '"}}',
  ],
  // With the number of all of them (protocol P3.21): a page that is not full has all.
  page: (context, source, relation, ownerKey, rows) => {
    const isAll = sql`count(*) < ${sql.lit(context.options.pageSize)}`;
    const all = relatedCount(context, source, relation, ownerKey);
    const head = [
      '{"__ENTITYSET":"',
      ...relationUri(context, source, relation, ownerKey),
      '","__GlobalStamp":',
      context.dialect.globalStamp,
      ',"__COUNT":',
      sql`case when ${isAll} then count(*) else ${all} end`,
      ',',
    ];
    return relatedPage(context, head, rows);
  },
};

/** The form of the protocol without the numbers of entities (protocol P3.24). */
const uncountedForm: EntityForm = {
  ...protocolForm,
  page: (context, source, relation, ownerKey, rows) => {
    const uri = relationUri(context, source, relation, ownerKey);
    const stamp = context.dialect.globalStamp;
    const head = ['{"__ENTITYSET":"', ...uri, '","__GlobalStamp":', stamp, ','];
    return relatedPage(context, head, rows);
  },
};

/** The form of the protocol for a request. */
export function requestedForm({ count }: Pick<Parameters, 'count'>): EntityForm {
  return count === false ? uncountedForm : protocolForm;
}

function relatedPage(
  context: QueryContext,
  head: readonly JsonPart[],
  rows: Sql,
): readonly JsonPart[] {
  const { json, from } = page(context, { head, rows, first: '0' });
  return [sql`(select ${json} ${from})`];
}

/**
 * One entity as a text.
 * @param attributes as they were emitted
 * @param head comes first
 */
export function entityText(
  context: QueryContext,
  from: From,
  source: Source,
  projection: Projection,
  form: EntityForm,
  attributes: Attributes<AnyRow> = source.dataclass.queries.attributes,
  head: readonly JsonPart[] = [],
): Sql {
  const parts = [...form.begin(context, source, projection, head)];
  for (const { attribute, expanded } of projection.fields) {
    parts.push(`,${JSON.stringify(attribute.name)}:`);
    if (expanded !== undefined && isRelation(attribute)) {
      parts.push(...expandedJson(context, from, source, attribute, expanded, form));
    } else {
      const json = queryOf(attributes, attribute.name);
      if (json === undefined) throw new Error(`No query has the attribute ${attribute.name}.`);
      parts.push(...json(rowOf(context, from, source, attribute, form)));
    }
  }
  parts.push('}');
  return isLong(projection) ? context.dialect.concat(parts) : context.dialect.fill(parts);
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
 */
function rowOf(
  context: QueryContext,
  from: From,
  source: Source,
  attribute: AttributeDefinition,
  form: EntityForm,
  isJoined = false,
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
        return unexpandedEntity(context, from, source, attribute, name, form);
      }
      const key = column(source, name);
      const parts = form.relatedKey(context, dataclass.target(attribute), key);
      return [{ isNull: sql`${key} is null`, parts }];
    },
    relatedEntities: (name) => {
      if (!leadsToMany(attribute)) throw misused(attribute);
      return form.relatedEntities(context, source, attribute, column(source, name));
    },
    computed: () => {
      if (attribute.kind !== 'computed') throw misused(attribute);
      return computedJson(context, source, attribute);
    },
    related: (...path) => {
      const target = followPath(from, source, path);
      return rowOf(context, from, target, attribute, form, true);
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

/** The entities to which a relation leads, instead of their address. */
function expandedJson(
  context: QueryContext,
  from: From,
  source: Source,
  relation: Relation | RelationAliasDefinition,
  expanded: Projection,
  form: EntityForm,
): Json {
  if (leadsToMany(relation)) {
    return expandedEntities(context, source, relation, keyColumn(source), expanded, form);
  }
  const relations = relationsOf(source.dataclass, relation) as readonly RelatedEntityDefinition[];
  const target = followAll(from, source, relations);
  const json = entityText(context, from, target, expanded, form);
  return [sql`case when ${keyColumn(target)} is null then 'null' else ${json} end`];
}

/** A value that is never null in its table is null if the path to it ends early. */
export function valueOfJoined(
  target: Source,
  value: readonly JsonPart[],
  isJoined: boolean,
): readonly JsonPart[] {
  if (!isJoined) return value;
  return [{ isNull: sql`${keyColumn(target)} is null`, parts: value }];
}

/** A relation to a hidden entity is null, so its key is read from that entity (`access.md#restrict`). */
function unexpandedEntity(
  context: QueryContext,
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
  foreignKey: string,
  form: EntityForm,
): Json {
  const { dataclass } = source;
  const isHidden = isReadFromTarget(dataclass, relation);
  const key = isHidden ? keyColumn(from.follow(source, relation)) : column(source, foreignKey);
  const parts = form.relatedKey(context, dataclass.target(relation), key);
  const isNever = relation.mandatory === true && !isHidden;
  return isNever ? parts : [{ isNull: sql`${key} is null`, parts }];
}

/** The first page of the related entities, as part of the owner's row. */
function expandedEntities(
  context: QueryContext,
  source: Source,
  relation: ToManyDefinition,
  ownerKey: Sql,
  expanded: Projection,
  form: EntityForm,
): readonly JsonPart[] {
  const { dataclass } = source;
  const from = new From(context.aliases, dataclass.target(relation));
  const rows = selectExtract(entityText(context, from, from.root, expanded, form), 'json', {
    from,
    where: relatedTo(context, from.root, dataclass, relation, ownerKey),
    order: keyOrder(context, from.root),
    top: sql.lit(context.options.pageSize),
  });
  return form.page(context, source, relation, ownerKey, rows);
}

/** `(select count(*) …)` of the entities to which a to-many relation leads. */
export function relatedCount(
  context: QueryContext,
  { dataclass }: Source,
  relation: ToManyDefinition,
  ownerKey: Sql,
): Sql {
  const from = new From(context.aliases, dataclass.target(relation));
  const related = relatedTo(context, from.root, dataclass, relation, ownerKey);
  return sql`(select count(*) ${from.clause} where ${related})`;
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
  form: ComputedPlace['form'] = 'json',
): readonly JsonPart[] {
  const number = context.computed.numberOf(source, attribute, form);
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

/** The entities of one answer, and its fields before them. */
export interface Page {
  /** JSON from the opening brace to the comma before `"__SENT"`. */
  readonly head: readonly JsonPart[];
  /** A subquery that returns each entity as the text column `json`, in order. */
  readonly rows: Sql;
  /** What `__FIRST` says. */
  readonly first: JsonPart;
}

/** A collection as JSON: the column to select, and its FROM clause. */
export function page(
  context: QueryContext,
  { head, rows, first }: Page,
): { readonly json: Sql; readonly from: Sql } {
  const { dialect } = context;
  const alias = context.aliases.next();
  const parts: readonly JsonPart[] = [
    ...head,
    '"__SENT":',
    sql`count(*)`,
    ',"__FIRST":',
    first,
    ',"__ENTITIES":[',
    dialect.joinRows(sql`${sql.id(alias, 'json')}`),
    ']}',
  ];
  return { json: dialect.concat(parts), from: sql`from ${rows} as ${sql.id(alias)}` };
}

/** A part of a table: its conditions, its order, and its limit. */
export interface Extract {
  readonly from: From;
  readonly where: Sql | undefined;
  readonly order: Sql;
  readonly top: Sql;
}

/** `(select <column> as <name>)` over a part of a table; written when every join of its FROM is known. */
function selectExtract(column: Sql, name: string, extract: Extract): Sql {
  const { from, where, order, top } = extract;
  const condition = where === undefined ? sql`` : sql` where ${where}`;
  return sql`(select ${column} as ${sql.id(name)} ${from.clause}${condition} order by ${order} limit ${top})`;
}
