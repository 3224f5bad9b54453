import type {
  Expression,
  InsertQueryNode,
  QueryExecutorProvider,
  RawBuilder,
  RootOperationNode,
  SelectQueryNode,
  UpdateQueryNode,
} from 'kysely';
import type { StorageType } from './storage-type.js';

/** A value of a query, or an expression that gives it. */
export type Value<T> = T | Expression<T>;

/** The JSON of a value: texts and SQL, one behind the other. */
export type Json = readonly JsonPart[];

/** A piece of a JSON text: literal text, SQL that the database computes, a whole value, or `null` where a value is null. */
export type JsonPart =
  | string
  | RawBuilder<unknown>
  | NullableJson
  | IntegerJson
  | ValueJson
  | ShortJson
  | ObjectJson
  | QueryJson;

/** An integer that is never null; it is cheaper to write than a value of any type. */
export interface IntegerJson {
  readonly integer: RawBuilder<unknown>;
}

/** One value: its JSON, and the value itself for a database that writes rows as JSON. */
export interface ValueJson {
  readonly value: RawBuilder<unknown>;
  readonly type: 'text' | 'number' | 'real' | 'boolean';
  readonly json: Json;
}

/** An object so short that a database may parse it while it writes a row as JSON. */
export interface ShortJson {
  readonly short: Json;
}

export interface ObjectJson {
  readonly members: readonly JsonMember[];
  /** Whether it contains pages of other objects. */
  readonly isLong: boolean;
  /** A FROM clause with one row, in which values of members are. */
  readonly from?: RawBuilder<unknown>;
}

export interface JsonMember {
  readonly name: string;
  readonly json: Json;
}

/** The JSON of the only row of a subquery, or `null` if it has none. */
export interface QueryJson {
  /** A FROM clause with its conditions. */
  readonly from: RawBuilder<unknown>;
  readonly json: Json;
}

/** The JSON of the parts, or `null` if the condition holds. */
export interface NullableJson {
  readonly isNull: RawBuilder<unknown>;
  readonly parts: Json;
}

type ColumnJson<Column> = (column: Column) => Json;

/**
 * A row in a statement, whatever the alias of its table is. It has a method for each type of the model, which writes
 * the JSON of a column in the SQL of the database.
 */
export type Row<Table> = RowWith<keyof Table & string>;

interface RowWith<Column> extends Readonly<Record<StorageType, ColumnJson<Column>>> {
  /** The address and the key of the entity to which a relation leads; the column holds its key. */
  readonly relatedEntity: ColumnJson<Column>;
  /** The address of the entities to which a relation leads; the column holds the key of this entity. */
  readonly relatedEntities: ColumnJson<Column>;
  /** The value of an aggregate, by the name of its attribute. */
  aggregate(name: string): Json;
  /** The place of a value that class code computes when the statement has run. */
  computed(): Json;
}

/** The attributes of an entity in answers, by name. */
export type Attributes<EntityRow> = Readonly<Record<string, (row: EntityRow) => Json>>;

/**
 * Adds the SELECT list to the query of one entity: its JSON, made of the attributes that the session may read. It also
 * joins the rows that aliases lead to. What the server itself needs of an entity are other columns.
 */
export type Select<EntityRow> = (
  query: EntityQuery,
  attributes: Attributes<EntityRow>,
) => BuiltQuery;

/** Writes the answer with a page: its rows, with a SELECT list as {@link Select} adds it, and the number of all. */
export type SelectPage<EntityRow> = (
  rows: EntityQuery,
  attributes: Attributes<EntityRow>,
  count: EntityQuery,
) => RawBuilder<unknown>;

/** Tables whose columns are not known when the runtime is compiled. */
export type AnyTables = Record<string, Record<string, unknown>>;

/** A query of Kysely, whatever its tables are. */
export interface BuiltQuery<Node extends RootOperationNode = RootOperationNode> {
  toOperationNode(): Node;
}

/** Entities of one dataclass; a statement adds the conditions of a request. */
export type EntityQuery = BuiltQuery<SelectQueryNode>;

/** A row with the aliases of the tables that it reaches. */
export interface AnyRow extends RowWith<string> {
  related(...path: readonly string[]): AnyRow;
}

type AnyValues = Readonly<Record<string, unknown>>;

/**
 * A module of `src/generated/queries`, as the runtime calls it. The module names its own tables, columns and types of
 * values, which definitions tell the runtime; so `db` is any Kysely here, and a value any value.
 */
export interface DataclassQueries {
  readonly attributes: Attributes<AnyRow>;
  readonly entities: Emitted['entities'];
  readonly page: Emitted['page'];
  readonly count: Emitted['count'];
  readonly byKey: Emitted['byKey'];
  readonly by: Readonly<Record<string, Emitted['byKey']>>;
  readonly of: Readonly<Record<string, Emitted['of']>>;
  readonly insert: Emitted['insert'];
  readonly change: Emitted['change'];
  readonly update: Emitted['change'];
  readonly remove: Emitted['remove'];
}

/** The emitted functions as methods, whose parameters may have wider types here. */
interface Emitted {
  entities(db: QueryExecutorProvider): EntityQuery;
  page(
    query: EntityQuery,
    top: unknown,
    skip: unknown,
    select: SelectPage<AnyRow>,
  ): RawBuilder<unknown>;
  count(query: EntityQuery): EntityQuery;
  byKey(db: QueryExecutorProvider, value: unknown, select: Select<AnyRow>): BuiltQuery;
  of(db: QueryExecutorProvider, value: unknown): EntityQuery;
  insert(db: QueryExecutorProvider, row: AnyValues): BuiltQuery<InsertQueryNode>;
  change(
    db: QueryExecutorProvider,
    key: unknown,
    stamp: unknown,
    changes: AnyValues,
  ): BuiltQuery<UpdateQueryNode>;
  remove(db: QueryExecutorProvider, keys: Expression<unknown>): BuiltQuery;
}

/** A query for an attribute; the name may be that of a member that every object has. */
export function queryOf<Query>(
  queries: Readonly<Record<string, Query>>,
  name: string,
): Query | undefined {
  return Object.hasOwn(queries, name) ? queries[name] : undefined;
}
