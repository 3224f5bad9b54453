import type { Database } from 'better-sqlite3';

/** How long other processes may keep a checkpoint from its end: those that close the database, too, take less. */
const longestMilliseconds = 250;

/**
 * Has the database's own file hold all that was stored, before its last connection of this process is closed. SQLite does so
 * by itself where a connection is the last one of all; of processes that close theirs at the same moment, none may be.
 */
export function lastCheckpoint(writer: Database): void {
  try {
    writer.pragma(`busy_timeout = ${longestMilliseconds}`);
    writer.pragma('wal_checkpoint(truncate)');
  } catch {
    // The disk is full, or fails: what is in the log is there at the next start.
  }
}
