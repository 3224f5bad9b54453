import type { Database } from 'better-sqlite3';
import { directionOf, normOf, singlePrecision } from '../../../protocol/vector.js';
import type { SchemaDifference } from '../../schema-mismatch.js';
import { quoted } from '../../table-definition.js';
import { columnNames, tableNames } from './shape.js';
import { refusalOf } from '../errors.js';

interface Filled {
  /** What was filled, in words. */
  readonly filled: readonly string[];
  readonly refused: readonly SchemaDifference[];
}

/** The functions that compute derived columns, by the prefix of the column. A zero vector has no direction. */
const functions: Readonly<Record<string, string>> = {
  __folded_: 'drs_fold',
  __unaccented_: 'drs_fold',
  __unit_: 'drs_direction',
  __norm_: 'drs_norm',
};

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
  const [prefix, name] = Object.entries(functions).find(([each]) => column.startsWith(each)) ?? [];
  const source = column.slice(prefix?.length);
  if (name === undefined || !present.has(source)) return 0;
  const value = `${name}(${quoted(source)})`;
  const own = quoted(column);
  // No schema shows that a value is missing.
  const isWrong =
    name === 'drs_fold' ? `${own} IS NOT ${value}` : `${own} IS NULL AND ${value} IS NOT NULL`;
  return database.prepare(`UPDATE ${quoted(table)} SET ${own} = ${value} WHERE ${isWrong}`).run()
    .changes;
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
