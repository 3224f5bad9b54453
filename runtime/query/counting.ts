import { sql } from 'kysely';
import { Aliases, From } from '../dataclass/source.js';
import type { BuiltQuery } from '../dialect/compile.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { FilterSlots } from '../filter/slots.js';
import type { QueryContext } from './context.js';
import type { PageSource } from './page-rows.js';
import {
  chosenEntities,
  countSlot,
  ifBaseExists,
  type Selection,
  versionSlot,
} from './selection.js';

/** Counts a selection; returns null if the entity whose relation is read does not exist. */
export function countQuery(
  context: QueryContext,
  selection: Selection,
  slots: FilterSlots,
): Sql | BuiltQuery {
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection, slots);
  const count = selection.dataclass.queries.count(from.complete(query, condition));
  if (selection.base.kind !== 'related') return count;
  return sql`select ${ifBaseExists(context, selection, sql`${count}`)}`;
}

/** How a statement that answers a page knows the number of all entities. */
export interface Counting {
  /** Precedes the statement. */
  readonly prefix: Sql;
  readonly count: Sql;
  /** Columns after the answer: the number, and the version of the data that it is true of. */
  readonly columns: Sql;
}

/**
 * The number of all entities is bound, or is counted where the database tells versions: then the same
 * statement compares the version at which the bound number was counted, and counts again if it differs. So
 * number and page are of one moment, and cost one round trip.
 */
export function countingOf(
  context: QueryContext,
  source: PageSource,
  slots: FilterSlots,
): Counting {
  const { dialect } = context;
  if (source.kind === 'keys' || dialect.tablesVersion === undefined) {
    return { prefix: sql``, count: dialect.integer(sql`${countSlot}`), columns: sql`` };
  }
  const count = sql`(select "count" from "__counted")`;
  return {
    prefix: sql`with ${knownOrCounted(context, dialect.tablesVersion, source.selection, slots)} `,
    count,
    columns: sql`, ${count}, (select "version" from "__counted")`,
  };
}

/** A statement whose columns are the number and the version. */
export function countedStatement(
  context: QueryContext,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  selection: Selection,
  slots: FilterSlots,
): Sql {
  const counted = knownOrCounted(context, tablesVersion, selection, slots);
  return sql`with ${counted} select "count", "version" from "__counted"`;
}

function knownOrCounted(
  context: QueryContext,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  selection: Selection,
  slots: FilterSlots,
): Sql {
  const { dialect } = context;
  // Only tables that the count reads decide its version.
  const aliases = new Aliases();
  const count = countQuery({ ...context, aliases }, selection, slots);
  const isRestricted = dialect.compile(count).restricted !== undefined;
  const version = tablesVersion(isRestricted ? undefined : aliases.tables);
  const isKnown = sql`"version" = ${dialect.bound(sql`${versionSlot}`, 'text')}`;
  return sql`"__counted" as materialized (select "version", case when ${isKnown} then ${dialect.integer(sql`${countSlot}`)} else ${subquery(count)} end as "count" from (select ${version} as "version" offset 0) as "__now")`;
}

/** Kysely puts a query of its builder into parentheses by itself. */
function subquery(query: Sql | BuiltQuery): Sql {
  return 'isRawBuilder' in query ? sql`(${query})` : sql`${query}`;
}
