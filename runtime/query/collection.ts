import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { entityText, page, requestedForm } from './entity-json.js';
import type { Parameters } from './parameters.js';
import { dataclassOf, pagePlan, pageRows, type PageSource } from './page-rows.js';
import { type Projection, mostRelated } from './projection.js';
import {
  planOf,
  queryContext,
  type Selection,
  type SelectionPlan,
  setSlot,
  skipSlot,
  chosenEntities,
  countSlot,
  ifBaseExists,
  versionSlot,
} from './selection.js';
import { Aliases, From } from '../dataclass/source.js';
import type { BuiltQuery } from '../dialect/compile.js';

/** What a collection is read from, which decides the fields before the entities (protocol P3.9). */
export type CollectionKind = 'selection' | 'set' | 'newSet';

/** Writes the statement that answers a page as the JSON of the answer, expansions included. */
export function planCollection(
  dialect: Dialect,
  options: AnswerOptions,
  kind: CollectionKind,
  source: PageSource,
  projection: Projection,
  parameters: Pick<Parameters, 'count'>,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const form = requestedForm(parameters);
  const name = JSON.stringify(dataclassOf(source).name);
  const head: JsonPart[] = ['{'];
  if (kind === 'newSet') head.push('"__ENTITYSET":', dialect.jsonText(sql`${setSlot}`), ',');
  if (kind !== 'selection') head.push(`"__DATACLASS":${name},`);
  const counting = parameters.count === false ? undefined : countingOf(context, source);
  const { json, from } = page(context, {
    head: [
      ...head,
      `"__entityModel":${name},"__GlobalStamp":`,
      context.dialect.globalStamp,
      ...(counting === undefined ? [] : [',"__COUNT":', counting.count]),
      ',',
    ],
    rows: pageRows(context, source, (rowFrom, root) =>
      entityText(context, rowFrom, root, projection, form),
    ),
    first: dialect.integer(sql`${skipSlot}`),
  });
  const written = dialect.asBytes(json);
  const answer =
    counting === undefined
      ? sql`select ${uncounted(context, source, written)} ${from}`
      : sql`${counting.prefix}select ${written}${counting.columns} ${from}`;
  return pagePlan(context, answer, source, mostRelated(projection, options.pageSize));
}

/** Null if the entity whose relation is read does not exist. A page with a count learns this from the count. */
function uncounted(context: QueryContext, source: PageSource, json: Sql): Sql {
  return source.kind === 'keys' ? json : ifBaseExists(context, source.selection, json);
}

/** Counts a selection; null if the entity whose relation is read does not exist. */
export function planCount(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  return planOf(context, countQuery(context, selection));
}

/** Returns the number and the version of its data: the bound ones, if that version is the present one. */
export function planKnownCount(
  dialect: Dialect,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  options: AnswerOptions,
  selection: Selection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  return planOf(context, countedStatement(context, tablesVersion, selection));
}

/** Counts a selection; returns null if the entity whose relation is read does not exist. */
function countQuery(context: QueryContext, selection: Selection): Sql | BuiltQuery {
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection);
  const count = selection.dataclass.queries.count(from.complete(query, condition));
  if (selection.base.kind !== 'related') return count;
  return sql`select ${ifBaseExists(context, selection, sql`${count}`)}`;
}

/** How a statement that answers a page knows the number of all entities. */
interface Counting {
  /** Precedes the statement. */
  readonly prefix: Sql;
  readonly count: Sql;
  /** Columns after the answer: the number, and the version of the data at which it was counted. */
  readonly columns: Sql;
}

/**
 * On SQLite the number of all entities is a bound value. On PostgreSQL the statement compares the
 * version of the tables with that of the bound number, and counts again if they differ: number and
 * page belong to the same moment, and cost one round trip.
 */
export function countingOf(context: QueryContext, source: PageSource): Counting {
  const { dialect } = context;
  if (source.kind === 'keys' || dialect.tablesVersion === undefined) {
    return { prefix: sql``, count: dialect.integer(sql`${countSlot}`), columns: sql`` };
  }
  const count = sql`(select "count" from "__counted")`;
  return {
    prefix: sql`with ${knownOrCounted(context, dialect.tablesVersion, source.selection)} `,
    count,
    columns: sql`, ${count}, (select "version" from "__counted")`,
  };
}

/** A statement whose columns are the number and the version. */
function countedStatement(
  context: QueryContext,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  selection: Selection,
): Sql {
  const counted = knownOrCounted(context, tablesVersion, selection);
  return sql`with ${counted} select "count", "version" from "__counted"`;
}

function knownOrCounted(
  context: QueryContext,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  selection: Selection,
): Sql {
  const { dialect } = context;
  // Only tables that the count reads decide its version.
  const aliases = new Aliases();
  const count = countQuery({ ...context, aliases }, selection);
  const isRestricted = dialect.compile(count).restricted !== undefined;
  const version = tablesVersion(isRestricted ? undefined : aliases.tables);
  const isKnown = sql`"version" = ${dialect.bound(sql`${versionSlot}`, 'text')}`;
  return sql`"__counted" as materialized (select "version", case when ${isKnown} then ${dialect.integer(sql`${countSlot}`)} else ${subquery(count)} end as "count" from (select ${version} as "version" offset 0) as "__now")`;
}

/** Kysely puts a query of its builder into parentheses by itself. */
function subquery(query: Sql | BuiltQuery): Sql {
  return 'isRawBuilder' in query ? sql`(${query})` : sql`${query}`;
}
