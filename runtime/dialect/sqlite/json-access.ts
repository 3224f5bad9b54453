import { sql } from 'kysely';
import type { Sql } from '../dialect.js';
import type { ByKind, JsonAccess, JsonElements, JsonPlace } from '../json-access.js';

export const sqliteJson: JsonAccess = {
  ifJson: (value) => sql`iif(json_valid(${value}), ${value}, null)`,
  property: (document, names) => ({
    kind: typeAt(document, names),
    value: sql`json_extract(${document}, ${pathOf(names)})`,
  }),
  length,
  elements,
  byKind,
  number: (value) => value,
  double,
  boolean: (value) => value,
  ranked: (rank, value, fold) => [
    rank,
    sql`case ${rank} when 2 then ${fold(value)} else ${value} end`,
  ],
  order,
};

function double(value: Sql): Sql {
  return sql`cast(${value} as double precision)`;
}

/** Numbers come before texts, as in any column; a boolean is 0 or 1 in SQL. */
function order(place: JsonPlace, fold: (text: Sql) => Sql): readonly Sql[] {
  const { value } = place;
  const rank = byKind(place, { boolean: sql`0`, number: sql`1`, text: sql`1` });
  return [rank, byKind(place, { text: fold(value), number: double(value), boolean: value })];
}

function length(document: Sql, names: readonly string[]): JsonPlace {
  const array = names.slice(0, -1);
  const isArray = sql`${typeAt(document, array)} = 'array'`;
  const own = sqliteJson.property(document, names);
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
    // Any other text would be read as JSON, and most are none.
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

/** SQLite reads a name in quotes with the escapes of JSON. */
function pathOf(names: readonly string[]): string {
  return `$${names.map((name) => `.${JSON.stringify(name)}`).join('')}`;
}
