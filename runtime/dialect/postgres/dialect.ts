import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import { moreDecimals } from '../../protocol/decimal.js';
import { type Fold, foldWithoutAccents } from '../../protocol/fold.js';
import { arrayText } from '../../protocol/vector.js';
import type { AnyTables, Json, ObjectJson, QueryJson, ValueJson } from '../../protocol/queries.js';
import {
  type BuiltQuery,
  compileWith,
  type KyselyParts,
  opened,
  subquery,
  valueMark,
} from '../compile.js';
import { inGroups, mergeTexts, objectParts } from '../json-parts.js';
import type { Dialect, Operator, Sql, TablePage } from '../dialect.js';
import type { ValueType } from '../value-type.js';
import { changedRows, globalStamp, stampOfRows } from './global-stamp.js';
import { tablesVersion } from './table-versions.js';
import type { ByKind, JsonAccess, JsonElements, JsonPlace } from '../json-access.js';

/** A document is a text that holds JSON; a statement casts its texts to numbers or booleans. */
const postgresJson: JsonAccess = {
  // PostgreSQL's JSON functions fail on the escape of U+0000, which a document may contain.
  ifJson: (value) => sql`case when drs_is_json(${value}) then ${value} end`,
  property,
  elements,
  byKind,
  typed: (value, type) =>
    type === 'number'
      ? double(value)
      : sql`case ${value} when 'true' then 1 when 'false' then 0 end`,
  ranked,
};

function double(value: Sql): Sql {
  return sql`drs_double(${value})`;
}

function place(json: Sql): JsonPlace {
  return { kind: sql`json_typeof(${json})`, value: sql`((${json} #>> '{}') collate "C")` };
}

/** A text as a path element addresses a property only; on an array, an index would be a number. */
function at(document: Sql, names: readonly string[]): Sql {
  const steps = names.map((name) => sql` -> cast(${name} as text)`);
  return sql`(cast(${document} as json)${sql.join(steps, sql``)})`;
}

function property(document: Sql, names: readonly string[]): JsonPlace {
  const own = place(at(document, names));
  if (names.at(-1) !== 'length') return own;
  const array = at(document, names.slice(0, -1));
  const isArray = sql`json_typeof(${array}) = 'array'`;
  return {
    kind: sql`case when ${isArray} then 'number' else ${own.kind} end`,
    value: sql`case when ${isArray} then cast(json_array_length(${array}) as text) else ${own.value} end`,
  };
}

function elements(document: Sql, names: readonly string[], alias: string): JsonElements {
  const array = at(document, names);
  const element = sql`${sql.id(alias, 'value')}`;
  return {
    clause: sql`json_array_elements(case when json_typeof(${array}) = 'array' then ${array} end) as ${sql.id(alias)} ("value")`,
    element: place(element),
    document: element,
  };
}

function byKind({ kind }: JsonPlace, { text, number, boolean }: ByKind): Sql {
  const cases: Sql[] = [];
  if (text !== undefined) cases.push(sql`when 'string' then ${text}`);
  if (number !== undefined) cases.push(sql`when 'number' then ${number}`);
  if (boolean !== undefined) cases.push(sql`when 'boolean' then ${boolean}`);
  return sql`case ${kind} ${sql.join(cases, sql` `)} end`;
}

/** A single type needs a single term; the words false and true sort correctly. */
function ranked(rank: Sql, value: Sql, fold: (text: Sql) => Sql): readonly Sql[] {
  return [
    rank,
    sql`case ${rank} when 1 then ${double(value)} end`,
    sql`case ${rank} when 0 then ${value} when 2 then ${fold(value)} end`,
  ];
}

const kysely: KyselyParts = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (database) => new PostgresIntrospector(database),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};

/** Compiles the statements of the runtime: see {@link compileWith}. */
class StatementCompiler extends PostgresQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return valueMark;
  }
}

/** Compiles SQL only: the executor runs it. */
const writer = new Kysely<AnyTables>({
  dialect: {
    ...kysely,
    createQueryCompiler: () => new StatementCompiler(),
    createDriver: () => new DummyDriver(),
  },
});

/** Texts have the collation "C", and values have the same form as in SQLite. */
export function postgresDialect(foldText: Fold): Dialect {
  const fold = sql.raw(foldText === foldWithoutAccents ? 'drs_fold_without_accents' : 'drs_fold');
  // Computed texts are compared by their bytes, too.
  return { ...written, foldText, fold: (text) => sql`${fold}(${text}) collate "C"` };
}

const written: Omit<Dialect, 'fold' | 'foldText'> = {
  planPrefix: 'explain (generic_plan) ',
  kysely,
  db: writer,
  compile: (query) => compileWith(writer, (position) => `$${position}`, query),
  concat,
  object,
  objects,
  joinRows: (text) => sql`string_agg(cast(${text} as text), ',')`,
  // The database already sends the bytes of the text.
  asBytes: (text) => text,
  bound,
  compare,
  total,
  quotient: (dividend, divisor) => sql`drs_quotient(${dividend}, ${divisor})`,
  quickTotal: (value) => sql`coalesce(sum(cast(${value} as double precision)), 0)`,
  decimalText: (value) => sql`cast(${value} as text)`,
  decimals: (aggregate, value, scale) =>
    aggregate === 'sum'
      ? sql`cast(round(coalesce(sum(${value}), 0), ${sql.lit(scale)}) as text)`
      : decimalAverage(value, scale),
  jsonText: (value) => sql`coalesce(cast(to_json(cast(${value} as text)) as text), 'null')`,
  jsonRaw: (value) => sql`coalesce(cast(${value} as text), 'null')`,
  jsonReal: (value) =>
    sql`case when ${isPlain(value)} then cast(${value} as text) else drs_number(${value}) end`,
  jsonIfJson: (value) => sql`case when drs_is_document(${value}) then ${value} else 'null' end`,
  each: (list, type) => sql`(${listItems(list, type)})`,
  contains: (text, piece) => sql`strpos(${text}, ${piece}) > 0`,
  matches: (text, pattern, piece) =>
    sql`(strpos(${text}, ${piece}) > 0 and ${text} like drs_like(${pattern}))`,
  matchesAny: (text, patterns) =>
    sql`exists (select 1 from json_each_text(cast(${patterns} as json)) as "__pattern" where strpos(${text}, "__pattern"."value") > 0 and ${text} like drs_like("__pattern"."key"))`,
  json: postgresJson,
  direction: arrayText,
  recursiveParts: 1,
  joinOrdered: ({ query, alias }, table, on) => ({
    from: sql`(select "key", row_number() over () as "position" from ${query} as "ordered") as ${sql.id(alias)} join ${table} on ${on}`,
    order: sql` order by ${sql.id(alias, 'position')}`,
  }),
  pageRows,
  plansByLimit: true,
  integer: bigint,
  // Rows end with their transaction: autovacuum never cleans temporary tables.
  createKeyLists: (table) =>
    sql`create temporary table if not exists ${table} ("list" integer not null, "key" text collate "C" not null, primary key ("list", "key")) on commit delete rows`,
  listedKey: (key) => sql`cast(${key} as text)`,
  storedKey: (key, type) => sql`cast(${key} as ${sqlTypes[type]})`,
  lockRows: (alias, key, lock) =>
    sql` order by ${key} for ${lock === 'delete' ? sql`update` : sql`no key update`} of ${sql.id(alias)}`,
  now: sql`cast(extract(epoch from now()) * 1000 as bigint)`,
  skipLocked: sql` for update skip locked`,
  datastoreText: sql`"text"`,
  globalStamp: sql.raw(globalStamp),
  insertedKey,
  foreignKeyChecks: (when) => sql`set constraints all ${sql.raw(when)}`,
  tablesVersion,
  // The comparison depends on no row of the answer, so it is made before they are read. Without the offset it would
  // become a condition of the join, which is tested behind them.
  tagged: (query, known, tables) =>
    sql`with "__tag" as materialized (select ${dataVersion(tables)} as "version") select "__answer".*, "__tag"."version" from "__tag" left join (select * from ${subquery(query)} as "__read" where (select "version" from "__tag") is distinct from cast(${known} as text) offset 0) as "__answer" on true`,
  direct: {
    // A cast to the table would mean a type of PostgreSQL where the table is called as one is.
    rows: (table, list) =>
      sql`json_populate_recordset((select "__row" from ${sql.id(table)} as "__row" where false), cast(${list} as json))`,
    changed: sql.raw(changedRows),
    refuseHidden: sql`drs_refuse_hidden()`,
    answer: (change, { table, isOne, position }, { object: of, hidden, key, from, alias }) => {
      const rows =
        position === undefined
          ? sql`${sql.raw(changedRows)} as (${change})`
          : sql`"__unnumbered" as (${change}), ${sql.raw(changedRows)} as (select *, row_number() over () as ${sql.id(position)} from "__unnumbered")`;
      const order = position === undefined ? sql`` : sql` order by ${sql.id(alias, position)}`;
      const whole = sql`cast(${object(of)} as text)`;
      const json =
        hidden === undefined
          ? whole
          : sql`case when ${hidden.isVisible} then ${whole} else ${hidden.json} end`;
      const list = sql`string_agg(${json}, ','${order}), cast(json_agg(${key}${order}) as text)`;
      const one = (): Sql | BuiltQuery =>
        hidden === undefined
          ? objects(of, (columns) => sql`select ${columns} ${from}`)
          : sql`select ${json} ${from}`;
      const answer = isOne ? one() : sql`select ${list} ${from}`;
      return sql`with ${rows}, ${sql.raw(stampOfRows(table, isOne))} ${answer}`;
    },
  },
};

/** Each change that the counter counts is one of a table, so the version of all tables tells of the counter as well. */
function dataVersion(tables: ReadonlySet<string> | undefined): Sql {
  const version = tablesVersion(tables);
  return tables === undefined ? version : sql`concat(${version}, '-', ${sql.raw(globalStamp)})`;
}

function bigint(value: Sql): Sql {
  return sql`cast(${value} as bigint)`;
}

/** Up to so many skipped rows, reading them costs less than finding the rows of the page by their keys. */
const mostSkippedRows = 1_024;

/**
 * A query with an offset computes the columns of the rows that it skips, too, so these come from a query around it.
 *
 * A prepared statement is planned again for each run if the plan depends on a value. So a written bound tells about how
 * many rows are read, and subqueries hide the limit and the offset, which the plan for any value would take for a tenth
 * of the rows.
 */
function pageRows({ query, table, key, object: of, within, top, skip }: TablePage): Sql {
  const all = sql`${table}.*`;
  const shown = (from: Sql): Sql =>
    subquery(objects(of, (columns) => sql`select ${columns} from ${from}`, 'json'));
  if (within === undefined) return shown(sql`${opened(query).modifyFront(all)} as ${table}`);
  const part = (columns: Sql): Sql => {
    const bounded = opened(query).clearLimit().clearOffset().limit(sql.lit(within));
    return sql`select ${columns} from ${bounded.modifyFront(columns)} as ${table} limit (select ${bigint(top)}) offset (select ${bigint(skip)})`;
  };
  if (within <= mostSkippedRows) return shown(sql`(${part(all)}) as ${table}`);
  return shown(sql`${table} where ${key} = any(array(${part(key)})) order by ${key}`);
}

/** A sum of doubles fails on overflow, so values are scaled if one of them is large. No digits are lost. */
function total(value: Sql): Sql {
  const double = sql`cast(${value} as double precision)`;
  const isLarge = sql`abs(${double}) >= 1e290`;
  return sql`drs_sum(coalesce(sum(${double}) filter (where not ${isLarge}), 0), sum(cast(cast(${double} as text) as numeric)) filter (where ${isLarge}))`;
}

function insertedKey(value: Sql, table: string, column: string, number?: Sql): Sql {
  const sequence = sql`pg_get_serial_sequence(${sql.lit(quoted(table))}, ${sql.lit(column)})`;
  const key = sql`drs_key(${value}, ${sequence})`;
  if (number === undefined) return key;
  // A subquery that depends on no row runs once.
  return sql`coalesce((select drs_keys(${number}, ${sequence}))[row_number() over ()], ${key})`;
}

/** Whole numbers are divided: a quotient of others is rounded before it could be rounded here. */
function decimalAverage(value: Sql, scale: number): Sql {
  const decimals = scale + moreDecimals;
  const [sum, count] = [sql`sum(${value})`, sql`nullif(count(${value}), 0)`];
  const twice = sql.raw(`${2n * 10n ** BigInt(decimals)}`);
  const units = sql`div(abs(${sum}) * ${twice} + ${count}, 2 * ${count})`;
  const unit = sql.raw(`0.${'1'.padStart(decimals, '0')}`);
  return sql`cast(sign(${sum}) * ${units} * ${unit} as text)`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The SQL type of a bound value. */
const sqlTypes: Readonly<Record<ValueType, Sql>> = {
  text: sql`text`,
  number: sql`double precision`,
  integer: sql`bigint`,
  decimal: sql`numeric`,
  total: sql`numeric`,
  boolean: sql`smallint`,
};

function compare(value: Sql, operator: Operator, wanted: Sql, type: ValueType): Sql {
  const given = bound(wanted, type);
  return operator === '!='
    ? sql`${value} is distinct from ${given}`
    : sql`${value} ${sql.raw(operator)} ${given}`;
}

function bound(value: Sql, type: ValueType): Sql {
  return sql`cast(${value} as ${sqlTypes[type]})`;
}

/** The items of a bound JSON list: `key` is the position, `value` the item; null for one that equals no integer. */
function listItems(list: Sql, type: ValueType): Sql {
  const items = sql`json_array_elements_text(cast(${list} as json)) with ordinality as "__item" ("text", "position")`;
  return sql`select "position" - 1 as "key", ${item(type)} as "value" from ${items}`;
}

function item(type: ValueType): Sql {
  switch (type) {
    case 'text':
      return sql`"__item"."text"`;
    case 'number':
      return sql`drs_double("__item"."text")`;
    case 'integer':
      return sql`case when "__item"."text" ~ '^-?[0-9]{1,16}$' then cast("__item"."text" as bigint) else drs_integer(drs_double("__item"."text")) end`;
    case 'decimal':
    case 'total':
      return sql`cast("__item"."text" as numeric)`;
    case 'boolean':
      return sql`cast("__item"."text" as smallint)`;
  }
}

/** PostgreSQL accepts at most 100 arguments to a function. */
const maxArguments = 100;

/** Concatenates pieces. By measurement, this takes a fifth of the server time of building rows in JavaScript. */
function concat(json: Json): Sql {
  return joined(mergeTexts(pieces(json)));
}

function joined(parts: readonly (string | Sql)[]): Sql {
  const all = parts.map((part) => (typeof part === 'string' ? sql.lit(part) : part));
  if (all.length <= maxArguments) return sql`concat(${sql.join(all)})`;
  return joined(inGroups(all, maxArguments).map(joined));
}

/** Concatenates pieces that are not null. If the first one is a text, that costs less than `concat`. */
function chained(json: Json): Sql {
  const parts = mergeTexts(pieces(json));
  if (typeof parts[0] !== 'string') return joined(parts);
  const all = parts.map((part) => (typeof part === 'string' ? sql.lit(part) : sql`(${part})`));
  return sql.join(all, sql` || `);
}

function pieces(json: Json): readonly (string | Sql)[] {
  return json.flatMap((part): readonly (string | Sql)[] => {
    if (typeof part === 'string') return [part];
    if ('integer' in part) return [part.integer];
    if ('value' in part) return pieces(part.json);
    if ('short' in part) return pieces(part.short);
    if ('members' in part) return [object(part)];
    if ('from' in part) return [sql`coalesce((select ${concat(part.json)} ${part.from}), 'null')`];
    if ('isNull' in part) {
      return [sql`case when ${part.isNull} then 'null' else ${concat(part.parts)} end`];
    }
    return [part];
  });
}

function object(of: ObjectJson): Sql {
  const columns = rowColumns(of);
  const { from } = of;
  if (columns === undefined) {
    const text = concat(objectParts(of));
    return from === undefined ? text : sql`(select ${text} ${from})`;
  }
  return sql`(${rowJson(from === undefined ? sql`(select ${columns})` : sql`(select ${columns} ${from})`)})`;
}

function objects(
  of: ObjectJson,
  rows: (columns: Sql) => Sql | BuiltQuery,
  name?: string,
): Sql | BuiltQuery {
  const columns = of.from === undefined ? rowColumns(of) : undefined;
  const named = name === undefined ? sql`` : sql` as ${sql.id(name)}`;
  return columns === undefined
    ? rows(sql`${object(of)}${named}`)
    : rowJson(subquery(rows(columns)), named);
}

/** A row as JSON costs two thirds of a concatenation. */
function rowJson(rows: Sql, named = sql``): Sql {
  return sql`select row_to_json("__row")${named} from ${rows} as "__row"`;
}

/** PostgreSQL cuts longer names off. */
const maxNameBytes = 63;

/**
 * The columns of a row for {@link object}. None if a row cannot hold a value, such as the place of one that class code
 * computes, or would parse a long one, such as a page of other objects or a stored document.
 */
function rowColumns({ members }: ObjectJson): Sql | undefined {
  const columns: Sql[] = [];
  for (const { name, json } of members) {
    const value = rowValue(json);
    if (value === undefined || Buffer.byteLength(name) > maxNameBytes) return undefined;
    columns.push(sql`${value} as ${sql.id(name)}`);
  }
  return sql.join(columns);
}

/** A value that has the given JSON in a row. */
function rowValue([part, further]: Json): Sql | undefined {
  if (part === undefined || typeof part === 'string' || further !== undefined) return undefined;
  if ('integer' in part) return part.integer;
  if ('value' in part) return ofType(part);
  if ('short' in part) return sql`cast(${chained(part.short)} as json)`;
  if ('members' in part) return rowColumns(part) && object(part);
  if ('from' in part) return relatedValue(part);
  if (!('isNull' in part)) return undefined;
  const value = rowValue(part.parts);
  return value && sql`case when not (${part.isNull}) then ${value} end`;
}

function relatedValue({ json, from }: QueryJson): Sql | undefined {
  const [part] = json;
  if (part !== undefined && typeof part !== 'string' && 'members' in part) {
    const columns = rowColumns(part);
    if (columns === undefined) return undefined;
    return part.from === undefined
      ? sql`(${rowJson(sql`(select ${columns} ${from})`)})`
      : sql`(select ${object(part)} ${from})`;
  }
  const value = rowValue(json);
  return value && sql`(select ${value} ${from})`;
}

function ofType({ type, value }: ValueJson): Sql {
  switch (type) {
    case 'text':
    case 'number':
      return value;
    case 'real':
      return sql`case when ${isPlain(value)} then to_json(${value}) else cast(drs_number(${value}) as json) end`;
    case 'boolean':
      return sql`case ${value} when 1 then true when 0 then false end`;
  }
}

/** Whether a double as a text has no exponent. */
function isPlain(value: Sql): Sql {
  return sql`abs(${value}) >= 1e-4 and abs(${value}) < 1e15`;
}
