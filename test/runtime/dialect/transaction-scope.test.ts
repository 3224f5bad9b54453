import { describe, expect, it } from 'vitest';
import type { Transaction } from '../../../runtime/dialect/executor.js';
import {
  runToEnd,
  TransactionEndedError,
  TransactionScope,
} from '../../../runtime/dialect/transaction-scope.js';
import { Gate } from '../../support/gate.js';

/** A transaction that records its statements, and may fail at some. */
function noted(fails: (sql: string) => boolean = () => false): {
  readonly transaction: Transaction;
  readonly statements: string[];
} {
  const statements: string[] = [];
  const note = <T>(result: T) => {
    return ({ sql }: { readonly sql: string }): Promise<T> => {
      statements.push(sql);
      return fails(sql) ? Promise.reject(new Error(`failed: ${sql}`)) : Promise.resolve(result);
    };
  };
  const transaction: Transaction = {
    run: note({ changes: 0, insertedKey: 0 }),
    value: note(undefined),
    aside: note(undefined),
    read: note(undefined),
    rows: note([]),
    table: note({ columns: [], rows: [] }),
    raiseStamp: () => undefined,
  };
  return { transaction, statements };
}

async function run(scope: TransactionScope, sql: string): Promise<unknown> {
  return scope.transaction.run({ sql, bindings: [] }, []);
}

describe('A transaction scope', () => {
  it('names savepoints by their depth, and runs parts one after the other', async () => {
    const { transaction, statements } = noted();
    const scope = new TransactionScope(transaction);
    await Promise.all([
      scope.run(async (part) => {
        await run(part, 'a');
        await part.run((inner) => run(inner, 'b'));
      }),
      scope.alone(() => run(scope, 'c')),
      expect(
        scope.run(async (part) => {
          await run(part, 'd');
          throw new Error('refused');
        }),
      ).rejects.toThrow('refused'),
    ]);
    expect(statements).toEqual([
      'savepoint "part 1"',
      'a',
      'savepoint "part 2"',
      'b',
      'release savepoint "part 2"',
      'release savepoint "part 1"',
      'c',
      'savepoint "part 1"',
      'd',
      'rollback to savepoint "part 1"',
      'release savepoint "part 1"',
    ]);
  });

  it('reports its outcome to the caller: at once, or with the transaction', async () => {
    const { transaction } = noted();
    const scope = new TransactionScope(transaction);
    const told: string[] = [];
    const tell = (name: string) => (isKept: boolean) => {
      told.push(`${name} ${isKept ? 'kept' : 'undone'}`);
    };
    scope.onOutcome(tell('outer'));
    const failing = scope.run(async (part) => {
      part.onOutcome(tell('failing'));
      await part.run((inner) => {
        inner.onOutcome(tell('failing inner'));
        return Promise.resolve();
      });
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(told).toEqual(['failing inner undone', 'failing undone']);
    await scope.run((part) => {
      part.onOutcome(tell('part'));
      return Promise.resolve();
    });
    expect(told).toHaveLength(2);
    scope.reportOutcome(true);
    expect(told.slice(2)).toEqual(['outer kept', 'part kept']);
  });

  it('reports the outcome of a part with any number of saves', async () => {
    const scope = new TransactionScope(noted().transaction);
    const saves = 200_000;
    let kept = 0;
    await scope.run((part) => {
      for (let save = 0; save < saves; save += 1) part.onOutcome((isKept) => (kept += +isKept));
      return Promise.resolve();
    });
    scope.reportOutcome(true);
    expect(kept).toBe(saves);
  });

  it('ends with the transaction, also for parts that still run', async () => {
    const { transaction, statements } = noted();
    const scope = new TransactionScope(transaction);
    const gate = new Gate();
    let part: Promise<unknown> | undefined;
    let queued: Promise<unknown> | undefined;
    const work = runToEnd(scope, async () => {
      part = scope.run(async (inner) => {
        await gate.pass();
        await run(inner, 'late');
      });
      queued = scope.run((inner) => run(inner, 'queued'));
      await gate.reached;
      throw new Error('given up');
    });
    await expect(work).rejects.toThrow('given up');
    expect(scope.isOpen).toBe(false);
    gate.open();
    await expect(part).rejects.toBeInstanceOf(TransactionEndedError);
    await expect(queued).rejects.toBeInstanceOf(TransactionEndedError);
    await expect(run(scope, 'x')).rejects.toBeInstanceOf(TransactionEndedError);
    await expect(scope.run(() => Promise.resolve())).rejects.toBeInstanceOf(TransactionEndedError);
    await expect(scope.alone(() => Promise.resolve())).rejects.toThrow('has ended');
    expect(statements).toEqual(['savepoint "part 1"']);
  });

  it('is over when the database cannot go back to a savepoint', async () => {
    const { transaction, statements } = noted((sql) => sql.startsWith('rollback'));
    const scope = new TransactionScope(transaction);
    const refused = scope.run((part) =>
      part.run(() => Promise.reject(new Error('the disk is full'))),
    );
    await expect(refused).rejects.toThrow('the disk is full');
    await expect(run(scope, 'x')).rejects.toBeInstanceOf(TransactionEndedError);
    expect(statements.at(-1)).toBe('rollback to savepoint "part 2"');
  });

  it('waits for parts that nobody awaits, and for those that they start', async () => {
    const { transaction, statements } = noted();
    const scope = new TransactionScope(transaction);
    await runToEnd(scope, () => {
      void scope.run(async () => {
        await Promise.resolve();
        void scope.alone(() => run(scope, 'last'));
      });
      return Promise.resolve();
    });
    expect(statements.at(-1)).toBe('last');
    expect(scope.isOpen).toBe(false);
  });
});
