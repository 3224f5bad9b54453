import { readableAttributes } from '../dataclass/permissions.js';
import { sql } from 'kysely';
import {
  type ColumnDefinition,
  followAll,
  isRelation,
  resolveAlias,
  resolvePath,
  type ResolvedPath,
} from '../dataclass/attribute-path.js';
import { attributeColumn, shownAggregate } from '../dataclass/comparable.js';
import { type From, maxJoins } from '../dataclass/source.js';
import type { JsonPart, ObjectJson, Sql } from '../dialect/dialect.js';
import { jsonBoolean } from '../dialect/json-parts.js';
import type {
  ComputedDefinition,
  AttributeDefinition,
  RelatedEntityDefinition,
} from '../protocol/definition.js';
import type { StorageType } from '../protocol/storage-type.js';
import type { Dataclass, Source } from '../dataclass/dataclasses.js';
import { refuse } from '../protocol/errors.js';
import { type ListedPath, listError, parseAttributeList } from './attribute-list.js';
import type { QueryContext } from './context.js';
import { type Counted, countingOf, selectAnswer } from './counts.js';
import { computedJson, valueOfJoined } from './entity-json.js';
import type { Parameters } from './parameters.js';
import { unknownAttribute } from './projection.js';
import { skipSlot } from './selection.js';
import { scaleOf, valueJson } from './value-json.js';

/**
 * The query that answers a page as a report (protocol P6.1).
 * @param rows a subquery that returns each entity as the text column `json`, in order
 * @param counted none for an entity set
 * @param isFiltered whether the request has a filter
 */
export function reportAnswer(
  context: QueryContext,
  columns: readonly ReportColumn[],
  rows: Sql,
  counted: Counted | undefined,
  isFiltered: boolean,
): Sql {
  const counting = countingOf(context, counted);
  const types = columns.map(({ name, attribute: { type } }) => ({ name, type }));
  const { count } = counting;
  const { json, from } = report(context, types, { count, rows, isFiltered });
  return selectAnswer(context.dialect.asBytes(json), from, counting);
}

interface Report {
  readonly count: JsonPart;
  readonly rows: Sql;
  readonly isFiltered: boolean;
}

/** A report as JSON: the column to select, and its FROM clause. */
export function report(
  { dialect, aliases }: QueryContext,
  columns: readonly ColumnType[],
  { count, rows, isFiltered }: Report,
): { readonly json: Sql; readonly from: Sql } {
  const alias = aliases.next();
  const json = dialect.concat([
    '{"__COUNT":',
    count,
    ',"__FIRST":',
    dialect.integer(sql`${skipSlot}`),
    `,"schema":${JSON.stringify(reportSchema(columns))},"rows":[`,
    dialect.joinRows(sql`${sql.id(alias, 'json')}`),
    `],"filtersApplied":${String(isFiltered)}}`,
  ]);
  return { json, from: sql`from ${rows} as ${sql.id(alias)}` };
}

/** The values of one entity. */
export function reportRow(
  context: QueryContext,
  from: From,
  columns: readonly ReportColumn[],
): ObjectJson {
  const values = columns.flatMap(({ relations, attribute }, index): readonly JsonPart[] => {
    const source = followAll(from, from.root, relations);
    const value = columnJson(context, source, attribute);
    return [...(index === 0 ? [] : [',']), ...valueOfJoined(source, value, relations.length > 0)];
  });
  return { members: [{ name: 'values', json: ['[', ...values, ']'] }], isLong: false };
}

/** A report knows numbers and texts only: a boolean is a text, a decimal a number with all its digits. */
function columnJson(
  context: QueryContext,
  source: Source,
  attribute: ColumnDefinition | ComputedDefinition,
): readonly JsonPart[] {
  if (attribute.kind === 'computed') return computedJson(context, source, attribute, 'report');
  if (attribute.type === 'decimal') {
    const { dialect } = context;
    if (attribute.kind === 'aggregate') {
      const { from, value } = shownAggregate(dialect, source, attribute);
      return [{ from, json: [dialect.jsonRaw(value)] }];
    }
    const value = attributeColumn(source, attribute);
    return [dialect.jsonRaw(dialect.decimalText(value, scaleOf(attribute)))];
  }
  if (attribute.type !== 'boolean') return valueJson(context, source, attribute);
  return [reportValue('boolean', jsonBoolean(attributeColumn(source, attribute)))];
}

/** @param json of a value of the type, as a page has it */
export function reportValue(type: StorageType, json: Sql): Sql {
  if (type === 'decimal') return sql`replace(${json}, '"', '')`;
  if (type !== 'boolean') return json;
  return sql`case ${json} when 'true' then '"true"' when 'false' then '"false"' else 'null' end`;
}

/** A column, as its schema describes it. */
export interface ColumnType {
  readonly name: string;
  readonly type: StorageType;
}

const numberTypes: ReadonlySet<StorageType> = new Set(['number', 'integer', 'decimal', 'duration']);

/** How a report describes its columns, in their order (protocol P6.5). */
function reportSchema(columns: readonly ColumnType[]): readonly object[] {
  return columns.map(({ name, type }) => {
    const isNumber = numberTypes.has(type);
    const semantics = isNumber
      ? { conceptType: 'METRIC', semanticGroup: 'NUMERIC', semanticType: 'NUMBER' }
      : { conceptType: 'DIMENSION', semanticGroup: 'TEXT', semanticType: 'TEXT' };
    return { name, dataType: isNumber ? 'NUMBER' : 'STRING', semantics };
  });
}

/** One column of a report. */
export interface ReportColumn {
  /** The path as the client wrote it: `name`, `employer.name`. */
  readonly name: string;
  /** To-one relations on the way to the attribute. */
  readonly relations: readonly RelatedEntityDefinition[];
  readonly attribute: ColumnDefinition | ComputedDefinition;
}

const withoutColumn: ReadonlySet<string> = new Set(['object', 'image', 'blob', 'vector']);

/**
 * The columns of a report (protocol P6.4): those that a list names, in its order, or else every
 * attribute with a single value that is a text, a number, a boolean or a date, in model order.
 *
 * @param pathList the list in the path
 * @throws RequestError 1500 with 1804 for a name that is not exposed: 404 in a path, 400 in
 * `$attributes`; 400 with 1804 for what cannot be a column, 1816 for an empty list
 */
export function reportColumns(
  dataclass: Dataclass,
  pathList: string | undefined,
  { attributes }: Pick<Parameters, 'attributes'>,
  expandDepth: number,
): readonly ReportColumn[] {
  const text = attributes ?? pathList;
  const kind = attributes === undefined ? 'path' : '$attributes';
  if (text === undefined) return allColumns(dataclass, '', []);
  const columns = new Map<string, ReportColumn>();
  for (const item of parseAttributeList(text, kind, dataclass.longNames())) {
    for (const column of columnsOf(dataclass, item, kind, expandDepth)) {
      if (!columns.has(column.name)) columns.set(column.name, column);
    }
  }
  const found = [...columns.values()];
  checkJoins(found);
  return found;
}

/** @param relations from the report's dataclass to this one */
function allColumns(
  dataclass: Dataclass,
  prefix: string,
  relations: readonly RelatedEntityDefinition[],
): ReportColumn[] {
  return readableAttributes(dataclass).flatMap((each): ReportColumn[] => {
    const column = columnOf(dataclass, each, relations);
    return column === undefined ? [] : [{ name: `${prefix}${each.name}`, ...column }];
  });
}

function columnOf(
  dataclass: Dataclass,
  attribute: AttributeDefinition,
  relations: readonly RelatedEntityDefinition[],
): Omit<ReportColumn, 'name'> | undefined {
  if (isRelation(attribute)) return undefined;
  if (withoutColumn.has(attribute.type)) return undefined;
  if (attribute.kind !== 'alias') return { relations, attribute };
  const { relations: further, end } = resolveAlias(dataclass, attribute);
  return { relations: [...relations, ...further], attribute: end };
}

function columnsOf(
  dataclass: Dataclass,
  item: ListedPath,
  kind: 'path' | '$attributes',
  expandDepth: number,
): readonly ReportColumn[] {
  const { path, all, start } = item;
  if (path.length === 0) return allColumns(dataclass, '', []);
  const followed = path.length - (all ? 0 : 1);
  if (followed > expandDepth) {
    const problem = `a path must not follow more than ${expandDepth} relations`;
    throw listError(kind, start, problem);
  }
  const resolved = resolvePath(dataclass, path);
  if ('kind' in resolved) {
    const origin = kind === 'path' ? 'path' : 'attributes';
    throw unknownAttribute({ name: resolved.dataclass }, resolved.name, origin);
  }
  const name = path.join('.');
  const problem = problemOf(resolved, item);
  if (problem !== undefined) throw listError(kind, start, `${name} ${problem}`);
  const relations = resolved.relations as readonly RelatedEntityDefinition[];
  const { end } = resolved;
  if (end.kind !== 'relatedEntity') {
    return [{ name, relations, attribute: end as ReportColumn['attribute'] }];
  }
  const owner = relations.reduce((here, relation) => here.target(relation), dataclass);
  return allColumns(owner.target(end), `${name}.`, [...relations, end]);
}

/** Why a path that exists gives no column. */
function problemOf(
  { relations, end, properties }: ResolvedPath,
  { all }: ListedPath,
): string | undefined {
  const isToMany = [...relations, end].some(({ kind }) => kind === 'relatedEntities');
  if (isToMany) return 'leads over a to-many relation, and a column of a report has one value';
  if (end.kind === 'relatedEntity') {
    return all ? undefined : 'is a relation: name an attribute of it, with a dot between';
  }
  if (all) return 'is no relation, so nothing of it can be listed';
  if (end.kind === 'relatedEntities') return undefined;
  if (properties.length > 0) return 'is a property of an object, which cannot stand in a report';
  return withoutColumn.has(end.type)
    ? `is of the type ${end.type}, which cannot stand in a report`
    : undefined;
}

/** Columns whose paths begin alike share their joins. */
function checkJoins(columns: readonly ReportColumn[]): void {
  const joins = new Set<string>();
  for (const { relations } of columns) {
    let path = '';
    for (const { name } of relations) {
      path += `.${name}`;
      joins.add(path);
    }
  }
  if (joins.size <= maxJoins) return;
  throw refuse('attributeList', `A report follows at most ${maxJoins} to-one relations.`);
}
