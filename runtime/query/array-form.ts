import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Parameters } from './parameters.js';
import { projectionOf } from './projection-of.js';
import type { PageForm } from './read-page.js';
import type { ReadingContext } from './reading-context.js';
import { shapeName } from './selection-request.js';
import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import { FilterSlots } from '../filter/slots.js';
import { compileAnswer } from './computed-places.js';
import type { SelectionPlan } from './collection.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { markedPage, pageRows, type PageSource } from './page-rows.js';
import type { Projection, ProjectedField } from './projection.js';
import { mostRelated } from './related-count.js';
import { firstFilterSlot, ifBaseExists, queryContext } from './selection.js';
import { relatedKeyOf } from '../dataclass/comparable.js';
import { column, From, keyColumn, type Source } from '../dataclass/source.js';
import type {
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { fieldJson, isLong, relatedTo } from './entity-json.js';
import { keyNumber } from './value-json.js';
import { keyOrder } from './order-sql.js';
import { selectExtract } from './page.js';

/**
 * A page as a bare list of entities, for `$asArray=true`.
 * @param attributes the list in the path
 */
export function arrayForm(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  attributes: string | undefined,
): PageForm {
  const { database, options } = context;
  return {
    name: shapeName(['array', attributes, parameters.attributes, parameters.expand]),
    isUncounted: true,
    plan: (source) => {
      const projection = projectionOf(dataclass, attributes, parameters, context);
      return planArray(database.dialect, options, source, projection);
    },
  };
}

/**
 * Writes the statement that answers a page as a bare JSON list of entities (protocol P6.2); it
 * returns null if the entity whose relation is read does not exist.
 */
function planArray(
  dialect: Dialect,
  options: AnswerOptions,
  source: PageSource,
  projection: Projection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const rows = pageRows(context, source, filterSlots, (from, root) =>
    arrayEntity(context, from, root, projection),
  );
  const alias = context.aliases.next();
  const entities = dialect.joinRows(sql`${sql.id(alias, 'json')}`);
  const json = dialect.asBytes(dialect.concat(['[', entities, ']']));
  const answer = source.kind === 'keys' ? json : ifBaseExists(context, source.selection, json);
  return {
    statement: markedPage(
      compileAnswer(context, sql`select ${answer} from ${rows} as ${sql.id(alias)}`),
      source,
    ),
    filterSlots,
    mostRelated: mostRelated(projection, options.pageSize),
  };
}

/**
 * One entity in the form of `$asArray` (protocol P6.8): its key and stamp under `__KEY`; for a
 * relation that is not expanded the key, or the number of related entities.
 */
function arrayEntity(
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

/** A key as a value of its type. */
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
