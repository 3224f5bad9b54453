import type { Database } from 'better-sqlite3';
import { directionOf, normOf, singlePrecision } from '../../protocol/vector.js';
import type { SchemaDifference } from '../schema-mismatch.js';
import { quoted } from '../table-definition.js';
import { columnNames, tableNames } from './shape.js';
import { refusalOf } from './errors.js';

export interface Filled {
  /** What was filled, in words. */
  readonly filled: readonly string[];
  readonly refused: readonly SchemaDifference[];
}

/** A column with a derived value that comparisons use, as the server writes it. */
interface Derived {
  readonly prefix: string;
  readonly value: (source: string) => string;
  /** A condition for the rows whose value is missing: no schema shows that. */
  readonly isWrong: (source: string, derived: string) => string;
}

const derivedColumns: readonly Derived[] = [
  foldedColumn('__folded_'),
  foldedColumn('__unaccented_'),
  vectorColumn('__unit_', 'drs_direction'),
  vectorColumn('__norm_', 'drs_norm'),
];

function foldedColumn(prefix: string): Derived {
  return {
    prefix,
    value: (source) => `drs_fold(${source})`,
    isWrong: (source, derived) => `${derived} IS NOT drs_fold(${source})`,
  };
}

/** A zero vector has no direction. */
function vectorColumn(prefix: string, name: string): Derived {
  return {
    prefix,
    value: (source) => `${name}(${source})`,
    isWrong: (source, derived) => `${derived} IS NULL AND ${name}(${source}) IS NOT NULL`,
  };
}

/**
 * Fills the derived columns of texts and vectors that somebody else wrote, or that are new: without them, filters
 * would find nothing.
 * @param expected a database with the wanted schema
 * @param actual has {@link file://./functions.ts our functions} and an open transaction
 */
export function fillDerivedColumns(expected: Database, actual: Database): Filled {
  registerVectorFunctions(actual);
  const filled: string[] = [];
  const refused: SchemaDifference[] = [];
  for (const table of tableNames(actual)) {
    const present = new Set(columnNames(actual, table));
    for (const column of columnNames(expected, table).filter((each) => present.has(each))) {
      const name = `table "${table}": column "${column}"`;
      let rows = 0;
      const reason = refusalOf(() => (rows = fill(actual, table, column, present)));
      if (rows > 0) filled.push(`${name} is filled for ${rows} rows`);
      if (reason !== undefined) refused.push({ what: `${name} cannot be filled: ${reason}` });
    }
  }
  return { filled, refused };
}

/** @returns the number of corrected rows */
function fill(
  database: Database,
  table: string,
  column: string,
  present: ReadonlySet<string>,
): number {
  const kind = derivedColumns.find(({ prefix }) => column.startsWith(prefix));
  const source = column.slice(kind?.prefix.length);
  if (kind === undefined || !present.has(source)) return 0;
  const text = `UPDATE ${quoted(table)} SET ${quoted(column)} = ${kind.value(quoted(source))}
    WHERE ${kind.isWrong(quoted(source), quoted(column))}`;
  return database.prepare(text).run().changes;
}

function registerVectorFunctions(database: Database): void {
  const options = { deterministic: true };
  database.function('drs_norm', options, (json: unknown) => {
    const vector = vectorIn(json);
    return vector === undefined ? null : normOf(vector);
  });
  database.function('drs_direction', options, (json: unknown) => {
    const vector = vectorIn(json);
    const direction = vector === undefined ? null : directionOf(vector);
    return direction === null ? null : singlePrecision(direction);
  });
}

/** @returns `undefined` for a value that no server has written */
function vectorIn(json: unknown): readonly number[] | undefined {
  if (typeof json !== 'string') return undefined;
  try {
    return JSON.parse(json) as readonly number[];
  } catch {
    return undefined;
  }
}
