import type { Fold } from '../protocol/fold.js';
import type { AnyKysely } from '../protocol/queries.js';
import type { BuiltQuery, KyselyParts } from './compile.js';
import type { JsonAccess } from './json-access.js';
import type { Sql } from './sql.js';
import type { SqlValue, Statement } from './statement.js';
import type { ValueType } from './value-type.js';
import type { VectorAccess } from './vector-access.js';

export type { Sql } from './sql.js';

/** A piece of a JSON text: written as it is, computed by the database, or `null` where a value is null. */
export type JsonPart = string | Sql | NullableJson | IntegerJson;

/** A whole number that is never null, which costs less to write than what may be anything. */
export interface IntegerJson {
  readonly integer: Sql;
}

/** JSON that the parts make, unless the condition holds. */
export interface NullableJson {
  readonly isNull: Sql;
  readonly parts: readonly JsonPart[];
}

export type Operator = '=' | '<' | '<=' | '>' | '>=';

/** What rows are locked for: to be deleted, or to be changed; others may refer to a row that is changed. */
export type RowLock = 'delete' | 'change';

/** What rows are ordered by; null is less than every value. */
export interface OrderTerm {
  readonly value: Sql;
  readonly descending: boolean;
  /** Null is greater than every value instead. */
  readonly isNullGreatest?: true;
  /** There is no null, and an index has the values without a word about nulls. */
  readonly isNeverNull?: boolean;
}

/**
 * What differs between databases when a statement is written. Every database builds the JSON of an answer itself, so that a
 * row reaches the socket without becoming a JavaScript object in between.
 */
export interface Dialect {
  /** For SQL that class code writes with Kysely. */
  readonly kysely: KyselyParts;
  /** What queries are built with; it runs none. */
  readonly db: AnyKysely;
  /** Turns a whole query into its SQL text and the list of what is to be bound. */
  compile(query: Sql | BuiltQuery): Statement;
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
  /** One of two values. */
  choose(condition: Sql, then: Sql, otherwise: Sql): Sql;
  /** A bound value that stands where the database could not tell its type. */
  bound(value: Sql, type: ValueType): Sql;
  /**
   * Compares a value that is stored or computed with a bound one; null where one of them is.
   * @param type of what is stored; an integer may be compared with any number
   */
  compare(value: Sql, operator: Operator, wanted: Sql, type: ValueType): Sql;
  /** A bound value as the `=` of an emitted query compares it. */
  compared(wanted: Sql, type: ValueType): Sql;
  /** The opposite of `=`, which holds for null too. */
  differs(value: Sql, wanted: Sql, type: ValueType): Sql;
  /** Whether two values are the same, of which both may be null. */
  isSame(value: Sql, other: Sql): Sql;
  /** A term of an ORDER BY. */
  orderTerm(term: OrderTerm): Sql;
  /** Greater than every text: the end of a range of texts that has none. */
  readonly afterEveryText: SqlValue;
  /** Whether a value is null, without reading a large one. */
  isNull(value: Sql): Sql;
  /** A value that may be no finite number: null then. */
  ifNumber(value: Sql): Sql;
  /** The sum of numbers, as a real number where it is too large to be exact; 0 where there are none. */
  total(value: Sql): Sql;
  /** Null where the divisor is 0; an infinity where the result is too large. */
  quotient(dividend: Sql, divisor: Sql): Sql;
  /** JSON of a text: quoted and escaped, or `null`. */
  jsonText(value: Sql): Sql;
  /** JSON of a number or of stored JSON: itself, or `null`. */
  jsonRaw(value: Sql): Sql;
  /** The same of a value that may be no finite number: `null` then. */
  jsonIfNumber(value: Sql): Sql;
  /** The same of a real number; a whole one is written without a fraction, as a stored one is, as long as it is exact. */
  jsonReal(value: Sql): Sql;
  /** The same of a text that may be no JSON: `null` then. */
  jsonIfJson(value: Sql): Sql;
  jsonBoolean(value: Sql): Sql;
  /** `d!m!yyyy` in quotes from `YYYY-MM-DD`, or `null`. */
  jsonBangDate(value: Sql): Sql;
  /** A text as one segment of a URI: percent-encoded where a URI demands it. */
  uriText(value: Sql): Sql;
  /** A bound JSON list as a table: `key` is the position of an item, `value` the item. */
  each(list: Sql, type: ValueType): Sql;
  /**
   * Whether a value is one of a bound JSON list.
   * @param type of the value
   */
  isIn(value: Sql, list: Sql, type: ValueType): Sql;
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
  /** The direction of a vector, which has the norm 1, as the column beside it has it. */
  readonly direction: (numbers: readonly number[]) => SqlValue;
  /** None for a model without vectors. */
  readonly vectors?: VectorAccess | undefined;
  /** How many selects behind the first one of a recursive query may name it. */
  readonly recursiveParts: number;
  /** Joins two tables, of which the one before it shall be read first. */
  readonly joinInOrder: Sql;
  /** A join may give the rows of an ordered subquery in another order. */
  readonly losesOrder: boolean;
  /** A bound integer, which the driver may have sent as a real number. */
  integer(value: Sql): Sql;
  /**
   * Makes, where there is none yet, a table that only this connection sees. A row is an integer in the column `list` and a
   * primary key, of whatever type, in `key`; the same row again is a conflict.
   */
  createKeyLists(table: Sql): Sql;
  /** The same for one whose keys are read in order, which {@link Dialect.passedKey} tells. */
  createPassedKeys(table: Sql): Sql;
  /** What the keys of such a table are in the order of, if they are of a type; a key of that type is compared with it. */
  passedKey(type: ValueType): Sql;
  /** A key as such a table has it. */
  listedKey(key: Sql): Sql;
  /** The opposite: a key of such a table as its own table has it. */
  unlistedKey(key: Sql, type: ValueType): Sql;
  /** As {@link Dialect.listedKey}, for a comparison that the index of such a table serves. */
  soughtKey(key: Sql): Sql;
  /** As {@link Dialect.unlistedKey}, for a comparison that an index of the other side serves. */
  plainKey(key: Sql, type: ValueType): Sql;
  /**
   * Behind a query: locks its rows until the transaction ends, one after the other by their keys, so that two transactions that
   * lock the same rows do not wait for each other. Rows that others have deleted meanwhile, or changed so that they are not
   * meant any more, are passed over. None where transactions run one after the other.
   * @param alias of the table whose rows are locked
   */
  readonly lockRows?: (alias: string, key: Sql, lock: RowLock) => Sql;
  /** What a new row has for its key, which the database draws where the bound value is null. */
  insertedKey(value: Sql, table: string, column: string): Sql;
  /** An insertion tells the key that was drawn only where it says `returning`. */
  readonly returnsKey: boolean;
  /** Has this transaction check foreign keys when it ends. */
  readonly deferForeignKeys: Sql;
  /** Has it check them at each statement again. */
  readonly checkForeignKeys: Sql;
}
