import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Fold } from '../../../protocol/fold.js';
import { type SchemaChange, schemaChanges } from '../../schema/changes.js';
import { type DataOptions, migrateData, noteData, planData } from '../../schema/migrate-data.js';
import { decide, missingIn, neededByNewer, type Outcome } from '../../schema/rules.js';
import type { SchemaShape } from '../../schema/shape.js';
import {
  advice,
  foreignDatabase,
  type JournalEntry,
  journalQuery,
  newerThan,
  notReported,
  readJournal,
  refuse,
  requireAsItIs,
  requireUsable,
  wordsOf,
} from '../../schema/start.js';
import { SchemaMismatchError } from '../../schema-mismatch.js';
import { schemaHash, type StartOptions } from '../../schema-version.js';
import { refusalOf } from '../errors.js';
import { cannotOpen, type Prepare, type SqliteConnections } from '../open.js';
import { SqliteSchema, type WantedSchema } from '../schema.js';
import { applyChanges, columnAddition, type WantedDatabase } from './apply-changes.js';
import { createAudits, dropAudits, missingAudits } from './audits.js';
import { fillDerivedColumns } from './derived-columns.js';
import { MigratedFile, wholeDatabase } from './migrated-file.js';
import { lowerAscii, readShape, statementOf, withSchema } from './shape.js';

export { copyDatabase } from './copy.js';

/** What the model wants of a file, and how. */
export interface Adapted extends WantedSchema {
  readonly path: string;
  readonly fold: Fold;
  readonly migration: StartOptions;
  readonly data: DataOptions;
  readonly log: ((words: string) => void) | undefined;
}

/** The findings of a start, in words. */
interface SchemaReport {
  /** What it changed and what is unused. */
  readonly changes: readonly string[];
  /** Whole sentences. */
  readonly remarks: readonly string[];
}

const nothing: SchemaReport = { changes: [], remarks: [] };

/**
 * Opens a database after it has been brought to the model: first its data, then its schema, which is created in an
 * empty one.
 * @param open opens the connections of the server after a preparation of the database
 * @returns the connections, and what was changed, in words
 * @throws SchemaMismatchError with every difference that cannot be resolved, and SchemaPendingError if another
 * server has to resolve it
 */
export async function openAdapted(
  wanted: Adapted,
  open: (prepare: Prepare) => Promise<SqliteConnections>,
): Promise<{ readonly connections: SqliteConnections; readonly added: readonly string[] }> {
  const { data, fold, migration, log, statements } = wanted;
  const hash = schemaHash(statements);
  const wasThere = await withMigrated(wanted, (file) =>
    migrateData(file, { ...data, hash, fold, migration, log }),
  );
  let report = nothing;
  const connections = await open((database) => {
    const start = performance.now();
    data.trial?.begin();
    report = adaptSchema(database, wanted);
    if (data.trial === undefined || report.changes.length === 0) return;
    data.trial.locked(wholeDatabase, performance.now() - start);
    data.trial.done('The changes of the schema, in one transaction');
  });
  try {
    await withMigrated(wanted, (file) => noteData(file, wasThere === true, data));
  } catch (error) {
    connections.reader.close();
    connections.writer.close();
    throw error;
  }
  for (const each of report.remarks) log?.(each);
  return { connections, added: report.changes };
}

/** Describes what migrations would do to the data; changes nothing. */
export async function planMigrations(
  file: Pick<Adapted, 'path' | 'statements' | 'fold' | 'data'>,
): Promise<readonly string[]> {
  const { data, fold } = file;
  return (await withMigrated(file, (database) => planData(database, data, fold))) ?? [];
}

/** Opens a separate connection to an existing file: a database in memory is always new. */
async function withMigrated<T>(
  { path, statements, fold, data }: Pick<Adapted, 'path' | 'statements' | 'fold' | 'data'>,
  use: (file: MigratedFile) => Promise<T>,
): Promise<T | undefined> {
  if (path === ':memory:' || statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    return undefined;
  }
  let file: MigratedFile | undefined;
  try {
    file = new MigratedFile(path, statements, fold, data.trial);
    return await use(file);
  } catch (error) {
    throw cannotOpen(path, error);
  } finally {
    file?.close();
  }
}

/** Migrates the schema in one transaction, or creates it in an empty database. */
function adaptSchema(database: Database.Database, wanted: Adapted): SchemaReport {
  const start = new Adaptation(database, wanted);
  if (start.schema.isStamped) return nothing;
  if (wanted.migration.mode !== 'auto') return start.takeAsItIs();
  // The setting cannot change within a transaction; rebuilding a table drops the old one.
  database.pragma('foreign_keys = OFF');
  try {
    return database.transaction(() => start.prepare()).immediate();
  } finally {
    database.pragma('foreign_keys = ON');
  }
}

class Adaptation {
  readonly schema: SqliteSchema;

  constructor(
    private readonly database: Database.Database,
    private readonly wanted: Adapted,
  ) {
    this.schema = new SqliteSchema(database, wanted);
  }

  /** A server that must not change the schema accepts a compatible one. */
  takeAsItIs(): SchemaReport {
    const { needed, hash } = this.schema;
    const missing = withSchema(needed, this.wanted.fold, (wanted) => [
      ...missingIn(readShape(this.database), readShape(wanted)),
      ...missingAudits(this.database, wanted),
    ]);
    const isInJournal = this.#journal().some((each) => each.hash === hash);
    requireAsItIs(missing, this.wanted.migration, isInJournal);
    return nothing;
  }

  /** @throws SchemaMismatchError if a change is refused; nothing changes then */
  prepare(): SchemaReport {
    const { schema } = this;
    if (schema.isEmpty) {
      schema.create();
      return nothing;
    }
    // Another process may have started at the same time.
    if (schema.isStamped) return nothing;
    return withSchema(schema.statements, this.wanted.fold, (database) =>
      this.#adapt({ database, shape: readShape(database) }),
    );
  }

  #adapt(wanted: WantedDatabase): SchemaReport {
    const { database, schema } = this;
    const actual = readShape(database);
    if (!schema.hasTable('__datastore')) {
      const statementFor = (name: string): string => statementOf(wanted.database, name);
      throw foreignDatabase(schemaChanges(actual, wanted.shape), {
        table: statementFor,
        column: (table, column) => columnAddition(wanted, table, column),
        index: statementFor,
      });
    }
    const journal = this.#journal();
    const newer = newerThan(schema.hash, journal);
    if (newer !== undefined) return this.#startOlder(wanted, actual, newer);
    const decided = this.#decided(actual, wanted.shape);
    const outcomes = decided.map(({ outcome }) => outcome);
    refuse(outcomes);
    const changes = decided.flatMap(({ change, outcome }) =>
      outcome.kind === 'apply' ? [change] : [],
    );
    const planned = { actual, changes, trial: this.wanted.data.trial };
    // A change of a column fails while a trigger names it, and fills of columns are no changes of entities.
    const former = dropAudits(database);
    const { refused, filled } = applyChanges(database, wanted, planned);
    if (refused.length > 0) throw new SchemaMismatchError({ differences: refused, advice });
    const audits = createAudits(database, wanted.database, former);
    // A different default is no reason to rebuild a table: the server stores defaults itself.
    const reported = decided.filter(({ change }) => change.kind !== 'changeDefault');
    const done = [
      ...wordsOf(
        'apply',
        reported.map(({ outcome }) => outcome),
      ),
      ...filled,
      ...audits,
    ];
    const unused = wordsOf('keep', outcomes);
    if (done.length > 0 || journal.at(-1)?.hash !== schema.hash) {
      schema.enterInJournal([...done, ...unused]);
    }
    schema.remember();
    return { changes: [...done, ...notReported(unused, journal)], remarks: [] };
  }

  #decided(
    actual: SchemaShape,
    wanted: SchemaShape,
  ): readonly { readonly change: SchemaChange; readonly outcome: Outcome }[] {
    const decisions = decide(actual, wanted, {
      keep: this.wanted.migration.keep,
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

  /** A database of an earlier runtime has no journal. */
  #journal(): readonly JournalEntry[] {
    if (!this.schema.hasTable('__schema')) return [];
    const rows = this.database.prepare(journalQuery).all();
    return readJournal(rows as Parameters<typeof readJournal>[0]);
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
