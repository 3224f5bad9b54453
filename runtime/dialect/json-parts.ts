import { sql } from 'kysely';
import type { Json, ObjectJson } from '../protocol/queries.js';
import type { Sql } from './statement.js';

/** The pieces of an object as a text. */
export function objectParts({ members }: ObjectJson): Json {
  const parts = members.flatMap(({ name, json }, index) => [
    `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`,
    ...json,
  ]);
  return [...parts, '}'];
}

export function mergeTexts(parts: readonly (string | Sql)[]): readonly (string | Sql)[] {
  const merged: (string | Sql)[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === 'string' && typeof last === 'string') {
      merged[merged.length - 1] = last + part;
    } else merged.push(part);
  }
  return merged;
}

export function inGroups<T>(parts: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(parts.length / size) }, (_, index) =>
    parts.slice(index * size, (index + 1) * size),
  );
}

/** Whether a value is a finite number: in SQLite, texts sort after numbers. */
export function isFinite(value: Sql): Sql {
  return sql`${value} between -1.7976931348623157e308 and 1.7976931348623157e308`;
}

/** The value, or null if it is not a finite number. */
export function ifNumber(value: Sql): Sql {
  return sql`case when ${isFinite(value)} then ${value} end`;
}

/** JSON of a boolean, which is 0 or 1. */
export function jsonBoolean(value: Sql): Sql {
  return sql`case ${value} when 1 then 'true' when 0 then 'false' else 'null' end`;
}

/** `d!m!yyyy` in quotes from `YYYY-MM-DD`, or `null`. */
export function jsonBangDate(value: Sql): Sql {
  const day = sql`ltrim(substr(${value}, 9, 2), '0')`;
  const month = sql`ltrim(substr(${value}, 6, 2), '0')`;
  return sql`coalesce('"' || ${day} || '!' || ${month} || '!' || substr(${value}, 1, 4) || '"', 'null')`;
}
