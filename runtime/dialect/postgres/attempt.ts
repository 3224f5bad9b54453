import { DatabaseError, type ClientBase } from 'pg';

/** Integrity, and what a definition may not be: the classes of errors that the data or the schema that is there explains. */
const explained = /^(?:23|42|0A|22|54)/;

/**
 * Runs a piece of a transaction, which goes on whatever becomes of it.
 * @returns why the data or the schema that is there does not let it; `undefined` when it has run
 * @throws what has nothing to do with them, such as a lost connection
 */
export async function refusalOf(
  client: ClientBase,
  run: () => Promise<unknown>,
): Promise<string | undefined> {
  await client.query('savepoint "addition"');
  try {
    await run();
    await client.query('release savepoint "addition"');
    return undefined;
  } catch (error) {
    if (!(error instanceof DatabaseError) || !explained.test(error.code ?? '')) throw error;
    await client.query('rollback to savepoint "addition"');
    return reasonOf(error);
  }
}

function reasonOf({ code, message }: DatabaseError): string {
  if (code === '23505') return `several rows have the same value (${message})`;
  if (code === '23502') return 'it is mandatory, and the rows that are there have no value for it';
  return message;
}
