import { sql } from 'kysely';
import type { Sql } from '../dialect.js';
import type { ByKind, JsonAccess, JsonElements, JsonPlace } from '../json-access.js';

/** A document is a text that holds JSON, and a value in it a text that a statement makes a number or a boolean of. */
export const postgresJson: JsonAccess = {
  // The functions for documents fail over a text that holds U+0000, which a document may spell.
  ifJson: (value) => sql`case when drs_is_json(${value}) then ${value} end`,
  property: (document, names) => place(at(document, names)),
  length,
  elements,
  byKind,
  number: double,
  double,
  boolean: (value) => sql`case ${value} when 'true' then 1 when 'false' then 0 end`,
  ranked,
  order: (found, fold) =>
    ranked(byKind(found, { boolean: sql`0`, number: sql`1`, text: sql`2` }), found.value, fold),
};

function double(value: Sql): Sql {
  return sql`drs_double(${value})`;
}

function place(json: Sql): JsonPlace {
  return { kind: sql`json_typeof(${json})`, value: sql`((${json} #>> '{}') collate "C")` };
}

/** A name as a text is one of a property; that of an array's element, a number, leads nowhere. */
function at(document: Sql, names: readonly string[]): Sql {
  const steps = names.map((name) => sql` -> cast(${name} as text)`);
  return sql`(cast(${document} as json)${sql.join(steps, sql``)})`;
}

function length(document: Sql, names: readonly string[]): JsonPlace {
  const array = at(document, names.slice(0, -1));
  const isArray = sql`json_typeof(${array}) = 'array'`;
  const own = postgresJson.property(document, names);
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

/** What has one type stands in one term; the words false and true are in order. */
function ranked(rank: Sql, value: Sql, fold: (text: Sql) => Sql): readonly Sql[] {
  return [
    rank,
    sql`case ${rank} when 1 then ${double(value)} end`,
    sql`case ${rank} when 0 then ${value} when 2 then ${fold(value)} end`,
  ];
}
