import { sql } from 'kysely';
import type { From } from '../dataclass/source.js';
import type { JsonPart, Sql } from '../dialect/dialect.js';
import type { QueryContext } from './context.js';

/** The entities of one answer, and what the answer says before them. */
export interface Page {
  /** JSON from the opening brace to the comma before `"__SENT"`. */
  readonly head: readonly JsonPart[];
  readonly from: From;
  readonly where: Sql | undefined;
  /** One entity. */
  readonly json: Sql;
  readonly order: Sql;
  readonly skip: Sql | undefined;
  readonly top: Sql;
  /** What `__FIRST` says. */
  readonly first: JsonPart;
}

/** A collection as JSON: the column to select, and the FROM clause that goes with it. */
export function page(
  context: QueryContext,
  { head, from, where, json, order, ...range }: Page,
): { readonly json: Sql; readonly from: Sql } {
  const { dialect } = context;
  const condition = where === undefined ? sql`` : sql` where ${where}`;
  const offset = range.skip === undefined ? sql`` : sql` offset ${range.skip}`;
  const alias = context.aliases.next();
  const parts: readonly JsonPart[] = [
    ...head,
    '"__SENT":',
    sql`count(*)`,
    ',"__FIRST":',
    range.first,
    ',"__ENTITIES":[',
    dialect.joinRows(sql`${sql.id(alias, 'json')}`),
    ']}',
  ];
  return {
    json: dialect.concat(parts),
    from: sql`from (select ${json} as ${sql.id('json')} ${from.clause}${condition} order by ${order} limit ${range.top}${offset}) as ${sql.id(alias)}`,
  };
}
