import { sql } from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import {
  type Executor,
  type JsonAnswer,
  type PendingAnswer,
  UnusableValueError,
} from '../dialect/executor.js';
import { caught } from '../dialect/pending.js';
import type { AnswerOptions, QueryContext } from './context.js';
import type { BoundSelection } from './selection-request.js';
import {
  ifBaseExists,
  selectionStatement,
  queryContext,
  type Selection,
  type SelectionStatement,
} from './selection.js';
import { type ValuePath, notApplicable, numericTypes } from './value-path.js';
import { valueRows, type RowValue, type ValueRows } from './value-rows.js';
import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { JsonPlace } from '../dialect/json-access.js';
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
  const aggregates = keyword === '$all' ? aggregatesOf(path) : [keyword];
  const hasSum = aggregates.some((each) => each === 'sum' || each === 'average');
  if (quickTotal === undefined || !hasSum) return exact;
  const quick = { ...dialect, total: quickTotal };
  const { statement } = statementWith(quick, options, selection, path, keyword, name);
  return { ...exact, statement, ifTooLarge: exact.statement };
}

/** Runs the statement of {@link computeStatement}. */
export function readComputed(
  reads: Pick<Executor, 'read'>,
  { statement, ifTooLarge, values }: BoundSelection,
): PendingAnswer {
  if (ifTooLarge === undefined) return reads.read(statement, values);
  return caught<JsonAnswer | undefined>(
    () => reads.read(statement, values),
    (error) => {
      if (!(error instanceof UnusableValueError)) throw error;
      return reads.read(ifTooLarge, values);
    },
  );
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
  const aggregates = keyword === '$all' ? aggregatesOf(path) : [keyword];
  const { values, from } = computed(context, path, rows, aggregates);
  const parts = keyword === '$all' ? object(name, aggregates, values) : values;
  const answer = sql`(select ${dialect.concat(parts)} from ${from})`;
  return selectionStatement(context, sql`select ${ifBaseExists(context, selection, answer)}`);
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

/** The keywords as the protocol writes them. */
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
class ComputePass {
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

  /**
   * JSON of an aggregate; `extreme` is that of the least or the greatest value.
   * @param scale of decimals
   */
  json(
    aggregate: Aggregate,
    values: Sql,
    numbers: Sql,
    extreme: (aggregate: 'min' | 'max') => Sql,
    scale?: number,
  ): Sql {
    const { dialect } = this;
    if (scale !== undefined && (aggregate === 'sum' || aggregate === 'average')) {
      const found = dialect.decimals(aggregate, values, scale);
      return dialect.jsonText(this.take(aggregate, found));
    }
    switch (aggregate) {
      case 'count':
        return dialect.concat([this.take('count', sql`count(${values})`)]);
      case 'sum':
        return dialect.concat([dialect.jsonReal(this.take('sum', dialect.total(numbers)))]);
      case 'average': {
        const sum = this.take('sum', dialect.total(numbers));
        const count = this.take('numbers', sql`count(${numbers})`);
        return dialect.concat([dialect.jsonReal(dialect.quotient(sum, count))]);
      }
      case 'min':
      case 'max':
        return extreme(aggregate);
    }
  }

  extreme(aggregate: 'min' | 'max', kind: string, values: Sql): Sql {
    const found = aggregate === 'min' ? sql`min(${values})` : sql`max(${values})`;
    return this.take(`${aggregate} ${kind}`, found);
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
  const extreme = (which: 'min' | 'max'): Sql => {
    const found = pass.extreme(which, 'value', comparable);
    return attribute.type === 'string'
      ? context.dialect.jsonText(storedText(context.dialect, rows(), found))
      : scalarJson(context, attribute, found);
  };
  const scale = attribute.type === 'decimal' ? scaleOf(attribute) : undefined;
  return pass.json(aggregate, stored, stored, extreme, scale);
}

/** The first by code point of texts that are equal but for case. */
function storedText(dialect: Dialect, { value, where }: ValueRows, folded: Sql): Sql {
  const isColumn = value.kind === 'column';
  const { json } = dialect;
  const stored = isColumn ? value.stored : json.byKind(value.place, { text: value.place.value });
  const comparable = isColumn
    ? value.comparable
    : json.byKind(value.place, { text: dialect.fold(value.place.value) });
  return sql`(select min(${stored}) ${where(sql`${comparable} = ${folded}`)})`;
}

/** The ends of what `$distinct` lists: booleans, then numbers, then texts. Only numbers have a sum. */
function propertyAggregate(
  { dialect }: QueryContext,
  pass: ComputePass,
  place: JsonPlace,
  rows: WriteRows,
  aggregate: Aggregate,
): Sql {
  const { value } = place;
  const { json } = dialect;
  const numbers = json.byKind(place, { number: json.typed(value, 'number') });
  return pass.json(aggregate, value, numbers, (which) => {
    const number = pass.extreme(which, 'number', numbers);
    const text = pass.extreme(which, 'text', json.byKind(place, { text: dialect.fold(value) }));
    const booleans = json.byKind(place, { boolean: json.typed(value, 'boolean') });
    const boolean = pass.extreme(which, 'boolean', booleans);
    const cases = [
      sql`when ${boolean} is not null then ${jsonBoolean(boolean)}`,
      sql`when ${number} is not null then ${dialect.concat([dialect.jsonReal(number)])}`,
      sql`when ${text} is not null then ${dialect.jsonText(storedText(dialect, rows(), text))}`,
    ];
    if (which === 'max') cases.reverse();
    return sql`case ${sql.join(cases, sql` `)} else 'null' end`;
  });
}
