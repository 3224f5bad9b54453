import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogPause } from '../../../../runtime/dialect/sqlite/readers/reader-pool.js';
import { WriteAheadLog } from '../../../../runtime/dialect/sqlite/database-file.js';

const mebibyte = 1024 * 1024;

/** A log of that length, which can or cannot restart. */
function logOf(mebibytes: number, canEmpty = true): { bytes: number; empty(): boolean } {
  const log = {
    bytes: mebibytes * mebibyte,
    empty: () => {
      if (canEmpty) log.bytes = 0;
      return canEmpty;
    },
  };
  return log;
}

describe('Reads pause', () => {
  it('never while the write-ahead log is short', () => {
    expect(new LogPause(logOf(63)).due([20, 5_000], 0)).toBe('no');
  });

  it('when the log is long, until no read runs and the log restarts', () => {
    const log = logOf(65);
    const pause = new LogPause(log);
    expect(pause.due([20, 500], 0)).toBe('running');
    expect(pause.due([520], 500)).toBe('running');
    expect(pause.due([], 600)).toBe('no');
    expect(log.bytes).toBe(0);
  });

  it('not for a long statement, unless the log is very long', () => {
    expect(new LogPause(logOf(65)).due([20, 1_500], 0)).toBe('no');
    expect(new LogPause(logOf(1_100)).due([20, 1_500], 0)).toBe('running');
  });

  it('for at most a second while another process reads, and not again at once', () => {
    const pause = new LogPause(logOf(65, false));
    expect(pause.due([], 0)).toBe('soon');
    expect(pause.due([], 500)).toBe('soon');
    expect(pause.due([], 1_000)).toBe('no');
    expect(pause.due([20], 3_000)).toBe('no');
    expect(pause.due([20], 6_500)).toBe('running');
    expect(pause.due([], 6_600)).toBe('soon');
  });

  it('for as long again when another process has restarted the log meanwhile', () => {
    const log = logOf(65, false);
    const pause = new LogPause(log);
    expect(pause.due([], 0)).toBe('soon');
    log.bytes = 0;
    expect(pause.due([], 500)).toBe('no');
    log.bytes = 65 * mebibyte;
    expect(pause.due([], 60_000)).toBe('soon');
  });
});

describe('The write-ahead log of a database', () => {
  let folder: string;
  let writer: Database.Database;
  let reader: Database.Database;
  let log: WriteAheadLog;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'log-'));
    const file = join(folder, 'data.sqlite');
    writer = new Database(file, { timeout: 0 });
    writer.pragma('journal_mode = WAL');
    writer.exec('create table "a" ("b"); insert into "a" values (1), (2)');
    reader = new Database(file, { readonly: true });
    log = new WriteAheadLog(writer, file);
  });
  afterEach(() => {
    reader.close();
    writer.close();
    rmSync(folder, { recursive: true });
  });

  it('restarts when nobody reads or writes', () => {
    expect(log.bytes).toBeGreaterThan(0);
    expect(log.empty()).toBe(true);
    expect(log.bytes).toBe(0);
  });

  it('does not restart while somebody reads', () => {
    const rows = reader.prepare('select "b" from "a"').iterate();
    rows.next();
    writer.exec('insert into "a" values (3)');
    expect(log.empty()).toBe(false);
    expect(log.bytes).toBeGreaterThan(0);
    rows.return?.();
    expect(log.empty()).toBe(true);
  });

  it('does not restart while somebody writes', () => {
    writer.exec('begin immediate');
    expect(log.empty()).toBe(false);
    writer.exec('rollback');
    expect(log.empty()).toBe(true);
  });

  it('does not exist before the first write', () => {
    expect(new WriteAheadLog(writer, join(folder, 'other.sqlite')).bytes).toBe(0);
  });
});
