import { sql } from 'kysely';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { JsonPlace } from '../dialect/json-access.js';
import { jsonBoolean } from '../dialect/json-parts.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { scalarJson } from './value-json.js';
import {
  answerStatement,
  ifBaseExists,
  queryContext,
  type Selection,
  type SelectionStatement,
  skipSlot,
  topSlot,
} from './selection.js';
import type { ValuePath } from './value-path.js';
import { type ValueRows, valueRows } from './value-rows.js';

/**
 * Writes the statement that lists the different values at the end of a path, ascending and without
 * null (protocol P5.2). Of texts that are equal but for case the list has the first by code point.
 *
 * @param isPaged whether `$top` is given
 */
export function distinctStatement(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  path: ValuePath,
  isPaged: boolean,
): SelectionStatement {
  const context = queryContext(dialect, options);
  const rows = valueRows(context, selection, path, 'elements');
  const alias = context.aliases.next();
  const list = dialect.concat(['[', dialect.joinRows(sql`${sql.id(alias, 'json')}`), ']']);
  const page = sql`limit ${dialect.integer(sql`${topSlot}`)} offset ${dialect.integer(sql`${skipSlot}`)}`;
  const values = differentValues(context, path, rows, isPaged);
  const answer = sql`(select ${list} from (${values} ${page}) as ${sql.id(alias)})`;
  return answerStatement(
    context,
    sql`select ${dialect.asBytes(ifBaseExists(context, selection, answer))}`,
  );
}

/** A subquery that returns each value as the text column `json`, in order. */
function differentValues(
  context: QueryContext,
  path: ValuePath,
  rows: ValueRows,
  isPaged: boolean,
): Sql {
  const { value } = rows;
  if (value.kind === 'property') return differentProperties(context, rows, value.place);
  const { attribute } = path;
  const { stored, comparable, isIndexed } = value;
  const json = (of: Sql): Sql => sql`${scalarJson(context, attribute, of)} as ${sql.id('json')}`;
  const isThere = rows.where(sql`${comparable} is not null`);
  if (attribute.type !== 'string') {
    if (isIndexed) {
      return sql`select ${json(stored)} ${isThere} group by ${stored} order by ${stored}`;
    }
    // Sorting only the different values takes a fraction of the time of sorting all of them.
    const [each, distinct] = distinctRows(context, rows, isThere, { value: stored });
    const one = sql.id(each, 'value');
    return sql`select ${json(sql`${one}`)} from ${distinct} order by ${one}`;
  }
  if (isIndexed && isPaged) {
    // The index returns the first page of texts without reading the others.
    const least = sql`min(${stored})`;
    return sql`select ${json(least)} ${isThere} group by ${comparable} order by ${comparable}`;
  }
  // Each different text is folded once, not each row, unless a column has it folded.
  const folded = isIndexed ? { folded: comparable } : undefined;
  const [each, distinct] = distinctRows(context, rows, isThere, { value: stored, ...folded });
  const one = sql`${sql.id(each, 'value')}`;
  const order = folded === undefined ? context.dialect.fold(one) : sql`${sql.id(each, 'folded')}`;
  return sql`select ${json(sql`min(${one})`)} from ${distinct} group by ${order} order by ${order}`;
}

/** Booleans, then numbers, then texts: values of different types are never equal (protocol P5.6). */
function differentProperties(context: QueryContext, rows: ValueRows, place: JsonPlace): Sql {
  const { dialect } = context;
  const rank = dialect.json.byKind(place, { boolean: sql`0`, number: sql`1`, text: sql`2` });
  const isThere = rows.where(sql`${rank} is not null`);
  const [each, distinct] = distinctRows(context, rows, isThere, { rank, value: place.value });
  const [ofRank, one] = [sql`${sql.id(each, 'rank')}`, sql`${sql.id(each, 'value')}`];
  const order = sql.join(dialect.json.ranked(ofRank, one, (text) => dialect.fold(text)));
  const least = sql`min(${one})`;
  const json = sql`case ${ofRank} when 0 then ${jsonBoolean(dialect.json.typed(least, 'boolean'))} when 1 then ${dialect.concat([dialect.jsonReal(dialect.json.typed(least, 'number'))])} else ${dialect.jsonText(least)} end`;
  return sql`select ${json} as ${sql.id('json')} from ${distinct} group by ${order} order by ${order}`;
}

/** The different combinations of some values of the rows, as a table. */
function distinctRows(
  context: QueryContext,
  { isSlowWithDistinct }: ValueRows,
  rows: Sql,
  columns: Readonly<Record<string, Sql>>,
): readonly [alias: string, table: Sql] {
  const alias = context.aliases.next();
  const list = Object.entries(columns).map(([name, each]) => sql`${each} as ${sql.id(name)}`);
  // By position: PostgreSQL treats two expressions with equal bound values as different ones.
  const places = list.map((_, index) => sql.lit(index + 1));
  const distinct = isSlowWithDistinct
    ? sql`select ${sql.join(list)} ${rows} group by ${sql.join(places)}`
    : sql`select distinct ${sql.join(list)} ${rows}`;
  return [alias, sql`(${distinct}) as ${sql.id(alias)}`];
}
