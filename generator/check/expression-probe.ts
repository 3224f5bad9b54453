import { createRequire } from 'node:module';
import type { Database } from 'better-sqlite3';
import type { StorageType } from '../model/model.js';
import { sqliteTypes } from '../model/sqlite-types.js';
import { MissingDriver } from './missing-driver.js';

export interface ProbeColumn {
  readonly name: string;
  readonly type: StorageType;
  /** The expression of a generated column. */
  readonly expression?: string;
}

/** An empty database that reports what is wrong with a table. */
export interface Probe {
  /** The database's own message, or `undefined` if the table can be created and read. */
  readonly refusal: (columns: readonly ProbeColumn[]) => string | undefined;
  readonly close: () => void;
}

/**
 * Opens the database. Its driver is loaded here, because that takes time and most models have no
 * expression.
 * @param load loads the driver, by the name of its package
 * @throws MissingDriver
 */
export function openProbe(load: (name: string) => unknown = createRequire(import.meta.url)): Probe {
  const database = opened(load);
  return {
    refusal: (columns) => refusal(database, columns),
    close: () => {
      database.close();
    },
  };
}

function opened(load: (name: string) => unknown): Database {
  try {
    const Constructor = load('better-sqlite3') as new (file: string) => Database;
    return new Constructor(':memory:');
  } catch (error) {
    throw new MissingDriver(error);
  }
}

function refusal(database: Database, columns: readonly ProbeColumn[]): string | undefined {
  database.exec('BEGIN');
  try {
    database.exec(`CREATE TABLE probe (${columns.map(columnSql).join(', ')})`);
    const strange = strangeTable(database, columns);
    if (strange !== undefined) return strange;
    // Some functions are refused only when they are computed.
    database.exec('INSERT INTO probe DEFAULT VALUES');
    const names = columns.map(({ name }) => quoted(name)).join(', ');
    database.prepare(`SELECT ${names} FROM probe`).all();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    database.exec('ROLLBACK');
  }
}

/** Whether an expression has created anything in addition to its column. */
function strangeTable(database: Database, columns: readonly ProbeColumn[]): string | undefined {
  const objects = database.prepare('SELECT name FROM sqlite_schema').pluck().all();
  const found = database.prepare('SELECT name, hidden FROM pragma_table_xinfo(?)').all('probe');
  const wanted = columns.map(({ name, expression }) => ({
    name,
    hidden: expression === undefined ? 0 : 2,
  }));
  const isWanted = JSON.stringify([objects, found]) === JSON.stringify([['probe'], wanted]);
  return isWanted ? undefined : 'it does more than compute a value';
}

function columnSql({ name, type, expression }: ProbeColumn): string {
  const column = `${quoted(name)} ${sqliteTypes[type]}`;
  return expression === undefined
    ? column
    : `${column} GENERATED ALWAYS AS (${expression}) VIRTUAL`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
