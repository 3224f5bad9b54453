import type { Database } from 'better-sqlite3';
import type { TableSearch } from '../executor.js';
import { bind, type SqlValue, type Statement } from '../statement.js';

/** The plan of a statement. */
export function explained(
  database: Database,
  statement: Statement,
  values: readonly SqlValue[],
): readonly TableSearch[] {
  const steps = database.prepare(`explain query plan ${statement.sql}`);
  const rows = steps.all(...bind(statement, values)) as readonly { readonly detail: string }[];
  return rows.flatMap(({ detail }) => tableSearch(detail) ?? []);
}

/**
 * Parses a line of a plan: `SCAN t1`, `SEARCH t1 USING INDEX <name> (<column>=? AND <column>>?)`, `SEARCH t1 USING
 * INTEGER PRIMARY KEY (rowid=?)`.
 */
export function tableSearch(detail: string): TableSearch | undefined {
  const [verb, alias] = detail.split(' ', 2);
  if (alias === undefined || (verb !== 'SCAN' && verb !== 'SEARCH')) return undefined;
  // SQLite builds an automatic index for one statement only, from a full scan of the table.
  const isFound = verb === 'SEARCH' && !detail.includes(' USING AUTOMATIC ');
  if (!isFound) return { alias, columns: [], byKey: false };
  if (detail.includes(' USING INTEGER PRIMARY KEY ')) return { alias, columns: [], byKey: true };
  const terms = /^.* \((.*)\)/.exec(detail)?.[1] ?? '';
  const columns = terms.split(' AND ').flatMap((term) => /^(.+)[=<>]\?$/.exec(term)?.[1] ?? []);
  return { alias, columns, byKey: false };
}
