import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import type { JsonPlace } from '../dialect/json-access.js';
import { FilterSlots } from '../filter/slots.js';
import type { SelectionPlan } from './collection.js';
import { type Aggregate, aggregatesOf, type ComputeKeyword } from './compute-keyword.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { scalarJson } from './scalar-json.js';
import { firstFilterSlot, ifBaseExists, queryContext, type Selection } from './selection.js';
import type { ValuePath } from './value-path.js';
import { type RowValue, type ValueRows, valueRows } from './value-rows.js';

/** How the rows of a computation are written: a text that was found is looked up in rows of its own. */
type WriteRows = () => ValueRows;

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
  const pass = new Pass(context.aliases.next());
  const own = rows();
  const json = (aggregate: Aggregate): Sql =>
    own.value.kind === 'column'
      ? ofColumn(context, pass, path, own.value, rows, aggregate)
      : ofProperty(context, pass, own.value.place, rows, aggregate);
  const parts: readonly JsonPart[] =
    keyword === '$all'
      ? [`{${JSON.stringify(name)}:{`, ...members(aggregatesOf(path), json), '}}']
      : [json(keyword)];
  const answer = sql`(select ${dialect.concat(parts)} from ${pass.over(own)})`;
  return {
    statement: dialect.compile(sql`select ${ifBaseExists(context, selection, answer)}`),
    filterSlots,
    mostRelated: 0,
  };
}

function members(
  aggregates: readonly Aggregate[],
  json: (aggregate: Aggregate) => Sql,
): JsonPart[] {
  return aggregates.flatMap((each, index) => [
    `${index === 0 ? '' : ','}${JSON.stringify(each)}:`,
    json(each),
  ]);
}

/** The one pass over the rows: a subquery of one row, whose columns are the aggregates that are asked for. */
class Pass {
  readonly #columns = new Map<string, Sql>();

  constructor(private readonly alias: string) {}

  take(name: string, aggregate: Sql): Sql {
    this.#columns.set(name, aggregate);
    return sql`${sql.id(this.alias, name)}`;
  }

  /** Written last, when every aggregate is known. */
  over(rows: ValueRows): Sql {
    const columns = [...this.#columns].map(([name, each]) => sql`${each} as ${sql.id(name)}`);
    return sql`(select ${sql.join(columns)} ${rows.where()}) as ${sql.id(this.alias)}`;
  }
}

function ofColumn(
  context: QueryContext,
  pass: Pass,
  { attribute }: ValuePath,
  { stored, comparable }: Extract<RowValue, { kind: 'column' }>,
  rows: WriteRows,
  aggregate: Aggregate,
): Sql {
  switch (aggregate) {
    case 'count':
      return pass.take('count', sql`count(${stored})`);
    case 'sum':
      return sumOf(context, pass, stored);
    case 'average':
      return averageOf(context, pass, stored);
    case 'min':
    case 'max': {
      const found = pass.take(aggregate, sql`${functions[aggregate]}(${comparable})`);
      if (attribute.type !== 'string') return scalarJson(context, attribute, found);
      return context.dialect.jsonText(storedText(rows(), found));
    }
  }
}

const functions = { min: sql`min`, max: sql`max` } as const;

/** Of texts that are equal but for case, the first by code point. */
function storedText({ value, where }: ValueRows, folded: Sql): Sql {
  if (value.kind === 'property') throw new Error('The values are no column.');
  return sql`(select min(${value.stored}) ${where(sql`${value.comparable} = ${folded}`)})`;
}

function sumOf({ dialect }: QueryContext, pass: Pass, numbers: Sql): Sql {
  return realJson(dialect, pass.take('sum', dialect.total(numbers)));
}

function averageOf({ dialect }: QueryContext, pass: Pass, numbers: Sql): Sql {
  const sum = pass.take('sum', dialect.total(numbers));
  const count = pass.take('numbers', sql`count(${numbers})`);
  return realJson(dialect, sql`(${sum} / nullif(${count}, 0))`);
}

/** A whole number is written without a fraction, as a stored one is, as long as it is exact (decision 9). */
function realJson(dialect: Dialect, value: Sql): Sql {
  const whole = dialect.integer(value);
  const isWhole = sql`${value} between -9007199254740991 and 9007199254740991 and ${value} = ${whole}`;
  return sql`case when ${isWhole} then ${dialect.concat([whole])} else ${dialect.concat([dialect.jsonIfNumber(value)])} end`;
}

/** The least and the greatest value are the ends of what `$distinct` lists: booleans, then numbers, then texts. */
function ofProperty(
  context: QueryContext,
  pass: Pass,
  place: JsonPlace,
  rows: WriteRows,
  aggregate: Aggregate,
): Sql {
  const { dialect } = context;
  const { value } = place;
  const numbers = dialect.json.byKind(place, { number: value });
  switch (aggregate) {
    case 'count':
      return pass.take('count', sql`count(${value})`);
    case 'sum':
      return sumOf(context, pass, numbers);
    case 'average':
      return averageOf(context, pass, numbers);
    case 'min':
    case 'max': {
      const of = (kind: string, values: Sql): Sql =>
        pass.take(`${aggregate} ${kind}`, sql`${functions[aggregate]}(${values})`);
      const number = of('number', numbers);
      const text = of('text', dialect.json.byKind(place, { text: dialect.fold(value) }));
      const boolean = of('boolean', dialect.json.byKind(place, { boolean: value }));
      const cases = [
        sql`when ${boolean} is not null then ${dialect.jsonBoolean(boolean)}`,
        sql`when ${number} is not null then ${dialect.concat([dialect.jsonIfNumber(number)])}`,
        sql`when ${text} is not null then ${dialect.jsonText(propertyText(dialect, rows(), text))}`,
      ];
      if (aggregate === 'max') cases.reverse();
      return sql`case ${sql.join(cases, sql` `)} else 'null' end`;
    }
  }
}

function propertyText(dialect: Dialect, { value, where }: ValueRows, folded: Sql): Sql {
  if (value.kind === 'column') throw new Error('The values are no properties.');
  const { place } = value;
  const text = dialect.json.byKind(place, { text: place.value });
  const comparable = dialect.json.byKind(place, { text: dialect.fold(place.value) });
  return sql`(select min(${text}) ${where(sql`${comparable} = ${folded}`)})`;
}
