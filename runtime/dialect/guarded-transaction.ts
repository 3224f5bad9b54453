import type { Transaction } from './executor.js';
import type { Pending } from './pending.js';

/** Told of the statements of a transaction. */
export interface StatementGuard {
  /** @throws Error to refuse a statement that is about to run; it is the statement's */
  begin(): void;
  end(): void;
}

/** A transaction whose statements are told to a guard. */
export function guardedTransaction(transaction: Transaction, guard: StatementGuard): Transaction {
  const guarded =
    <A extends readonly unknown[], T>(run: (...given: A) => Pending<T>) =>
    async (...given: A): Promise<T> => {
      guard.begin();
      try {
        return await run(...given);
      } finally {
        guard.end();
      }
    };
  return {
    run: guarded((statement, values) => transaction.run(statement, values)),
    value: guarded((statement, values) => transaction.value(statement, values)),
    read: guarded((statement, values) => transaction.read(statement, values)),
    rows: guarded((statement, values) => transaction.rows(statement, values)),
    table: guarded((statement, values) => transaction.table(statement, values)),
  };
}
