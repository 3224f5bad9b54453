import type { Database } from 'better-sqlite3';
import type { SchemaDifference } from '../schema-mismatch.js';
import { refusalOf } from './attempt.js';
import { fillDerivedColumns } from './derived-columns.js';
import {
  columnNames,
  type MissingPart,
  schemaDifferences,
  tableNames,
} from './schema-differences.js';

export interface Additions {
  /** What has been added, in words. */
  readonly added: readonly string[];
  /** What could not be. */
  readonly refused: readonly SchemaDifference[];
}

/**
 * Adds what a database lacks, where SQLite finds that no row that is there breaks: tables, columns that may be empty, indexes.
 * Nothing is removed or changed.
 * @param expected a database as the model wants it
 * @param actual a transaction is open, which is undone when anything differs still
 */
export function addMissing(expected: Database, actual: Database): Additions {
  const tables = addAll('table', expected, actual);
  const columns = addAll('column', expected, actual);
  // A unique index tells of equal texts only when they are there.
  const { filled, refused } = fillDerivedColumns(expected, actual);
  const indexes = addAll('index', expected, actual);
  return {
    added: [
      ...[...tables.added, ...columns.added, ...indexes.added].map((each) => `${each} is added`),
      ...filled,
      ...(tables.added.length === 0 ? [] : formerTables(expected, actual)),
    ],
    refused: [...tables.refused, ...columns.refused, ...refused, ...indexes.refused],
  };
}

/** One addition may need another one: they are tried until none succeeds any more. */
function addAll(kind: MissingPart['kind'], expected: Database, actual: Database): Additions {
  const added: string[] = [];
  for (;;) {
    const missing = missingParts(kind, expected, actual);
    const reasons = missing.map(({ remedy }) => refusalOf(() => actual.exec(remedy)));
    const succeeded = missing.filter((_, index) => reasons[index] === undefined);
    added.push(...succeeded.map(({ name }) => name));
    if (succeeded.length > 0) continue;
    const refused = missing.map(({ what }, index) => ({
      what: `${what}, and cannot be added: ${reasons[index] ?? ''}`,
    }));
    return { added, refused };
  }
}

function missingParts(
  kind: MissingPart['kind'],
  expected: Database,
  actual: Database,
): MissingPart[] {
  return schemaDifferences(expected, actual).filter(
    (each): each is MissingPart => 'kind' in each && each.kind === kind,
  );
}

/** The new table may be that of a dataclass with another name: what became of the old one must not be a riddle. */
function formerTables(expected: Database, actual: Database): string[] {
  const wanted = new Set(tableNames(expected));
  return tableNames(actual)
    .filter((table) => !wanted.has(table) && columnNames(actual, table).includes('__STAMP'))
    .map((table) => `table "${table}" is kept as it is, and no dataclass of the model is in it`);
}
