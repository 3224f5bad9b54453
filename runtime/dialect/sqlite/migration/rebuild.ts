import { statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Database } from 'better-sqlite3';
import type { ColumnShape, ForeignKeyShape, TableShape } from '../../schema/shape.js';
import { quoted, readTableDefinition } from '../../table-definition.js';
import { namesOf, statementOf } from './shape.js';

/** A table to rebuild. */
export interface Rebuilt {
  readonly actual: TableShape;
  /** The new shape; its indexes are ignored. */
  readonly target: TableShape;
  /** The wanted table, if the model has it. */
  readonly wanted: { readonly shape: TableShape; readonly statement: string } | undefined;
}

/**
 * Rebuilds a table with its rows, indexes and triggers, because SQLite's `ALTER TABLE` is limited. Foreign keys are
 * not enforced, and a transaction is open.
 * @see {@link https://www.sqlite.org/lang_altertable.html#otheralter}
 */
export function rebuildTable(database: Database, { actual, target, wanted }: Rebuilt): void {
  const { name } = target;
  const { options, parts } = readTableDefinition(statementOf(database, name));
  const made = [...namesOf(database, 'index', name), ...namesOf(database, 'trigger', name)].map(
    (each) => statementOf(database, each),
  );
  const kept = keptRows(database, name);
  const interim = freeName(database, `__new_${name}`);
  const constraints = parts.filter((each) => isOfSeveral(each.tokens)).map(({ text }) => text);
  const definition = [...definitionOf(target, wanted), ...constraints].join(',\n  ');
  database.exec(`CREATE TABLE ${quoted(interim)} (\n  ${definition}\n) ${options}`);
  const columns = copiedColumns(actual, target);
  database.exec(
    `INSERT INTO ${quoted(interim)} (${columns}) SELECT ${columns} FROM ${quoted(name)}`,
  );
  // Views and triggers of others refer to the table, which does not exist for a moment.
  database.pragma('legacy_alter_table = ON');
  try {
    database.exec(`DROP TABLE ${quoted(name)}`);
    database.exec(`ALTER TABLE ${quoted(interim)} RENAME TO ${quoted(name)}`);
  } finally {
    database.pragma('legacy_alter_table = OFF');
  }
  for (const each of made) database.exec(each);
  for (const { table, rows } of kept) {
    database.prepare(`DELETE FROM ${table} WHERE ${nameColumns[table] ?? ''} = ?`).run(name);
    for (const row of rows) {
      const places = row.map(() => '?').join(', ');
      database.prepare(`INSERT INTO ${table} VALUES (${places})`).run(...row);
    }
  }
}

/** A name that no table or index has. */
function freeName(database: Database, name: string): string {
  const text = 'select 1 from sqlite_schema where lower(name) = lower(?)';
  const isTaken = database.prepare(text).get(name) !== undefined;
  return isTaken ? freeName(database, `${name}_`) : name;
}

/** SQLite's own tables that lose their rows about a dropped table, with the column that holds the table's name. */
const nameColumns: Readonly<Record<string, string>> = {
  sqlite_sequence: 'name',
  sqlite_stat1: 'tbl',
  sqlite_stat4: 'tbl',
};

interface KeptRows {
  readonly table: string;
  readonly rows: readonly (readonly unknown[])[];
}

/** The highest generated key and the statistics of `ANALYZE`. */
function keptRows(database: Database, name: string): readonly KeptRows[] {
  const present = database.prepare('select 1 from sqlite_schema where name = ?');
  return Object.entries(nameColumns)
    .filter(([table]) => present.get(table) !== undefined)
    .map(([table, column]) => {
      const read = database.prepare(`SELECT * FROM ${table} WHERE ${column} = ?`).raw();
      return { table, rows: read.safeIntegers().all(name) as unknown[][] };
    });
}

/** Constraints of others over several columns, which no shape describes. */
function isOfSeveral(tokens: readonly string[]): boolean {
  const words = tokens.map((each) => each.toUpperCase());
  const kind = words[0] === 'CONSTRAINT' ? words[2] : words[0];
  if (kind === 'UNIQUE') return true;
  return kind === 'FOREIGN' && words.indexOf(',') !== -1 && words.indexOf(',') < words.indexOf(')');
}

/** Column definitions followed by constraints. */
function definitionOf(target: TableShape, wanted: Rebuilt['wanted']): readonly string[] {
  const parts = wanted === undefined ? [] : readTableDefinition(wanted.statement).parts;
  const columns = parts.filter(({ isConstraint }) => !isConstraint);
  const known = new Set(columns.map(({ name }) => name));
  const keys = target.columns.filter(({ isKey, name }) => isKey && !known.has(name));
  const checks = [...(wanted?.shape.checks ?? [])];
  const foreignKeys = new Set((wanted?.shape.foreignKeys ?? []).map(foreignKeyText));
  return [
    ...columns.map(({ text }) => text),
    ...target.columns
      .filter(({ name }) => !known.has(name))
      .map((each) => columnText(each, keys.length === 1)),
    ...parts.filter(({ isConstraint }) => isConstraint).map(({ text }) => text),
    ...(keys.length > 1
      ? [`PRIMARY KEY (${keys.map(({ name }) => quoted(name)).join(', ')})`]
      : []),
    ...target.checks.filter((each) => !checks.includes(each)).map((each) => `CHECK (${each})`),
    ...target.foreignKeys.map(foreignKeyText).filter((each) => !foreignKeys.has(each)),
  ];
}

function columnText(column: ColumnShape, isOnlyKey: boolean): string {
  const { name, type, isMandatory, isKey, identity, default: value, expression } = column;
  const stored = / STORED$/.exec(expression ?? '');
  const computed =
    stored === null
      ? `(${expression ?? ''}) VIRTUAL`
      : `${(expression ?? '').slice(0, stored.index)} STORED`;
  return [
    `${quoted(name)} ${type}`.trim(),
    ...(isKey && isOnlyKey ? ['PRIMARY KEY'] : []),
    ...(identity === undefined ? [] : [identity]),
    ...(isMandatory ? ['NOT NULL'] : []),
    ...(value === undefined ? [] : [`DEFAULT (${value})`]),
    ...(expression === undefined ? [] : [`GENERATED ALWAYS AS ${computed}`]),
  ].join(' ');
}

function foreignKeyText({ column, target, targetColumn, options }: ForeignKeyShape): string {
  return `FOREIGN KEY (${quoted(column)}) REFERENCES ${quoted(target)} (${quoted(targetColumn)}) ${options}`.trim();
}

/** Without computed columns, which SQLite computes again. */
function copiedColumns(actual: TableShape, target: TableShape): string {
  const isStored = ({ expression }: ColumnShape): boolean => expression === undefined;
  const stored = new Set(actual.columns.filter(isStored).map(({ name }) => name));
  return target.columns
    .filter((each) => isStored(each) && stored.has(each.name))
    .map(({ name }) => quoted(name))
    .join(', ');
}

/**
 * Checks the disk space for rebuilding tables: the new tables are written to the write-ahead log first and then to
 * the file.
 * @returns the number of missing bytes, if any
 */
export function missingBytes(
  database: Database,
  tables: readonly string[],
): { readonly needed: number; readonly free: number } | undefined {
  if (database.memory || tables.length === 0) return undefined;
  const names = tables.flatMap((each) => [each, ...namesOf(database, 'index', each)]);
  const size = database.prepare(
    'select sum(pgsize) from dbstat where name = ? and aggregate = true',
  );
  const bytes = names.map((each) => Number(size.pluck().get(each) ?? 0));
  const needed = 2 * bytes.reduce((sum, each) => sum + each, 0);
  const free = freeBytes(database.name);
  return needed > free ? { needed, free } : undefined;
}

/** Free bytes on the disk of a file. */
export function freeBytes(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(resolve(file)));
  return bavail * bsize;
}
