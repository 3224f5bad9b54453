import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Fold } from '../../../protocol/fold.js';
import type {
  ColumnValue,
  Expansion,
  MigratedDatabase,
  MigrationRow,
  RenamedPart,
  UpdatedRow,
} from '../../schema/migration.js';
import { namedColumns } from '../../schema/rules.js';
import type { SchemaShape, TableShape } from '../../schema/shape.js';
import type { Trial } from '../../schema/trial.js';
import { quoted } from '../../table-definition.js';
import { longestPauseMilliseconds } from '../executor.js';
import { registerFunctions } from '../functions.js';
import { auditTriggers } from './audits.js';
import { rebuildTable } from './rebuild.js';
import { readShape, withSchema } from './shape.js';

/** Another server may be converting or filling a large table. */
const longestWaitMilliseconds = 600_000;

/** A database file whose data are migrated, through a connection of its own. */
export class MigratedFile implements MigratedDatabase {
  readonly kind = 'sqlite';
  /** A write transaction is always the only one. */
  readonly forUpdate = '';
  readonly #database: Database.Database;
  readonly #wanted: () => SchemaShape;

  /** @param statements the schema of the model */
  constructor(
    file: string,
    statements: readonly string[],
    fold: Fold,
    private readonly trial: Trial | undefined,
  ) {
    let wanted: SchemaShape | undefined;
    this.#wanted = () => (wanted ??= withSchema(statements, fold, readShape));
    this.#database = new Database(file, { timeout: longestWaitMilliseconds });
    registerFunctions(this.#database, fold);
    this.#database.pragma('foreign_keys = ON');
  }

  close(): void {
    this.#database.close();
  }

  query(sql: string, values: readonly ColumnValue[] = []): Promise<readonly MigrationRow[]> {
    const statement = this.#database.prepare(sql);
    const named = Object.fromEntries(values.map((each, index) => [String(index + 1), each]));
    const given = values.length === 0 ? [] : [named];
    if (!statement.reader) {
      statement.run(...given);
      return Promise.resolve([]);
    }
    return Promise.resolve(
      statement
        .safeIntegers()
        .all(...given)
        .map(plainRow),
    );
  }

  update(table: string, key: string, rows: readonly UpdatedRow[]): Promise<void> {
    const columns = Object.keys(rows[0]?.values ?? {});
    if (columns.length === 0) return Promise.resolve();
    const sets = columns.map((each) => `${quoted(each)} = ?`);
    const statement = this.#database.prepare(
      `UPDATE ${quoted(table)} SET ${[...sets, raisedStamp].join(', ')} WHERE ${quoted(key)} = ?`,
    );
    for (const row of rows) statement.run(...columns.map((each) => row.values[each]), row.key);
    return Promise.resolve();
  }

  async transaction<T>(work: () => Promise<T>, use?: 'rebuilding'): Promise<T> {
    const database = this.#database;
    // The setting cannot change within a transaction.
    if (use === 'rebuilding') database.pragma('foreign_keys = OFF');
    try {
      database.exec('BEGIN IMMEDIATE');
      const start = performance.now();
      try {
        const result = await work();
        database.exec('COMMIT');
        this.trial?.locked(wholeDatabase, performance.now() - start);
        return result;
      } catch (error) {
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    } finally {
      database.pragma('foreign_keys = ON');
      // A server that polls for its turn might miss the moment between two transactions.
      if (use === undefined) await sleep(2 * longestPauseMilliseconds);
    }
  }

  hasTable(name: string): Promise<boolean> {
    const text = "select 1 from sqlite_schema where type = 'table' and name = ?";
    return Promise.resolve(this.#database.prepare(text).get(name) !== undefined);
  }

  present(): Promise<SchemaShape> {
    return Promise.resolve(readShape(this.#database));
  }

  wanted(): Promise<SchemaShape> {
    return Promise.resolve(this.#wanted());
  }

  expand(table: string, { added, loosened, dropped }: Expansion): Promise<void> {
    for (const { name, type } of added) {
      this.#database.exec(`ALTER TABLE ${quoted(table)} ADD COLUMN ${quoted(name)} ${type}`);
    }
    const actual = this.#shape(table);
    if (actual === undefined || dropped.length + loosened.length === 0) return Promise.resolve();
    this.#rebuild(actual, {
      ...actual,
      checks: actual.checks.filter((each) => !dropped.includes(each)),
      columns: actual.columns.map((each) =>
        loosened.includes(each.name) ? { ...each, isMandatory: false } : each,
      ),
    });
    return Promise.resolve();
  }

  renameColumn(table: string, from: string, to: string): Promise<void> {
    this.#database.exec(
      `ALTER TABLE ${quoted(table)} RENAME COLUMN ${quoted(from)} TO ${quoted(to)}`,
    );
    return Promise.resolve();
  }

  async renameRecorded({ table, column, to }: RenamedPart): Promise<void> {
    if (!(await this.hasTable('__audit'))) return;
    const database = this.#database;
    if (column === undefined) {
      database.prepare('UPDATE "__audit" SET "table" = ? WHERE "table" = ?').run(to, table);
    }
    for (const values of column === undefined ? [] : ['"before"', '"after"']) {
      const text = `UPDATE "__audit" SET ${values} = (
          SELECT json_group_object(CASE "key" WHEN ?2 THEN ?3 ELSE "key" END, "value") FROM json_each(${values}))
        WHERE "table" = ?1 AND EXISTS (SELECT 1 FROM json_each(${values}) WHERE "key" = ?2)`;
      database.prepare(text).run({ 1: table, 2: column, 3: to });
    }
    // SQLite renames what triggers read, and not the texts that they write.
    const [before, behind] = column === undefined ? [', ', ', CAST('] : ['(', ', '];
    const written = (name: string): string => `${before}'${name.replaceAll("'", "''")}'${behind}`;
    for (const { name, sql } of auditTriggers(database, column === undefined ? to : table)) {
      database.exec(`DROP TRIGGER ${quoted(name)}`);
      database.exec(sql.replaceAll(written(column ?? table), () => written(to)));
    }
  }

  dropColumns(table: string, columns: readonly string[]): Promise<void> {
    const actual = this.#shape(table);
    if (actual === undefined) return Promise.resolve();
    // The start that follows creates the triggers that record changes; they may name the columns.
    for (const { name } of auditTriggers(this.#database, table)) {
      this.#database.exec(`DROP TRIGGER ${quoted(name)}`);
    }
    const isNamed = (text: string | undefined): boolean =>
      text !== undefined && namedColumns(text, columns).length > 0;
    for (const { name } of actual.indexes.filter((each) => isNamed(each.columns))) {
      this.#database.exec(`DROP INDEX ${quoted(name)}`);
    }
    this.#rebuild(actual, {
      ...actual,
      // The start that follows creates columns computed from these again if the model has them.
      columns: actual.columns.filter(
        ({ name, expression }) => !columns.includes(name) && !isNamed(expression),
      ),
      checks: actual.checks.filter((each) => !isNamed(each)),
      foreignKeys: actual.foreignKeys.filter(({ column }) => !columns.includes(column)),
    });
    return Promise.resolve();
  }

  #rebuild(actual: TableShape, target: TableShape): void {
    rebuildTable(this.#database, { actual, target, wanted: undefined });
  }

  #shape(table: string): TableShape | undefined {
    return readShape(this.#database).tables.find(({ name }) => name === table);
  }
}

/** The lock of a transaction. */
export const wholeDatabase = 'the whole database';

const raisedStamp = '"__STAMP" = "__STAMP" + 1';

/** Converts integers to numbers if these can hold them. */
function plainRow(row: unknown): MigrationRow {
  return Object.fromEntries(
    Object.entries(row as MigrationRow).map(([name, value]) => [
      name,
      typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value,
    ]),
  );
}
