import { sql } from 'kysely';
import { followAll, resolveAlias } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { relatedKeyOf, attributeValue } from '../dataclass/comparable.js';
import { column, From, keyColumn, type Source } from '../dataclass/source.js';
import type { JsonPart, Sql } from '../dialect/dialect.js';
import type {
  AttributeDefinition,
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  ComputedDefinition,
} from '../protocol/definition.js';
import { keyOrder } from './order-sql.js';
import { page, selectExtract } from './page.js';
import type { QueryContext } from './context.js';
import type { Projection } from './projection.js';
import { keyedUri, keyJson, valueJson } from './value-json.js';
import { computedMark, type ComputedPlace } from '../dialect/statement.js';

/** One entity as JSON, its fields in the order of protocol P3.10. */
export function entityJson(
  context: QueryContext,
  from: From,
  source: Source,
  projection: Projection,
  head: readonly JsonPart[] = [],
): readonly JsonPart[] {
  const { dataclass } = source;
  const parts: JsonPart[] = [
    '{',
    ...head,
    '"__KEY":',
    ...keyJson(context, dataclass.key, keyColumn(source)),
  ];
  if (projection.hasTimestamp) {
    parts.push(',"__TIMESTAMP":"', column(source, '__TIMESTAMP'), '"');
  }
  parts.push(',"__STAMP":', { integer: column(source, '__STAMP') });
  for (const field of projection.fields) {
    parts.push(`,${JSON.stringify(field.attribute.name)}:`);
    parts.push(...fieldJson(context, from, source, field.attribute, field.expanded));
  }
  parts.push('}');
  return parts;
}

/** One entity as a text. */
export function entityText(
  context: QueryContext,
  from: From,
  source: Source,
  projection: Projection,
  head: readonly JsonPart[] = [],
): Sql {
  const parts = entityJson(context, from, source, projection, head);
  return isLong(projection) ? context.dialect.concat(parts) : context.dialect.fill(parts);
}

/** Whether it contains pages of other entities. */
export function isLong({ fields }: Projection): boolean {
  return fields.some(
    ({ attribute, expanded }) =>
      expanded !== undefined && (attribute.kind === 'relatedEntities' || isLong(expanded)),
  );
}

/** One attribute of an entity; a relation is deferred unless it is expanded. */
export function fieldJson(
  context: QueryContext,
  from: From,
  source: Source,
  attribute: AttributeDefinition,
  expanded: Projection | undefined,
): readonly JsonPart[] {
  switch (attribute.kind) {
    case 'storage':
    case 'calculated':
      return valueJson(context, source, attribute, attributeValue(from, source, attribute));
    case 'computed':
      return computedJson(context, source, attribute);
    case 'alias': {
      const { relations, end } = resolveAlias(source.dataclass, attribute);
      const target = followAll(from, source, relations);
      const value = attributeValue(from, source, attribute);
      return valueOfJoined(target, valueJson(context, target, end, value), relations.length > 0);
    }
    case 'relatedEntity':
      return expanded === undefined
        ? deferredEntity(context, from, source, attribute)
        : [inlineEntity(context, from, source, attribute, expanded)];
    case 'relatedEntities':
      return expanded === undefined
        ? deferredEntities(context, from, source, attribute)
        : inlineEntities(context, from, source, attribute, expanded);
  }
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

function deferredEntity(
  context: QueryContext,
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
): readonly JsonPart[] {
  const target = source.dataclass.target(relation);
  const { source: holder, attribute, isJoined } = relatedKeyOf(from, source, relation);
  const key = isJoined ? column(holder, attribute.column) : attributeValue(from, source, relation);
  const deferred = [
    '{"__deferred":{"uri":"',
    ...keyedUri(context, target.name, target.key, key),
    '","__KEY":',
    ...keyJson(context, target.key, key),
    '}}',
  ];
  return relation.mandatory === true && !isJoined
    ? deferred
    : [{ isNull: sql`${key} is null`, parts: deferred }];
}

function inlineEntity(
  context: QueryContext,
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
  expanded: Projection,
): Sql {
  const target = from.follow(source, relation);
  const json = entityText(context, from, target, expanded);
  return context.dialect.choose(sql`${keyColumn(target)} is null`, sql`'null'`, json);
}

function relationUri(
  context: QueryContext,
  { dataclass }: Source,
  relation: RelatedEntitiesDefinition,
  ownerKey: Sql,
): readonly JsonPart[] {
  const name = encodeURIComponent(relation.name);
  const owner = keyedUri(context, dataclass.name, dataclass.key, ownerKey);
  return [...owner, `/${name}?$expand=${name}`];
}

function deferredEntities(
  context: QueryContext,
  from: From,
  source: Source,
  relation: RelatedEntitiesDefinition,
): readonly JsonPart[] {
  const uri = relationUri(context, source, relation, attributeValue(from, source, relation));
  return ['{"__deferred":{"uri":"', ...uri, '"}}'];
}

/**
 * The first page of the related entities and the number of all of them (protocol P3.21), as part of
 * the owner's row.
 */
function inlineEntities(
  context: QueryContext,
  ownerFrom: From,
  source: Source,
  relation: RelatedEntitiesDefinition,
  expanded: Projection,
): readonly JsonPart[] {
  const { dataclass } = source;
  const target = dataclass.target(relation);
  const from = new From(context.aliases, target);
  const ownerKey = attributeValue(ownerFrom, source, relation);
  const related = relatedTo(from.root, dataclass, relation, ownerKey);
  const counted = new From(context.aliases, target);
  const all = relatedTo(counted.root, dataclass, relation, ownerKey);
  const { json, from: pageFrom } = page(context, {
    head: [
      '{"__ENTITYSET":"',
      ...relationUri(context, source, relation, ownerKey),
      '","__GlobalStamp":',
      context.dialect.globalStamp,
      ',"__COUNT":',
      sql`(select count(*) ${counted.clause} where ${all})`,
      ',',
    ],
    rows: selectExtract(entityText(context, from, from.root, expanded), 'json', {
      from,
      where: related,
      order: keyOrder(context, from.root),
      top: sql.lit(context.options.pageSize),
    }),
    first: '0',
  });
  return [sql`(select ${json} ${pageFrom})`];
}

/** The condition that an entity of a to-many relation's target belongs to the owner with this key. */
export function relatedTo(
  target: Source,
  owner: Dataclass,
  relation: RelatedEntitiesDefinition,
  ownerKey: Sql,
): Sql {
  const foreignKey = target.dataclass.foreignKey(owner.inverse(relation));
  return sql`${column(target, foreignKey.column)} = ${ownerKey}`;
}

/**
 * Marks the place of a value until class code has computed it: which attribute, and of which
 * entity.
 */
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
