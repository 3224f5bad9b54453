import { sql } from 'kysely';
import type { Sql } from './sql.js';

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

export function isFinite(value: Sql): Sql {
  return sql`${value} between -1.7976931348623157e308 and 1.7976931348623157e308`;
}

export function jsonBoolean(value: Sql): Sql {
  return sql`case ${value} when 1 then 'true' when 0 then 'false' else 'null' end`;
}
