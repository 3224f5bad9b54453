import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import { FilterSlots } from '../filter/slots.js';
import type { SelectionPlan } from './collection.js';
import { type Aggregate, aggregatesOf, type ComputeKeyword } from './compute-keyword.js';
import { ComputePass } from './compute-pass.js';
import { columnAggregate, propertyAggregate, type WriteRows } from './compute-value.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { firstFilterSlot, ifBaseExists, queryContext, type Selection } from './selection.js';
import type { ValuePath } from './value-path.js';
import { valueRows } from './value-rows.js';

/**
 * Writes the statement that computes with the values at the end of a path (specification, "Compute result"; protocol 13.1):
 * one pass over the rows, and for the least and the greatest text a look-up of how it is stored.
 *
 * @param name the path as the client wrote it
 */
export function planCompute(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  path: ValuePath,
  keyword: ComputeKeyword,
  name: string,
): SelectionPlan {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const rows: WriteRows = () => valueRows(context, selection, path, filterSlots, 'whole');
  const aggregates = keyword === '$all' ? aggregatesOf(path) : [keyword];
  const { values, from } = computed(context, path, rows, aggregates);
  const parts = keyword === '$all' ? object(name, aggregates, values) : values;
  const answer = sql`(select ${dialect.concat(parts)} from ${from})`;
  return {
    statement: dialect.compile(sql`select ${ifBaseExists(context, selection, answer)}`),
    filterSlots,
    mostRelated: 0,
  };
}

interface Computed {
  /** JSON of each aggregate. */
  readonly values: readonly Sql[];
  readonly from: Sql;
}

function computed(
  context: QueryContext,
  path: ValuePath,
  rows: WriteRows,
  aggregates: readonly Aggregate[],
): Computed {
  const pass = new ComputePass(context.dialect, context.aliases.next());
  const { value, where } = rows();
  if (value.kind === 'column') {
    const values = aggregates.map((each) =>
      columnAggregate(context, pass, path.attribute, value, rows, each),
    );
    return { values, from: pass.over(where()) };
  }
  const found = context.aliases.next();
  const place = { kind: sql`${sql.id(found, 'kind')}`, value: sql`${sql.id(found, 'value')}` };
  const values = aggregates.map((each) => propertyAggregate(context, pass, place, rows, each));
  // A limit keeps the database from looking into the document once for each aggregate.
  const each = sql`select ${value.place.kind} as ${sql.id('kind')}, ${value.place.value} as ${sql.id('value')} ${where()} limit ${sql.lit(Number.MAX_SAFE_INTEGER)}`;
  return { values, from: pass.over(sql`from (${each}) as ${sql.id(found)}`) };
}

function object(
  name: string,
  aggregates: readonly Aggregate[],
  values: readonly Sql[],
): readonly JsonPart[] {
  const members = aggregates.flatMap((each, index): JsonPart[] => [
    `${index === 0 ? '' : ','}${JSON.stringify(each)}:`,
    values[index] as Sql,
  ]);
  return [`{${JSON.stringify(name)}:{`, ...members, '}}'];
}
