import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ConstraintError,
  DatabaseUnavailableError,
  type Executor,
} from '../../../runtime/dialect/executor.js';
import { observedExecutor } from '../../../runtime/dialect/database.js';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import { Slot, type SqlValue, type Statement } from '../../../runtime/dialect/statement.js';
import { fold } from '../../../runtime/protocol/fold.js';

const folder = mkdtempSync(join(tmpdir(), 'drs-executor-'));
const schema = ['create table "t" ("a" integer primary key, "b" text)'];

function statement(sql: string, ...bindings: readonly (SqlValue | Slot)[]): Statement {
  return { sql, bindings };
}

const insert = statement('insert into "t" values (?, ?)', new Slot(0), new Slot(1));
const all = statement('select "a", "b" as "x", "b" as "x" from "t" where "a" >= ?', new Slot(0));

let executor: Executor;
let statements: string[];
let count = 0;
let isClosed = false;

afterEach(async () => {
  if (!isClosed) await executor.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(['file', 'memory'])('An executor of a database in a %s', (place) => {
  beforeEach(async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    count += 1;
    const url = place === 'file' ? `sqlite:${join(folder, `${count}.sqlite`)}` : 'sqlite::memory:';
    statements = [];
    isClosed = false;
    executor = observedExecutor((await openDatabase(url, schema, fold)).executor, (sql) => {
      statements.push(sql);
    });
    await executor.write(async (transaction) => {
      await transaction.run(insert, [1, 'one']);
      await transaction.run(insert, [2, null]);
    });
    statements = [];
  });

  it('returns rows and their columns', async () => {
    expect(await executor.rows(all, [1])).toEqual([
      [1, 'one', 'one'],
      [2, null, null],
    ]);
    expect(await executor.table(all, [2])).toEqual({
      columns: ['a', 'x', 'x'],
      rows: [[2, null, null]],
    });
    // The same text also returns its first column.
    expect(await executor.value(all, [2])).toBe(2);
    expect(await executor.rows(all, [3])).toEqual([]);
    expect(statements).toEqual([all.sql, all.sql, all.sql, all.sql]);
  });

  it('returns them inside a transaction, with its changes', async () => {
    await executor.write(async (transaction) => {
      const changing = statement('update "t" set "b" = ? returning "a"', 'new');
      expect(await transaction.rows(changing, [])).toEqual([[1], [2]]);
      expect(await transaction.rows(all, [2])).toEqual([[2, 'new', 'new']]);
      const removing = statement('delete from "t" where "a" = 1');
      expect(await transaction.table(removing, [])).toMatchObject({
        columns: [],
        rows: [],
        result: { changes: 1 },
      });
      expect(await transaction.table(all, [1])).toMatchObject({ columns: ['a', 'x', 'x'] });
    });
    expect(statements).toHaveLength(4);
    expect(await executor.value(statement('select count(*) from "t"'), [])).toBe(1);
  });

  it('runs only reads with its reading methods', async () => {
    const changing = statement('update "t" set "b" = null returning "a"');
    const attempt = async (): Promise<unknown> => executor.table(changing, []);
    await expect(attempt()).rejects.toThrow('needs a transaction');
    expect(await executor.rows(all, [1])).toHaveLength(2);
  });

  it('stores nothing of a transaction that the database has rolled back', async () => {
    const rollback = statement('insert or rollback into "t" values (1, null)');
    const transaction = executor.write(async (open) => {
      await open.run(insert, [3, 'lost']);
      const attempts = [
        async () => open.run(rollback, []),
        async () => open.run(insert, [4, 'alone']),
        async () => open.rows(all, [1]),
      ] as const;
      await expect(attempts[0]()).rejects.toBeInstanceOf(ConstraintError);
      await expect(attempts[1]()).rejects.toBeInstanceOf(DatabaseUnavailableError);
      await expect(attempts[2]()).rejects.toThrow('given up');
    });
    await expect(transaction).rejects.toBeInstanceOf(DatabaseUnavailableError);
    expect(await executor.value(statement('select count(*) from "t"'), [])).toBe(2);
    await executor.write((open) => open.run(insert, [3, 'kept']));
    expect(await executor.value(statement('select count(*) from "t"'), [])).toBe(3);
  });

  it('refuses statements after its end', async () => {
    await executor.close();
    isClosed = true;
    const reading = async (): Promise<unknown> => executor.value(all, [1]);
    await expect(reading()).rejects.toBeInstanceOf(DatabaseUnavailableError);
    const writing = async (): Promise<unknown> => executor.write(() => Promise.resolve(1));
    await expect(writing()).rejects.toBeInstanceOf(DatabaseUnavailableError);
  });
});
