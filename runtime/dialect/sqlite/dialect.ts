import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { singlePrecision } from '../../protocol/vector.js';
import type { AnyTables, IntegerJson, Json, ObjectJson } from '../../protocol/queries.js';
import {
  type BuiltQuery,
  compileWith,
  type KyselyParts,
  opened,
  subquery,
  valueMark,
} from '../compile.js';
import { inGroups, isFinite, mergeTexts, objectParts } from '../json-parts.js';
import type { Dialect, Sql } from '../dialect.js';
import type { ValueType } from '../value-type.js';
import type { Fold } from '../../protocol/fold.js';
import { partOfTotal } from '../../protocol/decimal.js';
import type { ByKind, JsonAccess, JsonElements, JsonPlace } from '../json-access.js';

const sqliteJson: JsonAccess = {
  ifJson: (value) => sql`iif(json_valid(${value}), ${value}, null)`,
  property,
  elements,
  byKind,
  typed: (value, type) => (type === 'number' ? double(value) : value),
  ranked: (rank, value, fold) => [
    rank,
    sql`case ${rank} when 0 then ${value} when 1 then ${double(value)} when 2 then ${fold(value)} end`,
  ],
};

function double(value: Sql): Sql {
  return sql`cast(${value} as double precision)`;
}

function property(document: Sql, names: readonly string[]): JsonPlace {
  const own = {
    kind: typeAt(document, names),
    value: sql`json_extract(${document}, ${pathOf(names)})`,
  };
  if (names.at(-1) !== 'length') return own;
  const array = names.slice(0, -1);
  const isArray = sql`${typeAt(document, array)} = 'array'`;
  return {
    kind: sql`iif(${isArray}, 'integer', ${own.kind})`,
    value: sql`iif(${isArray}, json_array_length(${document}, ${pathOf(array)}), ${own.value})`,
  };
}

function elements(document: Sql, names: readonly string[], alias: string): JsonElements {
  const array = sql`iif(${typeAt(document, names)} = 'array', ${document}, null)`;
  const kind = sql`${sql.id(alias, 'type')}`;
  const value = sql`${sql.id(alias, 'value')}`;
  return {
    clause: sql`json_each(${array}, ${pathOf(names)}) as ${sql.id(alias)}`,
    element: { kind, value },
    // Most other texts are not JSON and would fail to parse.
    document: sql`iif(${kind} in ('array', 'object'), ${value}, null)`,
  };
}

function byKind({ kind }: JsonPlace, { text, number, boolean }: ByKind): Sql {
  const cases: Sql[] = [];
  if (text !== undefined) cases.push(sql`when 'text' then ${text}`);
  if (number !== undefined) {
    cases.push(sql`when 'integer' then ${number}`, sql`when 'real' then ${number}`);
  }
  if (boolean !== undefined) {
    cases.push(sql`when 'true' then ${boolean}`, sql`when 'false' then ${boolean}`);
  }
  return sql`case ${kind} ${sql.join(cases, sql` `)} end`;
}

function typeAt(document: Sql, names: readonly string[]): Sql {
  return sql`json_type(${document}, ${pathOf(names)})`;
}

/** SQLite parses the escapes of JSON in quoted names. */
function pathOf(names: readonly string[]): string {
  return `$${names.map((name) => `.${JSON.stringify(name)}`).join('')}`;
}

/**
 * A variable with a unary plus, which keeps its value. SQLite examines the value of a bare variable when it
 * plans a statement with it behind LIMIT or, from 3.54 on, with `=` and a join or an order, and would plan the
 * statement again for each run.
 */
function placeholder(): string {
  return '+?';
}

class QueryCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return placeholder();
  }
}

/** Compiles the statements of the runtime: see {@link compileWith}. */
class StatementCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return valueMark;
  }
}

const kysely: KyselyParts = {
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: (database) => new SqliteIntrospector(database),
  createQueryCompiler: () => new QueryCompiler(),
};

/** Compiles SQL only: the executor runs it. */
const writer = new Kysely<AnyTables>({
  dialect: {
    ...kysely,
    createQueryCompiler: () => new StatementCompiler(),
    createDriver: () => new DummyDriver(),
  },
});

/** A column holds a decimal as an integer: its digits without the point. No integer holds every total. */
function bound(value: Sql, type: ValueType): Sql {
  if (type === 'total') return sql`drs_sortable(${value})`;
  return type === 'decimal' ? sql`cast(replace(${value}, '.', '') as integer)` : value;
}

/** JSON of a double beyond 2^53 has the digits of another integer, with which SQLite would compare. */
function each(list: Sql, type: ValueType): Sql {
  const items = sql`json_each(${list})`;
  if (type !== 'number' && type !== 'decimal' && type !== 'total') return items;
  const value = type === 'number' ? sql`cast("value" as real)` : bound(sql`"value"`, type);
  return sql`(select "key", ${value} as "value" from ${items})`;
}

function decimalText(value: Sql, scale: number): Sql {
  if (scale === 0) return sql`cast(${value} as text)`;
  const unit = sql.raw(String(10n ** BigInt(scale)));
  const digits = sql`abs(${value})`;
  const text = sql`format(${sql.lit(`%s%d.%0${scale}d`)}, iif(${value} < 0, '-', ''), ${digits} / ${unit}, ${digits} % ${unit})`;
  return sql`iif(${value} is null, null, ${text})`;
}

/** The sum in two parts, because a sum must not exceed 64 bits; texts, because JavaScript's numbers have 53. */
function partSums(value: Sql): Sql {
  const part = sql.raw(String(partOfTotal));
  return sql`cast(sum(${value} / ${part}) as text), cast(sum(${value} % ${part}) as text)`;
}

/** @param foldText implements the SQL function `drs_fold` */
export function sqliteDialect(foldText: Fold): Dialect {
  return { ...written, foldText };
}

const written: Omit<Dialect, 'foldText'> = {
  planPrefix: 'explain query plan ',
  kysely,
  db: writer,
  compile: (query) => compileWith(writer, placeholder, query),
  concat: (parts) => concat(textParts(parts)),
  object,
  objects,
  // The default separator is a comma; passing it costs a tenth more.
  joinRows: (text) => sql`group_concat(${text})`,
  asBytes: (text) => sql`cast(${text} as blob)`,
  // An ASCII text has as many bytes as characters and is folded natively; only others need a call into JavaScript.
  fold: (text) =>
    sql`iif(octet_length(${text}) = length(${text}), lower(${text}), drs_fold(${text}))`,
  bound,
  compare: (value, operator, wanted, type) =>
    sql`${value} ${operator === '!=' ? sql`is not` : sql.raw(operator)} ${bound(wanted, type)}`,
  // `sum` fails when a sum of integers exceeds 64 bits.
  total: (value) => sql`total(${value})`,
  quotient: (dividend, divisor) => sql`(${dividend} / nullif(${divisor}, 0))`,
  decimalText,
  decimals: (aggregate, value, scale) =>
    aggregate === 'sum'
      ? sql`drs_decimal_total(${partSums(value)}, ${sql.lit(scale)})`
      : sql`drs_decimal_average(${partSums(value)}, count(${value}), ${sql.lit(scale)})`,
  jsonText: (value) => sql`json_quote(${value})`,
  jsonRaw,
  jsonReal,
  jsonIfJson: (value) => sql`iif(json_valid(${value}), ${value}, 'null')`,
  each,
  contains: (text, piece) => sql`instr(${text}, ${piece}) > 0`,
  // SQLite's own function spares most texts a call into JavaScript.
  matches: (text, pattern, piece) =>
    sql`(instr(${text}, ${piece}) > 0 and drs_matches(${text}, ${pattern}))`,
  matchesAny: (text, patterns) =>
    sql`exists (select 1 from json_each(${patterns}) as "__pattern" where instr(${text}, "__pattern"."value") > 0 and drs_matches(${text}, "__pattern"."key"))`,
  json: sqliteJson,
  // SQLite accepts at most 500 parts of a compound select.
  direction: singlePrecision,
  recursiveParts: 200,
  // CROSS JOIN keeps SQLite from reordering the tables, and rows keep the order of the first one.
  joinOrdered: ({ query, alias }, table, on) => ({
    from: sql`${query} as ${sql.id(alias)} cross join ${table} on ${on}`,
    order: sql``,
  }),
  pageRows: ({ query, object: of }) =>
    subquery(objects(of, (columns) => opened(query).modifyFront(columns), 'json')),
  plansByLimit: false,
  integer: (value) => sql`cast(${value} as integer)`,
  createKeyLists,
  // The unary plus removes the column's type affinity from comparisons.
  listedKey: (key) => sql`+${key}`,
  storedKey: (key) => sql`+${key}`,
  now: sql`cast(unixepoch('subsec') * 1000 as integer)`,
  skipLocked: sql``,
  datastoreText: sql`"value"`,
  globalStamp: sql`(select "value" from "__datastore" where "name" = 'globalStamp')`,
  foreignKeyChecks: (when) =>
    when === 'deferred'
      ? sql`pragma defer_foreign_keys = on`
      : sql`pragma defer_foreign_keys = off`,
  // That pragma forgets what it would have to check.
  danglingReferences: (targets, known) => {
    const list = (names: readonly string[]): Sql => sql.join(names.map((each) => sql.lit(each)));
    return sql`select 1 from sqlite_schema as "table" cross join pragma_foreign_key_list("table"."name") as "key" cross join pragma_foreign_key_check("table"."name") as "broken" where "table"."type" = 'table' and "table"."name" not in (${list(known)}) and "key"."table" collate nocase in (${list(targets)}) and "broken"."fkid" = "key"."id" limit 1`;
  },
};

function createKeyLists(table: Sql): Sql {
  return sql`create temporary table if not exists ${table} ("list" integer not null, "key" not null, primary key ("list", "key")) without rowid`;
}

/**
 * SQLite writes `5.0`, `1.0e+16` and `1.0e-05`. Numbers that it writes without an exponent need no
 * call into JavaScript, even if it writes 17 digits where 16 are enough: they are the same double.
 */
function jsonReal(value: Sql): Sql {
  const whole = sql`cast(${value} as integer)`;
  const isSafe = sql`${value} between -9007199254740991 and 9007199254740991`;
  const wholeJson = sql`iif(${isSafe}, ${whole}, drs_number(${value}))`;
  const isPlain = sql`abs(${value}) between 1e-4 and 1e15`;
  return sql`case when ${value} = ${whole} then ${wholeJson} when ${isPlain} then ${value} when ${isFinite(value)} then drs_number(${value}) else 'null' end`;
}

/** SQLite before 3.48 accepts at most 127 arguments to a function. */
const maxArguments = 100;

/** Each nullable piece doubles the number of format literals. */
const maxNullables = 2;

function jsonRaw(value: Sql): Sql {
  return sql`ifnull(${value}, 'null')`;
}

function object(of: ObjectJson): Sql {
  const parts = textParts(objectParts(of));
  const text = of.isLong ? concat(parts) : fill(parts);
  return of.from === undefined ? text : sql`(select ${text} ${of.from})`;
}

function objects(
  of: ObjectJson,
  rows: (columns: Sql) => Sql | BuiltQuery,
  name?: string,
): Sql | BuiltQuery {
  return rows(name === undefined ? object(of) : sql`${object(of)} as ${sql.id(name)}`);
}

/** A piece of a text. */
type TextPart = string | Sql | NullableText | IntegerJson;

interface NullableText {
  readonly isNull: Sql;
  readonly parts: readonly TextPart[];
}

function textParts(json: Json): readonly TextPart[] {
  return json.flatMap((part): readonly TextPart[] => {
    if (typeof part === 'string') return [part];
    if ('value' in part) return textParts(part.json);
    if ('short' in part) return textParts(part.short);
    if ('members' in part) return [object(part)];
    if ('from' in part) return [jsonRaw(sql`(select ${textOf(part.json)} ${part.from})`)];
    if ('isNull' in part) return [{ isNull: part.isNull, parts: textParts(part.parts) }];
    return [part];
  });
}

function textOf(json: Json): Sql {
  const [part] = json;
  return json.length === 1 && part !== undefined && typeof part !== 'string' && 'members' in part
    ? object(part)
    : fill(textParts(json));
}

/** Concatenates pieces. */
function concat(parts: readonly TextPart[]): Sql {
  const written = parts.map((part) => (isNullable(part) ? whole(part) : plain(part)));
  const merged = mergeTexts(written).map((part) =>
    typeof part === 'string' ? sql.lit(part) : part,
  );
  if (merged.length <= maxArguments) return sql`concat(${sql.join(merged)})`;
  const groups = inGroups(merged, maxArguments);
  return concat(groups.map((group) => sql`concat(${sql.join(group)})`));
}

/**
 * Formats a short text with one call and a single literal, a tenth cheaper than `concat`. The literal depends on
 * which values are null: `%.0s` consumes a value and writes nothing.
 */
function fill(parts: readonly TextPart[]): Sql {
  const nullables = parts.filter(isNullable);
  const isFlat = nullables.every((each) => each.parts.every((part) => !isNullable(part)));
  if (!isFlat || nullables.length > maxNullables) {
    return fill(parts.map((part) => (isNullable(part) ? whole(part) : part)));
  }
  const values = parts.flatMap((part) => (isNullable(part) ? valuesOf(part) : valueOf(part)));
  if (values.length === 0 || values.length >= maxArguments) return concat(parts);
  return sql`format(${choice(parts, nullables, [])}, ${sql.join(values)})`;
}

/** The literal for each combination of nulls. */
function choice(
  parts: readonly TextPart[],
  nullables: readonly NullableText[],
  nulls: readonly NullableText[],
): Sql {
  const [first, ...rest] = nullables;
  if (first === undefined) return sql.lit(pattern(parts, nulls));
  return sql`iif(${first.isNull}, ${choice(parts, rest, [...nulls, first])}, ${choice(parts, rest, nulls)})`;
}

function pattern(parts: readonly TextPart[], nulls: readonly NullableText[]): string {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') text += part.replaceAll('%', '%%');
    else if (isInteger(part)) text += '%d';
    else if (!isNullable(part)) text += '%s';
    else if (nulls.includes(part)) text += `null${'%.0s'.repeat(valuesOf(part).length)}`;
    else text += pattern(part.parts, nulls);
  }
  return text;
}

function whole({ isNull, parts }: NullableText): Sql {
  return sql`iif(${isNull}, 'null', ${fill(parts)})`;
}

function isNullable(part: TextPart): part is NullableText {
  return typeof part !== 'string' && 'isNull' in part;
}

function valuesOf({ parts }: NullableText): readonly Sql[] {
  return parts.flatMap((part) => (isNullable(part) ? [] : valueOf(part)));
}

function valueOf(part: Exclude<TextPart, NullableText>): readonly Sql[] {
  const value = plain(part);
  return typeof value === 'string' ? [] : [value];
}

function isInteger(part: TextPart): part is IntegerJson {
  return typeof part !== 'string' && 'integer' in part;
}

function plain(part: Exclude<TextPart, NullableText>): string | Sql {
  return isInteger(part) ? part.integer : part;
}
