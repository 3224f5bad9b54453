import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DatabaseUnavailableError } from '../../../runtime/dialect/executor.js';
import { SqliteExecutor } from '../../../runtime/dialect/sqlite/executor.js';
import { openConnections } from '../../../runtime/dialect/sqlite/open.js';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import { SqliteReads } from '../../../runtime/dialect/sqlite/reads.js';
import type { Statement } from '../../../runtime/dialect/statement.js';
import { fold } from '../../../runtime/protocol/fold.js';

const schema = ['create table "t" ("a" integer primary key)'];
const insert: Statement = { sql: 'insert into "t" values (1)', bindings: [] };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drs-closed-'));
  file = join(folder, 'data.sqlite');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** The number of rows in a copy of only the database file. */
function copied(): unknown {
  const copy = join(folder, 'copy.sqlite');
  copyFileSync(file, copy);
  const database = new Database(copy, { readonly: true });
  try {
    return database.prepare('select count(*) from "t"').pluck().get();
  } finally {
    database.close();
  }
}

describe('A database in a file that is closed', () => {
  it('has all its data in that file, even if other processes close it at the same time', async () => {
    const { executor } = await openDatabase(`sqlite:${file}`, schema, fold);
    const { executor: other } = await openDatabase(`sqlite:${file}`, schema, fold);
    await executor.write((transaction) => transaction.run(insert, []));
    await executor.close();
    try {
      expect(copied()).toBe(1);
    } finally {
      await other.close();
    }
  });

  it('begins no transaction that waited for another process until then', async () => {
    const connections = openConnections(`sqlite:${file}`, fold, 'normal', (database) => {
      database.exec(schema.join(';'));
    });
    let endReads = (): void => undefined;
    const close = vi.spyOn(SqliteReads.prototype, 'close').mockReturnValue(
      new Promise((resolve) => {
        endReads = resolve;
      }),
    );
    const executor = new SqliteExecutor(connections, { graceMilliseconds: 0 });
    const other = new Database(file);
    other.exec('begin immediate');
    let hasBegun = false;
    const waiting = executor.write(async (transaction) => {
      hasBegun = true;
      await transaction.run(insert, []);
    }) as Promise<unknown>;
    const refused = expect(waiting).rejects.toBeInstanceOf(DatabaseUnavailableError);
    const closing = executor.close();
    await vi.waitUntil(() => close.mock.calls.length > 0, { timeout: 60_000 });
    other.exec('rollback');
    other.close();
    await refused;
    expect(hasBegun).toBe(false);
    endReads();
    await closing;
    close.mockRestore();
  });
});
