import { sql } from 'kysely';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { JsonPlace } from '../dialect/json-access.js';
import type { ColumnDefinition } from './attribute-path.js';
import { column, type Source } from './source.js';

/** The document that an object attribute holds; an expression may yield what is none. */
export function objectDocument(dialect: Dialect, source: Source, attribute: ColumnDefinition): Sql {
  const value = column(source, attribute.column);
  return attribute.kind === 'calculated' ? dialect.json.ifJson(value) : value;
}

/** What stands at the end of names in a document; `length` of an array is its length (protocol 7.8). */
export function objectProperty(
  dialect: Dialect,
  document: Sql,
  names: readonly string[],
): JsonPlace {
  return names.at(-1) === 'length'
    ? dialect.json.length(document, names)
    : dialect.json.property(document, names);
}

/** A property's text, number or boolean in the form that comparison and order use; null for anything else. */
export function comparableProperty(dialect: Dialect, place: JsonPlace): Sql {
  const { value } = place;
  const text = dialect.fold(value);
  return dialect.json.byKind(place, { text, number: propertyDouble(value), boolean: value });
}

/** A number of a document. Its digits are those of a double: beyond 2^53 the whole number that they spell is another one. */
export function propertyDouble(value: Sql): Sql {
  return sql`cast(${value} as double precision)`;
}

/**
 * What properties are ordered by, most significant first: null, arrays and objects, then false, true, numbers and texts
 * (protocol section 8, decision 24).
 */
export function propertyOrder(dialect: Dialect, place: JsonPlace): readonly Sql[] {
  // Numbers come before texts, as in any column; a boolean is 0 or 1 in SQL.
  const rank = dialect.json.byKind(place, { boolean: sql`0`, number: sql`1`, text: sql`1` });
  return [rank, comparableProperty(dialect, place)];
}
