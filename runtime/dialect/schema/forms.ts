import type { SchemaDifference } from '../schema-mismatch.js';
import type { MigratedDatabase } from './migration.js';
import { conversionRemedy, keyRemedy } from './rules.js';

/** What the values of a column mean, where its type does not tell: a date, and a date only, are texts. */
export interface ColumnForm {
  readonly table: string;
  readonly column: string;
  /** `date only`, or the type of the attribute. */
  readonly form: string;
  /** Whether it is a key or a foreign key. */
  readonly isKey?: boolean;
}

/** Values of these forms may become others without a change. */
const widening: Readonly<Record<string, readonly string[]>> = {
  uuid: ['string'],
  duration: ['integer'],
  integer: ['duration'],
  image: ['blob'],
};

/** The columns whose values would mean something else than they did when they were written. */
export async function formDifferences(
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

/** The columns of which it is not noted yet what their values are. */
export async function unknownForms(
  database: MigratedDatabase,
  wanted: readonly ColumnForm[],
): Promise<readonly ColumnForm[]> {
  const known = await knownForms(database);
  return wanted.filter(({ table, column, form }) => known.get(keyOf(table, column)) !== form);
}

/** Notes what the values are that are written from now on. */
export async function noteForms(
  database: MigratedDatabase,
  forms: readonly ColumnForm[],
): Promise<void> {
  for (const { table, column, form } of forms) {
    await database.query(
      `INSERT INTO "__form" ("table", "column", "form") VALUES ($1, $2, $3)
        ON CONFLICT ("table", "column") DO UPDATE SET "form" = excluded."form"`,
      [table, column, form],
    );
  }
}

async function knownForms(database: MigratedDatabase): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query(`SELECT "table", "column", "form" FROM "__form"`);
  return new Map(
    rows.map(({ table, column, form }) => [keyOf(String(table), String(column)), String(form)]),
  );
}

function keyOf(table: string, column: string): string {
  return JSON.stringify([table, column]);
}
