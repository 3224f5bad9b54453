import type { Rows, Table } from '../executor.js';
import type { Pending } from '../pending.js';
import type { SqlValue, Statement } from '../statement.js';
import type { StatementCache } from './statement-cache.js';
import { allRows, firstValue, readTable } from './transaction.js';

/** Runs the reads of an executor; what each gives is told there. */
export interface SqliteReads {
  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined>;
  rows(statement: Statement, values: readonly SqlValue[]): Pending<Rows>;
  table(statement: Statement, values: readonly SqlValue[]): Pending<Table>;
  /**
   * Stops what still runs.
   * @returns when nothing else holds the database any more: the last one to close it has all that was stored in one file
   */
  close(): Pending<void>;
}

/** Runs all of them at once, on one connection. */
export class ReadsHere implements SqliteReads {
  constructor(private readonly statements: StatementCache) {}

  value(statement: Statement, values: readonly SqlValue[]): SqlValue | undefined {
    return firstValue(this.statements.get(statement.sql), statement, values);
  }

  rows(statement: Statement, values: readonly SqlValue[]): Rows {
    return allRows(this.statements.rows(statement.sql), statement, values);
  }

  table(statement: Statement, values: readonly SqlValue[]): Table {
    const prepared = this.statements.rows(statement.sql);
    if (prepared.readonly && prepared.reader) return readTable(prepared, statement, values);
    throw changesSomething();
  }

  close(): Pending<void> {
    // Nothing runs.
  }
}

/** What a statement is refused with that a read must not run. */
export function changesSomething(): Error {
  return new Error('A statement that may change something needs a transaction.');
}
