import type { Sql } from './sql.js';

/** A value inside a JSON document, or the place of one that is missing. */
export interface JsonPlace {
  /** What kind of value it is, in the database's own words; for `JsonAccess.byKind`. */
  readonly kind: Sql;
  /** Null for null and where there is nothing; else in the database's own form, for {@link JsonAccess}. */
  readonly value: Sql;
}

/** The elements of an array, as a table of a FROM clause. */
export interface JsonElements {
  readonly clause: Sql;
  readonly element: JsonPlace;
  /** The element as a document, where it is an object or an array. */
  readonly document: Sql;
}

/** What to make of a value by its kind; null where nothing is said of its kind, for arrays, objects and null. */
export interface ByKind {
  readonly text?: Sql;
  readonly number?: Sql;
  readonly boolean?: Sql;
}

/**
 * How a statement looks into JSON documents. Names of properties come from clients and may hold any character but U+0000;
 * they are bound.
 */
export interface JsonAccess {
  /** A document out of a value that may be no JSON: null then. */
  ifJson(value: Sql): Sql;
  /** The property of a property. */
  property(document: Sql, names: readonly string[]): JsonPlace;
  /** The same where the last name is `length`: the length of what is an array. */
  length(document: Sql, names: readonly string[]): JsonPlace;
  /** No elements where the names do not lead to an array. No names: the document itself is the array. */
  elements(document: Sql, names: readonly string[], alias: string): JsonElements;
  byKind(place: JsonPlace, kinds: ByKind): Sql;
  /** A value that is a number, as it is written. */
  number(value: Sql): Sql;
  /** The same as a double: its digits are those of one, and beyond 2^53 the whole number that they spell is another one. */
  double(value: Sql): Sql;
  /** A value that is a boolean: 0 or 1. */
  boolean(value: Sql): Sql;
  /**
   * What values of several types are ordered by, most significant first (protocol P3.15).
   * @param rank 0 for a boolean, 1 for a number, 2 for a text; null for the rest
   * @param fold of a text
   */
  ranked(rank: Sql, value: Sql, fold: (text: Sql) => Sql): readonly Sql[];
  /** The same for what stands in a document; null, arrays and objects come first. */
  order(place: JsonPlace, fold: (text: Sql) => Sql): readonly Sql[];
}
