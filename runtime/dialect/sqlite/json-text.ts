import { sql } from 'kysely';
import type { IntegerJson, JsonPart, NullableJson } from '../dialect.js';
import type { Sql } from '../sql.js';

/** SQLite before 3.48 takes at most 127 arguments to a function. */
const maxArguments = 100;

/** Each doubles the patterns that are written. */
const maxNullables = 2;

/** One text from pieces. */
export function concat(parts: readonly JsonPart[]): Sql {
  const written = parts.map((part) => (isNullable(part) ? whole(part) : plain(part)));
  const merged = mergeTexts(written).map((part) =>
    typeof part === 'string' ? sql.lit(part) : part,
  );
  if (merged.length <= maxArguments) return sql`concat(${sql.join(merged)})`;
  return concat(groups(merged).map((group) => sql`concat(${sql.join(group)})`));
}

/**
 * The same by one call with everything fixed in a single literal, a tenth cheaper than `concat`, but only while the text is
 * short. Which literal it is tells what is null: `%.0s` takes a value and writes nothing.
 */
export function fill(parts: readonly JsonPart[]): Sql {
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
  parts: readonly JsonPart[],
  nullables: readonly NullableJson[],
  nulls: readonly NullableJson[],
): Sql {
  const [first, ...rest] = nullables;
  if (first === undefined) return sql.lit(pattern(parts, nulls));
  return sql`iif(${first.isNull}, ${choice(parts, rest, [...nulls, first])}, ${choice(parts, rest, nulls)})`;
}

function pattern(parts: readonly JsonPart[], nulls: readonly NullableJson[]): string {
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

function whole({ isNull, parts }: NullableJson): Sql {
  return sql`iif(${isNull}, 'null', ${fill(parts)})`;
}

function isNullable(part: JsonPart): part is NullableJson {
  return typeof part !== 'string' && 'isNull' in part;
}

function valuesOf({ parts }: NullableJson): readonly Sql[] {
  return parts.flatMap((part) => (isNullable(part) ? [] : valueOf(part)));
}

function valueOf(part: string | Sql | IntegerJson): readonly Sql[] {
  const value = plain(part);
  return typeof value === 'string' ? [] : [value];
}

function isInteger(part: JsonPart): part is IntegerJson {
  return typeof part !== 'string' && 'integer' in part;
}

function plain(part: string | Sql | IntegerJson): string | Sql {
  return isInteger(part) ? part.integer : part;
}

function groups(parts: readonly Sql[]): Sql[][] {
  return Array.from({ length: Math.ceil(parts.length / maxArguments) }, (_, i) =>
    parts.slice(i * maxArguments, (i + 1) * maxArguments),
  );
}

function mergeTexts(parts: readonly (string | Sql)[]): (string | Sql)[] {
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
