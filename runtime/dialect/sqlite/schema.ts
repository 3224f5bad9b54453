import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import { newUuid } from '../../protocol/uuid.js';
import { registerFunctions } from './functions.js';
import { schemaDifferences } from './schema-differences.js';

/** The start is stopped: the database was made for another model, or by somebody else. */
export class SchemaMismatchError extends Error {
  constructor(readonly differences: readonly string[]) {
    super(
      [
        'The database does not match the model. Nothing was changed. Differences:',
        ...differences.map((each) => `  - ${each}`),
      ].join('\n'),
    );
  }
}

/** One row for each thing that the datastore remembers about itself. */
const datastoreTable = `CREATE TABLE "__datastore" (
  "name" TEXT PRIMARY KEY NOT NULL,
  "value" NOT NULL
) WITHOUT ROWID`;

/**
 * Creates the schema in an empty database; compares it with what is there otherwise. Nothing is ever dropped or altered.
 * @param statements the model's schema, one SQL statement each
 * @throws SchemaMismatchError with every difference
 */
export function prepareSchema(database: Database.Database, statements: readonly string[]): void {
  const all = [datastoreTable, ...statements];
  const fingerprint = createHash('sha256').update(all.join(';\n')).digest('hex');
  if (isEmpty(database)) {
    create(database, all, fingerprint);
    return;
  }
  // A database that was found to match is not compared again until its schema or the model's changes.
  const stamp = `${fingerprint} ${String(database.pragma('schema_version', { simple: true }))}`;
  if (knownStamp(database) === stamp) return;
  const expected = new Database(':memory:');
  try {
    registerFunctions(expected);
    for (const statement of all) expected.exec(statement);
    const differences = schemaDifferences(expected, database);
    if (differences.length > 0) throw new SchemaMismatchError(differences);
  } finally {
    expected.close();
  }
  remember(database, stamp);
}

function isEmpty(database: Database.Database): boolean {
  const count = database.prepare(
    "select count(*) from sqlite_schema where name not like 'sqlite\\_%' escape '\\'",
  );
  return count.pluck().get() === 0;
}

function create(
  database: Database.Database,
  statements: readonly string[],
  fingerprint: string,
): void {
  database.transaction(() => {
    for (const statement of statements) database.exec(statement);
    const insert = database.prepare('insert into "__datastore" values (?, ?)');
    insert.run('globalStamp', 0n);
    insert.run('uniqueID', newUuid());
    const version = String(database.pragma('schema_version', { simple: true }));
    insert.run('schema', `${fingerprint} ${version}`);
  })();
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
