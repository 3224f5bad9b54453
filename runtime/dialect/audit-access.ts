import type { TransactionFrame } from './executor.js';
import type { Sql } from './statement.js';

/** Who makes the changes of a transaction. */
export interface Author {
  /** Null for a guest. */
  readonly user: string | null;
  readonly privileges: readonly string[];
  /** The ID of the request. */
  readonly request: string | null;
}

/** Records and reads changes. Servers of models without audit do not include the implementation. */
export interface AuditAccess {
  /** Says whose changes those of a transaction are. */
  frame(author: Author): TransactionFrame;
  /** Whether recorded values include one of some columns. */
  hasSome(values: Sql, columns: readonly string[]): Sql;
  /** A recorded key as a number; null if it is none, since the table may have had keys of another type. */
  numericKey(key: Sql, type: 'integer' | 'number'): Sql;
}
