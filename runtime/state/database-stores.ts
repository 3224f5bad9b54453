import { foldName } from '../access/session.js';
import type { Database } from '../dialect/database.js';
import type { StateDatabase } from '../dialect/state-database.js';
import { systemClock } from '../entity-set/clock.js';
import type { ServerStores, StoreLimits } from '../http/server-stores.js';
import { DatabaseLockTable } from './database-lock-table.js';
import { DatabaseSessionStore } from './database-session-store.js';
import { DatabaseEntitySetStore } from './database-set-store.js';
import { DatabaseSingletons } from './database-singletons.js';
import { stateSchema } from './schema.js';

/**
 * Stores in the database, for all servers that use it.
 * @param processes of this machine, which share the memory for cached keys of sets
 * @param trust milliseconds for which a session that was read is not read again
 * @throws Error if the state cannot be opened
 */
export async function databaseStores(
  limits: StoreLimits,
  { dialect, state }: Database,
  processes: number,
  trust: number,
): Promise<ServerStores> {
  if (state === undefined) throw new Error('The database keeps no state.');
  const database = await state.open(stateSchema);
  const { entitySetMemory, maxLocksPerSession } = limits;
  const sessions = new DatabaseSessionStore(database, trust);
  const stored = (session: string): Promise<void> => sessions.stored(session);
  const sets = new DatabaseEntitySetStore(
    database,
    entitySetMemory,
    entitySetMemory / processes,
    stored,
  );
  const ticks = new Ticks();
  const singletons = new DatabaseSingletons(database, stored);
  for (const each of [singletons, sessions, sets]) ticks.add(() => each.tick());
  return {
    clock: systemClock(),
    sessions,
    sets,
    locks: new DatabaseLockTable(database, maxLocksPerSession, dialect.foldText, stored),
    state: {
      database,
      singletons,
      stored,
      everyTick: (work) => {
        ticks.add(work);
      },
    },
    close: async () => {
      await ticks.end();
      sets.close();
      await sessions.close();
      await database.close();
    },
  };
}

/** Milliseconds between two ticks. */
const tickMilliseconds = 5_000;

/** Work that every server does now and then, such as removing what has expired. */
class Ticks {
  readonly #works: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => {
      this.#running ??= this.#runAll().finally(() => {
        this.#running = undefined;
      });
    }, tickMilliseconds).unref();
  }

  add(work: () => Promise<void>): void {
    this.#works.push(work);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #runAll(): Promise<void> {
    for (const work of this.#works) {
      // Requests report that the database cannot be reached.
      await work().catch(() => undefined);
    }
  }
}

/** Ends all sessions of a user in all servers: each request looks for its session there. */
export async function endSessionsOf(
  state: Pick<StateDatabase, 'run'>,
  userName: string,
): Promise<void> {
  const ofUsers = 'is_guest = 0';
  const rows = await state.run([
    `select distinct user_name from drs_state.session where ${ofUsers}`,
  ]);
  // Names of users are compared without regard to case.
  for (const name of rows.map(([each]) => String(each))) {
    if (foldName(name) !== foldName(userName)) continue;
    const end = `delete from drs_state.session where user_name = $1 and ${ofUsers}`;
    await state.run([end, name]);
  }
}

export { stateSchema };
