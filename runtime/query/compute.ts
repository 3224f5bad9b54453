import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import { UnusableValueError } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { AnswerOptions, QueryContext } from './context.js';
import type { BoundSelection } from './selection-request.js';
import {
  answerStatement,
  ifBaseExists,
  queryContext,
  type Selection,
  type SelectionStatement,
} from './selection.js';
import { type ValuePath, notApplicable, numericTypes } from './value-path.js';
import { valueRows, type RowValue, type ValueRows } from './value-rows.js';
import { type Aggregate, aggregates } from '../protocol/aggregate.js';
import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { ByKind, JsonPlace } from '../dialect/json-access.js';
import type { GroupValue } from '../filter/having.js';
import { jsonBoolean } from '../dialect/json-parts.js';
import { scalarJson, scaleOf } from './value-json.js';

/**
 * Writes the statement that computes with the values at the end of a path (protocol P5.1, P5.4 to
 * P5.9): one pass over the rows and, for the least and the greatest text, a look-up of its stored
 * form.
 *
 * @param name the path as the client wrote it
 */
export function computeStatement(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  path: ValuePath,
  keyword: ComputeKeyword,
  name: string,
): SelectionStatement {
  const { quickTotal } = dialect;
  const exact = statementWith(dialect, options, selection, path, keyword, name);
  const wanted = keyword === '$all' ? aggregatesOf(path) : [keyword];
  const hasSum = wanted.some((each) => each === 'sum' || each === 'average');
  if (quickTotal === undefined || !hasSum) return exact;
  const quick = { ...dialect, total: quickTotal };
  const { statement } = statementWith(quick, options, selection, path, keyword, name);
  return { ...exact, statement, ifTooLarge: exact.statement };
}

/** Runs the statement of {@link computeStatement}. */
export async function readComputed<T>(
  read: (statement: Statement, values: readonly SqlValue[]) => Promise<T>,
  { statement, ifTooLarge, values }: BoundSelection,
): Promise<T> {
  if (ifTooLarge === undefined) return read(statement, values);
  try {
    return await read(statement, values);
  } catch (error) {
    if (!(error instanceof UnusableValueError)) throw error;
    return read(ifTooLarge, values);
  }
}

function statementWith(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  path: ValuePath,
  keyword: ComputeKeyword,
  name: string,
): SelectionStatement {
  const context = queryContext(dialect, options);
  const rows: WriteRows = () => valueRows(context, selection, path, 'whole');
  const wanted = keyword === '$all' ? aggregatesOf(path) : [keyword];
  const { values, from } = computed(context, path, rows, wanted);
  const parts = keyword === '$all' ? object(name, wanted, values) : values;
  const answer = sql`(select ${dialect.concat(parts)} from ${from})`;
  return answerStatement(context, sql`select ${ifBaseExists(context, selection, answer)}`);
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
  wanted: readonly Aggregate[],
): Aggregates {
  const pass = new ComputePass(context, context.aliases.next());
  const { value, where } = rows();
  const stored: StoredText = (found) => storedText(context.dialect, rows(), found);
  const jsonOf = (of: RowValue): readonly Sql[] =>
    wanted.map((each) => pass.aggregate(each, path.attribute, of).json(stored));
  if (value.kind === 'column') return { values: jsonOf(value), from: pass.over(where()) };
  const found = context.aliases.next();
  const place = { kind: sql`${sql.id(found, 'kind')}`, value: sql`${sql.id(found, 'value')}` };
  const values = jsonOf({ kind: 'property', place });
  // A limit makes the database read the document once, and not once for each aggregate.
  const each = sql`select ${value.place.kind} as ${sql.id('kind')}, ${value.place.value} as ${sql.id('value')} ${where()} limit ${sql.lit(Number.MAX_SAFE_INTEGER)}`;
  return { values, from: pass.over(sql`from (${each}) as ${sql.id(found)}`) };
}

function object(
  name: string,
  wanted: readonly Aggregate[],
  values: readonly Sql[],
): readonly JsonPart[] {
  const members = wanted.flatMap((each, index): JsonPart[] => [
    `${index === 0 ? '' : ','}${JSON.stringify(each)}:`,
    values[index] as Sql,
  ]);
  return [`{${JSON.stringify(name)}:{`, ...members, '}}'];
}

/** The values of `$compute`. */
const keywords = ['$all', ...aggregates] as const;

type ComputeKeyword = (typeof keywords)[number];

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
  return numericTypes.has(type) || type === 'object' ? aggregates : ofOthers;
}

/** @throws RequestError 400 with 1813 for a sum or an average of what is no number */
export function checkAggregate(keyword: ComputeKeyword, path: ValuePath, name: string): void {
  if (keyword === '$all' || aggregatesOf(path).includes(keyword)) return;
  const reason = `${shortened(name)} is of the type ${path.attribute.type}`;
  throw notApplicable('$compute', `${keyword} applies to numbers, and ${reason}`);
}

/** The stored form of the least or the greatest text, which was found folded. */
type StoredText = (found: Sql) => Sql;

/** An aggregate in the result of a {@link ComputePass}. */
export interface ComputedValue {
  /** For conditions and orders. */
  readonly value: GroupValue;
  json(stored: StoredText): Sql;
}

/** The one pass over the rows: a subquery with a row for each group, whose columns are the needed aggregates. */
export class ComputePass {
  readonly #columns = new Map<string, Sql>();

  constructor(
    private readonly context: QueryContext,
    private readonly alias: string,
  ) {}

  /** The position of the column that was taken last, from 1 on. */
  get size(): number {
    return this.#columns.size;
  }

  /** @returns a column in the result of {@link over} */
  take(name: string, expression: Sql): Sql {
    this.#columns.set(name, expression);
    return sql`${sql.id(this.alias, name)}`;
  }

  /**
   * An aggregate of the values at a path.
   * @param path distinguishes the columns of several paths
   */
  aggregate(
    aggregate: Aggregate,
    attribute: ColumnDefinition,
    value: RowValue,
    path = '',
  ): ComputedValue {
    const take = (name: string, expression: Sql): Sql => this.take(name + path, expression);
    if (aggregate === 'min' || aggregate === 'max') {
      return value.kind === 'column'
        ? this.#columnExtreme(take, aggregate, attribute, value)
        : this.#propertyExtreme(take, aggregate, value.place);
    }
    const { dialect } = this.context;
    const { json } = dialect;
    const isColumn = value.kind === 'column';
    const values = isColumn ? value.stored : value.place.value;
    if (aggregate === 'count') {
      const count = take('count', sql`count(${values})`);
      return { value: { type: 'integer', value: count }, json: () => dialect.concat([count]) };
    }
    if (attribute.type === 'decimal') {
      const found = take(aggregate, dialect.decimals(aggregate, values, scaleOf(attribute)));
      const total = dialect.bound(found, 'total');
      return {
        value: { type: 'decimal', valueType: 'total', value: total },
        json: () => dialect.jsonText(found),
      };
    }
    const numbers = isColumn
      ? values
      : json.byKind(value.place, { number: json.typed(values, 'number') });
    const sum = take('sum', dialect.total(numbers));
    const number =
      aggregate === 'sum' ? sum : dialect.quotient(sum, take('numbers', sql`count(${numbers})`));
    return {
      value: { type: 'number', value: number },
      json: () => dialect.concat([dialect.jsonReal(number)]),
    };
  }

  /** The subquery over `from … where …`, after every aggregate was taken. */
  over(rows: Sql): Sql {
    const columns = [...this.#columns].map(([name, each]) => sql`${each} as ${sql.id(name)}`);
    return sql`(select ${sql.join(columns)} ${rows}) as ${sql.id(this.alias)}`;
  }

  #columnExtreme(
    take: ComputePass['take'],
    aggregate: 'min' | 'max',
    attribute: ColumnDefinition,
    { comparable }: Extract<RowValue, { kind: 'column' }>,
  ): ComputedValue {
    const { context } = this;
    const found = take(`${aggregate} value`, extremeOf(aggregate, comparable));
    return {
      value: typedValue(attribute, found),
      json: (stored) =>
        attribute.type === 'string'
          ? context.dialect.jsonText(stored(found))
          : scalarJson(context, attribute, found),
    };
  }

  /** The ends of what `$distinct` lists: booleans, then numbers, then texts. */
  #propertyExtreme(
    take: ComputePass['take'],
    aggregate: 'min' | 'max',
    place: JsonPlace,
  ): ComputedValue {
    const { dialect } = this.context;
    const all = propertyTypes(dialect, place);
    const extreme = (type: keyof ByKind): Sql =>
      take(`${aggregate} ${type}`, extremeOf(aggregate, all[type]));
    const number = extreme('number');
    const text = extreme('text');
    const boolean = extreme('boolean');
    return {
      value: firstOf({ number, text, boolean }, aggregate),
      json: (stored) => {
        const cases = [
          sql`when ${boolean} is not null then ${jsonBoolean(boolean)}`,
          sql`when ${number} is not null then ${dialect.concat([dialect.jsonReal(number)])}`,
          sql`when ${text} is not null then ${dialect.jsonText(stored(text))}`,
        ];
        if (aggregate === 'max') cases.reverse();
        return sql`case ${sql.join(cases, sql` `)} else 'null' end`;
      },
    };
  }
}

function extremeOf(aggregate: 'min' | 'max', values: Sql): Sql {
  return aggregate === 'min' ? sql`min(${values})` : sql`max(${values})`;
}

/** A value of an attribute in the form of comparisons. */
export function typedValue(
  attribute: ColumnDefinition & { readonly scale?: number },
  value: Sql,
): GroupValue {
  const { type, dateOnly, scale } = attribute;
  return {
    type,
    value,
    ...(dateOnly === undefined ? {} : { dateOnly }),
    ...(scale === undefined ? {} : { scale }),
  };
}

/** The value of a property as each type in the form of comparisons; null for those that it does not have. */
export function propertyTypes(dialect: Dialect, place: JsonPlace): Required<ByKind> {
  const { json } = dialect;
  const { value } = place;
  return {
    boolean: json.byKind(place, { boolean: json.typed(value, 'boolean') }),
    number: json.byKind(place, { number: json.typed(value, 'number') }),
    text: json.byKind(place, { text: dialect.fold(value) }),
  };
}

/** The least of the values of each type, or the greatest. */
function firstOf(
  { boolean, number, text }: Required<ByKind>,
  aggregate: 'min' | 'max',
): GroupValue {
  const unless = (value: Sql, ...others: readonly Sql[]): Sql =>
    sql`case when ${sql.join(
      others.map((each) => sql`${each} is null`),
      sql` and `,
    )} then ${value} end`;
  const as =
    aggregate === 'min'
      ? { boolean, number: unless(number, boolean), text: unless(text, boolean, number) }
      : { boolean: unless(boolean, number, text), number: unless(number, text), text };
  return { type: 'property', as };
}

/** The rows once more, under other aliases, to look up the stored form of a text that was found. */
type WriteRows = () => ValueRows;

/** The first by code point of texts that are equal but for case. */
function storedText(dialect: Dialect, { value, where }: ValueRows, folded: Sql): Sql {
  const { stored, comparable } = textsOf(dialect, value);
  return sql`(select min(${stored}) ${where(sql`${comparable} = ${folded}`)})`;
}

/** The texts among the values of rows. */
export function textsOf(
  dialect: Dialect,
  value: RowValue,
): { readonly stored: Sql; readonly comparable: Sql } {
  if (value.kind === 'column') return value;
  const { place } = value;
  return {
    stored: dialect.json.byKind(place, { text: place.value }),
    comparable: dialect.json.byKind(place, { text: dialect.fold(place.value) }),
  };
}
