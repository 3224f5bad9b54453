import type { Database } from 'better-sqlite3';
import { auditWords } from '../../schema/start.js';
import { quoted } from '../../table-definition.js';

/** A trigger that records changes (`generator/emit/schema/audit.ts`). */
interface AuditTrigger {
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

/** The triggers that record changes of a table, or of all. */
export function auditTriggers(database: Database, table?: string): readonly AuditTrigger[] {
  const text = `select name, tbl_name as "table", sql from sqlite_schema
    where type = 'trigger' and name like '\\_\\_audit.%' escape '\\' and (?1 is null or tbl_name = ?1) order by name`;
  return database.prepare(text).all({ 1: table ?? null }) as AuditTrigger[];
}

/** @returns the dropped triggers */
export function dropAudits(database: Database): readonly AuditTrigger[] {
  const dropped = auditTriggers(database);
  for (const { name } of dropped) database.exec(`DROP TRIGGER ${quoted(name)}`);
  return dropped;
}

/**
 * Creates the wanted triggers.
 * @param former those that the database had
 * @returns what has changed, in words
 */
export function createAudits(
  database: Database,
  wanted: Database,
  former: readonly AuditTrigger[],
): readonly string[] {
  const made = auditTriggers(wanted);
  for (const { sql } of made) database.exec(sql);
  const textOf = (list: readonly AuditTrigger[], table: string): string =>
    list.flatMap((each) => (each.table === table ? each.sql : [])).join('\n');
  const tables = new Set([...former, ...made].map(({ table }) => table));
  return [...tables]
    .filter((table) => textOf(former, table) !== textOf(made, table))
    .map((table) => auditWords(table, textOf(made, table) !== ''));
}

/** Tables whose changes are not recorded although the model wants it, in words. */
export function missingAudits(database: Database, wanted: Database): readonly string[] {
  const present = new Set(auditTriggers(database).map(({ name }) => name));
  const missing = auditTriggers(wanted).filter(({ name }) => !present.has(name));
  return [...new Set(missing.map(({ table }) => `table "${table}": changes are not recorded`))];
}
