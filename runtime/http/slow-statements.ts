import { BoundedCache } from '../dialect/bounded-cache.js';
import { type Database, type StatementWrapper, whenEnded } from '../dialect/database.js';
import type { Statement } from '../dialect/statement.js';
import { currentRequest, factsOf } from './request-log.js';

interface StatementLogger {
  warn(what: object, message: string): void;
}

/**
 * Milliseconds until the plan of a statement is read again: a plan costs as much as a small read,
 * and slow statements come in large numbers.
 */
const planEvery = 60_000;

/** The most plans that wait. They are read one by one, so that a slow database does not get much more to do. */
const mostWaiting = 10;

/** The most characters of a statement in the log: the filter of a client may make it much longer. */
const longestSql = 8_192;

/**
 * Logs each statement that takes at least that many milliseconds, and its plan. It logs no values:
 * they belong to users.
 */
export function slowStatementsLogged(
  database: Database,
  limit: number,
  log: StatementLogger,
): StatementWrapper {
  const plans = new ExplainedPlans(database);
  const report = async (statement: Statement, ms: number): Promise<void> => {
    const request = currentRequest();
    const { sql, isOfState } = statement;
    // The statements of the state are those of this runtime: their plans say nothing about the model.
    const plan = isOfState === true ? undefined : await plans.of(statement);
    const line = {
      reqId: request?.id,
      ...(request === undefined ? {} : factsOf(request)),
      ...(isOfState === true ? { state: true } : {}),
      ms: Math.round(ms * 10) / 10,
      sql: sql.length > longestSql ? `${sql.slice(0, longestSql)}…` : sql,
      ...plan,
    };
    log.warn(line, 'slow statement');
  };
  return (statement, _values, run) =>
    whenEnded(run, (ms) => {
      if (ms >= limit) void report(statement, ms);
    });
}

type Plan = { readonly plan: readonly string[] } | { readonly planError: string } | undefined;

class ExplainedPlans {
  /** When the plan of a statement was read last, in time of `performance.now()`. */
  readonly #readAt = new BoundedCache<number>(4 * 1024 * 1024, () => 8);
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(private readonly database: Database) {}

  /** @returns nothing if it was read within the last minute, or too many others are being read */
  async of(statement: Statement): Promise<Plan> {
    const now = performance.now();
    const last = this.#readAt.get(statement.sql) ?? -Infinity;
    if (this.#waiting >= mostWaiting || now - last < planEvery) return undefined;
    this.#readAt.set(statement.sql, now);
    this.#waiting += 1;
    const plan = this.#last.then(() => this.#read(statement));
    this.#last = plan;
    return plan;
  }

  async #read({ sql, bindings }: Statement): Promise<Plan> {
    const { dialect, executor } = this.database;
    try {
      const text = `${dialect.planPrefix}${sql}`;
      const rows = await executor.rows({ sql: text, bindings: bindings.map(() => null) }, []);
      return { plan: rows.map((row) => String(row.at(-1))) };
    } catch (error) {
      return { planError: (error as Error).message };
    } finally {
      this.#waiting -= 1;
    }
  }
}
