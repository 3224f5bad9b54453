import type { Transaction } from './executor.js';

/** A transaction that asks before each statement; a refusal is the statement's. */
export function guardedTransaction(transaction: Transaction, check: () => void): Transaction {
  const guarded =
    <A extends readonly unknown[], T>(run: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      check();
      return run(...given);
    };
  return {
    run: guarded((statement, values) => transaction.run(statement, values)),
    value: guarded((statement, values) => transaction.value(statement, values)),
    read: guarded((statement, values) => transaction.read(statement, values)),
    rows: guarded((statement, values) => transaction.rows(statement, values)),
    table: guarded((statement, values) => transaction.table(statement, values)),
  };
}
