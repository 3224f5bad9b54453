import { mostDigits } from '../../runtime/protocol/decimal.js';
import type { StorageAttribute, StorageType } from './model.js';

/** Texts are compared by their bytes, as they are in SQLite, whatever the language of the database is. */
export const postgresText = 'text COLLATE "C"';

/**
 * The type of a PostgreSQL column. The precision of a decimal is a rule, as the length of a text is:
 * servers of a model with another precision can use the column.
 */
export function postgresType({ type, scale = 0 }: StorageAttribute): string {
  return type === 'decimal'
    ? `numeric(${String(mostDigits)},${String(scale)})`
    : postgresTypes[type];
}

/** Values have the form that they have in SQLite, too, except decimals. */
const postgresTypes: Readonly<Record<Exclude<StorageType, 'decimal'>, string>> = {
  string: postgresText,
  uuid: postgresText,
  number: 'double precision',
  integer: 'bigint',
  boolean: 'smallint',
  date: postgresText,
  duration: 'bigint',
  object: 'text',
  image: 'bytea',
  blob: 'bytea',
  vector: 'text',
};
