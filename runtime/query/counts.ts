import { sql } from 'kysely';
import { From } from '../dataclass/source.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import { type BuiltQuery, subquery } from '../dialect/compile.js';
import type { Database } from '../dialect/database.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { EntityQuery } from '../protocol/queries.js';
import type { AnswerOptions, QueryContext } from './context.js';
import type { StatementCache } from './statement-cache.js';
import { type AnswerRow, answerRow, nameOfValues, type RestrictionKeys } from './tags.js';
import { boundStatement, type SelectionRequest } from './selection-request.js';
import {
  chosenEntities,
  countSlot,
  firstFilterSlot,
  ifBaseExists,
  selectionStatement,
  queryContext,
  type Selection,
  type SelectionStatement,
  versionSlot,
} from './selection.js';

/** Bytes of all remembered numbers. */
const maxCountBytes = 4 * 1024 * 1024;

/** A selection whose entities are counted. */
interface CountedSelection {
  readonly statement: Statement;
  readonly values: SqlValue[];
  /** Equal for selections of the same entities, except for what the scope decides. */
  readonly name: string;
}

interface CountingStatement {
  readonly statement: Statement;
  readonly values: SqlValue[];
  readonly numberAt: number;
}

/** A number, and the data that it is true of. */
interface KnownNumber {
  readonly number: number;
  /** A text of the database, or a number of the executor. */
  readonly version: SqlValue;
}

/** The numbers that a server remembers. */
export type KnownNumbers = BoundedCache<KnownNumber>;

export function noKnownNumbers(): KnownNumbers {
  return new BoundedCache(maxCountBytes, () => 32);
}

/**
 * The numbers of entities of selections, remembered until the data changes: a client that reads all
 * pages of a filter makes the database count once.
 *
 * On PostgreSQL, which has versions of tables, the statement that needs a number gets the remembered
 * one with its version, and counts only if that is not the present one. Elsewhere the executor knows
 * the version of all data, and the number is known before the page is read.
 */
export class Counts {
  /**
   * @param numbers shared by all sessions: those that see the same have the same statements and numbers
   * @param restrictions none without `restrict`
   */
  constructor(
    private readonly database: Database,
    private readonly options: AnswerOptions,
    private readonly statements: StatementCache,
    private readonly numbers: KnownNumbers,
    private readonly restrictions?: RestrictionKeys,
  ) {}

  /** @returns `undefined` if the entity whose relation is read does not exist */
  async count(request: SelectionRequest): Promise<number | undefined> {
    const counted = this.#bound(request);
    if (this.database.dialect.tablesVersion === undefined) {
      const name = await this.#nameOf(counted);
      return this.#known(name) ?? this.#number(counted, name);
    }
    const [number] = await this.#row(counted, { ...counted, numberAt: 0 });
    return numberOf(number);
  }

  /**
   * Reads a page whose statement says how many entities the selection has.
   * @returns the row of the page; an empty one if the entity whose relation is read does not exist
   */
  async readPage(
    request: SelectionRequest,
    { statement, values }: Omit<CountingStatement, 'numberAt'>,
  ): Promise<AnswerRow> {
    const { dialect } = this.database;
    const counted = this.#bound(request);
    if (dialect.tablesVersion !== undefined) {
      const row = await this.#row(counted, { statement, values, numberAt: 1 });
      const isMissing = row[0] !== null && numberOf(row[1]) === undefined;
      return isMissing ? [] : row;
    }
    const name = await this.#nameOf(counted);
    let count = this.#known(name);
    if (count === undefined) {
      count = await this.#number(counted, name);
      if (count === undefined) return [];
      // Others may have changed the data while it was counted.
      count = this.#known(name) ?? (await this.#number(counted, name)) ?? 0;
    }
    values[countSlot.index] = count;
    return answerRow(this.database, statement, values);
  }

  #bound(request: SelectionRequest): CountedSelection {
    const { dialect } = this.database;
    const { statement, values, name } = boundStatement(
      this.statements,
      request,
      'count',
      {},
      (selection) => countedStatement(dialect, this.options, selection),
    );
    const own = nameOfValues([request.baseValue, ...values.slice(firstFilterSlot)]);
    return { statement, values, name: this.statements.visible + name + own };
  }

  #known(name: string): number | undefined {
    const known = this.numbers.get(name);
    return known?.version === this.database.executor.dataVersion() ? known?.number : undefined;
  }

  async #number(
    { statement, values }: CountedSelection,
    name: string,
  ): Promise<number | undefined> {
    const { executor } = this.database;
    // Read before the database counts, so that a number is never remembered for data that came later.
    const version = executor.dataVersion() ?? null;
    const number = numberOf(await executor.value(statement, values));
    if (number !== undefined) this.numbers.set(name, { number, version });
    return number;
  }

  /**
   * Reads the only row of a statement that counts the selection.
   * @param numberAt the column of the number, which is before that of the version
   */
  async #row(
    counted: CountedSelection,
    { statement, values, numberAt }: CountingStatement,
  ): Promise<readonly SqlValue[]> {
    const { executor } = this.database;
    // Inside a transaction, the version does not change with each statement that changes data.
    const isShared = executor.dataVersion() === undefined;
    const name = await this.#nameOf(counted);
    const known = isShared ? this.numbers.get(name) : undefined;
    values[countSlot.index] = known?.number ?? 0;
    values[versionSlot.index] = known?.version ?? null;
    const [row = []] = await executor.rows(statement, values);
    const number = numberOf(row[numberAt]);
    const version = row[numberAt + 1] ?? null;
    if (isShared && number !== undefined && version !== known?.version) {
      this.numbers.set(name, { number, version });
    }
    return row;
  }

  async #nameOf({ statement, name }: CountedSelection): Promise<string> {
    if (this.restrictions === undefined || statement.restricted === undefined) return name;
    return name + nameOfValues(await this.restrictions.keyOf(statement));
  }
}

function numberOf(value: SqlValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Counts a selection; null if the entity whose relation is read does not exist. */
export function countStatement(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
): SelectionStatement {
  const context = queryContext(dialect, options);
  return selectionStatement(context, countQuery(context, selection));
}

/**
 * Counts a selection. Where tables have versions, the statement also returns the version of the data, and the bound
 * number if its version is that one.
 */
function countedStatement(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
): SelectionStatement {
  const { tablesVersion } = dialect;
  if (tablesVersion === undefined) return countStatement(dialect, options, selection);
  const context = queryContext(dialect, options);
  const count = countQuery(context, selection);
  const counted = knownOrCounted(context, tablesVersion, count, context.aliases.tables);
  return selectionStatement(
    context,
    sql`with ${counted} select "count", "version" from "__counted"`,
  );
}

/** Counts a selection, as {@link countIfBaseExists} says. */
function countQuery(context: QueryContext, selection: Selection): Sql | BuiltQuery {
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection);
  const count = selection.dataclass.queries.count(from.complete(query, condition));
  return countIfBaseExists(context, selection, count);
}

/** The query of a selection's count; null if the entity whose relation is read does not exist. */
export function countIfBaseExists(
  context: QueryContext,
  selection: Selection,
  count: EntityQuery,
): Sql | BuiltQuery {
  if (selection.base.kind !== 'related') return count;
  return sql`select ${ifBaseExists(context, selection, sql`${count}`)}`;
}

/** The query that counts the entities of a page's selection: see {@link countIfBaseExists}. */
export interface Counted {
  readonly query: Sql | BuiltQuery;
  /** The tables that it reads; `undefined` if restrictions may read others. */
  readonly tables: ReadonlySet<string> | undefined;
}

/** What a statement tells beside an answer. */
export interface Beside {
  /** Queries behind WITH. */
  readonly queries: readonly Sql[];
  readonly columns: readonly Sql[];
}

/** The statement of an answer, with further columns behind it. */
export function selectAnswer(answer: Sql, from: Sql, ...others: readonly Beside[]): Sql {
  const columns = [answer, ...others.flatMap((each) => each.columns)];
  const queries = others.flatMap((each) => each.queries);
  const select = sql`select ${sql.join(columns)} ${from}`;
  return queries.length === 0 ? select : sql`with ${sql.join(queries)} ${select}`;
}

/** How a statement that answers a page knows the number of all entities. */
interface Counting extends Beside {
  readonly count: Sql;
}

/**
 * On SQLite the number of all entities is a bound value. On PostgreSQL the statement compares the
 * version of the tables with that of the bound number, and counts again if they differ: number and
 * page belong to the same moment, and cost one round trip. Its columns are the number, and the version.
 * @param counted none for an entity set, whose members are known
 */
export function countingOf(context: QueryContext, counted: Counted | undefined): Counting {
  const { dialect } = context;
  if (counted === undefined || dialect.tablesVersion === undefined) {
    return { queries: [], count: dialect.integer(sql`${countSlot}`), columns: [] };
  }
  const count = sql`(select "count" from "__counted")`;
  const { query, tables } = counted;
  return {
    queries: [knownOrCounted(context, dialect.tablesVersion, query, tables)],
    count,
    columns: [count, sql`(select "version" from "__counted")`],
  };
}

function knownOrCounted(
  { dialect }: QueryContext,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  count: Sql | BuiltQuery,
  tables: ReadonlySet<string> | undefined,
): Sql {
  const isKnown = sql`"version" = ${dialect.bound(sql`${versionSlot}`, 'text')}`;
  return sql`"__counted" as materialized (select "version", case when ${isKnown} then ${dialect.integer(sql`${countSlot}`)} else ${subquery(count)} end as "count" from (select ${tablesVersion(tables)} as "version" offset 0) as "__now")`;
}
