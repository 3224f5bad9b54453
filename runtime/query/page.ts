import { sql } from 'kysely';
import type { From } from '../dataclass/source.js';
import type { JsonPart, Sql } from '../dialect/dialect.js';
import type { QueryContext } from './context.js';

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
export function selectExtract(column: Sql, name: string, extract: Extract): Sql {
  const { from, where, order, top } = extract;
  const condition = where === undefined ? sql`` : sql` where ${where}`;
  return sql`(select ${column} as ${sql.id(name)} ${from.clause}${condition} order by ${order} limit ${top})`;
}
