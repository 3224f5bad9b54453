import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import { newUuid } from '../../protocol/uuid.js';
import { requireMatch, type SchemaDifference, SchemaMismatchError } from '../schema-mismatch.js';
import { registerFunctions } from './functions.js';
import { addMissing } from './schema-additions.js';
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

/** What a refusal of a database of this server's ends with. */
const advice = `Copy the database before you change it. Tables, indexes and columns that may be empty are added by the server itself; everything else is changed by hand, with the SQL above where there is some. Where there is none, a table is made anew: https://www.sqlite.org/lang_altertable.html#otheralter. The columns beside texts and vectors (__folded_…) are filled at the next start.`;

const foreignAdvice =
  'No server has made this database, since its table "__datastore" is missing: nothing is added to it. DATABASE_URL may name another one, or a file that is not there yet.';

/**
 * Creates the schema in an empty database; adds what is missing in one that a server has made, all or nothing. Nothing is ever
 * dropped or changed.
 * @param statements the model's schema, one SQL statement each
 * @param fold how the datastore compares texts
 * @returns what was added to tables that were there, in words
 * @throws SchemaMismatchError with every difference, when there are others
 */
export function prepareSchema(
  database: Database.Database,
  statements: readonly string[],
  fold: Fold,
): readonly string[] {
  const all = [datastoreTable, entitySetTable, ...statements];
  // Another process may start on the same empty file at the same time.
  const isCreated = database
    .transaction(() => {
      if (!isEmpty(database)) return false;
      create(database, all);
      return true;
    })
    .immediate();
  if (isCreated) return [];
  // A database that was found to match is not compared again until its schema or the model's changes.
  if (knownStamp(database) === stampOf(database, all)) return [];
  return database
    .transaction(() => {
      const added = withExpected(all, fold, (expected) => adapt(database, expected));
      remember(database, stampOf(database, all));
      return added;
    })
    .immediate();
}

/** Has a look at the schema that the model wants, in a database of its own. */
function withExpected<T>(
  statements: readonly string[],
  fold: Fold,
  use: (expected: Database.Database) => T,
): T {
  const expected = new Database(':memory:');
  try {
    registerFunctions(expected, fold);
    for (const statement of statements) expected.exec(statement);
    return use(expected);
  } finally {
    expected.close();
  }
}

/**
 * @returns what was added
 * @throws SchemaMismatchError with every difference, when something cannot be added
 */
function adapt(database: Database.Database, expected: Database.Database): readonly string[] {
  const differences = schemaDifferences(expected, database);
  if (!isOurs(database)) {
    throw new SchemaMismatchError({
      differences: differences.map((each) => withoutOwnStatement(each)),
      advice: foreignAdvice,
    });
  }
  const { added, refused } = addMissing(expected, database);
  const after = schemaDifferences(expected, database);
  requireMatch({ before: differences, after, refused }, advice);
  return added;
}

/** The tables of the server itself hold what only a server writes into them. */
function withoutOwnStatement({ what, remedy }: SchemaDifference): SchemaDifference {
  return what.startsWith('table "__') || remedy === undefined ? { what } : { what, remedy };
}

function isOurs(database: Database.Database): boolean {
  const text = "select 1 from sqlite_schema where type = 'table' and name = '__datastore'";
  return database.prepare(text).get() !== undefined;
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

/**
 * Tells both schemas: the one that the model wants, and the one that is there. A table that was made anew may have its former
 * text and other rows, so the number of changes is a part of it.
 */
function stampOf(database: Database.Database, wanted: readonly string[]): string {
  const hash = createHash('sha256');
  for (const statement of wanted) hash.update(statement).update('\0');
  const present = database.prepare('select coalesce(sql, name) from sqlite_schema order by name');
  for (const statement of present.pluck().all()) hash.update(String(statement)).update('\0');
  hash.update(String(database.pragma('schema_version', { simple: true })));
  return hash.digest('hex');
}

function knownStamp(database: Database.Database): unknown {
  if (!isOurs(database)) return undefined;
  return database
    .prepare('select "value" from "__datastore" where "name" = ?')
    .pluck()
    .get('schema');
}

function remember(database: Database.Database, stamp: string): void {
  const text = 'insert or replace into "__datastore" values (?, ?)';
  database.prepare(text).run('schema', stamp);
}
