import type { Dialect } from './dialect.js';
import type { Executor, Transaction } from './executor.js';
import type { SqlValue, Statement } from './statement.js';

/** An open database: how SQL is written for it, and what runs it. */
export interface Database {
  readonly dialect: Dialect;
  readonly executor: Executor;
  /** 32 hexadecimal digits, made with the schema: `__UNIQID` of the catalog. */
  readonly uniqueId: string;
  /** Tells servers of one model from those of another. */
  readonly schemaHash: string;
  /** No other process can open it: it is in memory. */
  readonly isOfOneProcess?: boolean;
  /** What the start has changed in a schema that was there, and what it has found to be unused, in words. */
  readonly added?: readonly string[];
}

/** Is told of every statement before it runs. */
export type StatementObserver = (sql: string, values: readonly SqlValue[]) => void;

/** An executor that tells an observer what it runs. */
export function observedExecutor(executor: Executor, observe: StatementObserver): Executor {
  const told =
    <T>(run: (statement: Statement, values: readonly SqlValue[]) => T) =>
    (statement: Statement, values: readonly SqlValue[]): T => {
      observe(statement.sql, values);
      return run(statement, values);
    };
  return {
    read: told((statement, values) => executor.read(statement, values)),
    value: told((statement, values) => executor.value(statement, values)),
    rows: told((statement, values) => executor.rows(statement, values)),
    table: told((statement, values) => executor.table(statement, values)),
    explain: (statement, values) => executor.explain(statement, values),
    dataVersion: () => executor.dataVersion(),
    write: (work) =>
      executor.write((transaction) => {
        const observed: Transaction = {
          run: told((statement, values) => transaction.run(statement, values)),
          value: told((statement, values) => transaction.value(statement, values)),
          read: told((statement, values) => transaction.read(statement, values)),
          rows: told((statement, values) => transaction.rows(statement, values)),
          table: told((statement, values) => transaction.table(statement, values)),
        };
        return work(observed);
      }),
    close: () => executor.close(),
  };
}
