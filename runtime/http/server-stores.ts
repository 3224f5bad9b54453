import { type LockTable, MemoryLockTable } from '../access/locks.js';
import { MemorySessionStore } from '../access/memory-session-store.js';
import { type Rates, RateWindows } from '../access/quotas.js';
import type { SessionStore } from '../access/session-store.js';
import type { Sessions } from '../access/sessions.js';
import { type Clock, systemClock } from '../entity-set/clock.js';
import type { EntitySetStore } from '../entity-set/entity-set-store.js';
import { MemoryEntitySetStore } from '../entity-set/memory-store.js';
import type { Fold } from '../protocol/fold.js';
import type { Sharing } from '../shared-state/sharing.js';
import type { Limits } from './settings.js';

/**
 * The state that outlives requests outside of the database: what a server remembers about its
 * clients.
 */
export interface ServerStores {
  /** Of all that expires. */
  readonly clock: Clock;
  readonly sessions: SessionStore;
  readonly sets: EntitySetStore;
  readonly locks: LockTable;
  /** What all requests together have used of the server's quotas. */
  readonly rates: Rates;
  /** Set if the process is one of several; none if it serves alone. */
  readonly sharing: Sharing | undefined;
  /** Call it when nobody uses them any more. */
  close(): void;
}

export type StoreLimits = Pick<Limits, 'entitySetMemory' | 'maxLocksPerSession'>;

/**
 * Stores in the memory of this process.
 * @param foldText the form in which the database compares texts
 */
export function memoryStores(limits: StoreLimits, foldText: Fold): ServerStores {
  const clock = systemClock();
  return {
    clock,
    sessions: new MemorySessionStore(clock),
    sets: new MemoryEntitySetStore(limits.entitySetMemory, clock),
    locks: new MemoryLockTable(limits.maxLocksPerSession, foldText),
    rates: new RateWindows(),
    sharing: undefined,
    close: () => undefined,
  };
}

/** What belongs to a session ends with it, or moves with it. */
export function followSessions(sessions: Sessions, { sets, locks }: ServerStores): void {
  sessions.onEnd((session) => {
    locks.releaseAll(session);
    void sets.releaseOf(session);
  });
  sessions.onMove((from, to) => {
    locks.moveAll(from, to);
    void sets.moveOf(from, to);
  });
}

/** Forgets everything. */
export async function closeStores({ sets, sessions }: ServerStores): Promise<void> {
  await Promise.all([sets.close(), sessions.close()]);
}
