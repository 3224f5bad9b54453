import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { AnyTables } from '../../protocol/queries.js';
import { compileWith } from '../compile.js';
import type { Dialect, OrderTerm, Sql } from '../dialect.js';
import type { Fold } from '../../protocol/fold.js';
import { singlePrecision } from '../../protocol/vector.js';
import type { KyselyParts } from '../kysely-parts.js';
import { sqliteJson } from './json-access.js';
import { concat, fill } from './json-text.js';

/**
 * Writes a variable behind a plus, which does nothing to its value: from 3.54 on, SQLite looks at what a bare one holds when it
 * plans a statement with `=` and a join or an order, and would plan it anew for each run.
 */
class QueryCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return '+?';
  }
}

const kysely: KyselyParts = {
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: (database) => new SqliteIntrospector(database),
  createQueryCompiler: () => new QueryCompiler(),
};

/** Writes SQL and never runs it: that is the executor's part. */
const writer = new Kysely<AnyTables>({
  dialect: { ...kysely, createDriver: () => new DummyDriver() },
});

/** @param foldText what the SQL function `drs_fold` does */
export function sqliteDialect(foldText: Fold): Dialect {
  return { ...written, foldText };
}

const written: Omit<Dialect, 'foldText'> = {
  kysely,
  db: writer,
  compile: (query) => compileWith(writer, query),
  concat,
  fill,
  // A comma is what it puts between unless told otherwise, and to be told costs a tenth.
  joinRows: (text) => sql`group_concat(${text})`,
  asBytes: (text) => sql`cast(${text} as blob)`,
  // An ASCII text, told by having as many bytes as characters, is folded natively; only others cost a call into JavaScript.
  fold: (text) =>
    sql`iif(octet_length(${text}) = length(${text}), lower(${text}), drs_fold(${text}))`,
  choose: (condition, then, otherwise) => sql`iif(${condition}, ${then}, ${otherwise})`,
  bound: (value) => value,
  compare: (value, operator, wanted) => sql`${value} ${sql.raw(operator)} ${wanted}`,
  compared: (wanted) => wanted,
  differs: (value, wanted) => sql`${value} is not ${wanted}`,
  isSame: (value, other) => sql`${value} is ${other}`,
  orderTerm,
  // A blob is greater than every text.
  afterEveryText: new Uint8Array(0),
  isNull: (value) => sql`typeof(${value}) = 'null'`,
  // Every text is greater than every number, and an infinity lies outside.
  ifNumber: (value) => sql`iif(${isFinite(value)}, ${value}, null)`,
  // `sum` fails where the sum of integers has more than 64 bits.
  total: (value) => sql`total(${value})`,
  quotient: (dividend, divisor) => sql`(${dividend} / nullif(${divisor}, 0))`,
  jsonText: (value) => sql`json_quote(${value})`,
  jsonRaw: (value) => sql`ifnull(${value}, 'null')`,
  jsonIfNumber: (value) => sql`iif(${isFinite(value)}, ${value}, 'null')`,
  jsonReal,
  jsonIfJson: (value) => sql`iif(json_valid(${value}), ${value}, 'null')`,
  jsonBoolean: (value) => sql`case ${value} when 1 then 'true' when 0 then 'false' else 'null' end`,
  jsonBangDate: (value) =>
    sql`ifnull('"' || cast(substr(${value}, 9, 2) as integer) || '!' || cast(substr(${value}, 6, 2) as integer) || '!' || substr(${value}, 1, 4) || '"', 'null')`,
  uriText: (value) => sql`drs_uri(${value})`,
  each: (list) => sql`json_each(${list})`,
  isIn: (value, list) => sql`${value} in (select "value" from json_each(${list}))`,
  contains: (text, piece) => sql`instr(${text}, ${piece}) > 0`,
  // What SQLite itself can tell spares most texts a call into JavaScript.
  hasWord: (text, word) => sql`(instr(${text}, ${word}) > 0 and drs_has_word(${text}, ${word}))`,
  matches: (text, pattern, piece) =>
    sql`(instr(${text}, ${piece}) > 0 and drs_matches(${text}, ${pattern}))`,
  matchesAny: (text, patterns) =>
    sql`exists (select 1 from json_each(${patterns}) as "__pattern" where instr(${text}, "__pattern"."value") > 0 and drs_matches(${text}, "__pattern"."key"))`,
  json: sqliteJson,
  direction: singlePrecision,
  // It takes at most 500 parts of one compound select.
  recursiveParts: 200,
  // CROSS JOIN keeps SQLite from reading the tables in another order than they are written in.
  joinInOrder: sql`cross join`,
  losesOrder: false,
  integer: (value) => sql`cast(${value} as integer)`,
  createKeyLists,
  createPassedKeys: createKeyLists,
  passedKey: () => sql`"key"`,
  listedKey: (key) => key,
  unlistedKey: (key) => key,
  // The sign takes away what the type of a column does to comparisons.
  soughtKey: (key) => sql`+${key}`,
  plainKey: (key) => sql`+${key}`,
  // The key of a row that has none is drawn, and the driver tells it.
  insertedKey: (value) => value,
  returnsKey: false,
  deferForeignKeys: sql`pragma defer_foreign_keys = on`,
  checkForeignKeys: sql`pragma defer_foreign_keys = off`,
};

/** Nulls come first ascending, which is SQLite's own way. */
function createKeyLists(table: Sql): Sql {
  return sql`create temporary table if not exists ${table} ("list" integer not null, "key" not null, primary key ("list", "key")) without rowid`;
}

function orderTerm({ value, descending, isNullGreatest }: OrderTerm): Sql {
  if (isNullGreatest !== true) return descending ? sql`${value} desc` : value;
  return descending ? sql`${value} desc nulls first` : sql`${value} nulls last`;
}

function jsonReal(value: Sql): Sql {
  const whole = sql`cast(${value} as integer)`;
  const isWhole = sql`${value} between -9007199254740991 and 9007199254740991 and ${value} = ${whole}`;
  return sql`case when ${isWhole} then ${concat([whole])} else ${concat([written.jsonIfNumber(value)])} end`;
}

function isFinite(value: Sql): Sql {
  return sql`${value} between -1.7976931348623157e308 and 1.7976931348623157e308`;
}
