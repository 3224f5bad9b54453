import { readTableDefinition } from '../table-definition.js';

/** A foreign key, which is added when both tables are there. */
export interface ForeignKeyStatement {
  readonly table: string;
  readonly column: string;
  readonly target: string;
  readonly sql: string;
}

/** The statements of a schema by what they make. */
export interface WantedStatements {
  readonly tables: ReadonlyMap<string, string>;
  /** Names of indexes are those of the whole schema. */
  readonly indexes: ReadonlyMap<string, string>;
  readonly foreignKeys: readonly ForeignKeyStatement[];
}

const name = '"((?:[^"]|"")*)"';
const tablePattern = new RegExp(`^create table ${name}`, 'i');
const indexPattern = new RegExp(`^create (?:unique )?index ${name}`, 'i');
const foreignKeyPattern = new RegExp(
  `^alter table ${name} add foreign key \\(${name}\\) references ${name}`,
  'i',
);

/** @param statements as the generator writes them */
export function sortStatements(statements: readonly string[]): WantedStatements {
  const tables = new Map<string, string>();
  const indexes = new Map<string, string>();
  const foreignKeys: ForeignKeyStatement[] = [];
  for (const sql of statements) {
    const [, table] = tablePattern.exec(sql) ?? [];
    const [, index] = indexPattern.exec(sql) ?? [];
    const [, from, column, target] = foreignKeyPattern.exec(sql) ?? [];
    if (table !== undefined) tables.set(unquoted(table), sql);
    if (index !== undefined) indexes.set(unquoted(index), sql);
    if (from === undefined || column === undefined || target === undefined) continue;
    foreignKeys.push({
      table: unquoted(from),
      column: unquoted(column),
      target: unquoted(target),
      sql,
    });
  }
  return { tables, indexes, foreignKeys };
}

/** A column as the statement that makes its table has it. */
export function columnText(createTable: string, column: string): string | undefined {
  return readTableDefinition(createTable).parts.find((each) => each.name === column)?.text;
}

function unquoted(text: string): string {
  return text.replaceAll('""', '"');
}
