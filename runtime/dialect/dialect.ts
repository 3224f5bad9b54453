import type { Fold } from '../protocol/fold.js';
import type { JsonAccess } from './json-access.js';
import type { Sql } from './sql.js';
import type { Statement } from './statement.js';
import type { VectorAccess } from './vector-access.js';

export type { Sql } from './sql.js';

/** A piece of a JSON text: written as it is, computed by the database, or `null` where a value is null. */
export type JsonPart = string | Sql | NullableJson;

/** JSON that the parts make, unless the condition holds. */
export interface NullableJson {
  readonly isNull: Sql;
  readonly parts: readonly JsonPart[];
}

/**
 * What differs between databases when a statement is written. Every database builds the JSON of an answer itself, so that a
 * row reaches the socket without becoming a JavaScript object in between.
 */
export interface Dialect {
  /** Turns a whole query into its SQL text and the list of what is to be bound. */
  compile(query: Sql): Statement;
  /** One text from pieces; a piece that is null counts as empty. */
  concat(parts: readonly JsonPart[]): Sql;
  /** The same for a short text, such as one entity. */
  fill(parts: readonly JsonPart[]): Sql;
  /** The rows of a subquery's text column as one text, separated by commas, in the order of the subquery. */
  joinRows(text: Sql): Sql;
  /** Gives a text to the server as bytes. */
  asBytes(text: Sql): Sql;
  /** A text value folded as {@link file://../protocol/fold.ts} does it. */
  fold(text: Sql): Sql;
  /** The same for a value that is about to be bound. */
  readonly foldText: Fold;
  /** Whether a value is null, without reading a large one. */
  isNull(value: Sql): Sql;
  /** A value that may be no finite number: null then. */
  ifNumber(value: Sql): Sql;
  /** The sum of numbers, as a real number where it is too large to be exact; 0 where there are none. */
  total(value: Sql): Sql;
  /** JSON of a text: quoted and escaped, or `null`. */
  jsonText(value: Sql): Sql;
  /** JSON of a number or of stored JSON: itself, or `null`. */
  jsonRaw(value: Sql): Sql;
  /** The same of a value that may be no finite number: `null` then. */
  jsonIfNumber(value: Sql): Sql;
  /** The same of a text that may be no JSON: `null` then. */
  jsonIfJson(value: Sql): Sql;
  jsonBoolean(value: Sql): Sql;
  /** `d!m!yyyy` in quotes from `YYYY-MM-DD`, or `null`. */
  jsonBangDate(value: Sql): Sql;
  /** A text as one segment of a URI: percent-encoded where a URI demands it. */
  uriText(value: Sql): Sql;
  /** A bound JSON list as a table: `key` is the position of an item, `value` the item. */
  each(list: Sql): Sql;
  /** Whether a value is one of a bound JSON list. */
  isIn(value: Sql, list: Sql): Sql;
  /** Whether a text contains another one. */
  contains(text: Sql, piece: Sql): Sql;
  /** Whether a text contains another one as a word: see {@link file://../protocol/text-match.ts}. */
  hasWord(text: Sql, word: Sql): Sql;
  /**
   * Whether a text matches a pattern: see {@link file://../protocol/text-match.ts}.
   * @param piece one of the pattern, which is looked for first
   */
  matches(text: Sql, pattern: Sql, piece: Sql): Sql;
  /** The same for at least one member of a bound JSON object: its names are patterns, its values are pieces of them. */
  matchesAny(text: Sql, patterns: Sql): Sql;
  readonly json: JsonAccess;
  readonly vectors: VectorAccess;
  /** A bound integer, which the driver may have sent as a real number. */
  integer(value: Sql): Sql;
  /**
   * Makes, where there is none yet, a table that only this connection sees. A row is an integer in the column `list` and a
   * primary key, of whatever type, in `key`; the same row again is a conflict.
   */
  createKeyLists(table: Sql): Sql;
  /** A key without what its column's type does to comparisons: the other side's index serves then, be it such a table's. */
  plainKey(key: Sql): Sql;
  /** Has this transaction check foreign keys when it ends. */
  readonly deferForeignKeys: Sql;
  /** Has it check them at each statement again. */
  readonly checkForeignKeys: Sql;
}
