import { type Kysely, sql } from 'kysely';
import type { Fold } from '../protocol/fold.js';
import type { AnyTables, EntityQuery, Json, ObjectJson } from '../protocol/queries.js';
import type { AuditAccess } from './audit-access.js';
import type { BuiltQuery, KyselyParts } from './compile.js';
import type { JsonAccess } from './json-access.js';
import type { Sql, SqlValue, Statement } from './statement.js';
import type { ValueType } from './value-type.js';
import type { VectorAccess } from './vector-access.js';

export type { Json, JsonMember, JsonPart, ObjectJson } from '../protocol/queries.js';
export type { Sql } from './statement.js';

/** A comparison with a bound value. It is null if a value is null; `!=` is true then. */
export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Why rows are locked: to be deleted or to be changed. While a row is changed, other rows may still refer to it. */
type RowLock = 'delete' | 'change';

/** An ordered subquery, and its alias in a statement. */
interface OrderedRows {
  readonly query: Sql;
  readonly alias: string;
}

/** A join that {@link Dialect.joinOrdered} has written. */
export interface OrderedJoin {
  /** The beginning of a FROM clause. */
  readonly from: Sql;
  /** The ORDER BY clause that keeps the order, if it needs one. */
  readonly order: Sql;
}

/** A page of one table, in the order of its keys. */
export interface TablePage {
  /** An emitted query, with its order, limit and offset. */
  readonly query: EntityQuery;
  readonly table: Sql;
  readonly key: Sql;
  /** Computed from the columns of the table, and only for the rows of the page. */
  readonly object: ObjectJson;
  /** If limit and offset are values of the statement, a power of two that their sum does not exceed. */
  readonly within: number | undefined;
  readonly top: Sql;
  readonly skip: Sql;
}

/** What differs between databases when a statement is written; each builds the JSON of an answer itself. */
export interface Dialect {
  /** The parts of Kysely that write the SQL of class code. */
  readonly kysely: KyselyParts;
  /** The query builder; it runs no query. */
  readonly db: Kysely<AnyTables>;
  /** Compiles a query into its SQL text and the list of values to bind. */
  compile(query: Sql | BuiltQuery): Statement;
  /** Concatenates pieces; a piece that is null counts as empty. */
  concat(parts: Json): Sql;
  /** An object as a text, or as a value of the database's type for JSON. */
  object(object: ObjectJson): Sql;
  /**
   * A query whose only column is the object of each row, which costs less than a query with {@link Dialect.object}.
   * @param rows writes the query with the given columns
   * @param name of the column
   */
  objects(
    object: ObjectJson,
    rows: (columns: Sql) => Sql | BuiltQuery,
    name?: string,
  ): Sql | BuiltQuery;
  /** The rows of a subquery's text column as one text, separated by commas, in the order of the subquery. */
  joinRows(text: Sql): Sql;
  /** Returns a text to the server as bytes. */
  asBytes(text: Sql): Sql;
  /** A text value folded as {@link file://../protocol/fold.ts} does it. */
  fold(text: Sql): Sql;
  /** Folds a text, as `fold` does in SQL, before it is bound. */
  readonly foldText: Fold;
  /**
   * A bound value in the form in which `=` compares it with a column. A decimal, which is a text with the decimals of its
   * attribute, gets the form of its column.
   */
  bound(value: Sql, type: ValueType): Sql;
  /** Compares with a bound value. */
  compare(value: Sql, operator: Operator, wanted: Sql, type: ValueType): Sql;
  /** The sum of numbers; a real number if the sum is too large to be exact, 0 if there are no numbers. */
  total(value: Sql): Sql;
  /**
   * Sums numbers as `total` does, at 70 % of its cost; fails with UnusableValueError if the sum is too large. Absent where
   * `total` costs no more.
   */
  readonly quickTotal?: (value: Sql) => Sql;
  /** Null if the divisor is 0; an infinity if the result is too large. */
  quotient(dividend: Sql, divisor: Sql): Sql;
  /** A column with decimals as texts with so many decimals. */
  decimalText(value: Sql, scale: number): Sql;
  /**
   * The exact sum of decimals as such a text, 0 if there are none; or their average, rounded half away from zero, with
   * {@link file://../protocol/decimal.ts moreDecimals}.
   */
  decimals(aggregate: 'sum' | 'average', value: Sql, scale: number): Sql;
  /** JSON of a text: quoted and escaped, or `null`. */
  jsonText(value: Sql): Sql;
  /** JSON of a number or of stored JSON: itself, or `null`. */
  jsonRaw(value: Sql): Sql;
  /** JSON of a double, with the exponent that JavaScript writes: `5`, `0.1`, `1e+300`; `null` if it is not finite. */
  jsonReal(value: Sql): Sql;
  /** JSON of a text that may be JSON: itself, or `null`. */
  jsonIfJson(value: Sql): Sql;
  /** A bound JSON list as a table: `key` is the position of an item, `value` the item, in the form of {@link Dialect.bound}. */
  each(list: Sql, type: ValueType): Sql;
  /** Whether a text contains another one. */
  contains(text: Sql, piece: Sql): Sql;
  /** Whether a text matches a pattern (`protocol/text-match.ts`); its literal `piece` is searched first. */
  matches(text: Sql, pattern: Sql, piece: Sql): Sql;
  /** Whether a text matches a member of a bound JSON object: names are patterns, values their literal pieces. */
  matchesAny(text: Sql, patterns: Sql): Sql;
  readonly json: JsonAccess;
  /**
   * What stands before a statement to get its plan for any values. The last column of a row is a line
   * of the plan, without values.
   */
  readonly planPrefix: string;
  /** The direction of a vector (a vector of norm 1) in the form of its column. */
  direction(numbers: readonly number[]): SqlValue;
  /** Absent for a model without vectors. */
  readonly vectors?: VectorAccess | undefined;
  /** Absent for a model without audit. */
  readonly audit?: AuditAccess | undefined;
  /** How many selects after the first one of a recursive query may refer to it. */
  readonly recursiveParts: number;
  /** Joins a table to an ordered subquery, whose order the rows keep. */
  joinOrdered(rows: OrderedRows, table: Sql, on: Sql): OrderedJoin;
  /** A subquery with the column `json` for each row of a page. */
  pageRows(page: TablePage): Sql;
  /**
   * Whether a page is cheaper if its statement holds the limit itself: a prepared statement whose limit is a value is
   * planned for each run, because a plan for any limit would expect a tenth of the table.
   */
  readonly plansByLimit: boolean;
  /** A bound integer that the driver may have sent as a real number. */
  integer(value: Sql): Sql;
  /** Creates, if missing, a table of this connection: an integer `list` and a key of any type, unique as a pair. */
  createKeyLists(table: Sql): Sql;
  /** A key in the form of such a table, whose index serves a comparison with it. */
  listedKey(key: Sql): Sql;
  /** A key of such a table in the form of its own table, whose index serves a comparison with it. */
  storedKey(key: Sql, type: ValueType): Sql;
  /**
   * Locks the rows of a query in the order of their keys, which avoids deadlocks; skips rows that no longer match.
   * Absent where transactions run one after the other.
   */
  readonly lockRows?: (alias: string, key: Sql, lock: RowLock) => Sql;
  /** The time in whole milliseconds: one clock for all servers. */
  readonly now: Sql;
  /** Ends a subquery that chooses rows to change, and skips those that others are changing. */
  readonly skipLocked: Sql;
  /** The column of `__datastore` for texts. */
  readonly datastoreText: Sql;
  /** The datastore's counter of changes, `__GlobalStamp` (protocol P4.3). */
  readonly globalStamp: Sql;
  /**
   * The key of a new row, generated if the value is null; its insert reports the key only with a `returning` clause.
   * Absent where a column generates and reports the key.
   * @param number of the rows of an insert from a select, if all keys are generated; a bound null if some are given
   */
  readonly insertedKey?: (value: Sql, table: string, column: string, number?: Sql) => Sql;
  /** Checks foreign keys at the end of this transaction, or now and at each statement again. */
  foreignKeyChecks(when: 'deferred' | 'immediate'): Sql;
  /**
   * Returns a row if a row of another table than the known ones refers to a missing row of `targets`. Absent if
   * `foreignKeyChecks('immediate')` fails for it.
   */
  readonly danglingReferences?: (targets: readonly string[], known: readonly string[]) => Sql;
  /**
   * Differs from every earlier text after a commit that changed one of these tables (all if left out). Absent if
   * `Executor.dataVersion` tells it.
   */
  readonly tablesVersion?: (tables?: ReadonlySet<string>) => Sql;
  /**
   * The query of an answer, with a further column: the version of the data in which the answer was read, also of the
   * counter of changes. If it is the known version, the answer is not read: its columns are null. There is one row, also
   * if the query has none. Absent if `Executor.dataVersion` tells the version.
   * @param known the version that the client has, or null
   * @param tables as for `tablesVersion`
   */
  readonly tagged?: (
    query: Sql | BuiltQuery,
    known: Sql,
    tables: ReadonlySet<string> | undefined,
  ) => Sql;
  /** Absent where several statements of a transaction cost no more than one. */
  readonly direct?: DirectChanges;
}

/** The rows that one statement changes. */
interface ChangedRows {
  readonly table: string;
  /** There is one at most. */
  readonly isOne: boolean;
  /** The name of a further column, which has the position of each row; left out if the rows keep their order. */
  readonly position?: string | undefined;
}

/** How changed rows are shown. */
interface ShownRows {
  readonly object: ObjectJson;
  /** The text in place of the object of a row that is not visible; left out if all are. */
  readonly hidden?: { readonly isVisible: Sql; readonly json: Sql } | undefined;
  readonly key: Sql;
  /** A FROM clause that begins with {@link DirectChanges.changed}; it finds the table as it was before. */
  readonly from: Sql;
  /** The alias of the changed rows there. */
  readonly alias: string;
}

/** How one statement changes rows, raises {@link Dialect.globalStamp} by their number, and answers with them. */
export interface DirectChanges {
  /** The changed rows, in the clause that shows them. */
  readonly changed: Sql;
  /** An expression that fails with HiddenRowError. */
  readonly refuseHidden: Sql;
  /** A bound JSON list of objects as rows of a table. */
  rows(table: string, list: Sql): Sql;
  /**
   * Returns the JSON of one entity; of several, one row with the JSON of all, with commas between them, and their keys
   * as a JSON list.
   * @param change of rows of the table; returns their columns
   */
  answer(change: BuiltQuery | Sql, changed: ChangedRows, shown: ShownRows): Sql;
}

/** Whether a bound JSON list contains a value of the type. */
export function isIn(dialect: Dialect, value: Sql, list: Sql, type: ValueType): Sql {
  return sql`${value} in (select "value" from ${dialect.each(list, type)} as "listed")`;
}
