import type { StorageType } from './model.js';

/**
 * The types of SQLite columns: those that the server creates, and those that expressions are checked against. A number's
 * affinity is NUMERIC, so that a whole one is kept and sent without a fraction.
 */
export const sqliteTypes: Readonly<Record<StorageType, string>> = {
  string: 'TEXT',
  uuid: 'TEXT',
  number: 'NUMERIC',
  integer: 'INTEGER',
  // The digits without the point.
  decimal: 'INTEGER',
  boolean: 'INTEGER',
  date: 'TEXT',
  duration: 'INTEGER',
  object: 'TEXT',
  image: 'BLOB',
  blob: 'BLOB',
  vector: 'TEXT',
};
