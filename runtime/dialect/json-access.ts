import type { Sql } from './statement.js';

/** A value inside a JSON document; it may be missing. */
export interface JsonPlace {
  /** The type of the value, in the terms of the database; for `JsonAccess.byKind`. */
  readonly kind: Sql;
  /** Null if the value is null or missing; otherwise in the form of the database, for {@link JsonAccess}. */
  readonly value: Sql;
}

/** The elements of an array, for a FROM clause. */
export interface JsonElements {
  readonly clause: Sql;
  readonly element: JsonPlace;
  /** The element as a document if it is an object or an array. */
  readonly document: Sql;
}

/** An expression for each type of value; null for types without one, and for arrays, objects and null. */
export interface ByKind {
  readonly text?: Sql;
  readonly number?: Sql;
  readonly boolean?: Sql;
}

/** Reads JSON documents in SQL. Names of properties come from clients, and are bound. */
export interface JsonAccess {
  /** A document, or null for a value that is not JSON. */
  ifJson(value: Sql): Sql;
  /** A property at a path of names; a last name `length` behind an array is the length of the array (filters F23). */
  property(document: Sql, names: readonly string[]): JsonPlace;
  /** The elements of the array at a path; empty if there is none. */
  elements(document: Sql, names: readonly string[], alias: string): JsonElements;
  byKind(place: JsonPlace, kinds: ByKind): Sql;
  /**
   * A number as a double, in which integers beyond 2^53 lose digits, as they do in JavaScript; or a boolean as 0 or 1.
   */
  typed(value: Sql, type: 'number' | 'boolean'): Sql;
  /**
   * The ORDER BY terms of a value of several types, most significant first (protocol P3.15).
   * @param rank 0 for a boolean, 1 for a number, 2 for a text; null for the rest
   * @param fold applied to texts
   */
  ranked(rank: Sql, value: Sql, fold: (text: Sql) => Sql): readonly Sql[];
}
