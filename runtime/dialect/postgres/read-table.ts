import { DatabaseError } from 'pg';
import type { RawAnswer, Step } from './ask.js';
import { plainStep, type PostgresConnection } from './connection.js';

const begin = plainStep('begin read only');
const rollback = plainStep('rollback');

/** `read_only_sql_transaction` */
const changesSomething = '25006';

/**
 * Runs a statement that the runtime did not write, and that must not change anything, be it by a function that it calls.
 * @throws Error for a statement that may change something
 */
export async function readTable(connection: PostgresConnection, step: Step): Promise<RawAnswer> {
  try {
    const answer = await connection.run([begin, step, rollback], 1);
    if (answer.columns.length > 0) return answer;
  } catch (error) {
    await connection.run([rollback], 0);
    if (!(error instanceof DatabaseError) || error.code !== changesSomething) throw error;
  }
  throw new Error('A statement that may change something needs a transaction.');
}
