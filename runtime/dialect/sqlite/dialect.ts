import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Dialect, JsonPart, Sql } from '../dialect.js';
import type { Slot, SqlValue, Statement } from '../statement.js';

/** Writes SQL and never runs it: that is the executor's part. */
const writer = new Kysely<Record<string, never>>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/** SQLite before 3.48 takes at most 127 arguments to a function. */
const maxArguments = 100;

export const sqliteDialect: Dialect = {
  compile(query: Sql): Statement {
    const { sql: text, parameters } = query.compile(writer);
    return { sql: text, bindings: parameters as readonly (SqlValue | Slot)[] };
  },
  concat,
  joinRows: (text) => sql`group_concat(${text}, ',')`,
  asBytes: (text) => sql`cast(${text} as blob)`,
  // An ASCII text, told by having as many bytes as characters, is folded natively; only others cost a call into JavaScript.
  fold: (text) =>
    sql`iif(octet_length(${text}) = length(${text}), lower(${text}), drs_fold(${text}))`,
  isNull: (value) => sql`typeof(${value}) = 'null'`,
  jsonText: (value) => sql`json_quote(${value})`,
  jsonRaw: (value) => sql`ifnull(${value}, 'null')`,
  jsonBoolean: (value) => sql`case ${value} when 1 then 'true' when 0 then 'false' else 'null' end`,
  jsonBangDate: (value) =>
    sql`ifnull('"' || cast(substr(${value}, 9, 2) as integer) || '!' || cast(substr(${value}, 6, 2) as integer) || '!' || substr(${value}, 1, 4) || '"', 'null')`,
  uriText: (value) => sql`drs_uri(${value})`,
  integer: (value) => sql`cast(${value} as integer)`,
};

function concat(parts: readonly JsonPart[]): Sql {
  const merged = mergeTexts(parts).map((part) => (typeof part === 'string' ? sql.lit(part) : part));
  if (merged.length <= maxArguments) return sql`concat(${sql.join(merged)})`;
  const groups: Sql[] = [];
  for (let i = 0; i < merged.length; i += maxArguments) {
    groups.push(sql`concat(${sql.join(merged.slice(i, i + maxArguments))})`);
  }
  return concat(groups);
}

function mergeTexts(parts: readonly JsonPart[]): JsonPart[] {
  const merged: JsonPart[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === 'string' && typeof last === 'string')
      merged[merged.length - 1] = last + part;
    else merged.push(part);
  }
  return merged;
}
