import {
  type SchemaDifference,
  SchemaMismatchError,
  SchemaPendingError,
} from '../schema-mismatch.js';
import type { StartOptions } from '../schema-version.js';
import type { SchemaChange } from './changes.js';
import type { Outcome } from './rules.js';

/** A version that a server has migrated the database to: a row of `__schema`. */
export interface JournalEntry {
  readonly hash: string;
  /** The time, in the format of the protocol's dates. */
  readonly time: string;
  /** In words. */
  readonly changes: readonly string[];
}

/** Reads the rows of the journal. */
export function readJournal(
  rows: readonly Readonly<Record<'hash' | 'time' | 'changes', string>>[],
): readonly JournalEntry[] {
  return rows.map((row) => ({ ...row, changes: JSON.parse(row.changes) as readonly string[] }));
}

export const journalQuery = 'select "hash", "time", "changes" from "__schema" order by "position"';

/** An unused part is reported once, however many rows it has later. */
export function notReported(
  unused: readonly string[],
  journal: readonly JournalEntry[],
): readonly string[] {
  // The number changes with rows, and only the start that adds a column says what it may have been called.
  const withoutDetails = (words: string): string =>
    words.replace(/ with \d+ /, ' ').replace(/\. If the attribute of .*$/s, '');
  const reported = new Set(journal.at(-1)?.changes.map(withoutDetails));
  return unused.filter((each) => !reported.has(withoutDetails(each)));
}

/** The entry of a newer model to which the database was migrated, if `hash` is an older one. */
export function newerThan(
  hash: string,
  journal: readonly JournalEntry[],
): JournalEntry | undefined {
  const newest = journal.at(-1);
  const isKnown = journal.some((each) => each.hash === hash);
  return isKnown && newest?.hash !== hash ? newest : undefined;
}

/** The end of a refusal in which every difference has a remedy. */
export const advice =
  'Each difference is followed by its remedy. Copy the database before you change it by hand. Then start the server again.';

/** Remarks of an older server that uses a newer database. @throws SchemaMismatchError if something is missing */
export function requireUsable(
  missing: readonly string[],
  newer: JournalEntry,
  needed: readonly string[],
): readonly string[] {
  if (missing.length > 0) {
    throw mismatch(
      missing,
      `A server of a newer model has changed the database at ${newer.time}, and something that this older one needs is missing. Start the newer server again, or this one on an earlier copy of the database.`,
    );
  }
  return [
    `This server is older: another one migrated the database to a newer model at ${newer.time}.`,
    ...needed.map(
      (column) =>
        `An older server cannot add rows without a value that it does not know: ${column}.`,
    ),
  ];
}

/**
 * A server that must not change the schema accepts a compatible one.
 * @throws SchemaMismatchError, or SchemaPendingError if another server has to migrate it first
 */
export function requireAsItIs(
  missing: readonly string[],
  { mode }: StartOptions,
  isInJournal: boolean,
): void {
  if (missing.length === 0 && (mode === 'off' || isInJournal)) return;
  if (mode === 'off') {
    throw mismatch(
      missing,
      'MIGRATE is off: this server changes no schema. Start it once with MIGRATE=auto.',
    );
  }
  const list = missing.length === 0 ? '' : ` (${missing.join('; ')})`;
  throw new SchemaPendingError(
    `MIGRATE is check: the server waits until another one has migrated the database to this model${list}.`,
  );
}

function mismatch(missing: readonly string[], words: string): SchemaMismatchError {
  return new SchemaMismatchError({ differences: missing.map((what) => ({ what })), advice: words });
}

/** The SQL that adds a part of the schema. */
export interface Additions {
  readonly table: (table: string) => string;
  readonly column: (table: string, column: string) => string;
  /** Absent if that of a table includes it. */
  readonly index?: (index: string) => string;
}

/** Refuses a database that no server created; only a server writes into the server's own tables. */
export function foreignDatabase(
  changes: readonly SchemaChange[],
  additions: Additions,
  hint = '',
): SchemaMismatchError {
  const differences = changes.flatMap((change): SchemaDifference[] => {
    const table = `table "${change.table}"`;
    if (change.kind === 'addTable') {
      const what = `${table} is missing`;
      const isOwn = change.table.startsWith('__');
      return [isOwn ? { what } : { what, remedy: `${additions.table(change.table)};` }];
    }
    if (change.kind === 'addColumn') {
      const { name } = change.column;
      const remedy = `${additions.column(change.table, name)};`;
      return [{ what: `${table}: column "${name}" is missing`, remedy }];
    }
    if (change.kind !== 'addIndex' || additions.index === undefined) return [];
    const { name } = change.index;
    return [{ what: `${table}: index "${name}" is missing`, remedy: `${additions.index(name)};` }];
  });
  return new SchemaMismatchError({
    differences,
    advice: `No server created this database, because its table "__datastore" is missing, so this server does not change it. Set DATABASE_URL to another database, or to a file that does not exist yet.${hint}`,
  });
}

/** @throws SchemaMismatchError if a change is refused; nothing is changed then */
export function refuse(outcomes: readonly Outcome[]): void {
  const differences = outcomes.filter((each) => each.kind === 'refuse');
  if (differences.length === 0) return;
  const additions = wordsOf('apply', outcomes).map((what) => ({ what }));
  throw new SchemaMismatchError({ differences, additions, advice });
}

/** Whether changes of a table are recorded from now on, in words. */
export function auditWords(table: string, isRecorded: boolean): string {
  return isRecorded
    ? `changes of table "${table}" are recorded as the model says`
    : `changes of table "${table}" are no longer recorded; the entries stay in "__audit"`;
}

export function wordsOf(kind: 'apply' | 'keep', outcomes: readonly Outcome[]): readonly string[] {
  return outcomes.flatMap((each) => (each.kind === kind ? [each.words] : []));
}
