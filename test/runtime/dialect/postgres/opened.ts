import { type Opened, openConnections } from '../../../../runtime/dialect/postgres/open.js';
import type { RunResult, Transaction } from '../../../../runtime/dialect/executor.js';
import type { Slot, SqlValue, Statement } from '../../../../runtime/dialect/statement.js';
import { postgresDatabase, type TestDatabase } from '../../../support/postgres.js';

export function statement(sql: string, ...bindings: readonly (SqlValue | Slot)[]): Statement {
  return { sql, bindings };
}

export interface OpenOptions {
  readonly size?: number;
  readonly queryTimeout?: number;
}

/** A fresh database with some tables, and how to open it. */
export async function database(
  ...statements: readonly string[]
): Promise<TestDatabase & { readonly open: (options?: OpenOptions) => Promise<Opened> }> {
  const created = await postgresDatabase();
  const wanted = { statements, functions: [] };
  return {
    ...created,
    open: ({ size = 4, queryTimeout } = {}) =>
      openConnections({ url: created.url, size, queryTimeout: queryTimeout ?? null }, wanted),
  };
}

/** Runs one statement of a transaction. */
export async function run(
  transaction: Transaction,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<RunResult> {
  return transaction.run(statement(sql, ...values), []);
}
