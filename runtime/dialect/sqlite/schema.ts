import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import type { Fold } from '../../protocol/fold.js';
import { newUuid } from '../../protocol/uuid.js';
import { type SchemaChange, schemaChanges } from '../schema/changes.js';
import { decide, missingIn, neededByNewer, type Outcome } from '../schema/rules.js';
import { dataTables } from '../schema/migrate-data.js';
import type { SchemaShape } from '../schema/shape.js';
import type { Trial } from '../schema/trial.js';
import {
  advice,
  type JournalEntry,
  type StartOptions,
  newerThan,
  notTold,
  refuse,
  schemaHash,
  type StoredEntry,
  wordsOf,
  versionHash,
  requireAsItIs,
  requireUsable,
  foreignDatabase,
  readJournal,
  journalQuery,
} from '../schema/start.js';
import { SchemaMismatchError } from '../schema-mismatch.js';
import { applyChanges, columnAddition, type WantedDatabase } from './apply-changes.js';
import { fillDerivedColumns } from './derived-columns.js';
import { registerFunctions } from './functions.js';
import { lowerAscii, readShape, statementOf } from './shape.js';
import { refusalOf } from './errors.js';

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

/** The schema of the model. */
export interface ModelSchema {
  /** One SQL statement each. */
  readonly statements: readonly string[];
  /** How the datastore compares texts. */
  readonly fold: Fold;
  /** Receives the duration of each part of the changes. */
  readonly trial?: Trial | undefined;
}

/** The findings of a start, in words. */
export interface SchemaReport {
  /** What it changed and what is unused. */
  readonly changes: readonly string[];
  /** Whole sentences. */
  readonly remarks: readonly string[];
}

const nothing: SchemaReport = { changes: [], remarks: [] };

/**
 * Migrates a database to the model in one transaction, or creates the schema in an empty one.
 * @throws SchemaMismatchError with every difference that cannot be resolved, and SchemaPendingError if another
 * server has to resolve it
 */
export function prepareSchema(
  database: Database.Database,
  schema: ModelSchema,
  migration: StartOptions,
): SchemaReport {
  const all = [datastoreTable, entitySetTable, journalTable, ...dataTables, ...schema.statements];
  // A stamp marks a database that matched: it is compared again only when its schema or the model changes.
  if (isStamped(database, all, migration)) return nothing;
  if (migration.mode !== 'auto') return takeAsItIs(database, schema, migration);
  // The setting cannot change within a transaction; rebuilding a table drops the old one.
  database.pragma('foreign_keys = OFF');
  try {
    // Another process may start at the same time.
    return database
      .transaction(() => {
        if (isEmpty(database)) return create(database, all, schema, migration);
        if (isStamped(database, all, migration)) return nothing;
        return withWanted(all, schema, (wanted) => adapt(database, wanted, schema, migration));
      })
      .immediate();
  } finally {
    database.pragma('foreign_keys = ON');
  }
}

function isStamped(
  database: Database.Database,
  all: readonly string[],
  { migrations }: StartOptions,
): boolean {
  if (!hasTable(database, '__datastore')) return false;
  return knownStamp(database) === stampOf(database, all, migrations);
}

/** Creates the wanted schema in a temporary database and passes it on. */
function withWanted<T>(
  statements: readonly string[],
  { fold }: ModelSchema,
  use: (wanted: WantedDatabase) => T,
): T {
  const expected = new Database(':memory:');
  try {
    registerFunctions(expected, fold);
    for (const statement of statements) expected.exec(statement);
    return use({ database: expected, shape: readShape(expected), statements });
  } finally {
    expected.close();
  }
}

function create(
  database: Database.Database,
  all: readonly string[],
  { statements }: ModelSchema,
  { migrations }: StartOptions,
): SchemaReport {
  for (const statement of all) database.exec(statement);
  const insert = database.prepare('insert into "__datastore" values (?, ?)');
  insert.run('globalStamp', 0n);
  insert.run('uniqueID', newUuid());
  const hash = versionHash(schemaHash(statements), migrations);
  enterInJournal(database, hash, ['the schema is created']);
  remember(database, all, migrations);
  return nothing;
}

/** @throws SchemaMismatchError if a change is refused; nothing changes then */
function adapt(
  database: Database.Database,
  wanted: WantedDatabase,
  { statements, trial }: ModelSchema,
  { keep, migrations }: StartOptions,
): SchemaReport {
  const actual = readShape(database);
  if (!hasTable(database, '__datastore')) {
    const statementFor = (name: string): string => statementOf(wanted.database, name);
    throw foreignDatabase(schemaChanges(actual, wanted.shape), {
      table: statementFor,
      column: (table, column) => columnAddition(wanted, table, column),
      index: statementFor,
    });
  }
  const hash = versionHash(schemaHash(statements), migrations);
  const journal = journalOf(database);
  const newer = newerThan(hash, journal);
  if (newer !== undefined) return startOlder(database, wanted, actual, newer);
  const decided = decidedChanges(database, actual, wanted, keep);
  const outcomes = decided.map(({ outcome }) => outcome);
  refuse(outcomes);
  const changes = decided
    .filter(({ outcome }) => outcome.kind === 'apply')
    .map(({ change }) => change);
  const { refused, filled } = applyChanges(database, wanted, { actual, changes, trial });
  if (refused.length > 0) throw new SchemaMismatchError({ differences: refused, advice });
  const done = [
    // A different default is no reason to rebuild a table: the server stores defaults itself.
    ...wordsOf(
      'apply',
      decided.filter(({ change }) => change.kind !== 'changeDefault').map(({ outcome }) => outcome),
    ),
    ...filled,
  ];
  const unused = wordsOf('keep', outcomes);
  if (done.length > 0 || journal.at(-1)?.hash !== hash) {
    enterInJournal(database, hash, [...done, ...unused]);
  }
  remember(database, wanted.statements, migrations);
  return { changes: [...done, ...notTold(unused, journal)], remarks: [] };
}

interface Decided {
  readonly change: SchemaChange;
  readonly outcome: Outcome;
}

function decidedChanges(
  database: Database.Database,
  actual: SchemaShape,
  wanted: WantedDatabase,
  keep: ReadonlySet<string>,
): readonly Decided[] {
  const decisions = decide(actual, wanted.shape, {
    keep,
    derived: (column, source) =>
      /^__(?:folded|unaccented)_/.test(column) ? `drs_fold(${source})` : source,
  });
  return decisions.map(({ change, count, outcome }) => ({
    change,
    outcome:
      sameName(change, actual) ?? outcome(count === undefined ? 0 : numberFrom(database, count)),
  }));
}

/** SQLite treats names that differ only in case as the same. */
function sameName(change: SchemaChange, { tables }: SchemaShape): Outcome | undefined {
  const isColumn = change.kind === 'addColumn';
  if (!isColumn && change.kind !== 'addTable') return undefined;
  const name = isColumn ? change.column.name : change.table;
  const columns = tables.find((each) => each.name === change.table)?.columns ?? [];
  const same = (isColumn ? columns : tables).find(
    (each) => lowerAscii(each.name) === lowerAscii(name),
  );
  if (same === undefined) return undefined;
  return {
    kind: 'refuse',
    what: `${isColumn ? `table "${change.table}": column` : 'table'} "${name}" cannot be added, since there is "${same.name}"`,
    remedy: `Add this line to the ${isColumn ? 'attribute' : 'dataclass'} in the model: renamedFrom: ${same.name}`,
  };
}

/** Counts that are not possible yet are checked when the change is made. */
function numberFrom(database: Database.Database, count: string): number {
  let found = 0;
  refusalOf(() => (found = Number(database.prepare(count).pluck().get())));
  return found;
}

/** An older server only fills the derived columns of its own comparisons, which the newer one may leave empty. */
function startOlder(
  database: Database.Database,
  wanted: WantedDatabase,
  actual: SchemaShape,
  newer: JournalEntry,
): SchemaReport {
  const missing = missingIn(actual, wanted.shape);
  const remarks = requireUsable(missing, newer, neededByNewer(actual, wanted.shape));
  const { filled, refused } = fillDerivedColumns(wanted.database, database);
  if (refused.length > 0) throw new SchemaMismatchError({ differences: refused, advice });
  // Rows of this server lack columns that the newer one fills: remove the stamp so that it checks again.
  database.prepare(`delete from "__datastore" where "name" = 'schema'`).run();
  return { changes: filled, remarks };
}

/** A server that must not change the schema accepts a compatible one. */
function takeAsItIs(
  database: Database.Database,
  schema: ModelSchema,
  start: StartOptions,
): SchemaReport {
  const all = [datastoreTable, entitySetTable, ...schema.statements];
  const missing = withWanted(all, schema, ({ shape }) => missingIn(readShape(database), shape));
  const hash = versionHash(schemaHash(schema.statements), start.migrations);
  requireAsItIs(
    missing,
    start,
    journalOf(database).some((each) => each.hash === hash),
  );
  return nothing;
}

function isEmpty(database: Database.Database): boolean {
  const count = database.prepare(
    "select count(*) from sqlite_schema where name not like 'sqlite\\_%' escape '\\'",
  );
  return count.pluck().get() === 0;
}

function hasTable(database: Database.Database, name: string): boolean {
  const text = "select 1 from sqlite_schema where type = 'table' and name = ?";
  return database.prepare(text).get(name) !== undefined;
}

/** A database of an earlier runtime has no journal. */
function journalOf(database: Database.Database): readonly StoredEntry[] {
  if (!hasTable(database, '__schema')) return [];
  return readJournal(database.prepare(journalQuery).all() as Parameters<typeof readJournal>[0]);
}

function enterInJournal(
  database: Database.Database,
  hash: string,
  changes: readonly string[],
): void {
  const text = 'insert into "__schema" ("hash", "time", "changes") values (?, ?, ?)';
  database.prepare(text).run(hash, new Date().toISOString(), JSON.stringify(changes));
}

/** Identifies the wanted and the present schema; a rebuilt table may have its former text and other rows. */
function stampOf(
  database: Database.Database,
  wanted: readonly string[],
  migrations: readonly string[] = [],
): string {
  const hash = createHash('sha256');
  for (const statement of [...wanted, ...migrations]) hash.update(statement).update('\0');
  const present = database.prepare('select coalesce(sql, name) from sqlite_schema order by name');
  for (const statement of present.pluck().all()) hash.update(String(statement)).update('\0');
  hash.update(String(database.pragma('schema_version', { simple: true })));
  return hash.digest('hex');
}

function knownStamp(database: Database.Database): unknown {
  return database
    .prepare('select "value" from "__datastore" where "name" = ?')
    .pluck()
    .get('schema');
}

function remember(
  database: Database.Database,
  all: readonly string[],
  migrations: readonly string[] | undefined,
): void {
  const text = 'insert or replace into "__datastore" values (?, ?)';
  database.prepare(text).run('schema', stampOf(database, all, migrations));
}
