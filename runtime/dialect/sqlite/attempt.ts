import Database from 'better-sqlite3';

/**
 * Runs a statement in a transaction, which continues even if the statement fails.
 * @param run the statement
 * @returns why the data or the schema prevent it; `undefined` if it succeeded
 * @throws an unrelated error, such as a full disk
 */
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
