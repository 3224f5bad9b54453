import { type ClientBase, Pool, type PoolClient } from 'pg';
import { DatabaseUnavailableError } from '../executor.js';

export interface PoolOptions {
  readonly url: string;
  /** Connections at once. */
  readonly size: number;
  /** Milliseconds that a statement may run; `null` means no limit. */
  readonly queryTimeout: number | null;
  /** How long the end waits for transactions; some seconds when left out. */
  readonly graceMilliseconds?: number;
}

/** How long a request waits for a connection, be it that others have all of them or that the database does not answer. */
const longestWaitMilliseconds = 10_000;

/** Reads that may wait for a connection. */
const mostWaiting = 1_000;

/** A connection that nobody needs is ended after this long. */
const idleMilliseconds = 60_000;

/** How long a statement waits for rows that another transaction has changed. */
const lockMilliseconds = 30_000;

/**
 * How long the database keeps an open transaction that sends nothing: a process that hangs must not hold rows for ever. Class
 * code that does nothing is stopped earlier by the server itself.
 */
const idleInTransactionMilliseconds = 120_000;

/**
 * What a session is told about the texts that come and go, whatever the database, its user or the URL say otherwise.
 * @param schema the only place where names are looked up, beside PostgreSQL's own and this session's own tables
 */
function sessionSettings(
  schema: string,
  queryTimeout: number | null,
): readonly (readonly [string, string])[] {
  return [
    ['search_path', `"${schema.replaceAll('"', '""')}", pg_temp`],
    ['standard_conforming_strings', 'on'],
    ['client_min_messages', 'warning'],
    ['timezone', 'UTC'],
    ['datestyle', 'ISO, YMD'],
    ['intervalstyle', 'postgres'],
    ['bytea_output', 'hex'],
    ['extra_float_digits', '1'],
    ['default_transaction_isolation', 'read committed'],
    ['default_transaction_deferrable', 'off'],
    ['statement_timeout', String(queryTimeout ?? 0)],
    ['lock_timeout', String(lockMilliseconds)],
    ['idle_in_transaction_session_timeout', String(idleInTransactionMilliseconds)],
    // Compiling an expression costs more than most statements take.
    ['jit', 'off'],
  ];
}

/** Gives a session its settings, in one statement. */
export async function prepareSession(
  client: ClientBase,
  schema: string,
  queryTimeout: number | null,
): Promise<void> {
  const settings = sessionSettings(schema, queryTimeout);
  const calls = settings.map(
    (_, index) => `set_config($${index * 2 + 1}, $${index * 2 + 2}, false)`,
  );
  await client.query(`select ${calls.join(', ')}`, settings.flat());
}

/** What pg is told for each connection of a server. */
export function clientOptions(url: string): {
  readonly connectionString: string;
  readonly fallback_application_name: string;
  readonly keepAlive: true;
  readonly connectionTimeoutMillis: number;
} {
  return {
    connectionString: url,
    fallback_application_name: 'drs-gen',
    // A connection that a network has lost without a word is noticed.
    keepAlive: true,
    connectionTimeoutMillis: longestWaitMilliseconds,
  };
}

/** The connections of a server. They are made as they are needed, and anew when they broke. */
export class Connections {
  readonly #pool: Pool;

  /** @param schema where the tables are */
  constructor({ url, size, queryTimeout }: PoolOptions, schema: string) {
    this.#pool = new Pool({
      ...clientOptions(url),
      max: size,
      idleTimeoutMillis: idleMilliseconds,
      verify: (client, done) => {
        // One that breaks while it is used fails what uses it; without a listener it would end the process.
        client.on('error', nothing);
        prepareSession(client, schema, queryTimeout).then(() => {
          done();
        }, done);
      },
    });
    // One that breaks while nobody uses it is forgotten by the pool.
    this.#pool.on('error', nothing);
  }

  /** @throws DatabaseUnavailableError when there is none within some seconds, or too many wait already */
  take(): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      if (this.#pool.ending) {
        reject(new DatabaseUnavailableError('the database is closed', undefined));
        return;
      }
      if (this.#pool.waitingCount >= mostWaiting) {
        reject(new DatabaseUnavailableError('too many requests wait for the database', undefined));
        return;
      }
      this.#pool.connect((error, client) => {
        if (client === undefined) reject(unreachable(error));
        else resolve(client);
      });
    });
  }

  /** Ends those that nobody uses, and waits for the others to be released. */
  end(): Promise<void> {
    return this.#pool.end();
  }
}

/** @param error pg's, of a connection that could not be made, or not soon enough */
export function unreachable(error: unknown): DatabaseUnavailableError {
  const message = error instanceof Error ? error.message : '';
  return new DatabaseUnavailableError(
    message.startsWith('timeout exceeded')
      ? 'all connections to the database are in use'
      : 'the database cannot be reached',
    error,
  );
}

function nothing(): void {
  // Whoever uses the connection is told.
}
