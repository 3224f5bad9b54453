import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Client, DatabaseError } from 'pg';
import { describe } from 'vitest';
import { installedPostgres } from './postgres/binaries.js';
import { type Kept, keeperVariable } from './postgres/keeper.js';

/**
 * URL of an existing server whose user may create databases, for platforms without a PostgreSQL
 * package on npm.
 */
const given = process.env['POSTGRES_TEST_URL'];

/** Whether tests can have a PostgreSQL here. In CI they must. */
export const hasPostgres =
  given !== undefined || installedPostgres() !== undefined || process.env['CI'] !== undefined;

/** A separate database on the PostgreSQL server of this run. */
export interface TestDatabase {
  /** What to put into `DATABASE_URL`. */
  readonly url: string;
  /**
   * Closes its connections and drops it. Databases that remain are removed at the end of the run.
   */
  readonly drop: () => Promise<void>;
}

/**
 * `describe` for tests that need PostgreSQL. Without one the tests are skipped; in CI they fail.
 */
export function describePostgres(name: string, tests: () => void | Promise<void>): void {
  describe.skipIf(!hasPostgres)(name, tests);
}

/**
 * Creates a database, within about ten milliseconds.
 * @param template the database to copy, without open connections; by default the database is empty
 */
export async function postgresDatabase(template = 'template0'): Promise<TestDatabase> {
  const server = await (url ??= serverUrl());
  const name = `drs_gen_test_${randomBytes(8).toString('hex')}`;
  await administrate(server, `create database "${name}" template "${template}"`);
  const own = new URL(server);
  own.pathname = `/${name}`;
  return {
    url: own.href,
    drop: () => administrate(server, `drop database "${name}" with (force)`),
  };
}

/**
 * Databases with the same content: the schema is created once, and copied.
 * @param prepare must close its connections
 * @returns a function that creates one; the next one is created ahead, while the test uses this one
 */
export function postgresCopies(
  prepare: (url: string) => Promise<void>,
): () => Promise<TestDatabase> {
  let next: Promise<TestDatabase> | undefined;
  let template: Promise<string> | undefined;
  const prepared = async (): Promise<string> => {
    const database = await postgresDatabase();
    await prepare(database.url);
    return new URL(database.url).pathname.slice(1);
  };
  const copied = async (): Promise<TestDatabase> =>
    postgresDatabase(await (template ??= prepared()));
  return async () => {
    const database = await (next ?? copied());
    next = copied();
    // The caller who awaits it gets the error.
    next.catch(() => undefined);
    return database;
  };
}

let url: Promise<string> | undefined;

async function serverUrl(): Promise<string> {
  if (given !== undefined) return given;
  const keeper = process.env[keeperVariable];
  if (keeper === undefined) {
    const platform = `${process.platform} ${process.arch}`;
    throw new Error(
      `npm has no PostgreSQL for ${platform}; set POSTGRES_TEST_URL to the URL of one.`,
    );
  }
  const kept = JSON.parse(await text(connect(Number(keeper), '127.0.0.1'))) as Kept;
  if ('error' in kept) throw new Error(kept.error);
  return kept.url;
}

async function administrate(server: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await repeated(() => client.query(statement));
  } finally {
    await client.end();
  }
}

/** PostgreSQL waits five seconds for connections to close, which is too short on slow machines. */
async function repeated(run: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await run();
      return;
    } catch (error) {
      const isInUse = error instanceof DatabaseError && error.code === '55006';
      if (!isInUse || attempt === 12) throw error;
    }
  }
}
