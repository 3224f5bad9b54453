import { sql } from 'kysely';
import type { Database } from '../dialect/database.js';
import type { Rows } from '../dialect/executor.js';
import type { Sql, SqlValue, Statement } from '../dialect/statement.js';
import type { EnqueueOptions } from './job-code.js';

/** Milliseconds for which a server holds a job; it renews that while the job runs. */
export const leaseMilliseconds = 30_000;

/** A job that this server holds. */
export interface HeldJob {
  readonly id: number;
  readonly name: string;
  /** JSON. */
  readonly params: string;
  /** Counted from 1. */
  readonly attempt: number;
}

/** A job as `npm run jobs` lists it. */
export interface ListedJob extends HeldJob {
  readonly state: JobState;
  /** Milliseconds until it may run, or another server may take it; absent for a dead one. */
  readonly dueIn: number | undefined;
  readonly error: string | undefined;
}

export type JobState = 'waiting' | 'running' | 'dead';

/**
 * The jobs in the table `__job`. A job waits until it is `due`. A server that takes it writes itself as the
 * `holder`, and `due` is when its lease expires: from then on, any server may take the job. A dead job
 * is never due. The clock is that of the database.
 */
export class JobQueue {
  constructor(private readonly database: Pick<Database, 'dialect' | 'executor'>) {}

  /** A statement that stores a job, and returns its ID. */
  insertion(name: string, params: string, { at, after = 0 }: EnqueueOptions): Statement {
    const { now } = this.database.dialect;
    const milliseconds = Math.round(after * 1000);
    const due = at === undefined ? sql`${now} + ${milliseconds}` : sql`${at.getTime()}`;
    return this.#compile(
      sql`insert into "__job" ("name", "params", "due") values (${name}, ${params}, ${due}) returning "id"`,
    );
  }

  /**
   * Milliseconds until the next job is due, which may be negative; `undefined` if none waits.
   * @param names of the jobs that this server can run
   */
  async dueIn(names: readonly string[]): Promise<number | undefined> {
    const { dialect, executor } = this.database;
    const query = sql`select "due" - ${dialect.now} from "__job" where "due" is not null and "name" in (${list(names)}) order by "due" limit 1`;
    const value = await executor.value(this.#compile(query), []);
    return value === undefined ? undefined : Number(value);
  }

  /**
   * Takes jobs that are due, and whose leases have expired.
   * @param held IDs of jobs that this holder runs
   */
  async take(
    holder: string,
    names: readonly string[],
    held: readonly number[],
    most: number,
  ): Promise<readonly HeldJob[]> {
    const { now, skipLocked } = this.database.dialect;
    const others = held.length === 0 ? sql`` : sql` and "id" not in (${list(held)})`;
    const rows = await this.#change(
      sql`with "free" as materialized (select "id" from "__job" where "due" <= ${now} and "name" in (${list(names)})${others} order by "due", "id" limit ${sql.lit(most)}${skipLocked}) update "__job" set "holder" = ${holder}, "attempts" = "attempts" + 1, "due" = ${now} + ${leaseMilliseconds} where "id" in (select "id" from "free") returning "id", "name", "params", "attempts"`,
    );
    return rows.map(heldJob);
  }

  /** Holds jobs for longer, and returns the IDs of those that this holder still has. */
  async renew(holder: string, ids: readonly number[]): Promise<readonly number[]> {
    const { now } = this.database.dialect;
    const rows = await this.#change(
      sql`update "__job" set "due" = ${now} + ${leaseMilliseconds} where "id" in (${list(ids)}) and "holder" = ${holder} returning "id"`,
    );
    return rows.map(([id]) => Number(id));
  }

  /** Deletes a job that has run; returns whether this holder still had it. */
  async remove(holder: string, job: HeldJob): Promise<boolean> {
    return this.#has(sql`delete from "__job" where ${isHeld(holder, job)} returning "id"`);
  }

  /**
   * Lets a job wait that has failed.
   * @param delay milliseconds; `undefined` if it is dead
   */
  async fail(
    holder: string,
    job: HeldJob,
    error: string,
    delay: number | undefined,
  ): Promise<boolean> {
    const { now } = this.database.dialect;
    const due = delay === undefined ? sql`null` : sql`${now} + ${Math.round(delay)}`;
    return this.#has(
      sql`update "__job" set "holder" = null, "error" = ${error}, "due" = ${due} where ${isHeld(holder, job)} returning "id"`,
    );
  }

  /** Gives a job back that was not run to its end, for another server: that was no attempt. */
  async giveBack(holder: string, job: HeldJob): Promise<boolean> {
    const { now } = this.database.dialect;
    return this.#has(
      sql`update "__job" set "holder" = null, "attempts" = "attempts" - 1, "due" = ${now} where ${isHeld(holder, job)} returning "id"`,
    );
  }

  /** @param name of the jobs; all if it is left out */
  async counts(name?: string): Promise<Readonly<Record<JobState, number>>> {
    const ofName = name === undefined ? sql`` : sql` where "name" = ${name}`;
    const rows = await this.#rows(
      sql`select ${this.#state} as "state", count(*) from "__job"${ofName} group by 1`,
    );
    const counts = new Map(rows.map(([state, count]) => [String(state), Number(count)]));
    return {
      running: counts.get('running') ?? 0,
      waiting: counts.get('waiting') ?? 0,
      dead: counts.get('dead') ?? 0,
    };
  }

  /** The jobs of a state: those that are due next come first, and the newest dead ones. */
  async list(state: JobState, most: number, name?: string): Promise<readonly ListedJob[]> {
    const order = state === 'dead' ? sql`"id" desc` : sql`"due", "id"`;
    const ofName = name === undefined ? sql`` : sql` and "name" = ${name}`;
    return this.#listed(
      sql` where ${this.#state} = ${state}${ofName} order by ${order} limit ${sql.lit(most)}`,
    );
  }

  /** One job; `undefined` if there is none of that ID. */
  async find(id: number): Promise<ListedJob | undefined> {
    const [job] = await this.#listed(sql` where "id" = ${id}`);
    return job;
  }

  /** Makes a job that waits or is dead due, with all of its retries; returns whether there is one. */
  async retry(id: number): Promise<boolean> {
    return (await this.#retry(sql`"id" = ${id} and not ${this.#isRunning}`)) > 0;
  }

  /** Makes all dead jobs of a name due, and returns how many there were. */
  async retryDead(name: string): Promise<number> {
    return this.#retry(sql`"name" = ${name} and "due" is null`);
  }

  /** Deletes a job that waits or is dead; returns whether there is one. */
  async delete(id: number): Promise<boolean> {
    return this.#has(
      sql`delete from "__job" where "id" = ${id} and not ${this.#isRunning} returning "id"`,
    );
  }

  get #isRunning(): Sql {
    const { now } = this.database.dialect;
    return sql`("holder" is not null and "due" > ${now})`;
  }

  get #state(): Sql {
    return sql`case when "due" is null then 'dead' when ${this.#isRunning} then 'running' else 'waiting' end`;
  }

  async #listed(rest: Sql): Promise<readonly ListedJob[]> {
    const { now } = this.database.dialect;
    const rows = await this.#rows(
      sql`select "id", "name", "params", "attempts", "due" - ${now}, "error", ${this.#state} from "__job"${rest}`,
    );
    return rows.map((row) => {
      const [, , , , dueIn, error, state] = row;
      return {
        ...heldJob(row),
        state: String(state) as JobState,
        dueIn: dueIn === null || dueIn === undefined ? undefined : Number(dueIn),
        error: typeof error === 'string' ? error : undefined,
      };
    });
  }

  async #retry(which: Sql): Promise<number> {
    const { now } = this.database.dialect;
    const rows = await this.#change(
      sql`update "__job" set "due" = ${now}, "attempts" = 0, "holder" = null where ${which} returning "id"`,
    );
    return rows.length;
  }

  async #has(query: Sql): Promise<boolean> {
    return (await this.#change(query)).length > 0;
  }

  async #change(query: Sql): Promise<Rows> {
    const statement = this.#compile(query);
    const { rows } = await this.database.executor.write((transaction) =>
      transaction.table(statement, []),
    );
    return rows;
  }

  async #rows(query: Sql): Promise<Rows> {
    return this.database.executor.rows(this.#compile(query), []);
  }

  #compile(query: Sql): Statement {
    return this.database.dialect.compile(query);
  }
}

/** Whether nobody else has taken the job meanwhile. */
function isHeld(holder: string, { id, attempt }: HeldJob): Sql {
  return sql`"id" = ${id} and "holder" = ${holder} and "attempts" = ${attempt}`;
}

function list(values: readonly (string | number)[]): Sql {
  return sql.join(values.map((each) => sql`${each}`));
}

function heldJob([id, name, params, attempts]: readonly SqlValue[]): HeldJob {
  return {
    id: Number(id),
    name: String(name),
    params: String(params),
    attempt: Number(attempts),
  };
}
