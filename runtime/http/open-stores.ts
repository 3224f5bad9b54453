import type { Database } from '../dialect/database.js';
import type { AppState } from '../shared-state/joined-state.js';
import { memoryStores, type ServerStores, type StoreLimits } from './server-stores.js';
import { sharedStores } from './shared-stores.js';

/**
 * What outlives requests: in the memory of this process where it serves alone, else where the other processes have it.
 * @param joined what this process is a part of; `undefined` where it serves alone
 * @throws Error for a database in memory, which several processes cannot share
 */
export async function openStores(
  joined: AppState | undefined,
  limits: StoreLimits,
  database: Database,
): Promise<ServerStores> {
  const { foldText } = database.dialect;
  if (joined === undefined) return memoryStores(limits, foldText);
  if (database.isOfOneProcess === true) {
    throw new Error(
      `PROCESSES is ${joined.processes}, and DATABASE_URL names a database in memory, which one process alone can have. Name a file, or run one process.`,
    );
  }
  return sharedStores(joined, limits, foldText);
}
