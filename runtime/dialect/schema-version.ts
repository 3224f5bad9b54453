import { createHash } from 'node:crypto';
import { type Environment, readSetting } from '../protocol/environment.js';

/** `auto` migrates the schema; `check` waits until another server has done so; `off` uses it as it is. */
type MigrateMode = 'auto' | 'check' | 'off';

export interface StartOptions {
  readonly mode: MigrateMode;
  /** Unused tables that are not a former name of a new one. */
  readonly keep: ReadonlySet<string>;
}

export const usualMigration: StartOptions = { mode: 'auto', keep: new Set() };

/** @throws Error that names `MIGRATE` if its value is invalid */
export function migrateOptions(environment: Environment): StartOptions {
  const mode = readSetting(environment, 'MIGRATE');
  const kept = readSetting(environment, 'MIGRATE_KEEP') ?? '';
  // The name of a table may contain a comma.
  return { mode, keep: new Set([kept, ...kept.split(',').map((each) => each.trim())]) };
}

/** The interval at which a server that must not change the schema checks it again. */
export const waitMilliseconds = 1000;

/** The hash of a model's schema. */
export function schemaHash(statements: readonly string[]): string {
  const hash = createHash('sha256');
  for (const statement of statements) hash.update(statement).update('\0');
  return hash.digest('hex');
}

/** A model that returns to an earlier state with one more migration is a new version. */
export function versionHash(hash: string, migrations: readonly string[] = []): string {
  return migrations.length === 0 ? hash : schemaHash([hash, ...migrations]);
}

/** Tables for facts about the data that no schema holds. */
export const dataTables: readonly string[] = [
  `CREATE TABLE "__form" ("table" text NOT NULL, "column" text NOT NULL, "form" text NOT NULL, PRIMARY KEY ("table", "column"))`,
  `CREATE TABLE "__migration" ("name" text NOT NULL, "step" integer NOT NULL, "position" text, "done" text, PRIMARY KEY ("name", "step"))`,
  `CREATE TABLE "__server" ("id" text PRIMARY KEY NOT NULL, "hash" text NOT NULL, "seen" text NOT NULL)`,
];

/** The meaning of a column's values where its type does not say it: dates and date-only values are both texts. */
export interface ColumnForm {
  readonly table: string;
  readonly column: string;
  /** `date only`, `decimal with scale 2`, or the type of the attribute. */
  readonly form: string;
  /** Whether the column is a key or a foreign key. */
  readonly isKey?: boolean;
}

/** Reads the argument of {@link newForms}. */
export const formsQuery = `SELECT "table", "column", "form" FROM "__form"`;

/** The forms that the rows of `__form` do not hold. */
export function newForms(
  forms: readonly ColumnForm[],
  rows: readonly object[],
): readonly ColumnForm[] {
  const textOf = ({ table, column, form }: Partial<ColumnForm>): string =>
    JSON.stringify([table, column, form]);
  const known = new Set(rows.map(textOf));
  return forms.filter((each) => !known.has(textOf(each)));
}

/** Stores a row of `__form`. */
export const formInsert = `INSERT INTO "__form" ("table", "column", "form") VALUES ($1, $2, $3)
  ON CONFLICT ("table", "column") DO UPDATE SET "form" = excluded."form"`;
