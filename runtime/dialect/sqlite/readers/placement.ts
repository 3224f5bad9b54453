import type { Database } from 'better-sqlite3';
import type { SqlValue, Statement } from '../../statement.js';

/** Milliseconds of processor time that a read may block the server. */
export const slowMilliseconds = 10;

/** A read returns to the server after so many runs in a row that were not slow. */
const quickRuns = 20;

/** A page that may return more entities is judged by the runs of such pages. */
const manyEntities = 2_500;

/**
 * The largest database, in bytes, any read of which may begin in the server. The first page of each
 * table and index does not count: a large schema without data is a small database.
 */
const smallBytes = 4 * 1024 * 1024;

/** A search by a unique key has none of these operations; a recursion has `Rewind` alone. */
const loops = ['Next', 'Prev', 'VNext', 'Count', 'Rewind'];

const sorts = ['Sort', 'SorterSort'];

/** A read that takes longer does not get the last free process. */
const veryLongMilliseconds = 1_000;

/**
 * Decides which reads are offloaded to another process so that they do not block the server:
 *
 * - A read that, by its bytecode, finds each row by a unique key never is. After a slow run, its
 *   bytecode is looked at again.
 * - A page of all entities that, by its bytecode, sorts nothing, begins in the server; so does each
 *   read of a database of at most 4 MiB if the time of statements is not limited, and `explain`.
 * - Every other read is offloaded until a run was not slow.
 * - A read that was slow is offloaded until 20 runs in a row were not.
 */
export class Placements {
  /** @param hasTimeout whether statements have a time limit: a statement in this process cannot be stopped */
  constructor(
    private readonly database: Database,
    private readonly hasTimeout = false,
  ) {}

  /** @returns `undefined` for a read that is never offloaded */
  of(statement: Statement): StatementPlacement | undefined {
    const operations = this.#operationsOf(statement);
    if (operations === undefined) return { usual: new Placement(0), many: new Placement(0) };
    const hasAny = (names: readonly string[]): boolean =>
      names.some((name) => operations.has(name));
    if (!hasAny(loops)) return undefined;
    const first = this.hasTimeout ? Infinity : this.#isSmall() ? 0 : 1;
    const endsWithPage = statement.page?.isOfAll === true && !hasAny(sorts);
    return { usual: new Placement(endsWithPage ? 0 : first), many: new Placement(first) };
  }

  /** @returns `undefined` for a statement that cannot be explained, such as `explain` itself */
  #operationsOf({ sql, bindings }: Statement): ReadonlySet<string> | undefined {
    try {
      const explained = this.database.prepare(`explain ${sql}`);
      const rows = explained.all(...bindings.map(() => null)) as readonly { opcode: string }[];
      return new Set(rows.map(({ opcode }) => opcode));
    } catch {
      return undefined;
    }
  }

  #isSmall(): boolean {
    const sized = 'select page_size * (page_count - (select count(*) from sqlite_schema))';
    const bytes = this.database
      .prepare(`${sized} from pragma_page_count, pragma_page_size`)
      .pluck()
      .get();
    return Number(bytes) <= smallBytes;
  }
}

/** The processes in which a statement runs. */
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
  /** Whether its last run in the server may have been slow, or others had the processor: the next one is measured exactly. */
  isDoubtful = false;
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
