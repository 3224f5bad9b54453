import type { Database } from 'better-sqlite3';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
  readonly pk: number;
  /** 2 or 3 for a generated column. */
  readonly hidden: number;
}

/** What the database `actual` lacks or has otherwise than `expected`; tables that the model does not know are let be. */
export function schemaDifferences(expected: Database, actual: Database): string[] {
  const found = new Set(names(actual, 'table'));
  return names(expected, 'table').flatMap((table) =>
    found.has(table) ? tableDifferences(expected, actual, table) : [`table "${table}" is missing`],
  );
}

function names(database: Database, type: 'table' | 'index', table?: string): string[] {
  const text =
    "select name from sqlite_schema where type = @type and name not like 'sqlite\\_%' escape '\\' and (@table is null or tbl_name = @table) order by rowid";
  return database
    .prepare(text)
    .pluck()
    .all({ type, table: table ?? null }) as string[];
}

function tableDifferences(expected: Database, actual: Database, table: string): string[] {
  const structural = [
    ...columnDifferences(columns(expected, table), columns(actual, table), table),
    ...listDifferences(
      foreignKeys(expected, table),
      foreignKeys(actual, table),
      `table "${table}": foreign key`,
    ),
    ...indexDifferences(expected, actual, table),
  ];
  if (structural.length > 0) return structural;
  // What no pragma tells: CHECK constraints and the expressions of generated columns.
  return listDifferences(
    columnDefinitions(expected, table),
    columnDefinitions(actual, table),
    `table "${table}": definition`,
  );
}

/** The lines of a table's definition, in no order: where a column stands changes no answer. */
function columnDefinitions(database: Database, table: string): string[] {
  const text = database
    .prepare("select sql from sqlite_schema where type = 'table' and name = ?")
    .pluck()
    .get(table);
  return String(text)
    .split('\n')
    .slice(1, -1)
    .map((line) => line.trim().replace(/,$/, ''));
}

function columns(database: Database, table: string): Column[] {
  return database.prepare('select * from pragma_table_xinfo(?)').all(table) as Column[];
}

function columnDifferences(
  expected: readonly Column[],
  actual: readonly Column[],
  table: string,
): string[] {
  const found = new Map(actual.map((column) => [column.name, column]));
  const wanted = new Set(expected.map((column) => column.name));
  return [
    ...expected.flatMap((column) => {
      const other = found.get(column.name);
      const name = `table "${table}": column "${column.name}"`;
      if (other === undefined) return [`${name} is missing`];
      const is = describe(other);
      const should = describe(column);
      return is === should ? [] : [`${name} is ${is}, the model wants ${should}`];
    }),
    ...actual
      .filter((column) => !wanted.has(column.name))
      .map((column) => `table "${table}": column "${column.name}" is not in the model`),
  ];
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
): string[] {
  return [
    ...expected
      .filter((each) => !actual.includes(each))
      .map((each) => `${what} ${each} is missing`),
    ...actual
      .filter((each) => !expected.includes(each))
      .map((each) => `${what} ${each} is not in the model`),
  ];
}

/** Indexes that somebody has added change no answer and are let be. */
function indexDifferences(expected: Database, actual: Database, table: string): string[] {
  const found = new Set(names(actual, 'index', table));
  return names(expected, 'index', table).flatMap((index) => {
    if (!found.has(index)) return [`table "${table}": index "${index}" is missing`];
    return definition(expected, 'index', index) === definition(actual, 'index', index)
      ? []
      : [`table "${table}": index "${index}" is defined otherwise`];
  });
}

function definition(database: Database, type: 'table' | 'index', name: string): string {
  const text = database
    .prepare('select sql from sqlite_schema where type = ? and name = ?')
    .pluck()
    .get(type, name);
  return String(text).replace(/\s+/g, ' ').trim();
}
