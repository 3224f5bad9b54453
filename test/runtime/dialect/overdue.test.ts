import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Executor,
  QueryTimeoutError,
  type Transaction,
} from '../../../runtime/dialect/executor.js';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import type { Statement } from '../../../runtime/dialect/statement.js';
import { TransactionScope } from '../../../runtime/dialect/transaction-scope.js';
import { fold } from '../../../runtime/protocol/fold.js';

const schema = ['create table "t" ("a" integer primary key, "b" text)'];

function statement(sql: string): Statement {
  return { sql, bindings: [] };
}

const slow = statement(`insert into "t" values (1, 'slow')`);
const quick = statement(`insert into "t" values (2, 'quick')`);
const stored = statement('select group_concat("b") from "t"');

let folder: string;
let executor: Executor;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drs-overdue-'));
  const url = `sqlite:${join(folder, 'data.sqlite')}`;
  executor = (await openDatabase(url, schema, fold, { queryTimeout: 60_000 })).executor;
});
afterEach(async () => {
  await executor.close();
  rmSync(folder, { recursive: true });
});

/** Stores a row, which takes long by a clock that runs fast. */
async function overdue(transaction: Transaction): Promise<void> {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 100_000));
  try {
    await expect(async () => transaction.run(slow, [])).rejects.toThrow(QueryTimeoutError);
  } finally {
    clock.mockRestore();
  }
}

describe('A statement that ran for too long', () => {
  it('is undone even if code catches the error', async () => {
    const work = executor.write(async (transaction) => {
      await overdue(transaction);
    });
    await expect(work).rejects.toThrow(QueryTimeoutError);
    expect(await executor.value(stored, [])).toBeUndefined();
  });

  it('is the last one of its transaction, and not of the next', async () => {
    const work = executor.write(async (transaction) => {
      await overdue(transaction);
      await transaction.run(quick, []);
    });
    await expect(work).rejects.toThrow(QueryTimeoutError);
    await executor.write((transaction) => transaction.run(quick, []));
    expect(await executor.value(stored, [])).toBe('quick');
  });

  it('is undone with its savepoint, after which the transaction continues', async () => {
    await executor.write(async (transaction) => {
      const scope = new TransactionScope(transaction);
      await expect(scope.run((part) => overdue(part.transaction))).rejects.toThrow(
        QueryTimeoutError,
      );
      await scope.transaction.run(quick, []);
    });
    expect(await executor.value(stored, [])).toBe('quick');
  });

  it('allows no savepoint to begin after it', async () => {
    const work = executor.write(async (transaction) => {
      const scope = new TransactionScope(transaction);
      await overdue(scope.transaction);
      const part = scope.run(async ({ transaction: inner }) => inner.run(quick, []));
      await expect(part).rejects.toThrow(QueryTimeoutError);
    });
    await expect(work).rejects.toThrow(QueryTimeoutError);
    expect(await executor.value(stored, [])).toBeUndefined();
  });
});
