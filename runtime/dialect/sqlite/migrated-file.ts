import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import type {
  ColumnValue,
  MigratedDatabase,
  PresentColumn,
  MigrationRow,
  UpdatedRow,
  WantedColumn,
} from '../schema/migration.js';
import { namedColumns } from '../schema/rules.js';
import type { TableShape } from '../schema/shape.js';
import type { Trial } from '../schema/trial.js';
import { quoted } from '../table-definition.js';
import { longestPauseMilliseconds } from './executor.js';
import { registerFunctions } from './functions.js';
import { rebuildTable } from './rebuild.js';
import { readShape } from './shape.js';

/** Another server may be converting or filling a large table. */
const longestWaitMilliseconds = 600_000;

/** A database file whose data are migrated, through a connection of its own. */
export class MigratedFile implements MigratedDatabase {
  readonly kind = 'sqlite';
  /** A write transaction is always the only one. */
  readonly forUpdate = '';
  readonly #database: Database.Database;
  readonly #wanted: () => ReadonlyMap<string, TableShape>;

  /** @param statements the schema of the model */
  constructor(
    file: string,
    statements: readonly string[],
    fold: Fold,
    private readonly trial: Trial | undefined,
  ) {
    let wanted: ReadonlyMap<string, TableShape> | undefined;
    this.#wanted = () => (wanted ??= wantedTables(statements, fold));
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

  columns(table: string): Promise<readonly PresentColumn[]> {
    const columns = this.#shape(table)?.columns.filter(
      ({ expression }) => expression === undefined,
    );
    return Promise.resolve(
      (columns ?? []).map(({ name, isKey, type }) => ({ name, isKey, isLarge: type === 'BLOB' })),
    );
  }

  wantedColumns(table: string): Promise<readonly WantedColumn[]> {
    const columns = this.#wanted().get(table)?.columns ?? [];
    return Promise.resolve(columns.filter(({ expression }) => expression === undefined));
  }

  expand(table: string): Promise<void> {
    const [actual, wanted] = [this.#shape(table), this.#wanted().get(table)];
    if (actual === undefined || wanted === undefined) return Promise.resolve();
    const present = new Set(actual.columns.map(({ name }) => name));
    for (const { name, type, default: value, expression } of wanted.columns) {
      // A column with a default gets its values when the start adds it.
      if (present.has(name) || value !== undefined || expression !== undefined) continue;
      this.#database.exec(`ALTER TABLE ${quoted(table)} ADD COLUMN ${quoted(name)} ${type}`);
    }
    const isOptional = (name: string): boolean =>
      wanted.columns.some((each) => each.name === name && !each.isMandatory);
    const checks = actual.checks.filter((each) => wanted.checks.includes(each));
    const loosened = actual.columns.filter(
      ({ name, isMandatory }) => isMandatory && isOptional(name),
    );
    if (checks.length === actual.checks.length && loosened.length === 0) return Promise.resolve();
    const widened = this.#shape(table) ?? actual;
    this.#rebuild(widened, {
      ...widened,
      checks,
      columns: widened.columns.map((each) =>
        isOptional(each.name) ? { ...each, isMandatory: false } : each,
      ),
    });
    return Promise.resolve();
  }

  referring(table: string): Promise<readonly string[]> {
    const referring = readShape(this.#database).tables.filter(
      ({ name, foreignKeys }) =>
        name !== table && foreignKeys.some(({ target }) => target === table),
    );
    return Promise.resolve(referring.map(({ name }) => name));
  }

  renameColumn(table: string, from: string, to: string): Promise<void> {
    this.#database.exec(
      `ALTER TABLE ${quoted(table)} RENAME COLUMN ${quoted(from)} TO ${quoted(to)}`,
    );
    return Promise.resolve();
  }

  dropColumns(table: string, columns: readonly string[]): Promise<void> {
    const actual = this.#shape(table);
    if (actual === undefined) return Promise.resolve();
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

function wantedTables(statements: readonly string[], fold: Fold): ReadonlyMap<string, TableShape> {
  const wanted = new Database(':memory:');
  try {
    registerFunctions(wanted, fold);
    for (const statement of statements) wanted.exec(statement);
    return new Map(readShape(wanted).tables.map((table) => [table.name, table]));
  } finally {
    wanted.close();
  }
}

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
