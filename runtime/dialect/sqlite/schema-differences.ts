import type { Database } from 'better-sqlite3';
import { remedyOf } from '../column-remedy.js';
import type { SchemaDifference } from '../schema-mismatch.js';
import {
  type DefinitionPart,
  normalStatement,
  quoted,
  readTableDefinition,
  type TableDefinition,
} from '../table-definition.js';

/** A difference that ends when something is added. */
export interface MissingPart extends SchemaDifference {
  readonly kind: 'table' | 'column' | 'index';
  /** What it is, in words. */
  readonly name: string;
  readonly remedy: string;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
  readonly pk: number;
  /** 2 or 3 for a generated column. */
  readonly hidden: number;
}

/**
 * What the database `actual` lacks or has otherwise than `expected`; tables that the model does not know are let be.
 */
export function schemaDifferences(
  expected: Database,
  actual: Database,
): (SchemaDifference | MissingPart)[] {
  const found = new Set(tableNames(actual));
  return tableNames(expected).flatMap((table) =>
    found.has(table)
      ? tableDifferences(expected, actual, table)
      : [missing('table', `table "${table}"`, statementOf(expected, 'table', table))],
  );
}

function missing(kind: MissingPart['kind'], name: string, remedy: string): MissingPart {
  return { what: `${name} is missing`, kind, name, remedy };
}

/** All tables but those of SQLite's own. */
export function tableNames(database: Database): string[] {
  return names(database, 'table');
}

/** The indexes that a statement has made, in the order in which that happened. */
export function indexNames(database: Database, table: string): string[] {
  return names(database, 'index', table);
}

/** The columns of a table, generated ones too. */
export function columnNames(database: Database, table: string): string[] {
  return columns(database, table).map(({ name }) => name);
}

/** The statement that makes a table or an index. */
export function statementOf(database: Database, type: 'table' | 'index', name: string): string {
  const text = database
    .prepare('select sql from sqlite_schema where type = ? and name = ?')
    .pluck()
    .get(type, name);
  return String(text);
}

/** The statement that adds a column to a table that lacks it. */
function additionOf(expected: Database, table: string, column: string): string {
  const { parts } = definitionOf(expected, table);
  // Columns stand before constraints, whose first word could be their name.
  const definition = parts.find(({ name }) => name === column)?.text ?? quoted(column);
  return `ALTER TABLE ${quoted(table)} ADD COLUMN ${definition}`;
}

function names(database: Database, type: 'table' | 'index', table?: string): string[] {
  const text =
    "select name from sqlite_schema where type = @type and name not like 'sqlite\\_%' escape '\\' and (@table is null or tbl_name = @table) order by rowid";
  return database
    .prepare(text)
    .pluck()
    .all({ type, table: table ?? null }) as string[];
}

function tableDifferences(expected: Database, actual: Database, table: string): SchemaDifference[] {
  const structural = [
    ...columnDifferences(expected, actual, table),
    ...listDifferences(
      foreignKeys(expected, table),
      foreignKeys(actual, table),
      `table "${table}": foreign key`,
    ),
    ...indexDifferences(expected, actual, table),
  ];
  if (structural.length > 0) return structural;
  // What no pragma tells: CHECK constraints and the expressions of generated columns.
  return definitionDifferences(expected, actual, table);
}

/** Parts are compared in no order: where a column stands changes no answer. */
function definitionDifferences(
  expected: Database,
  actual: Database,
  table: string,
): SchemaDifference[] {
  const wanted = definitionOf(expected, table);
  const present = definitionOf(actual, table);
  const lacking = (parts: readonly DefinitionPart[], others: readonly DefinitionPart[]): string[] =>
    parts
      .filter((each) => !others.some(({ normal }) => normal === each.normal))
      .map(({ text }) => text);
  const what = `table "${table}": definition`;
  return [
    ...lacking(wanted.parts, present.parts).map((each) => `${what} ${each} is missing`),
    ...lacking(present.parts, wanted.parts).map((each) => `${what} ${each} is not in the model`),
    ...(wanted.options === present.options
      ? []
      : [
          `table "${table}": its options are "${present.options}", the model wants "${wanted.options}"`,
        ]),
  ].map((each) => ({ what: each }));
}

function definitionOf(database: Database, table: string): TableDefinition {
  return readTableDefinition(statementOf(database, 'table', table));
}

function columns(database: Database, table: string): Column[] {
  return database.prepare('select * from pragma_table_xinfo(?)').all(table) as Column[];
}

function columnDifferences(
  expected: Database,
  actual: Database,
  table: string,
): SchemaDifference[] {
  const present = columns(actual, table);
  const wanted = columns(expected, table);
  const found = new Map(present.map((column) => [column.name, column]));
  const known = new Set(wanted.map(({ name }) => name));
  const lacking = wanted.filter(({ name }) => !found.has(name));
  return [
    ...wanted.flatMap((column): SchemaDifference[] => {
      const other = found.get(column.name);
      const name = `table "${table}": column "${column.name}"`;
      if (other === undefined) {
        return [missing('column', name, additionOf(expected, table, column.name))];
      }
      const is = describe(other);
      const should = describe(column);
      return is === should ? [] : [{ what: `${name} is ${is}, the model wants ${should}` }];
    }),
    ...present
      .filter(({ name }) => !known.has(name))
      .map((column) => {
        const { name } = column;
        const alike = lacking.filter((each) => describe(each) === describe(column));
        const names = alike.map((each) => each.name);
        return {
          what: `table "${table}": column "${name}" is not in the model`,
          remedy: remedyOf(table, name, names, removalOf(actual, table, name)),
        };
      }),
  ];
}

/** SQLite removes no column that an index holds. */
function removalOf(actual: Database, table: string, column: string): string {
  const holding = indexNames(actual, table).filter((index) =>
    actual.prepare('select 1 from pragma_index_info(?) where name = ?').get(index, column),
  );
  return [
    ...holding.map((index) => `DROP INDEX ${quoted(index)};`),
    `ALTER TABLE ${quoted(table)} DROP COLUMN ${quoted(column)};`,
  ].join(' ');
}

function describe(column: Column): string {
  const parts = [column.type === '' ? 'ANY' : column.type];
  if (column.pk > 0) parts.push('PRIMARY KEY');
  if (column.notnull === 1) parts.push('NOT NULL');
  if (column.dflt_value !== null) parts.push(`DEFAULT ${column.dflt_value}`);
  if (column.hidden > 1) parts.push('GENERATED');
  return parts.join(' ');
}

function foreignKeys(database: Database, table: string): string[] {
  const text = `select '"' || "from" || '" to "' || "table" || '"("' || coalesce("to", '') || '") on delete ' || lower(on_delete) from pragma_foreign_key_list(?)`;
  return database.prepare(text).pluck().all(table) as string[];
}

function listDifferences(
  expected: readonly string[],
  actual: readonly string[],
  what: string,
): SchemaDifference[] {
  return [
    ...expected
      .filter((each) => !actual.includes(each))
      .map((each) => ({ what: `${what} ${each} is missing` })),
    ...actual
      .filter((each) => !expected.includes(each))
      .map((each) => ({ what: `${what} ${each} is not in the model` })),
  ];
}

/** Indexes that somebody has added change no answer and are let be. */
function indexDifferences(expected: Database, actual: Database, table: string): SchemaDifference[] {
  const found = new Set(indexNames(actual, table));
  return indexNames(expected, table).flatMap((index) => {
    const wanted = statementOf(expected, 'index', index);
    const what = `table "${table}": index "${index}"`;
    if (!found.has(index)) return [missing('index', what, wanted)];
    return normalStatement(wanted) === normalStatement(statementOf(actual, 'index', index))
      ? []
      : [
          {
            what: `${what} is defined otherwise`,
            remedy: `DROP INDEX ${quoted(index)}; ${wanted}`,
          },
        ];
  });
}
