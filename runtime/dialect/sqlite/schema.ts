import type Database from 'better-sqlite3';
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
  notReported,
  refuse,
  schemaHash,
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
import { lowerAscii, readShape, statementOf, withSchema } from './shape.js';
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
interface ModelSchema {
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
  const start = new SqliteSchemaStart(database, schema, migration);
  // A stamp marks a database that matched: it is compared again only when its schema or the model changes.
  if (start.isStamped) return nothing;
  if (migration.mode !== 'auto') return start.takeAsItIs();
  // The setting cannot change within a transaction; rebuilding a table drops the old one.
  database.pragma('foreign_keys = OFF');
  try {
    return database.transaction(() => start.prepare()).immediate();
  } finally {
    database.pragma('foreign_keys = ON');
  }
}

class SqliteSchemaStart {
  readonly #statements: readonly string[];
  readonly #hash: string;

  constructor(
    private readonly database: Database.Database,
    private readonly schema: ModelSchema,
    private readonly options: StartOptions,
  ) {
    const own = [datastoreTable, entitySetTable, journalTable, ...dataTables];
    this.#statements = [...own, ...schema.statements];
    this.#hash = versionHash(schemaHash(schema.statements), options.migrations);
  }

  get isStamped(): boolean {
    if (!this.#hasTable('__datastore')) return false;
    const text = `select "value" from "__datastore" where "name" = 'schema'`;
    return this.database.prepare(text).pluck().get() === this.#stamp();
  }

  /** A server that must not change the schema accepts a compatible one. */
  takeAsItIs(): SchemaReport {
    const all = [datastoreTable, entitySetTable, ...this.schema.statements];
    const missing = withSchema(all, this.schema.fold, (wanted) =>
      missingIn(readShape(this.database), readShape(wanted)),
    );
    const isInJournal = this.#journal().some(({ hash }) => hash === this.#hash);
    requireAsItIs(missing, this.options, isInJournal);
    return nothing;
  }

  /** @throws SchemaMismatchError if a change is refused; nothing changes then */
  prepare(): SchemaReport {
    const isEmpty =
      "select not exists (select 1 from sqlite_schema where name not like 'sqlite\\_%' escape '\\')";
    if (this.database.prepare(isEmpty).pluck().get() === 1) return this.#create();
    // Another process may have started at the same time.
    if (this.isStamped) return nothing;
    return withSchema(this.#statements, this.schema.fold, (wanted) =>
      this.#adapt({ database: wanted, shape: readShape(wanted) }),
    );
  }

  #create(): SchemaReport {
    for (const statement of this.#statements) this.database.exec(statement);
    const insert = this.database.prepare('insert into "__datastore" values (?, ?)');
    insert.run('globalStamp', 0n);
    insert.run('uniqueID', newUuid());
    this.#enterInJournal(['the schema is created']);
    this.#remember();
    return nothing;
  }

  #adapt(wanted: WantedDatabase): SchemaReport {
    const { database } = this;
    const actual = readShape(database);
    if (!this.#hasTable('__datastore')) {
      const statementFor = (name: string): string => statementOf(wanted.database, name);
      throw foreignDatabase(schemaChanges(actual, wanted.shape), {
        table: statementFor,
        column: (table, column) => columnAddition(wanted, table, column),
        index: statementFor,
      });
    }
    const journal = this.#journal();
    const newer = newerThan(this.#hash, journal);
    if (newer !== undefined) return this.#startOlder(wanted, actual, newer);
    const decided = this.#decided(actual, wanted.shape);
    const outcomes = decided.map(({ outcome }) => outcome);
    refuse(outcomes);
    const changes = decided.flatMap(({ change, outcome }) =>
      outcome.kind === 'apply' ? [change] : [],
    );
    const planned = { actual, changes, trial: this.schema.trial };
    const { refused, filled } = applyChanges(database, wanted, planned);
    if (refused.length > 0) throw new SchemaMismatchError({ differences: refused, advice });
    // A different default is no reason to rebuild a table: the server stores defaults itself.
    const reported = decided.filter(({ change }) => change.kind !== 'changeDefault');
    const done = [
      ...wordsOf(
        'apply',
        reported.map(({ outcome }) => outcome),
      ),
      ...filled,
    ];
    const unused = wordsOf('keep', outcomes);
    if (done.length > 0 || journal.at(-1)?.hash !== this.#hash) {
      this.#enterInJournal([...done, ...unused]);
    }
    this.#remember();
    return { changes: [...done, ...notReported(unused, journal)], remarks: [] };
  }

  #decided(
    actual: SchemaShape,
    wanted: SchemaShape,
  ): readonly { readonly change: SchemaChange; readonly outcome: Outcome }[] {
    const decisions = decide(actual, wanted, {
      keep: this.options.keep,
      derived: (column, source) =>
        /^__(?:folded|unaccented)_/.test(column) ? `drs_fold(${source})` : source,
    });
    return decisions.map(({ change, count, outcome }) => ({
      change,
      outcome: sameName(change, actual) ?? outcome(this.#count(count)),
    }));
  }

  /** Counts that are not possible yet are checked when the change is made. */
  #count(count: string | undefined): number {
    let found = 0;
    if (count === undefined) return found;
    refusalOf(() => (found = Number(this.database.prepare(count).pluck().get())));
    return found;
  }

  /** An older server only fills the derived columns of its own comparisons, which the newer one may leave empty. */
  #startOlder(wanted: WantedDatabase, actual: SchemaShape, newer: JournalEntry): SchemaReport {
    const missing = missingIn(actual, wanted.shape);
    const remarks = requireUsable(missing, newer, neededByNewer(actual, wanted.shape));
    const { filled, refused } = fillDerivedColumns(wanted.database, this.database);
    if (refused.length > 0) throw new SchemaMismatchError({ differences: refused, advice });
    // Rows of this server lack columns that the newer one fills: remove the stamp so that it checks again.
    this.database.exec(`delete from "__datastore" where "name" = 'schema'`);
    return { changes: filled, remarks };
  }

  #hasTable(name: string): boolean {
    const text = "select 1 from sqlite_schema where type = 'table' and name = ?";
    return this.database.prepare(text).get(name) !== undefined;
  }

  /** A database of an earlier runtime has no journal. */
  #journal(): readonly JournalEntry[] {
    if (!this.#hasTable('__schema')) return [];
    const rows = this.database.prepare(journalQuery).all();
    return readJournal(rows as Parameters<typeof readJournal>[0]);
  }

  #enterInJournal(changes: readonly string[]): void {
    const text = 'insert into "__schema" ("hash", "time", "changes") values (?, ?, ?)';
    this.database.prepare(text).run(this.#hash, new Date().toISOString(), JSON.stringify(changes));
  }

  #remember(): void {
    const text = `insert or replace into "__datastore" values ('schema', ?)`;
    this.database.prepare(text).run(this.#stamp());
  }

  /** Identifies the wanted and the present schema; a rebuilt table may have its former text and other rows. */
  #stamp(): string {
    const text = 'select coalesce(sql, name) from sqlite_schema order by name';
    const present = this.database.prepare(text).pluck().all() as string[];
    const version = String(this.database.pragma('schema_version', { simple: true }));
    const { migrations = [] } = this.options;
    return schemaHash([...this.#statements, ...migrations, ...present, version]);
  }
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
