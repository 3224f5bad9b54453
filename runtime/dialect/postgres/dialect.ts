import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import { type Fold, foldWithoutAccents } from '../../protocol/fold.js';
import type { AnyTables } from '../../protocol/queries.js';
import { compileWith } from '../compile.js';
import type { Dialect, OrderTerm, Sql } from '../dialect.js';
import type { KyselyParts } from '../kysely-parts.js';
import { compare, compared, differs, listItems, sqlTypes } from './comparing.js';
import { postgresJson } from './json-access.js';
import { concat } from './json-text.js';

const kysely: KyselyParts = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (database) => new PostgresIntrospector(database),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};

/** Writes SQL and never runs it: that is the executor's part. */
const writer = new Kysely<AnyTables>({
  dialect: { ...kysely, createDriver: () => new DummyDriver() },
});

/**
 * SQL for PostgreSQL, over tables whose texts have the collation "C" and whose values have the form that they have in SQLite.
 * @param foldText how the datastore compares texts
 */
export function postgresDialect(foldText: Fold): Dialect {
  const fold = sql.raw(foldText === foldWithoutAccents ? 'drs_fold_without_accents' : 'drs_fold');
  // A text that the statement computes is compared by its bytes, too.
  return { ...written, foldText, fold: (text) => sql`${fold}(${text}) collate "C"` };
}

const written: Omit<Dialect, 'fold' | 'foldText'> = {
  kysely,
  db: writer,
  compile: (query) => compileWith(writer, query),
  concat,
  fill: concat,
  joinRows: (text) => sql`string_agg(cast(${text} as text), ',')`,
  // The bytes that the database sends are those of the text.
  asBytes: (text) => text,
  choose: (condition, then, otherwise) =>
    sql`case when ${condition} then ${then} else ${otherwise} end`,
  bound: (value, type) => sql`cast(${value} as ${sqlTypes[type]})`,
  compare,
  compared,
  differs,
  isSame: (value, other) => sql`${value} is not distinct from ${other}`,
  orderTerm,
  // No character is greater than this one, which stands for nothing.
  afterEveryText: '\u{10ffff}'.repeat(250),
  isNull: (value) => sql`${value} is null`,
  ifNumber: (value) => sql`case when ${isFinite(value)} then ${value} end`,
  total,
  quotient: (dividend, divisor) => sql`drs_quotient(${dividend}, ${divisor})`,
  jsonText: (value) => sql`coalesce(cast(to_json(cast(${value} as text)) as text), 'null')`,
  jsonRaw: (value) => sql`coalesce(cast(${value} as text), 'null')`,
  jsonIfNumber,
  // PostgreSQL writes a whole number without a fraction, and minus zero with its sign.
  jsonReal: (value) => jsonIfNumber(sql`(${value} + 0)`),
  jsonIfJson: (value) => sql`case when drs_is_document(${value}) then ${value} else 'null' end`,
  jsonBoolean: (value) => sql`case ${value} when 1 then 'true' when 0 then 'false' else 'null' end`,
  jsonBangDate: (value) =>
    sql`coalesce('"' || ltrim(substr(${value}, 9, 2), '0') || '!' || ltrim(substr(${value}, 6, 2), '0') || '!' || substr(${value}, 1, 4) || '"', 'null')`,
  uriText: (value) => sql`drs_uri(${value})`,
  each: (list, type) => sql`(${listItems(list, type)})`,
  isIn: (value, list, type) =>
    sql`${value} in (select "value" from (${listItems(list, type)}) as "listed")`,
  contains: (text, piece) => sql`strpos(${text}, ${piece}) > 0`,
  hasWord: (text, word) => sql`(strpos(${text}, ${word}) > 0 and drs_has_word(${text}, ${word}))`,
  matches: (text, pattern, piece) =>
    sql`(strpos(${text}, ${piece}) > 0 and ${text} like drs_like(${pattern}))`,
  matchesAny: (text, patterns) =>
    sql`exists (select 1 from json_each_text(cast(${patterns} as json)) as "__pattern" where strpos(${text}, "__pattern"."value") > 0 and ${text} like drs_like("__pattern"."key"))`,
  json: postgresJson,
  direction: (numbers) => `{${numbers.join()}}`,
  recursiveParts: 1,
  joinInOrder: sql`join`,
  losesOrder: true,
  integer: (value) => sql`cast(${value} as bigint)`,
  // No row outlives its transaction; PostgreSQL never tidies up in a temporary table by itself.
  createKeyLists: (table) =>
    sql`create temporary table if not exists ${table} ("list" integer not null, "key" text collate "C" not null, primary key ("list", "key")) on commit delete rows`,
  // A key is a text there, whatever its type: integers have their number beside it, so that an index has them in order.
  createPassedKeys: (table) =>
    sql`create temporary table if not exists ${table} ("list" integer not null, "key" text collate "C" not null, "number" bigint generated always as (case when "key" ~ '^-?[0-9]{1,16}$' then cast("key" as bigint) end) stored, primary key ("list", "key"), unique ("list", "number", "key")) on commit delete rows`,
  passedKey: (type) => (type === 'integer' ? sql`"number"` : sql`"key"`),
  listedKey: (key) => sql`cast(${key} as text)`,
  unlistedKey: (key, type) => sql`cast(${key} as ${sqlTypes[type]})`,
  soughtKey: (key) => sql`cast(${key} as text)`,
  plainKey: (key, type) => sql`cast(${key} as ${sqlTypes[type]})`,
  lockRows: (alias, key, lock) =>
    sql` order by ${key} for ${lock === 'delete' ? sql`update` : sql`no key update`} of ${sql.id(alias)}`,
  insertedKey: (value, table, column) =>
    sql`drs_key(${value}, pg_get_serial_sequence(${sql.lit(quoted(table))}, ${sql.lit(column)}))`,
  returnsKey: true,
  deferForeignKeys: sql`set constraints all deferred`,
  checkForeignKeys: sql`set constraints all immediate`,
};

/** PostgreSQL's own way is nulls last, ascending; what is never null has no word about them in its indexes. */
function orderTerm({ value, descending, isNullGreatest, isNeverNull }: OrderTerm): Sql {
  if (isNeverNull === true) return descending ? sql`${value} desc` : value;
  const nullsFirst = descending === (isNullGreatest === true);
  return sql`${value}${descending ? sql` desc` : sql``} nulls ${nullsFirst ? sql`first` : sql`last`}`;
}

function jsonIfNumber(value: Sql): Sql {
  return sql`case when ${isFinite(value)} then cast(${value} as text) else 'null' end`;
}

function isFinite(value: Sql): Sql {
  return sql`${value} between -1.7976931348623157e308 and 1.7976931348623157e308`;
}

/** A sum of doubles fails where it is too large for one; only large numbers can make it so. Texts lose none of their digits. */
function total(value: Sql): Sql {
  const double = sql`cast(${value} as double precision)`;
  const isLarge = sql`abs(${double}) >= 1e290`;
  return sql`drs_sum(coalesce(sum(${double}) filter (where not ${isLarge}), 0), sum(cast(cast(${double} as text) as numeric)) filter (where ${isLarge}))`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
