import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestScopes } from '../../../runtime/access/request-scope.js';
import { ScopeExecutor } from '../../../runtime/access/scope-executor.js';
import { systemSession } from '../../../runtime/access/grants.js';
import type { Executor } from '../../../runtime/dialect/executor.js';
import { openDatabase } from '../../../runtime/dialect/sqlite/open-database.js';
import type { SqlValue, Statement } from '../../../runtime/dialect/statement.js';
import { TransactionEndedError } from '../../../runtime/dialect/transaction-scope.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { Gate } from '../../support/gate.js';

function statement(sql: string, ...bindings: readonly SqlValue[]): Statement {
  return { sql, bindings };
}

function insert(value: number): Statement {
  return statement('insert into "t" values (?)', value);
}

const countRows = statement('select count(*) from "t"');

let scopes: RequestScopes;
let stored: Executor;
let executor: ScopeExecutor;

beforeEach(async () => {
  const schema = ['create table "t" ("a" integer primary key)'];
  const database = await openDatabase('sqlite::memory:', schema, fold);
  scopes = new RequestScopes({ session: systemSession(), held: -1 });
  stored = database.executor;
  executor = new ScopeExecutor(stored, scopes);
});

afterEach(async () => {
  await executor.close();
});

describe('An executor that knows its caller', () => {
  it('runs everything that starts inside a transaction as a part of it', async () => {
    await executor.write(async (transaction) => {
      await transaction.run(insert(1), []);
      // A database in memory has one connection: each of these would wait for this transaction to end.
      expect(await executor.value(countRows, [])).toBe(1);
      expect(await executor.read(countRows, [])).toBe(1);
      expect(await executor.rows(countRows, [])).toEqual([[1]]);
      expect(await executor.table(countRows, [])).toMatchObject({ rows: [[1]] });
      await executor.write((part) => part.run(insert(2), []));
      await expect(
        executor.write(async (part) => {
          await part.run(insert(3), []);
          throw new Error('refused');
        }),
      ).rejects.toThrow('refused');
      expect(await executor.value(countRows, [])).toBe(2);
    });
    expect(await executor.value(countRows, [])).toBe(2);
  });

  it('reports another version for each uncommitted change', async () => {
    const outside = executor.dataVersion();
    expect(executor.dataVersion()).toBe(outside);
    const seen = new Set([outside]);
    await executor.write(() => {
      seen.add(executor.dataVersion());
      seen.add(executor.dataVersion());
      return Promise.resolve();
    });
    expect(seen.size).toBe(3);
    expect(seen).not.toContain(executor.dataVersion());
  });

  it('does not wait for its own transaction to explain a statement', async () => {
    expect(await executor.explain(countRows, [])).toHaveLength(1);
    await executor.write(() => {
      expect(() => executor.explain(countRows, [])).toThrow('inside a transaction');
      return Promise.resolve();
    });
  });

  it('reports the outcome of a transaction when it is certain', async () => {
    const told: (string | boolean)[] = [];
    const note = (isKept: boolean): void => {
      told.push(isKept);
    };
    await executor.writeIn((scope) => {
      scope.onOutcome(note);
      told.push('runs');
      return Promise.resolve();
    });
    const failed = executor.writeIn((scope) => {
      scope.onOutcome(note);
      return Promise.reject(new Error('undone'));
    });
    await expect(failed).rejects.toThrow('undone');
    expect(told).toEqual(['runs', true, false]);
  });

  it('ends a transaction whose code does nothing with it for too long', async () => {
    const impatient = new ScopeExecutor(executor, scopes, { longestIdle: 100 });
    const gate = new Gate();
    let late: Promise<unknown> | undefined;
    const stuck = impatient.write(async (transaction) => {
      await transaction.run(insert(1), []);
      late = (async () => {
        await gate.pass();
        return impatient.value(countRows, []);
      })();
      await late;
    });
    const waiting = impatient.write((transaction) => transaction.value(countRows, []));
    await expect(stuck).rejects.toThrow('no statement for 0.1 seconds');
    expect(await waiting).toBe(0);
    gate.open();
    await expect(late).rejects.toBeInstanceOf(TransactionEndedError);
  });

  it('does not end one whose code goes on', async () => {
    const impatient = new ScopeExecutor(executor, scopes, { longestIdle: 100 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      await impatient.write(async (transaction) => {
        for (let turn = 0; turn < 5; turn += 1) {
          vi.advanceTimersByTime(60);
          await transaction.value(countRows, []);
        }
      });
    } finally {
      vi.useRealTimers();
    }
    expect(await executor.value(countRows, [])).toBe(0);
  });

  it('needs no scope where no class code runs within what is written', async () => {
    executor = new ScopeExecutor(stored, scopes, { runsCode: false });
    const depths: unknown[] = [];
    const note = (): void => {
      depths.push(scopes.current().transaction?.depth);
    };
    const written = await executor.write((transaction) => {
      note();
      return transaction.value(countRows, []);
    });
    expect(written).toBe(0);
    await executor.writeIn(async () => {
      // Class code has a transaction: what it saves is a part of that, and undone alone.
      const part = executor.write(async (transaction) => {
        await transaction.run(insert(1), []);
        note();
        throw new Error('refused');
      });
      await expect(part).rejects.toThrow('refused');
      expect(await executor.value(countRows, [])).toBe(0);
    });
    expect(depths).toEqual([undefined, 1]);
  });

  it('keeps a call that begins inside a transaction out of it', async () => {
    const gate = new Gate();
    let other: unknown;
    let late: Promise<unknown> | undefined;
    await executor.write(async (transaction) => {
      await transaction.run(insert(1), []);
      other = scopes.run({ session: systemSession(), held: -1 }, () =>
        executor.write((own) => own.value(countRows, [])),
      );
      late = gate.reached.then(() => executor.value(countRows, []));
    });
    expect(await other).toBe(1);
    void gate.pass();
    await expect(late).rejects.toBeInstanceOf(TransactionEndedError);
    expect(scopes.current().transaction).toBeUndefined();
  });
});
