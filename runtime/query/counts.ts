import { sql } from 'kysely';
import { From } from '../dataclass/source.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { BuiltQuery } from '../dialect/compile.js';
import type { Database } from '../dialect/database.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { JsonAnswer, PendingAnswer } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { EntityQuery } from '../protocol/queries.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { planFor, type SelectionRequest } from './selection-request.js';
import {
  chosenEntities,
  countSlot,
  firstFilterSlot,
  ifBaseExists,
  planOf,
  queryContext,
  type Selection,
  type SelectionPlan,
  versionSlot,
} from './selection.js';

/** Bytes of all remembered numbers. */
const maxCountBytes = 4 * 1024 * 1024;

/** A selection whose entities are counted. */
export interface CountedSelection {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
  /** The same for selections of the same entities, except for what the scope decides. */
  readonly name: string;
  /** The statement of the page counts too. */
  readonly isInPage: boolean;
}

/** A number, and the data that it is true of. */
interface KnownNumber {
  readonly number: number;
  /** A text of the database, or a number of the executor. */
  readonly version: SqlValue;
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
  readonly #numbers = new BoundedCache<KnownNumber>(maxCountBytes, () => 32);

  /** @param restrictedBy what restricts a statement in the current scope; none without `restrict` */
  constructor(
    private readonly database: Database,
    private readonly options: AnswerOptions,
    private readonly plans: BoundedCache<SelectionPlan>,
    private readonly restrictedBy?: (statement: Statement) => Pending<readonly SqlValue[]>,
  ) {}

  /** @returns `undefined` if the entity whose relation is read does not exist */
  count(request: SelectionRequest): Pending<number | undefined> {
    return this.number(this.prepare(request));
  }

  /** Prepares the argument of {@link number} for repeated requests. */
  prepare(request: SelectionRequest): CountedSelection {
    const { dialect } = this.database;
    const { tablesVersion } = dialect;
    const { plan, values } = planFor(this.plans, request, 'count', {}, (selection) =>
      tablesVersion === undefined
        ? planCount(dialect, this.options, selection)
        : planKnownCount(dialect, tablesVersion, this.options, selection),
    );
    const own = [request.baseValue, ...values.slice(firstFilterSlot)];
    return {
      statement: plan.statement,
      values,
      name: request.name + nameOfValues(own),
      isInPage: tablesVersion !== undefined,
    };
  }

  /** @returns `undefined` if the entity whose relation is read does not exist */
  number(counted: CountedSelection): Pending<number | undefined> {
    const { statement, values } = counted;
    const { executor } = this.database;
    if (counted.isInPage) {
      return this.#reading(counted, statement, values, (row) => numberOf(row[0]));
    }
    // Read before the database counts, so that a number that was true only for a moment is not
    // remembered for longer.
    const version = executor.dataVersion() ?? null;
    return whenThere(this.#nameOf(counted), (name) => {
      const known = this.#numbers.get(name);
      if (known?.version === version) return known.number;
      return whenThere(executor.value(statement, values), (value) => {
        const number = numberOf(value);
        if (number !== undefined) this.#numbers.set(name, { number, version });
        return number;
      });
    });
  }

  /** As {@link number}, for a page whose statement counts too. */
  readPage(
    counted: CountedSelection,
    statement: Statement,
    values: readonly SqlValue[],
  ): PendingAnswer {
    return this.#reading(counted, statement, values, ([answer, number]) =>
      numberOf(number) === undefined ? undefined : (answer as JsonAnswer),
    );
  }

  /** @param read gets the only row, whose last columns are the number and the version */
  #reading<T>(
    counted: CountedSelection,
    statement: Statement,
    values: readonly SqlValue[],
    read: (row: readonly SqlValue[]) => T,
  ): Pending<T> {
    const { executor } = this.database;
    // Inside a transaction, the version does not change with each statement that changes data.
    const isShared = executor.dataVersion() === undefined;
    return whenThere(this.#nameOf(counted), (name) => {
      const known = isShared ? this.#numbers.get(name) : undefined;
      const own = [...values];
      own[countSlot.index] = known?.number ?? 0;
      own[versionSlot.index] = known?.version ?? null;
      return whenThere(executor.rows(statement, own), ([row = []]) => {
        const number = numberOf(row.at(-2));
        const version = row.at(-1) ?? null;
        if (isShared && number !== undefined && version !== known?.version) {
          this.#numbers.set(name, { number, version });
        }
        return read(row);
      });
    });
  }

  #nameOf({ statement, name }: CountedSelection): Pending<string> {
    if (this.restrictedBy === undefined) return name;
    return whenThere(this.restrictedBy(statement), (values) =>
      values.length === 0 ? name : name + nameOfValues(values),
    );
  }
}

function numberOf(value: SqlValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function nameOfValues(values: readonly unknown[]): string {
  // Without a filter.
  if (values.length === 1 && values[0] === null) return '[null]';
  return JSON.stringify(values.some(isInfinite) ? values.map(withoutInfinity) : values);
}

/** `1e999` in a filter is infinite, and JSON would write it as null. */
function isInfinite(value: unknown): boolean {
  return value === Infinity || value === -Infinity;
}

function withoutInfinity(value: unknown): unknown {
  return isInfinite(value) ? [String(value)] : value;
}

/** Counts a selection; null if the entity whose relation is read does not exist. */
export function planCount(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  return planOf(context, countQuery(context, selection));
}

/** Returns the number and the version of its data: the bound ones, if that version is the present one. */
function planKnownCount(
  dialect: Dialect,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  options: AnswerOptions,
  selection: Selection,
): SelectionPlan {
  const context = queryContext(dialect, options);
  return planOf(context, countedStatement(context, tablesVersion, selection));
}

/** Counts a selection, as {@link ofBase} says. */
function countQuery(context: QueryContext, selection: Selection): Sql | BuiltQuery {
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection);
  const count = selection.dataclass.queries.count(from.complete(query, condition));
  return ofBase(context, selection, count);
}

/** The query of a selection's count; null if the entity whose relation is read does not exist. */
export function ofBase(
  context: QueryContext,
  selection: Selection,
  count: EntityQuery,
): Sql | BuiltQuery {
  if (selection.base.kind !== 'related') return count;
  return sql`select ${ifBaseExists(context, selection, sql`${count}`)}`;
}

/** The query that counts the entities of a page's selection: see {@link ofBase}. */
export interface Counted {
  readonly query: Sql | BuiltQuery;
  /** The tables that it reads. */
  readonly tables: ReadonlySet<string>;
}

/** How a statement that answers a page knows the number of all entities. */
interface Counting {
  /** Precedes the statement. */
  readonly prefix: Sql;
  readonly count: Sql;
  /** Columns after the answer: the number, and the version of the data at which it was counted. */
  readonly columns: Sql;
}

/**
 * On SQLite the number of all entities is a bound value. On PostgreSQL the statement compares the
 * version of the tables with that of the bound number, and counts again if they differ: number and
 * page belong to the same moment, and cost one round trip.
 * @param counted none for an entity set, whose members are known
 */
export function countingOf(context: QueryContext, counted: Counted | undefined): Counting {
  const { dialect } = context;
  if (counted === undefined || dialect.tablesVersion === undefined) {
    return { prefix: sql``, count: dialect.integer(sql`${countSlot}`), columns: sql`` };
  }
  const count = sql`(select "count" from "__counted")`;
  const { query, tables } = counted;
  return {
    prefix: sql`with ${knownOrCounted(context, dialect.tablesVersion, query, tables)} `,
    count,
    columns: sql`, ${count}, (select "version" from "__counted")`,
  };
}

/** A statement whose columns are the number and the version. */
function countedStatement(
  context: QueryContext,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  selection: Selection,
): Sql {
  const count = countQuery(context, selection);
  const counted = knownOrCounted(context, tablesVersion, count, context.aliases.tables);
  return sql`with ${counted} select "count", "version" from "__counted"`;
}

function knownOrCounted(
  { dialect }: QueryContext,
  tablesVersion: NonNullable<Dialect['tablesVersion']>,
  count: Sql | BuiltQuery,
  tables: ReadonlySet<string>,
): Sql {
  const isRestricted = dialect.compile(count).restricted !== undefined;
  const version = tablesVersion(isRestricted ? undefined : tables);
  const isKnown = sql`"version" = ${dialect.bound(sql`${versionSlot}`, 'text')}`;
  return sql`"__counted" as materialized (select "version", case when ${isKnown} then ${dialect.integer(sql`${countSlot}`)} else ${subquery(count)} end as "count" from (select ${version} as "version" offset 0) as "__now")`;
}

/** Kysely puts a query of its builder into parentheses by itself. */
function subquery(query: Sql | BuiltQuery): Sql {
  return 'isRawBuilder' in query ? sql`(${query})` : sql`${query}`;
}
