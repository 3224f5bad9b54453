import Sqlite, { type Database } from 'better-sqlite3';
import type { Fold } from '../../../protocol/fold.js';
import type {
  ColumnShape,
  ForeignKeyShape,
  IndexShape,
  SchemaShape,
  TableShape,
} from '../../schema/shape.js';
import {
  type DefinitionPart,
  quoted,
  quotedName,
  readTableDefinition,
  sqlTokens,
} from '../../table-definition.js';
import { registerFunctions } from '../functions.js';

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
  readonly pk: number;
  /** 2 or 3 for a generated column. */
  readonly hidden: number;
}

interface ForeignKeyRow {
  readonly id: number;
  readonly from: string;
  readonly table: string;
  readonly to: string | null;
  readonly on_delete: string;
  readonly on_update: string;
}

/** Words of expressions that are never columns, even if a column has such a name. */
const keywords = new Set(
  'AND AS BETWEEN CASE CAST COLLATE DISTINCT ELSE END ESCAPE EXISTS FALSE FROM GLOB IN IS ISNULL LIKE MATCH NOT NOTNULL NULL OR REGEXP THEN TRUE WHEN'.split(
    ' ',
  ),
);

/** The tables of a database without SQLite's own, virtual tables, and the shadow tables of these. */
export function readShape(database: Database): SchemaShape {
  return { tables: tableNames(database).map((name) => tableShape(database, name)) };
}

/** Passes a temporary database with a schema on. */
export function withSchema<T>(
  statements: readonly string[],
  fold: Fold,
  use: (database: Database) => T,
): T {
  const database = new Sqlite(':memory:');
  try {
    registerFunctions(database, fold);
    for (const statement of statements) database.exec(statement);
    return use(database);
  } finally {
    database.close();
  }
}

/** In order of creation. */
export function tableNames(database: Database): readonly string[] {
  const text = `select s.name from sqlite_schema s join pragma_table_list t on t.name = s.name and t.schema = 'main'
    where s.type = 'table' and t.type = 'table' and s.name not like 'sqlite\\_%' escape '\\' order by s.rowid`;
  return database.prepare(text).pluck().all() as string[];
}

/** The columns of a table, including generated ones. */
export function columnNames(database: Database, table: string): readonly string[] {
  const text = 'select name from pragma_table_xinfo(?)';
  return database.prepare(text).pluck().all(table) as string[];
}

/** The statement that created a table, an index or a trigger. */
export function statementOf(database: Database, name: string): string {
  const text = database.prepare('select sql from sqlite_schema where name = ?').pluck().get(name);
  return String(text);
}

/** The objects of a table that statements created, in order of creation. */
export function namesOf(
  database: Database,
  type: 'index' | 'trigger',
  table: string,
): readonly string[] {
  const text =
    'select name from sqlite_schema where type = ? and lower(tbl_name) = lower(?) and sql is not null order by rowid';
  return database.prepare(text).pluck().all(type, table) as string[];
}

function tableShape(database: Database, name: string): TableShape {
  const text = 'select * from pragma_table_xinfo(?)';
  const rows = database.prepare(text).all(name) as ColumnRow[];
  const { parts } = readTableDefinition(statementOf(database, name));
  const names = rows.map((row) => row.name);
  const reader = new Spelling(names);
  const definitions = new Map<string, DefinitionPart>();
  // Columns come before constraints, whose first word could be a column's name.
  parts.slice(0, rows.length).forEach((part, index) => definitions.set(names[index] ?? '', part));
  return {
    name,
    columns: rows.map((row) => columnShape(row, definitions.get(row.name), reader)),
    checks: parts.flatMap(({ tokens }) => checksIn(tokens).map((each) => reader.of(each))),
    foreignKeys: foreignKeys(database, name),
    indexes: namesOf(database, 'index', name).map((index) => indexShape(database, index, reader)),
  };
}

/** Normalizes expressions to valid SQL: quoted names, upper-case keywords. */
class Spelling {
  readonly #columns: ReadonlyMap<string, string>;

  constructor(columns: readonly string[]) {
    this.#columns = new Map(columns.map((each) => [lowerAscii(each), each]));
  }

  of(tokens: readonly string[]): string {
    return tokens.map((each, index) => this.#token(each, tokens[index + 1])).join(' ');
  }

  #token(token: string, next: string | undefined): string {
    if (token.startsWith("'") || /^[xX]'/.test(token)) return token;
    const name = quotedName(token);
    const word = token.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
    if (name === undefined && (keywords.has(word) || next === '(')) return word;
    const column = this.#columns.get(lowerAscii(name ?? token));
    if (column !== undefined) return quoted(column);
    return name === undefined ? word : quoted(name);
  }
}

function columnShape(
  row: ColumnRow,
  definition: DefinitionPart | undefined,
  spelling: Spelling,
): ColumnShape {
  const tokens = definition?.tokens ?? [];
  const collation = wordAfter(tokens, 'COLLATE');
  const type = row.type.toUpperCase();
  const isBinary = collation === undefined || collation.toUpperCase() === 'BINARY';
  const isKey = row.pk > 0;
  const expression = row.hidden > 1 ? spelling.of(after(tokens, 'AS')) : undefined;
  const isDrawn = isKey && has(tokens, 'AUTOINCREMENT');
  return {
    name: row.name,
    type: isBinary ? type : `${type} COLLATE ${collation.toUpperCase()}`.trim(),
    isMandatory: row.notnull === 1,
    isKey,
    ...(isDrawn ? { identity: 'AUTOINCREMENT' } : {}),
    ...(row.dflt_value === null ? {} : { default: spelling.of(sqlTokens(row.dflt_value)) }),
    ...(expression === undefined
      ? {}
      : { expression: row.hidden === 3 ? `(${expression}) STORED` : expression }),
  };
}

/** The conditions in the definition of a column or a constraint. */
function checksIn(tokens: readonly string[]): readonly (readonly string[])[] {
  return tokens.flatMap((token, index) => {
    const isCheck = token.toUpperCase() === 'CHECK' && depthOf(tokens, index) === 0;
    return isCheck && tokens[index + 1] === '(' ? [inParentheses(tokens, index + 1)] : [];
  });
}

function depthOf(tokens: readonly string[], end: number): number {
  let depth = 0;
  for (const token of tokens.slice(0, end)) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
  }
  return depth;
}

function inParentheses(tokens: readonly string[], start: number): readonly string[] {
  let depth = 0;
  for (let index = start; index < tokens.length; index += 1) {
    if (tokens[index] === '(') depth += 1;
    if (tokens[index] === ')') depth -= 1;
    if (depth === 0) return tokens.slice(start + 1, index);
  }
  return [];
}

/** The tokens in parentheses after a keyword that is not part of an expression. */
function after(tokens: readonly string[], word: string): readonly string[] {
  const at = placeOf(tokens, word);
  return at === -1 ? [] : inParentheses(tokens, at + 1);
}

function wordAfter(tokens: readonly string[], word: string): string | undefined {
  const at = placeOf(tokens, word);
  const found = at === -1 ? undefined : tokens[at + 1];
  return found === undefined ? undefined : (quotedName(found) ?? found);
}

function placeOf(tokens: readonly string[], word: string): number {
  return tokens.findIndex(
    (each, index) => each.toUpperCase() === word && depthOf(tokens, index) === 0 && index > 0,
  );
}

function has(tokens: readonly string[], word: string): boolean {
  return tokens.some((each, index) => index > 0 && each.toUpperCase() === word);
}

/** Foreign keys over one column; a server creates no others. */
function foreignKeys(database: Database, table: string): readonly ForeignKeyShape[] {
  const rows = database
    .prepare('select * from pragma_foreign_key_list(?) order by id desc, seq')
    .all(table) as ForeignKeyRow[];
  const single = rows.filter((row) => rows.filter(({ id }) => id === row.id).length === 1);
  return single.map((row) => ({
    column: row.from,
    target: row.table,
    targetColumn: row.to ?? keyOf(database, row.table),
    options: [optionOf('ON DELETE', row.on_delete), optionOf('ON UPDATE', row.on_update)]
      .filter((each) => each !== '')
      .join(' '),
  }));
}

function optionOf(words: string, action: string): string {
  return action === 'NO ACTION' ? '' : `${words} ${action}`;
}

function keyOf(database: Database, table: string): string {
  const text = 'select name from pragma_table_info(?) where pk = 1';
  return (database.prepare(text).pluck().get(table) ?? '') as string;
}

function indexShape(database: Database, name: string, spelling: Spelling): IndexShape {
  const tokens = sqlTokens(statementOf(database, name));
  const start = tokens.indexOf('(');
  return {
    name,
    isUnique: tokens[1]?.toUpperCase() === 'UNIQUE',
    columns: spelling.of(tokens.slice(start)),
  };
}

/** The form in which SQLite compares names. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
