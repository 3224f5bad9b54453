import Database from 'better-sqlite3';
import { ConstraintError, DatabaseUnavailableError, TooComplexError } from '../executor.js';

const constraintKinds: Readonly<Record<string, ConstraintError['kind']>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_ROWID: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreignKey',
  SQLITE_CONSTRAINT_NOTNULL: 'notNull',
  SQLITE_CONSTRAINT_CHECK: 'check',
};

/** By prefix of SQLite's code, because extended codes append to it. */
const unavailable: readonly (readonly [string, string])[] = [
  ['SQLITE_BUSY', 'the database is locked by another process'],
  ['SQLITE_LOCKED', 'the database is locked'],
  ['SQLITE_FULL', 'the disk is full'],
  ['SQLITE_READONLY', 'the database is read-only'],
  ['SQLITE_IOERR', 'the database cannot be read or written'],
  ['SQLITE_CANTOPEN', 'the database cannot be opened'],
  ['SQLITE_NOMEM', 'the database is out of memory'],
  ['SQLITE_PROTOCOL', 'the database is locked by another process'],
  ['SQLITE_CORRUPT', 'the database is damaged'],
  ['SQLITE_NOTADB', 'the database is damaged'],
];

/** SQLite's limits on the size of a statement have no code of their own. */
const tooComplex =
  /^(?:at most \d+ tables in a join|parser stack overflow|Recursion limit|Expression tree is too large|too many )/;

/** Translates a SQLite error; returns other errors unchanged. */
export function translateError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (!(error instanceof Database.SqliteError)) return error;
  const kind = constraintKinds[error.code];
  if (kind !== undefined) return new ConstraintError(kind, columnOf(error.message), error);
  if (error.code === 'SQLITE_TOOBIG') {
    return new TooComplexError('The answer would be too long: ask for fewer entities.', error);
  }
  if (tooComplex.test(error.message)) {
    const reason = 'The request follows too many relations, or combines too many conditions.';
    return new TooComplexError(reason, error);
  }
  const reason = unavailable.find(([code]) => error.code.startsWith(code))?.[1];
  return reason === undefined ? error : new DatabaseUnavailableError(reason, error);
}

/** SQLite computes generated columns in a change, and an expression may fail on the given values. */
export function translateChangeError(error: unknown): Error {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR'
    ? new ConstraintError('expression', undefined, error)
    : translateError(error);
}

/** From `UNIQUE constraint failed: Company.name`; both names may contain any character. */
function columnOf(message: string): string {
  return message.slice(message.indexOf(': ') + 2);
}

/** Runs a statement that may fail; returns why the data or the schema prevent it. Other errors are thrown. */
export function refusalOf(run: () => void): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    if (error.code.startsWith('SQLITE_CONSTRAINT')) return reasonOf(error.code, error.message);
    if (error.code === 'SQLITE_ERROR') return reasonOf(error.code, error.message);
    throw error;
  }
}

function reasonOf(code: string, message: string): string {
  if (code === 'SQLITE_CONSTRAINT_UNIQUE') return `several rows have the same value (${message})`;
  if (message.startsWith('Cannot add a NOT NULL column')) {
    return 'it is mandatory, and the rows that are there have no value for it';
  }
  return message;
}

/**
 * What to do about a driver whose binary is missing or is for another Node; `undefined` for another
 * error.
 */
export function unusableDriver(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  const reason = error.message.includes('NODE_MODULE_VERSION')
    ? 'was installed for another version of Node'
    : error.message.startsWith('Could not locate the bindings file')
      ? 'has no binary'
      : undefined;
  if (reason === undefined) return undefined;
  return new Error(
    `better-sqlite3 ${reason}, and this server runs on Node ${process.version}. Run: npm rebuild better-sqlite3`,
    { cause: error },
  );
}
