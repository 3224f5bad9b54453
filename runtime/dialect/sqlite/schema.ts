import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import { newUuid } from '../../protocol/uuid.js';
import { SchemaMismatchError } from '../schema-mismatch.js';
import { registerFunctions } from './functions.js';
import { schemaDifferences } from './schema-differences.js';

/** One row for each thing that the datastore remembers about itself. */
const datastoreTable = `CREATE TABLE "__datastore" (
  "name" TEXT PRIMARY KEY NOT NULL,
  "value" NOT NULL
) WITHOUT ROWID`;

/** The definitions of entity sets that can be made again; `position` tells which is the oldest. */
const entitySetTable = `CREATE TABLE "__entityset" (
  "position" INTEGER PRIMARY KEY AUTOINCREMENT,
  "id" TEXT UNIQUE NOT NULL,
  "dataclass" TEXT NOT NULL,
  "owner" TEXT,
  "definition" TEXT NOT NULL
)`;

/**
 * Creates the schema in an empty database; compares it with what is there otherwise. Nothing is ever dropped or altered.
 * @param statements the model's schema, one SQL statement each
 * @param fold how the datastore compares texts
 * @throws SchemaMismatchError with every difference
 */
export function prepareSchema(
  database: Database.Database,
  statements: readonly string[],
  fold: Fold,
): void {
  const all = [datastoreTable, entitySetTable, ...statements];
  // Another process may start on the same empty file at the same time.
  const isCreated = database
    .transaction(() => {
      if (!isEmpty(database)) return false;
      create(database, all);
      return true;
    })
    .immediate();
  if (isCreated) return;
  // A database that was found to match is not compared again until its schema or the model's changes.
  if (knownStamp(database) === stampOf(database, all)) return;
  database
    .transaction(() => {
      addMissing(database);
      compare(database, all, fold);
      remember(database, stampOf(database, all));
    })
    .immediate();
}

/** @throws SchemaMismatchError with every difference */
function compare(database: Database.Database, statements: readonly string[], fold: Fold): void {
  const expected = new Database(':memory:');
  try {
    registerFunctions(expected, fold);
    for (const statement of statements) expected.exec(statement);
    const differences = schemaDifferences(expected, database);
    if (differences.length > 0) throw new SchemaMismatchError(differences);
  } finally {
    expected.close();
  }
}

/** A table of the server's own that an older version did not have yet. */
function addMissing(database: Database.Database): void {
  const names =
    "select name from sqlite_schema where type = 'table' and name like '\\_\\_%' escape '\\'";
  const present = database.prepare(names).pluck().all();
  // Without the first one the database is somebody else's.
  if (present.includes('__datastore') && !present.includes('__entityset')) {
    database.exec(entitySetTable);
  }
}

function isEmpty(database: Database.Database): boolean {
  const count = database.prepare(
    "select count(*) from sqlite_schema where name not like 'sqlite\\_%' escape '\\'",
  );
  return count.pluck().get() === 0;
}

function create(database: Database.Database, statements: readonly string[]): void {
  for (const statement of statements) database.exec(statement);
  const insert = database.prepare('insert into "__datastore" values (?, ?)');
  insert.run('globalStamp', 0n);
  insert.run('uniqueID', newUuid());
  insert.run('schema', stampOf(database, statements));
}

/** Tells both schemas: the one that the model wants, and the one that is there. */
function stampOf(database: Database.Database, wanted: readonly string[]): string {
  const hash = createHash('sha256');
  for (const statement of wanted) hash.update(statement).update('\0');
  const present = database.prepare('select coalesce(sql, name) from sqlite_schema order by name');
  for (const statement of present.pluck().all()) hash.update(String(statement)).update('\0');
  return hash.digest('hex');
}

function knownStamp(database: Database.Database): unknown {
  const hasTable = database
    .prepare("select 1 from sqlite_schema where type = 'table' and name = '__datastore'")
    .get();
  if (hasTable === undefined) return undefined;
  return database
    .prepare('select "value" from "__datastore" where "name" = ?')
    .pluck()
    .get('schema');
}

function remember(database: Database.Database, stamp: string): void {
  const text = 'insert or replace into "__datastore" values (?, ?)';
  database.prepare(text).run('schema', stamp);
}
