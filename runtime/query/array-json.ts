import { sql } from 'kysely';
import { relatedKeyOf } from '../dataclass/related-key.js';
import { column, From, keyColumn, type Source } from '../dataclass/source.js';
import type { JsonPart, Sql } from '../dialect/dialect.js';
import type {
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import type { QueryContext } from './context.js';
import { fieldJson, isLong, relatedTo } from './entity-json.js';
import { keyNumber } from './value-json.js';
import { keyOrder } from './order-sql.js';
import { selectExtract } from './page.js';
import type { Projection, ProjectedField } from './projection.js';

/**
 * One entity as `$asArray` has it (protocol 13.3): its key and stamp under `__KEY`, and of a relation that is not expanded the
 * key, or the number of related entities.
 */
export function arrayEntity(
  context: QueryContext,
  from: From,
  source: Source,
  projection: Projection,
): Sql {
  const { fields } = projection;
  const { dialect } = context;
  const { key } = source.dataclass;
  const parts: JsonPart[] = [
    `{"__KEY":{${JSON.stringify(key.name)}:`,
    ...typedKey(context, key, keyColumn(source)),
    ',"__STAMP":',
    { integer: column(source, '__STAMP') },
    '}',
  ];
  for (const field of fields) {
    parts.push(`,${JSON.stringify(field.attribute.name)}:`);
    parts.push(...arrayField(context, from, source, field));
  }
  parts.push('}');
  return isLong(projection) ? dialect.concat(parts) : dialect.fill(parts);
}

function arrayField(
  context: QueryContext,
  from: From,
  source: Source,
  { attribute, expanded }: ProjectedField,
): readonly JsonPart[] {
  switch (attribute.kind) {
    case 'storage':
    case 'calculated':
    case 'computed':
    case 'alias':
      return fieldJson(context, from, source, attribute, undefined);
    case 'relatedEntity':
      return expanded === undefined
        ? relatedKey(context, from, source, attribute)
        : [relatedEntity(context, from, source, attribute, expanded)];
    case 'relatedEntities':
      return expanded === undefined
        ? ['{"__COUNT":', relatedCount(context, source, attribute), '}']
        : ['[', relatedEntities(context, source, attribute, expanded), ']'];
  }
}

/** A key with the type that it has. */
function typedKey(
  { dialect }: QueryContext,
  key: StorageDefinition,
  value: Sql,
): readonly JsonPart[] {
  if (key.type === 'string') return [dialect.jsonText(value)];
  // Nothing in a uuid would be escaped.
  return key.type === 'uuid' ? ['"', value, '"'] : [keyNumber(key, value)];
}

function relatedKey(
  context: QueryContext,
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
): readonly JsonPart[] {
  const { key } = source.dataclass.target(relation);
  const { source: holder, attribute, isJoined } = relatedKeyOf(from, source, relation);
  const value = column(holder, attribute.column);
  const parts = [`{"__KEY":{${JSON.stringify(key.name)}:`, ...typedKey(context, key, value), '}}'];
  return relation.mandatory === true && !isJoined
    ? parts
    : [{ isNull: sql`${value} is null`, parts }];
}

function relatedEntity(
  context: QueryContext,
  from: From,
  source: Source,
  relation: RelatedEntityDefinition,
  expanded: Projection,
): Sql {
  const target = from.follow(source, relation);
  const json = arrayEntity(context, from, target, expanded);
  return context.dialect.choose(sql`${keyColumn(target)} is null`, sql`'null'`, json);
}

function relatedCount(
  context: QueryContext,
  source: Source,
  relation: RelatedEntitiesDefinition,
): Sql {
  const { dataclass } = source;
  const from = new From(context.aliases, dataclass.target(relation));
  const related = relatedTo(from.root, dataclass, relation, keyColumn(source));
  return sql`(select count(*) ${from.clause} where ${related})`;
}

/** The first page of the related entities, separated by commas. */
function relatedEntities(
  context: QueryContext,
  source: Source,
  relation: RelatedEntitiesDefinition,
  expanded: Projection,
): Sql {
  const { dataclass } = source;
  const from = new From(context.aliases, dataclass.target(relation));
  const rows = selectExtract(arrayEntity(context, from, from.root, expanded), 'json', {
    from,
    where: relatedTo(from.root, dataclass, relation, keyColumn(source)),
    order: keyOrder(context, from.root),
    top: sql.lit(context.options.pageSize),
  });
  const alias = context.aliases.next();
  const list = context.dialect.joinRows(sql`${sql.id(alias, 'json')}`);
  return sql`(select ${list} from ${rows} as ${sql.id(alias)})`;
}
