import type { Rows, Table } from '../executor.js';
import type { Pending } from '../pending.js';
import type { SqlValue, Statement } from '../statement.js';
import type { StatementCache } from './statement-cache.js';
import { allRows, firstValue, readTable } from './transaction.js';

/** Runs the reads of an executor; see there for the results. */
export interface SqliteReads {
  value(statement: Statement, values: readonly SqlValue[]): Pending<SqlValue | undefined>;
  rows(statement: Statement, values: readonly SqlValue[]): Pending<Rows>;
  table(statement: Statement, values: readonly SqlValue[]): Pending<Table>;
  /**
   * Stops running reads.
   * @returns when nothing else has the database open: the last connection to close it leaves all data in one file
   */
  close(): Pending<void>;
}

/** Runs all reads synchronously on one connection. */
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
    // No read is running.
  }
}

/** The error for a read whose statement may change data. */
export function changesSomething(): Error {
  return new Error('A statement that may change something needs a transaction.');
}
