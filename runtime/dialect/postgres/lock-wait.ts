import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientBase, DatabaseError } from 'pg';
import { quoted } from '../table-definition.js';

/** How long a change of the schema waits for transactions that use its table. */
export interface LockWait {
  /** Of one attempt: whoever comes after it waits behind it for so long. */
  readonly timeoutMilliseconds: number;
  readonly attempts: number;
  /** Between two attempts, so that those who waited get on. */
  readonly pauseMilliseconds: number;
}

/** Half a minute in all. */
export const defaultLockWait: LockWait = {
  timeoutMilliseconds: 2_000,
  attempts: 12,
  pauseMilliseconds: 500,
};

/** Two servers that start at once on one database: the second one waits, and finds what the first one made. */
const lockKey = `hashtextextended('drs-gen ' || $1, 0)`;

/** A server that waited inside a statement would be waited for by the building of an index. */
const lockPauseMilliseconds = 50;

/**
 * Does what changes tables or their rows while no other server does: it waits for these as long as they take.
 * @param name of PostgreSQL's schema that holds the tables
 * @param tell is told that it waits, time and again
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
    // A connection that is lost has lost its locks, too.
    const text = `select pg_advisory_unlock(${lockKey})`;
    await client.query(text, [name]).catch(() => undefined);
  }
}

/** A lock that was not to be had within `lock_timeout`, and a deadlock. */
const passing = ['55P03', '40P01'];

const mostHoldersShown = 3;

interface Step {
  /** What it locks. */
  readonly tables: readonly string[];
  /** What is done, for the message of a failure. */
  readonly what: string;
  /** Runs again after it has failed on a lock: all or none of it. */
  readonly run: () => Promise<unknown>;
  /** Nobody waits behind it: it has the same time in two attempts. */
  readonly isConcurrent?: true | undefined;
  /** Takes back what it leaves behind when it fails; what is left all the same is found by the next start. */
  readonly undo?: (() => Promise<unknown>) | undefined;
  /** Is told that it waits. */
  readonly log?: ((words: string) => void) | undefined;
}

/**
 * Takes a step as soon as other transactions let it.
 * @throws Error that names the transactions which did not, when the last attempt has failed
 */
export async function whenUnlocked(
  client: ClientBase,
  lockWait: LockWait,
  step: Step,
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
      if (attempt === 1) step.log?.(`"${step.what}" waits for transactions of others.`);
      await sleep(lockWait.pauseMilliseconds);
    }
  }
}

/** The locks of this transaction on tables that keep others from writing, weaker ones first. */
export const heldLocks = `select c.relname as "table", l.mode
from pg_locks l join pg_class c on c.oid = l.relation
where l.pid = pg_backend_pid() and l.granted and c.relkind in ('r', 'p')
  and c.relnamespace = quote_ident(current_schema())::regnamespace
  and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
order by c.relname, array_position(array['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'], l.mode)`;

export interface HeldLock {
  readonly table: string;
  /** As the catalog has it: `AccessExclusiveLock`. */
  readonly mode: string;
}

/** As the documentation of PostgreSQL writes them, the strongest one of each table: `ACCESS EXCLUSIVE on "Person"`. */
export function lockWords(held: readonly HeldLock[]): readonly string[] {
  const strongest = new Map(held.map(({ table, mode }) => [table, mode]));
  return [...strongest].map(([table, mode]) => {
    const words = mode.replace(/Lock$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
    return `${words.toUpperCase()} on ${quoted(table)}`;
  });
}

function limitsOf(
  { timeoutMilliseconds, pauseMilliseconds, attempts }: LockWait,
  { isConcurrent }: Step,
): { readonly timeout: number; readonly attempts: number } {
  if (isConcurrent !== true) return { timeout: timeoutMilliseconds, attempts };
  const half = Math.ceil(((timeoutMilliseconds + pauseMilliseconds) * attempts) / 2);
  return { timeout: half, attempts: 2 };
}

/** This takes a lock that others do wait behind. */
async function undone(client: ClientBase, lockWait: LockWait, { undo }: Step): Promise<boolean> {
  if (undo === undefined) return true;
  try {
    await client.query(`set lock_timeout = ${lockWait.timeoutMilliseconds}`);
    await undo();
    return true;
  } catch {
    return false;
  }
}

/** The building of an index waits for all transactions: the oldest ones are shown, whatever they use. */
async function lockedError(
  client: ClientBase,
  { tables, what }: Step,
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
      `${held} is in use by other transactions, and "${what}" has waited for them in vain; end them, and start the server again, which goes on from here`,
      ...rows.map(({ holder }) => `  - ${holder}`),
    ].join('\n'),
    { cause },
  );
}
