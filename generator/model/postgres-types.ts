import type { StorageType } from './model.js';

/** Texts are compared by their bytes, as they are in SQLite, whatever the language of the database is. */
export const postgresText = 'text COLLATE "C"';

/** The types of PostgreSQL columns; values have the form that they have in SQLite, too. */
export const postgresTypes: Readonly<Record<StorageType, string>> = {
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
