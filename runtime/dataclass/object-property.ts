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

/**
 * What properties are ordered by, most significant first: null, arrays and objects, then false, true, numbers and texts
 * (protocol section 8, decision 24).
 */
export function propertyOrder(dialect: Dialect, place: JsonPlace): readonly Sql[] {
  return dialect.json.order(place, (text) => dialect.fold(text));
}
