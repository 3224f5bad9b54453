import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** An empty place for the tables of a test. */
export interface TestDatabase {
  readonly url: string;
  remove(): Promise<void>;
}

/**
 * Creates a separate schema in the database that `TEST_DATABASE_URL` names.
 * @throws Error if the variable is not set
 */
export async function testDatabase(): Promise<TestDatabase> {
  const { TEST_DATABASE_URL = '' } = process.env;
  if (TEST_DATABASE_URL === '') {
    throw new Error(
      'The tests need a PostgreSQL: set TEST_DATABASE_URL to the URL of a database in which they may make schemas.',
    );
  }
  const schema = `test_${randomBytes(8).toString('hex')}`;
  await run(TEST_DATABASE_URL, `create schema "${schema}"`);
  const url = new URL(TEST_DATABASE_URL);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return {
    url: url.href,
    remove: () => run(TEST_DATABASE_URL, `drop schema "${schema}" cascade`),
  };
}

async function run(url: string, statement: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
