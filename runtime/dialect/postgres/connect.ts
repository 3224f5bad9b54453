import { Client, type ClientBase, Pool } from 'pg';
import { DatabaseUnavailableError } from '../executor.js';
import { ConnectionStates, PostgresConnection, type TransactionMode } from './connection.js';
import { takeSlot } from './global-stamp.js';

export interface PoolOptions {
  readonly url: string;
  /** Maximum number of connections. */
  readonly size: number;
  /** Milliseconds that a statement may run; `null` means no limit. */
  readonly queryTimeout: number | null;
  /**
   * Set if a pooler such as PgBouncer assigns a connection for one transaction only:
   * the URL of the database itself, for the start.
   */
  readonly directUrl?: string | undefined;
  /** How long `close` waits for transactions; some seconds by default. */
  readonly graceMilliseconds?: number;
}

/** How long a request waits for a connection, whether all are in use or the database does not respond. */
const longestWaitMilliseconds = 10_000;

/** Maximum number of reads that wait for a connection. */
const mostWaiting = 1_000;

/** An idle connection is closed after this time. */
const idleMilliseconds = 60_000;

/** How long a statement waits for rows that another transaction has locked. */
const lockMilliseconds = 30_000;

/** Keeps a hanging process from holding locks forever. The server itself stops idle class code earlier. */
const idleInTransactionMilliseconds = 120_000;

/**
 * Session settings that fix the text format of values, whatever the database, the user or the URL set.
 * @param schema searched for names, in addition to PostgreSQL's own schema and this session's temporary tables
 */
function sessionSettings(schema: string, queryTimeout: number | null): [string, string][] {
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
    // JIT compilation of an expression costs more than most statements take.
    ['jit', 'off'],
  ];
}

/**
 * Applies the settings in one statement. A session of the pool has a slot, and only transactions can write.
 * @returns the number of the database's process, which a pooler would not tell otherwise
 */
export async function prepareSession(
  client: ClientBase,
  schema: string,
  queryTimeout: number | null,
  isOfPool = false,
): Promise<number> {
  const settings = sessionSettings(schema, queryTimeout);
  settings.push(['default_transaction_read_only', isOfPool ? 'on' : 'off']);
  const calls = settings.map(
    (_, index) => `set_config($${index * 2 + 1}, $${index * 2 + 2}, false)`,
  );
  if (isOfPool) calls.push(takeSlot(literal(schema), 'session'));
  const text = `select pg_backend_pid() as process, ${calls.join(', ')}`;
  const { rows } = await client.query<{ readonly process: number }>(text, settings.flat());
  return (rows[0] as { readonly process: number }).process;
}

/**
 * Begins a transaction whose settings are those of {@link prepareSession}, and end with it: a pooler
 * may use another connection for the next one. It is one message without placeholders; PostgreSQL
 * runs nothing of it after an error.
 */
function beginningOf(
  schema: string,
  queryTimeout: number | null,
): (mode: TransactionMode) => string {
  const calls = sessionSettings(schema, queryTimeout).map(
    ([name, value]) => `set_config(${literal(name)}, ${literal(value)}, true)`,
  );
  const slot = takeSlot(literal(schema), 'transaction');
  const settings: Readonly<Record<TransactionMode, string>> = {
    'read only': `select ${calls.join(', ')}`,
    'read write': `select ${[...calls, slot].join(', ')}`,
  };
  return (mode) => `begin isolation level read committed ${mode}; ${settings[mode]}`;
}

/** Correct with both values of `standard_conforming_strings`. */
function literal(text: string): string {
  return `E'${text.replaceAll(/['\\]/g, (each) => `\\${each}`)}'`;
}

/** pg's options for each connection of a server. */
export function clientOptions(url: string): {
  readonly connectionString: string;
  readonly fallback_application_name: string;
  readonly keepAlive: true;
  readonly keepAliveInitialDelayMillis: number;
  readonly connectionTimeoutMillis: number;
} {
  return {
    connectionString: url,
    fallback_application_name: 'drs-gen',
    // Detects connections that the network dropped silently, within half a minute.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: longestWaitMilliseconds,
  };
}

/**
 * Opens a connection that is not of the pool.
 * @throws DatabaseUnavailableError
 */
export async function openClient(url: string): Promise<Client> {
  const client = new Client(clientOptions(url));
  client.on('error', nothing);
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw unreachable(error);
  }
}

/** The connection pool of a server. It opens connections on demand and replaces broken ones. */
export class PostgresPool {
  readonly #pool: Pool;
  readonly #states = new ConnectionStates();
  private readonly url: string;

  /** How transactions begin; `undefined` where settings of the session last. */
  readonly beginning: ((mode: TransactionMode) => string) | undefined;

  /** @param schema of the tables */
  constructor({ url, size, queryTimeout, directUrl }: PoolOptions, schema: string) {
    this.url = url;
    const isPooled = directUrl !== undefined;
    this.beginning = isPooled ? beginningOf(schema, queryTimeout) : undefined;
    this.#pool = new Pool({
      ...clientOptions(url),
      max: size,
      // Statements are sent without waiting for the answers of those before them.
      pipeline: true,
      idleTimeoutMillis: idleMilliseconds,
      verify: (client, done) => {
        // A connection that breaks in use fails its statement; without a listener, the event would end the process.
        client.on('error', nothing);
        if (isPooled) {
          done();
          return;
        }
        prepareSession(client, schema, queryTimeout, true).then((process) => {
          this.#states.of(client).process = process;
          done();
        }, done);
      },
    });
    // The pool drops an idle connection that breaks.
    this.#pool.on('error', nothing);
  }

  /** @throws DatabaseUnavailableError if no connection is free within some seconds, or too many requests wait */
  take(): Promise<PostgresConnection> {
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
        else resolve(new PostgresConnection(client, this.#states.of(client), this.beginning));
      });
    });
  }

  /**
   * Cancels what a connection runs, from outside of the pool, whose connections may all be in use.
   * Where a pooler lends a connection for each transaction, its process is not known, and it runs on.
   */
  async cancel(connection: PostgresConnection): Promise<void> {
    const process = connection.takeProcess();
    if (process === undefined) return;
    const client = await openClient(this.url);
    try {
      if (!connection.isReleased) await client.query('select pg_cancel_backend($1)', [process]);
    } finally {
      await client.end();
    }
  }

  /** Closes idle connections and waits until the others are released. */
  end(): Promise<void> {
    return this.#pool.end();
  }
}

/** @param error of pg, for a connection that failed or timed out */
function unreachable(error: unknown): DatabaseUnavailableError {
  const message = error instanceof Error ? error.message : '';
  return new DatabaseUnavailableError(
    message.startsWith('timeout exceeded')
      ? 'all connections to the database are in use'
      : 'the database cannot be reached',
    error,
  );
}

function nothing(): void {
  // The caller that uses the connection gets the error.
}
