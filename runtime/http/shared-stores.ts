import type { Fold } from '../protocol/fold.js';
import type { AppState } from '../shared-state/joined-state.js';
import { openSharing } from '../shared-state/open-sharing.js';
import { SharedLockTable } from '../shared-state/shared-lock-table.js';
import { RateTable, serverRates, SharedRates } from '../shared-state/shared-rates.js';
import { SharedSessionStore } from '../shared-state/shared-session-store.js';
import { SharedEntitySetStore } from '../shared-state/shared-set-store.js';
import type { ServerStores, StoreLimits } from './server-stores.js';

/**
 * Stores for a process that is one of several of a server, in files that all of them have open.
 * @param foldText the form in which the database compares texts
 * @throws Error when the package better-sqlite3 is missing, or the files cannot be opened
 */
export async function sharedStores(
  joined: AppState,
  limits: StoreLimits,
  foldText: Fold,
): Promise<ServerStores> {
  const sharing = await openSharing(joined);
  return {
    clock: sharing.clock,
    sessions: new SharedSessionStore(sharing),
    sets: new SharedEntitySetStore(sharing, limits.entitySetMemory, joined.processes),
    locks: new SharedLockTable(sharing, limits.maxLocksPerSession, foldText),
    rates: new SharedRates(new RateTable(sharing.state), serverRates),
    sharing,
    close: () => {
      sharing.generations.close();
      sharing.state.close();
    },
  };
}
