import type { EndedUsers } from '../access/ended-users.js';
import { type LockTable, MemoryLockTable } from '../access/locks.js';
import { MemorySessionStore } from '../access/memory-session-store.js';
import type { SessionStore } from '../access/session-store.js';
import type { Database } from '../dialect/database.js';
import type { StateDatabase } from '../dialect/state-database.js';
import { type Clock, systemClock } from '../entity-set/clock.js';
import type { EntitySetStore } from '../entity-set/entity-set-store.js';
import { MemoryEntitySetStore } from '../entity-set/memory-store.js';
import { type Environment, readSetting } from '../protocol/environment.js';
import type { Fold } from '../protocol/fold.js';
import type { DatabaseSingletons } from '../state/database-singletons.js';
import type { Limits } from './settings.js';

/** The state that outlives requests: what a server remembers about its clients. */
export interface ServerStores {
  /** The clock of what this process remembers. */
  readonly clock: Clock;
  readonly sessions: SessionStore;
  readonly sets: EntitySetStore;
  readonly locks: LockTable;
  /** Set if the state is in the database. */
  readonly state: SharedState | undefined;
  /** Call it when nobody uses them any more. */
  close(): Promise<void>;
}

/** The state in the database, for singletons and the stores of parts that some servers do not have. */
export interface SharedState {
  readonly database: StateDatabase;
  readonly singletons: DatabaseSingletons;
  /** Makes sure that tables can refer to a session. */
  readonly stored: (session: string) => Promise<void>;
  /** Does work every few seconds; one that fails is done again the next time. */
  readonly everyTick: (work: () => Promise<void>) => void;
}

interface MemoryOptions {
  readonly clock?: Clock;
  readonly ended?: EndedUsers | undefined;
}

export type StoreLimits = Pick<Limits, 'entitySetMemory' | 'maxLocksPerSession'>;

/** The place of a server's state. */
type StateKind = 'memory' | 'database';

/**
 * From `STATE`; if it is not set, in the database where several servers may use it.
 * @param processes of this server
 * @throws Error that says which setting is wrong
 */
export function stateKind(
  environment: Environment,
  { isOfOneProcess, state }: Database,
  processes: number,
): StateKind {
  const kind = readSetting(environment, 'STATE');
  if (processes > 1) {
    const several = `PROCESSES is ${processes}, and`;
    if (isOfOneProcess === true || state === undefined) {
      throw new Error(
        `${several} DATABASE_URL names a database in memory, which one process alone can have. Name a file, or run one process.`,
      );
    }
    if (kind === 'memory') {
      throw new Error(
        `${several} STATE is memory, which processes do not share. Leave STATE out, or run one process.`,
      );
    }
    return 'database';
  }
  if (kind === 'database' && state === undefined) {
    throw new Error(
      'STATE is database, and DATABASE_URL names a database in memory, beside which nothing is kept. Name a file, or leave STATE out.',
    );
  }
  return kind ?? (state?.isForMachines === true ? 'database' : 'memory');
}

/**
 * Stores in the memory of this process.
 * @param foldText the form in which the database compares texts
 */
export function memoryStores(
  limits: StoreLimits,
  foldText: Fold,
  { clock = systemClock(), ended }: MemoryOptions = {},
): ServerStores {
  const sessions = new MemorySessionStore(clock, ended);
  const sets = new MemoryEntitySetStore(limits.entitySetMemory, clock);
  const locks = new MemoryLockTable(limits.maxLocksPerSession, foldText);
  // What belongs to a session ends with it, or moves with it.
  sessions.onEnd((session) => {
    locks.releaseAll(session);
    sets.releaseOf(session);
  });
  sessions.onMove((from, to) => {
    locks.moveAll(from, to);
    sets.moveOf(from, to);
  });
  const close = (): Promise<void> => {
    sets.close();
    return sessions.close();
  };
  return {
    clock,
    sessions,
    sets,
    locks,
    state: undefined,
    close,
  };
}
