import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientBase, DatabaseError } from 'pg';
import { quoted } from '../../table-definition.js';

/** How long a change of the schema waits for transactions that use its table. */
export interface LockWait {
  /** The timeout of one attempt: other transactions queue behind the attempt for that long. */
  readonly timeoutMilliseconds: number;
  readonly attempts: number;
  /** The pause between two attempts, in which queued transactions proceed. */
  readonly pauseMilliseconds: number;
}

/** Half a minute in total. */
export const defaultLockWait: LockWait = {
  timeoutMilliseconds: 2_000,
  attempts: 12,
  pauseMilliseconds: 500,
};

/** The advisory lock of a schema: if two servers start at once, the second one waits and finds the work done. */
const lockKey = `hashtextextended('drs-gen ' || $1, 0)`;

/** The lock is polled: building an index waits for every open statement, even one that waits for this lock. */
const lockPauseMilliseconds = 50;

/**
 * Runs a change of tables or rows while no other server runs one; waits as long as necessary.
 * @param name of PostgreSQL's schema that holds the tables
 * @param tell called repeatedly while it waits
 */
export async function oneAtATime<T>(
  client: ClientBase,
  name: string,
  tell: (words: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(
      `select pg_try_advisory_lock(${lockKey}) as "locked"`,
      [name],
    );
    if (rows[0]?.locked === true) break;
    tell('Another server changes the database: this one waits until it has ended.');
    await sleep(lockPauseMilliseconds);
  }
  try {
    return await work();
  } finally {
    // A lost connection has released its locks.
    const text = `select pg_advisory_unlock(${lockKey})`;
    await client.query(text, [name]).catch(() => undefined);
  }
}

/** Lock timeout and deadlock. */
const passing = ['55P03', '40P01'];

const mostHoldersShown = 3;

interface LockingStep {
  /** The tables that it locks. */
  readonly tables: readonly string[];
  /** What it does, for messages. */
  readonly what: string;
  /** All or nothing, so that it can run again after a lock timeout. */
  readonly run: () => Promise<unknown>;
  /** Nobody queues behind it, so two attempts share the time. */
  readonly isConcurrent?: true | undefined;
  /** Removes what a failed run leaves behind; the next start finds anything that remains. */
  readonly undo?: (() => Promise<unknown>) | undefined;
  /** Called while it waits. */
  readonly log?: ((words: string) => void) | undefined;
}

/** Retries a step until it gets its locks; the last error names the blocking transactions. */
export async function whenUnlocked(
  client: ClientBase,
  lockWait: LockWait,
  step: LockingStep,
): Promise<void> {
  const { timeout, attempts } = limitsOf(lockWait, step);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(`set lock_timeout = ${timeout}`);
      await step.run();
      return;
    } catch (error) {
      const isPassing = error instanceof DatabaseError && passing.includes(error.code ?? '');
      const isUndone = await undone(client, lockWait, step);
      if (!isPassing) throw error;
      if (attempt >= attempts || !isUndone) throw await lockedError(client, step, error);
      if (attempt === 1) step.log?.(`"${step.what}" waits for other transactions.`);
      await sleep(lockWait.pauseMilliseconds);
    }
  }
}

/** The table locks of this transaction that block writers, weaker ones first. */
export const heldLocks = `select c.relname as "table", l.mode
from pg_locks l join pg_class c on c.oid = l.relation
where l.pid = pg_backend_pid() and l.granted and c.relkind in ('r', 'p')
  and c.relnamespace = quote_ident(current_schema())::regnamespace
  and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
order by c.relname, array_position(array['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'], l.mode)`;

export interface TableLock {
  readonly table: string;
  /** The name in the catalog, such as `AccessExclusiveLock`. */
  readonly mode: string;
}

/** The strongest lock of each table, named as in PostgreSQL's documentation: `ACCESS EXCLUSIVE on "Person"`. */
export function lockWords(held: readonly TableLock[]): readonly string[] {
  const strongest = new Map(held.map(({ table, mode }) => [table, mode]));
  return [...strongest].map(([table, mode]) => {
    const words = mode.replace(/Lock$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
    return `${words.toUpperCase()} on ${quoted(table)}`;
  });
}

function limitsOf(
  { timeoutMilliseconds, pauseMilliseconds, attempts }: LockWait,
  { isConcurrent }: LockingStep,
): { readonly timeout: number; readonly attempts: number } {
  if (isConcurrent !== true) return { timeout: timeoutMilliseconds, attempts };
  const half = Math.ceil(((timeoutMilliseconds + pauseMilliseconds) * attempts) / 2);
  return { timeout: half, attempts: 2 };
}

/** The undo takes a lock that others queue behind. */
async function undone(
  client: ClientBase,
  lockWait: LockWait,
  { undo }: LockingStep,
): Promise<boolean> {
  if (undo === undefined) return true;
  try {
    await client.query(`set lock_timeout = ${lockWait.timeoutMilliseconds}`);
    await undo();
    return true;
  } catch {
    return false;
  }
}

/** Building an index waits for all transactions: name the oldest ones, whatever they use. */
async function lockedError(
  client: ClientBase,
  { tables, what }: LockingStep,
  cause: DatabaseError,
): Promise<Error> {
  const { rows } = await client.query<{ holder: string; held: string | null }>(
    `select format('process %s (%s, %s), in a transaction since %s: %s', a.pid,
        coalesce(nullif(a.application_name, ''), 'no application name'), a.state, a.xact_start,
        left(regexp_replace(a.query, '\\s+', ' ', 'g'), 200)) as "holder", t."held"
      from pg_stat_activity a
      cross join lateral (select string_agg(distinct w.name, ' and ') as "held"
        from unnest($1::text[], $2::text[]) as w (name, quoted)
        join pg_locks l on l.relation = to_regclass(w.quoted) and l.pid = a.pid and l.granted) t
      where a.pid <> pg_backend_pid() and a.datname = current_database() and a.xact_start is not null
      order by t."held" is null, a.xact_start limit ${mostHoldersShown}`,
    [tables.map((each) => `"${each}"`), tables.map(quoted)],
  );
  const named = tables.length === 0 ? 'the database' : tables.map(quoted).join(' and ');
  const held = rows.find((each) => each.held !== null)?.held ?? named;
  return new Error(
    [
      `${held} is in use by other transactions, and "${what}" timed out while it waited for them; end them, and start the server again, which continues from here`,
      ...rows.map(({ holder }) => `  - ${holder}`),
    ].join('\n'),
    { cause },
  );
}
