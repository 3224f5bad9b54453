import { setTimeout } from 'node:timers/promises';
import Database, { type Statement as Prepared } from 'better-sqlite3';
import { DatabaseUnavailableError } from '../executor.js';

/** How long a transaction waits for another process that writes. */
const longestMilliseconds = 5_000;

/** Between two attempts: as short as most transactions are. One of many short ones leaves a gap now and then. */
export const longestPauseMilliseconds = 4;

/**
 * Begins a transaction. SQLite's own waiting would keep this process from reading meanwhile, so the writing connection does
 * not wait by itself (`busy_timeout`).
 * @param begin `begin immediate`
 * @returns a promise only when another process holds the database
 * @throws SqliteError `SQLITE_BUSY` when it does so for too long
 */
export function beginTransaction(begin: Prepared): Promise<void> | undefined {
  return isBegun(begin) ? undefined : beginLater(begin);
}

async function beginLater(begin: Prepared): Promise<void> {
  const end = performance.now() + longestMilliseconds;
  let pause = 1;
  while (performance.now() < end) {
    await setTimeout(pause);
    if (!begin.database.open) {
      throw new DatabaseUnavailableError('the database is closed', undefined);
    }
    if (isBegun(begin)) return;
    pause = Math.min(pause * 2, longestPauseMilliseconds);
  }
  begin.run();
}

function isBegun(begin: Prepared): boolean {
  try {
    begin.run();
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}
