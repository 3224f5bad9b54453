import { sql } from 'kysely';
import type { JsonPart } from '../dialect.js';
import type { Sql } from '../sql.js';

/** PostgreSQL takes at most 100 arguments to a function. */
const maxArguments = 100;

/** One text from pieces. Measured against rows that JavaScript writes, this takes a fifth of the server's own time. */
export function concat(parts: readonly JsonPart[]): Sql {
  return joined(mergeTexts(flat(parts)));
}

function joined(parts: readonly (string | Sql)[]): Sql {
  const pieces = parts.map((part) => (typeof part === 'string' ? sql.lit(part) : part));
  if (pieces.length <= maxArguments) return sql`concat(${sql.join(pieces)})`;
  const groups = Array.from({ length: Math.ceil(pieces.length / maxArguments) }, (_, index) =>
    joined(pieces.slice(index * maxArguments, (index + 1) * maxArguments)),
  );
  return joined(groups);
}

function flat(parts: readonly JsonPart[]): readonly (string | Sql)[] {
  return parts.map((part) => {
    if (typeof part === 'string') return part;
    if ('integer' in part) return part.integer;
    return 'isNull' in part
      ? sql`case when ${part.isNull} then 'null' else ${concat(part.parts)} end`
      : part;
  });
}

function mergeTexts(parts: readonly (string | Sql)[]): readonly (string | Sql)[] {
  const merged: (string | Sql)[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === 'string' && typeof last === 'string') {
      merged[merged.length - 1] = last + part;
    } else {
      merged.push(part);
    }
  }
  return merged;
}
