import { sql } from 'kysely';
import { type ColumnDefinition, followAll } from '../dataclass/attribute-path.js';
import { column, type From, type Source } from '../dataclass/source.js';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import type { ComputedDefinition, StorageType } from '../protocol/definition.js';
import type { AnswerOptions, QueryContext } from '../query/context.js';
import { valueOfJoined, computedJson } from '../query/entity-json.js';
import { pagePlan, pageRows, type PageSource } from '../query/page-rows.js';
import { queryContext, type SelectionPlan, skipSlot } from '../query/selection.js';
import { valueJson } from '../query/value-json.js';
import { type ReportColumn, reportColumns } from './columns.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { refuse } from '../protocol/errors.js';
import type { Parameters } from '../query/parameters.js';
import type { PageForm } from '../query/read-page.js';
import type { ReadingContext } from '../query/reading-context.js';
import { shapeName } from '../query/selection-request.js';
import { countingOf } from '../query/collection.js';

/** Writes the statement that answers a page as a report (protocol P6.1). */
export function planReport(
  dialect: Dialect,
  options: AnswerOptions,
  source: PageSource,
  columns: readonly ReportColumn[],
  filtersApplied: boolean,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const rows = pageRows(
    context,
    source,
    (from, root) => row(context, from, root, columns),
    `{"values":[${columns.map(() => 'null').join()}]}`,
  );
  const { prefix, count, columns: more } = countingOf(context, source);
  const alias = context.aliases.next();
  const json = dialect.concat([
    '{"__COUNT":',
    count,
    ',"__FIRST":',
    dialect.integer(sql`${skipSlot}`),
    `,"schema":${JSON.stringify(reportSchema(columns))},"rows":[`,
    dialect.joinRows(sql`${sql.id(alias, 'json')}`),
    `],"filtersApplied":${String(filtersApplied)}}`,
  ]);
  const query = sql`${prefix}select ${dialect.asBytes(json)}${more} from ${rows} as ${sql.id(alias)}`;
  return pagePlan(context, query, source);
}

function row(
  context: QueryContext,
  from: From,
  root: Source,
  columns: readonly ReportColumn[],
): Sql {
  const values = columns.flatMap(({ relations, attribute }, index): readonly JsonPart[] => {
    const source = followAll(from, root, relations);
    const value = columnJson(context, source, attribute);
    return [...(index === 0 ? [] : [',']), ...valueOfJoined(source, value, relations.length > 0)];
  });
  return context.dialect.fill(['{"values":[', ...values, ']}']);
}

/** A report knows numbers and texts only: a boolean is a text. */
function columnJson(
  context: QueryContext,
  source: Source,
  attribute: ColumnDefinition | ComputedDefinition,
): readonly JsonPart[] {
  if (attribute.kind === 'computed') return computedJson(context, source, attribute, 'report');
  if (attribute.type !== 'boolean') return valueJson(context, source, attribute);
  const json = context.dialect.jsonBoolean(column(source, attribute.column));
  return [sql`case ${json} when 'true' then '"true"' when 'false' then '"false"' else 'null' end`];
}

/**
 * A page in the report format (protocol P6.1); a deleted member of an entity set is a row of nulls
 * (protocol P6.7).
 *
 * @param attributes the list in the path
 * @throws RequestError 400 with 1806 for an `$expand`
 */
export function reportForm(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  attributes: string | undefined,
): PageForm {
  const { database, options, limits } = context;
  const { filter, expand } = parameters;
  if (expand !== undefined) {
    throw refuse('malformedUrl', 'A report expands nothing: it cannot be combined with $expand.');
  }
  const filtersApplied = filter !== undefined;
  const applied = filtersApplied ? '' : undefined;
  return {
    name: shapeName(['report', attributes, parameters.attributes, applied]),
    plan: (source) => {
      const columns = reportColumns(dataclass, attributes, parameters, limits.expandDepth);
      return planReport(database.dialect, options, source, columns, filtersApplied);
    },
  };
}

/** How a report describes a column (protocol P6.5). */
interface ColumnSchema {
  readonly name: string;
  readonly dataType: 'NUMBER' | 'STRING';
  readonly semantics: {
    readonly conceptType: 'METRIC' | 'DIMENSION';
    readonly semanticGroup: 'NUMERIC' | 'TEXT';
    readonly semanticType: 'NUMBER' | 'TEXT';
  };
}

const numberTypes: ReadonlySet<StorageType> = new Set(['number', 'integer', 'duration']);

/** What a report says of its columns, in their order. */
function reportSchema(columns: readonly ReportColumn[]): readonly ColumnSchema[] {
  return columns.map(({ name, attribute }) =>
    numberTypes.has(attribute.type)
      ? {
          name,
          dataType: 'NUMBER',
          semantics: { conceptType: 'METRIC', semanticGroup: 'NUMERIC', semanticType: 'NUMBER' },
        }
      : {
          name,
          dataType: 'STRING',
          semantics: { conceptType: 'DIMENSION', semanticGroup: 'TEXT', semanticType: 'TEXT' },
        },
  );
}
