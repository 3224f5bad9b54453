import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Parameters } from './parameters.js';
import type { PageForm } from './read-page.js';
import type { ReadingContext } from './reading-context.js';
import { shapeName } from './selection-request.js';
import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { pagePlan, pageRows, type PageSource } from './page-rows.js';
import { type Projection, mostRelated, projectionOf } from './projection.js';
import { ifBaseExists, queryContext, type SelectionPlan } from './selection.js';
import { column, keyColumn } from '../dataclass/source.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { type EntityForm, entityText, relatedCount } from './entity-json.js';
import { keyNumber } from './value-json.js';

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
  const rows = pageRows(context, source, (from, root) =>
    entityText(context, from, root, projection, arrayEntityForm),
  );
  const alias = context.aliases.next();
  const entities = dialect.joinRows(sql`${sql.id(alias, 'json')}`);
  const json = dialect.asBytes(dialect.concat(['[', entities, ']']));
  const answer = source.kind === 'keys' ? json : ifBaseExists(context, source.selection, json);
  const query = sql`select ${answer} from ${rows} as ${sql.id(alias)}`;
  return pagePlan(context, query, source, mostRelated(projection, options.pageSize));
}

/**
 * The form of `$asArray` (protocol P6.8): the key and the stamp under `__KEY`; for a relation that
 * is not expanded the key, or the number of related entities.
 */
const arrayEntityForm: EntityForm = {
  begin: (context, source) => {
    const { key } = source.dataclass;
    return [
      `{"__KEY":{${JSON.stringify(key.name)}:`,
      ...typedKey(context, key, keyColumn(source)),
      ',"__STAMP":',
      { integer: column(source, '__STAMP') },
      '}',
    ];
  },
  relatedKey: (context, { key }, value) => [
    `{"__KEY":{${JSON.stringify(key.name)}:`,
    ...typedKey(context, key, value),
    '}}',
  ],
  relatedEntities: (context, source, relation, ownerKey) => [
    '{"__COUNT":',
    relatedCount(context, source, relation, ownerKey),
    '}',
  ],
  page: (context, _source, _relation, _ownerKey, rows) => {
    const alias = context.aliases.next();
    const list = context.dialect.joinRows(sql`${sql.id(alias, 'json')}`);
    return ['[', sql`(select ${list} from ${rows} as ${sql.id(alias)})`, ']'];
  },
};

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
