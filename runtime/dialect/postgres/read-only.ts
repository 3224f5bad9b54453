import { DatabaseError } from 'pg';
import type { RawAnswer, Step } from './ask.js';
import { plainStep, type PostgresConnection } from './connection.js';

const begin = plainStep('begin read only');
const rollback = plainStep('rollback');

/** `read_only_sql_transaction` */
const changesSomething = '25006';

/** Runs statements in a transaction that changes nothing, and keeps no setting; answers what the last one gives. */
export async function readOnly(
  connection: PostgresConnection,
  steps: readonly Step[],
): Promise<RawAnswer> {
  try {
    return await connection.run([begin, ...steps, rollback], steps.length);
  } catch (error) {
    await connection.run([rollback], 0);
    throw error;
  }
}

/**
 * Runs a statement that the runtime did not write, and that must not change anything, be it by a function that it calls.
 * @throws Error for a statement that may change something
 */
export async function readTable(connection: PostgresConnection, step: Step): Promise<RawAnswer> {
  try {
    const answer = await readOnly(connection, [step]);
    if (answer.columns.length > 0) return answer;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== changesSomething) throw error;
  }
  throw new Error('A statement that may change something needs a transaction.');
}
