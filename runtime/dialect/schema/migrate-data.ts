import { setTimeout } from 'node:timers/promises';
import type { Fold } from '../../protocol/fold.js';
import { MigrationError, type SchemaDifference, SchemaMismatchError } from '../schema-mismatch.js';
import {
  type ColumnForm,
  dataTables,
  formInsert,
  formsQuery,
  newForms,
  type StartOptions,
  waitMilliseconds,
} from '../schema-version.js';
import type { MigratedDatabase, Migrations } from './migration.js';
import { advice } from './start.js';
import type { Trial } from './trial.js';
import { conversionRemedy, keyRemedy } from './rules.js';

/** What a server knows about its data in addition to their schema. */
export interface DataOptions {
  readonly forms: readonly ColumnForm[];
  /** Absent if `src/migrations` is empty. */
  readonly migrations?: Migrations | undefined;
  /** Whether steps run after which servers of the older model cannot work. */
  readonly withContracts?: boolean;
  /** Set on a copy, on which everything is tried. */
  readonly trial?: Trial | undefined;
}

interface DataStart extends DataOptions {
  /** The hash of the wanted schema. */
  readonly hash: string;
  readonly fold: Fold;
  readonly migration: StartOptions;
  readonly log: ((words: string) => void) | undefined;
}

/**
 * Migrates the data of an existing database as far as that has to happen before its schema changes.
 * @returns whether the database existed
 * @throws MigrationError, and SchemaMismatchError for values whose meaning would change
 */
export async function migrateData(database: MigratedDatabase, start: DataStart): Promise<boolean> {
  if (!(await database.hasTable('__datastore'))) return false;
  await makeTables(database);
  const { migrations, withContracts = false, trial, fold, hash, log } = start;
  if (migrations !== undefined) {
    const tell = (line: string): void => log?.(line);
    if (start.migration.mode === 'auto') {
      const waiting = await migrations.run(database, {
        fold,
        hash,
        withContracts,
        tell,
        trial,
      });
      for (const line of waiting) tell(line);
    } else await untilMigrated(database, migrations, start);
  }
  const differences = await formDifferences(database, start.forms);
  if (differences.length > 0) throw new SchemaMismatchError({ differences, advice });
  return true;
}

/** Describes the open steps. */
export async function planData(
  database: MigratedDatabase,
  { migrations }: DataOptions,
  fold: Fold,
): Promise<readonly string[]> {
  if (migrations === undefined || !(await database.hasTable('__datastore'))) return [];
  await makeTables(database);
  const tell = (): void => undefined;
  return migrations.plan(database, { fold, hash: '', withContracts: true, tell });
}

/** A database of an earlier runtime lacks them. PostgreSQL requires the right to create tables even if they exist. */
async function makeTables(database: MigratedDatabase): Promise<void> {
  for (const statement of dataTables) {
    const name = /"([^"]+)"/.exec(statement)?.[1] ?? '';
    if (await database.hasTable(name)) continue;
    const text = statement.replace('CREATE TABLE', '$& IF NOT EXISTS');
    await database.transaction(() => database.query(text));
  }
}

/** Records the form of the values that are written from now on; the schema exists. */
export async function noteData(
  database: MigratedDatabase,
  wasThere: boolean,
  { forms, migrations }: DataOptions,
): Promise<void> {
  const unknown = newForms(forms, await database.query(formsQuery));
  // A start with nothing to write need not wait for writers.
  if (wasThere && unknown.length === 0) return;
  await database.transaction(async () => {
    if (!wasThere) await migrations?.skip(database);
    for (const { table, column, form } of unknown) {
      await database.query(formInsert, [table, column, form]);
    }
  });
}

/** A server that must not change the schema waits for another one to run the steps. */
async function untilMigrated(
  database: MigratedDatabase,
  migrations: Migrations,
  { migration, log }: DataStart,
): Promise<void> {
  for (let reported = ''; ;) {
    const pending = await migrations.pending(database);
    if (pending.length === 0) return;
    const words = pending.join('; ');
    if (migration.mode === 'off') {
      throw new MigrationError(
        `MIGRATE is off, and these steps of migrations have not run: ${words}. Run: node dist/src/migrate.js`,
      );
    }
    if (words !== reported) log?.(`Waits for another server to run: ${words}`);
    reported = words;
    await setTimeout(waitMilliseconds);
  }
}

/** Forms whose values are valid in another form without a change. */
const widening: Readonly<Record<string, readonly string[]>> = {
  uuid: ['string'],
  duration: ['integer'],
  integer: ['duration'],
  image: ['blob'],
};

/** The columns whose stored values would change their meaning. */
async function formDifferences(
  database: MigratedDatabase,
  wanted: readonly ColumnForm[],
): Promise<readonly SchemaDifference[]> {
  const known = await knownForms(database);
  return wanted.flatMap(({ table, column, form, isKey = false }) => {
    const before = known.get(keyOf(table, column));
    if (before === undefined || before === form || widening[before]?.includes(form) === true) {
      return [];
    }
    return {
      what: `table "${table}": the values of column "${column}" are those of ${before}, the model wants ${form}`,
      remedy: isKey ? keyRemedy : conversionRemedy,
    };
  });
}

async function knownForms(database: MigratedDatabase): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query(formsQuery);
  return new Map(
    rows.map(({ table, column, form }) => [keyOf(String(table), String(column)), String(form)]),
  );
}

function keyOf(table: string, column: string): string {
  return JSON.stringify([table, column]);
}
