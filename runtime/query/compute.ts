import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import type { AnswerOptions, QueryContext } from './context.js';
import {
  ifBaseExists,
  planOf,
  queryContext,
  type Selection,
  type SelectionPlan,
} from './selection.js';
import { type ValuePath, notApplicable, numericTypes } from './value-path.js';
import { valueRows, type RowValue, type ValueRows } from './value-rows.js';
import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { JsonPlace } from '../dialect/json-access.js';
import { scalarJson } from './value-json.js';

/**
 * Writes the statement that computes with the values at the end of a path (protocol P5.1, P5.4 to
 * P5.9): one pass over the rows and, for the least and the greatest text, a look-up of its stored
 * form.
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
  const rows: WriteRows = () => valueRows(context, selection, path, 'whole');
  const aggregates = keyword === '$all' ? aggregatesOf(path) : [keyword];
  const { values, from } = computed(context, path, rows, aggregates);
  const parts = keyword === '$all' ? object(name, aggregates, values) : values;
  const answer = sql`(select ${dialect.concat(parts)} from ${from})`;
  return planOf(context, sql`select ${ifBaseExists(context, selection, answer)}`);
}

interface Aggregates {
  /** JSON of each aggregate. */
  readonly values: readonly Sql[];
  readonly from: Sql;
}

function computed(
  context: QueryContext,
  path: ValuePath,
  rows: WriteRows,
  aggregates: readonly Aggregate[],
): Aggregates {
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
  // A limit makes the database read the document once, and not once for each aggregate.
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

export type Aggregate = 'count' | 'sum' | 'average' | 'min' | 'max';

/** The values of `$compute`. */
type ComputeKeyword = '$all' | Aggregate;

/** As the protocol writes them. */
const keywords: readonly ComputeKeyword[] = ['$all', 'average', 'count', 'min', 'max', 'sum'];

/** In the order of the answer to `$all`. */
const ofNumbers: readonly Aggregate[] = ['count', 'sum', 'average', 'min', 'max'];
const ofOthers: readonly Aggregate[] = ['count', 'min', 'max'];

/** @throws RequestError 400 with 1817 */
export function computeKeyword(text: string): ComputeKeyword {
  const keyword = keywords.find((each) => each === text.toLowerCase());
  if (keyword !== undefined) return keyword;
  const problem = `$compute=${shortened(text)} does not exist`;
  throw refuse('computeAction', `${problem}: expected one of ${keywords.join(', ')}.`);
}

/** The aggregates of an attribute; of a property, whose values may be of any type, all. */
function aggregatesOf({ attribute: { type } }: ValuePath): readonly Aggregate[] {
  return numericTypes.has(type) || type === 'object' ? ofNumbers : ofOthers;
}

/** @throws RequestError 400 with 1813 for a sum or an average of what is no number */
export function checkAggregate(keyword: ComputeKeyword, path: ValuePath, name: string): void {
  if (keyword === '$all' || aggregatesOf(path).includes(keyword)) return;
  const reason = `${shortened(name)} is of the type ${path.attribute.type}`;
  throw notApplicable('$compute', `${keyword} applies to numbers, and ${reason}`);
}

/** The one pass over the rows: a subquery of one row, whose columns are the needed aggregates. */
export class ComputePass {
  readonly #columns = new Map<string, Sql>();

  constructor(
    private readonly dialect: Dialect,
    private readonly alias: string,
  ) {}

  /** @returns the aggregate's column in the result of {@link over} */
  take(name: string, aggregate: Sql): Sql {
    this.#columns.set(name, aggregate);
    return sql`${sql.id(this.alias, name)}`;
  }

  count(values: Sql): Sql {
    return this.dialect.concat([this.take('count', sql`count(${values})`)]);
  }

  sum(numbers: Sql): Sql {
    return this.dialect.jsonReal(this.take('sum', this.dialect.total(numbers)));
  }

  average(numbers: Sql): Sql {
    const sum = this.take('sum', this.dialect.total(numbers));
    const count = this.take('numbers', sql`count(${numbers})`);
    return this.dialect.jsonReal(this.dialect.quotient(sum, count));
  }

  least(kind: string, values: Sql): Sql {
    return this.take(`min ${kind}`, sql`min(${values})`);
  }

  greatest(kind: string, values: Sql): Sql {
    return this.take(`max ${kind}`, sql`max(${values})`);
  }

  /** The subquery over `from … where …`, after every aggregate was taken. */
  over(rows: Sql): Sql {
    const columns = [...this.#columns].map(([name, each]) => sql`${each} as ${sql.id(name)}`);
    return sql`(select ${sql.join(columns)} ${rows}) as ${sql.id(this.alias)}`;
  }
}

/** The rows once more, under other aliases, to look up the stored form of a text that was found. */
type WriteRows = () => ValueRows;

/** JSON of an aggregate of a column's values. */
function columnAggregate(
  context: QueryContext,
  pass: ComputePass,
  attribute: ColumnDefinition,
  { stored, comparable }: Extract<RowValue, { kind: 'column' }>,
  rows: WriteRows,
  aggregate: Aggregate,
): Sql {
  switch (aggregate) {
    case 'count':
      return pass.count(stored);
    case 'sum':
      return pass.sum(stored);
    case 'average':
      return pass.average(stored);
    case 'min':
    case 'max': {
      const extreme =
        aggregate === 'min' ? pass.least('value', comparable) : pass.greatest('value', comparable);
      if (attribute.type !== 'string') return scalarJson(context, attribute, extreme);
      return context.dialect.jsonText(storedText(rows(), extreme));
    }
  }
}

/** Of texts that are equal but for case, the first by code point. */
function storedText({ value, where }: ValueRows, folded: Sql): Sql {
  if (value.kind === 'property') throw new Error('The values are no column.');
  return sql`(select min(${value.stored}) ${where(sql`${value.comparable} = ${folded}`)})`;
}

/**
 * JSON of an aggregate of values that may be of any type. The sum and the average are those of the numbers; the least and the
 * greatest value are the ends of what `$distinct` lists: booleans, then numbers, then texts.
 */
function propertyAggregate(
  { dialect }: QueryContext,
  pass: ComputePass,
  place: JsonPlace,
  rows: WriteRows,
  aggregate: Aggregate,
): Sql {
  const { value } = place;
  const numbers = dialect.json.byKind(place, { number: dialect.json.number(value) });
  switch (aggregate) {
    case 'count':
      return pass.count(value);
    case 'sum':
      return pass.sum(numbers);
    case 'average':
      return pass.average(numbers);
    case 'min':
    case 'max': {
      const extreme = (kind: string, values: Sql): Sql =>
        aggregate === 'min' ? pass.least(kind, values) : pass.greatest(kind, values);
      const number = extreme('number', numbers);
      const text = extreme('text', dialect.json.byKind(place, { text: dialect.fold(value) }));
      const boolean = extreme(
        'boolean',
        dialect.json.byKind(place, { boolean: dialect.json.boolean(value) }),
      );
      const cases = [
        sql`when ${boolean} is not null then ${dialect.jsonBoolean(boolean)}`,
        sql`when ${number} is not null then ${dialect.concat([dialect.jsonIfNumber(number)])}`,
        sql`when ${text} is not null then ${dialect.jsonText(storedProperty(dialect, rows(), text))}`,
      ];
      if (aggregate === 'max') cases.reverse();
      return sql`case ${sql.join(cases, sql` `)} else 'null' end`;
    }
  }
}

function storedProperty(dialect: Dialect, { value, where }: ValueRows, folded: Sql): Sql {
  if (value.kind === 'column') throw new Error('The values are no properties.');
  const { place } = value;
  const text = dialect.json.byKind(place, { text: place.value });
  const comparable = dialect.json.byKind(place, { text: dialect.fold(place.value) });
  return sql`(select min(${text}) ${where(sql`${comparable} = ${folded}`)})`;
}
