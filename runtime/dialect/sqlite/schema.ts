import type Database from 'better-sqlite3';
import { newUuid } from '../../protocol/uuid.js';
import {
  type ColumnForm,
  dataTables,
  formInsert,
  formsQuery,
  newForms,
  schemaHash,
  versionHash,
} from '../schema-version.js';

/** One row for each fact about the datastore. */
const datastoreTable = `CREATE TABLE "__datastore" (
  "name" TEXT PRIMARY KEY NOT NULL,
  "value" NOT NULL
) WITHOUT ROWID`;

/** Definitions of persistent entity sets; `position` gives their age. */
const entitySetTable = `CREATE TABLE "__entityset" (
  "position" INTEGER PRIMARY KEY AUTOINCREMENT,
  "id" TEXT UNIQUE NOT NULL,
  "dataclass" TEXT NOT NULL,
  "owner" TEXT,
  "definition" TEXT NOT NULL
)`;

/** The journal: the schemas that servers have migrated to, with the changes as JSON. */
const journalTable = `CREATE TABLE "__schema" (
  "position" INTEGER PRIMARY KEY AUTOINCREMENT,
  "hash" TEXT NOT NULL,
  "time" TEXT NOT NULL,
  "changes" TEXT NOT NULL
)`;

/** What the model wants of a database. */
export interface WantedSchema {
  /** The tables and indexes of the model, one SQL statement each. */
  readonly statements: readonly string[];
  readonly forms: readonly ColumnForm[];
  /** Names of the server's migrations. */
  readonly migrations: readonly string[];
}

/**
 * The schema in a database: creates it in an empty one, and tells whether it is that of the model.
 * `migration/adapt.ts` brings any other one to the model.
 */
export class SqliteSchema {
  readonly hash: string;
  /** With the server's own tables. */
  readonly statements: readonly string[];

  constructor(
    private readonly database: Database.Database,
    private readonly wanted: WantedSchema,
  ) {
    this.hash = versionHash(schemaHash(wanted.statements), wanted.migrations);
    const own = [datastoreTable, entitySetTable, journalTable, ...dataTables];
    this.statements = [...own, ...wanted.statements];
  }

  /** The statements of what every server needs, also one that writes no journal. */
  get needed(): readonly string[] {
    return [datastoreTable, entitySetTable, ...this.wanted.statements];
  }

  get isEmpty(): boolean {
    const text =
      "select not exists (select 1 from sqlite_schema where name not like 'sqlite\\_%' escape '\\')";
    return this.database.prepare(text).pluck().get() === 1;
  }

  /** A stamp marks a database that matched: it is compared again only when its schema or the model changes. */
  get isStamped(): boolean {
    if (!this.hasTable('__datastore')) return false;
    const text = `select "value" from "__datastore" where "name" = 'schema'`;
    return this.database.prepare(text).pluck().get() === this.#stamp();
  }

  /** Whether the values have the forms of the model too. */
  get isCurrent(): boolean {
    if (!this.isStamped) return false;
    const rows = this.database.prepare(formsQuery).all() as ColumnForm[];
    return newForms(this.wanted.forms, rows).length === 0;
  }

  create(): void {
    for (const statement of this.statements) this.database.exec(statement);
    const insert = this.database.prepare('insert into "__datastore" values (?, ?)');
    insert.run('globalStamp', 0n);
    insert.run('uniqueID', newUuid());
    const form = this.database.prepare(formInsert);
    for (const { table, column, form: words } of this.wanted.forms) {
      form.run({ 1: table, 2: column, 3: words });
    }
    this.enterInJournal(['the schema is created']);
    this.remember();
  }

  hasTable(name: string): boolean {
    const text = "select 1 from sqlite_schema where type = 'table' and name = ?";
    return this.database.prepare(text).get(name) !== undefined;
  }

  enterInJournal(changes: readonly string[]): void {
    const text = 'insert into "__schema" ("hash", "time", "changes") values (?, ?, ?)';
    this.database.prepare(text).run(this.hash, new Date().toISOString(), JSON.stringify(changes));
  }

  /** Sets the stamp. */
  remember(): void {
    const text = `insert or replace into "__datastore" values ('schema', ?)`;
    this.database.prepare(text).run(this.#stamp());
  }

  /** Identifies the wanted and the present schema; a rebuilt table may have its former text and other rows. */
  #stamp(): string {
    const text = 'select coalesce(sql, name) from sqlite_schema order by name';
    const present = this.database.prepare(text).pluck().all() as string[];
    const version = String(this.database.pragma('schema_version', { simple: true }));
    return schemaHash([...this.statements, ...this.wanted.migrations, ...present, version]);
  }
}
