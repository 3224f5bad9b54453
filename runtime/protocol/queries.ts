import type {
  DeleteQueryBuilder,
  DeleteResult,
  Expression,
  InsertQueryBuilder,
  InsertResult,
  Kysely,
  RawBuilder,
  SelectQueryBuilder,
  UpdateQueryBuilder,
  UpdateResult,
} from 'kysely';

/** A value of a query, or an expression that gives it. */
export type Value<T> = T | Expression<T>;

/** A row in a statement, whatever the alias of its table is. */
export interface Row<Table> {
  /** The column of that name. */
  column(name: keyof Table & string): RawBuilder<unknown>;
}

/** The attributes of an entity in answers, by name. */
export type Attributes<EntityRow> = Readonly<Record<string, AttributeQuery<EntityRow>>>;

interface AttributeQuery<EntityRow> {
  /** Its value; left out if class code computes it. */
  readonly value?: (row: EntityRow) => RawBuilder<unknown>;
}

/**
 * A module of `src/generated/queries`. Its functions name its own tables, so this type names none.
 */
export interface QueriesModule {
  readonly attributes: Attributes<never>;
  readonly entities: Emitted;
  readonly page: Emitted;
  readonly count: Emitted;
  readonly byKey: Emitted;
  readonly by: Readonly<Record<string, Emitted>>;
  readonly of: Readonly<Record<string, Emitted>>;
  readonly insert: Emitted;
  readonly change: Emitted;
  readonly update: Emitted;
  readonly remove: Emitted;
}

type Emitted = (...given: never[]) => unknown;

/** Tables whose columns are not known when the runtime is compiled. */
export type AnyTables = Record<string, Record<string, unknown>>;
export type AnyKysely = Kysely<AnyTables>;
/** Entities of one dataclass; a statement adds the conditions of a request. */
export type EntityQuery = SelectQueryBuilder<AnyTables, string, object>;

type EntityValues = Readonly<Record<string, Expression<unknown>>>;

/** The same module as the runtime calls it: definitions give the names of columns. */
export interface DataclassQueries {
  readonly attributes: Attributes<AnyRow>;
  readonly entities: (db: AnyKysely) => EntityQuery;
  readonly page: (
    query: EntityQuery,
    top: Expression<unknown>,
    skip: Expression<unknown>,
  ) => EntityQuery;
  readonly count: (query: EntityQuery) => EntityQuery;
  readonly byKey: KeyQuery;
  readonly by: Readonly<Record<string, KeyQuery>>;
  readonly of: Readonly<Record<string, KeyQuery>>;
  readonly insert: (
    db: AnyKysely,
    row: EntityValues,
  ) => InsertQueryBuilder<AnyTables, string, InsertResult>;
  readonly change: ChangeQuery;
  readonly update: ChangeQuery;
  readonly remove: (
    db: AnyKysely,
    keys: Expression<unknown>,
  ) => DeleteQueryBuilder<AnyTables, string, DeleteResult>;
}

/** A row with the aliases of the tables that it reaches. */
export interface AnyRow {
  column(name: string): RawBuilder<unknown>;
  related(...path: readonly string[]): AnyRow;
}

type KeyQuery = (db: AnyKysely, value: Expression<unknown>) => EntityQuery;
type ChangeQuery = (
  db: AnyKysely,
  key: Expression<unknown>,
  stamp: Expression<unknown>,
  changes: EntityValues,
) => UpdateQueryBuilder<AnyTables, string, string, UpdateResult>;

/** A query for an attribute; the name may be that of a member that every object has. */
export function queryOf(queries: DataclassQueries['by'], name: string): KeyQuery | undefined {
  return Object.hasOwn(queries, name) ? queries[name] : undefined;
}

/**
 * `tsc` has checked an emitted module against the tables; here its functions get expressions and
 * columns of any name.
 */
export function queriesOf(module: QueriesModule): DataclassQueries {
  return module as unknown as DataclassQueries;
}
