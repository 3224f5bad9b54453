import type { Database } from 'better-sqlite3';

/** How long other processes may delay the checkpoint; closing the database takes them less time. */
const longestMilliseconds = 250;

/**
 * Moves the write-ahead log into the database file before this process closes its last connection. SQLite does so
 * by itself only for the very last connection; if processes close at the same moment, none of them may be the last.
 */
export function lastCheckpoint(writer: Database): void {
  try {
    writer.pragma(`busy_timeout = ${longestMilliseconds}`);
    writer.pragma('wal_checkpoint(truncate)');
  } catch {
    // The disk is full or fails: the log is read at the next start.
  }
}
