import type { Database } from 'better-sqlite3';
import type { SqlValue, Statement } from '../../statement.js';

/** Milliseconds of processor time that a read may block the server. */
const slowMilliseconds = 5;

/** A read returns to the server after so many runs in a row that were not slow. */
const quickRuns = 20;

/** A page that may return more entities is judged by the runs of such pages. */
const manyEntities = 2_500;

/** The largest database, in bytes, any read of which may begin in the server. */
const smallBytes = 4 * 1024 * 1024;

/** A read that takes longer does not get the last free process. */
const veryLongMilliseconds = 1_000;

/**
 * Decides which reads are offloaded to another process so that they do not block the server:
 *
 * - A read that, by its plan, finds each row by a unique key never is.
 * - A page of all entities that, by its plan, sorts nothing, begins in the server; so does each read
 *   of a database of at most 4 MiB.
 * - Every other read is offloaded until a run was not slow.
 * - A read that was slow is offloaded until 20 runs in a row were not.
 */
export class Placements {
  /** Unique indexes by their names, with the numbers of their columns. */
  #unique: ReadonlyMap<string, number> | undefined;

  /** @param hasTimeout whether statements have a time limit: a statement in this process cannot be stopped */
  constructor(
    private readonly database: Database,
    private readonly hasTimeout = false,
  ) {}

  /** @returns `undefined` for a read that is never offloaded */
  of(statement: Statement): StatementPlacement | undefined {
    const plan = this.#planOf(statement);
    if (plan.every((step) => this.#findsOneRow(step))) return undefined;
    const first = this.#isSmall() ? 0 : this.hasTimeout ? Infinity : 1;
    const isSorted = plan.some((step) => step.startsWith('USE TEMP B-TREE'));
    const endsWithPage = statement.page?.isOfAll === true && !isSorted;
    return { usual: new Placement(endsWithPage ? 0 : first), many: new Placement(first) };
  }

  /** Statements that have no plan, such as one that reads a plan, are short. */
  #planOf({ sql, bindings }: Statement): readonly string[] {
    if (!/^(?:select|with|values)\b/i.test(sql)) return [];
    const steps = this.database.prepare(`explain query plan ${sql}`);
    const rows = steps.all(...bindings.map(() => null)) as readonly { readonly detail: string }[];
    return rows.map(({ detail }) => detail);
  }

  /** Whether a line of a plan, such as `SEARCH t1 USING INDEX <name> (<column>=?)`, reads at most one row. */
  #findsOneRow(step: string): boolean {
    if (step.startsWith('SCAN ')) return step === 'SCAN CONSTANT ROW';
    if (!step.startsWith('SEARCH ')) return true;
    const [, index = '', terms = ''] =
      / USING (?:INTEGER |INDEX |COVERING INDEX )?(.+) \((.+)\)/.exec(step) ?? [];
    const columns = terms.split(' AND ');
    if (!columns.every((column) => column.endsWith('=?'))) return false;
    this.#unique ??= uniqueIndexes(this.database);
    return index === 'PRIMARY KEY' || this.#unique.get(index) === columns.length;
  }

  #isSmall(): boolean {
    const [pages, size] = ['page_count', 'page_size'].map((name) =>
      Number(this.database.pragma(name, { simple: true })),
    ) as [number, number];
    return pages * size <= smallBytes;
  }
}

function uniqueIndexes(database: Database): ReadonlyMap<string, number> {
  const rows = database
    .prepare(
      `select "i"."name", count(*) from sqlite_schema as "t", pragma_index_list("t"."name") as "i", pragma_index_info("i"."name") where "t"."type" = 'table' and "i"."unique" group by 1`,
    )
    .raw()
    .all();
  return new Map(rows as readonly [string, number][]);
}

/** Where a statement runs. */
export interface StatementPlacement {
  readonly usual: Placement;
  /** For pages that may return more than 2,500 entities. */
  readonly many: Placement;
}

/** @param values of the statement, by which a page says how many entities it may return */
export function placementOf(
  { usual, many }: StatementPlacement,
  { page }: Statement,
  values: readonly SqlValue[],
): Placement {
  const entities = page === undefined ? 0 : Number(values[page.top.index]) * (1 + page.related);
  return entities > manyEntities ? many : usual;
}

/** Whether the next run of a statement is offloaded. */
export class Placement {
  #last = Infinity;

  /** @param left the number of runs, none of them slow, after which it runs in the server */
  constructor(private left: number) {}

  isOffloaded(): boolean {
    return this.left > 0;
  }

  /** Whether its last run, in any process, took less than a second. */
  get isShort(): boolean {
    return this.#last < veryLongMilliseconds;
  }

  /** @param milliseconds of a run, infinite if it was stopped */
  record(milliseconds: number): void {
    this.#last = milliseconds;
    const isSlow = milliseconds > slowMilliseconds;
    this.left = isSlow ? Math.max(this.left, quickRuns) : Math.max(0, this.left - 1);
  }
}
