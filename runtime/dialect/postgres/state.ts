import { createHash } from 'node:crypto';
import { type Client, DatabaseError } from 'pg';
import {
  againAfterConflict,
  DatabaseUnavailableError,
  type Rows,
  type Transaction,
} from '../executor.js';
import {
  type Release,
  requireVersion,
  type StateDatabase,
  type StateSchema,
  type StateStatement,
} from '../state-database.js';
import { Slot, type SqlValue, type Statement } from '../statement.js';
import type { Step } from './connection.js';

/** Runs steps on a connection of the pool. */
interface StepRunner {
  readStep(step: Step): Promise<Rows>;
  /** @returns the rows of the last step */
  together(steps: readonly Step[]): Promise<Rows>;
}

/** Opens a connection that is not of the pool. */
type OpenClient = () => Promise<Client>;

const isRead = /^\s*select\b/;

/**
 * The state of all servers that use one schema of a database, in a schema of its own. Every name is
 * qualified, and nothing depends on the session of a connection, so that a pooler can be used.
 */
export class PostgresState implements StateDatabase {
  readonly now = 'cast(extract(epoch from now()) * 1000 as double precision)';
  readonly skipLocked = ' for update skip locked';
  readonly #texts = new Map<string, string>();
  readonly #qualifier: string;
  /** Connections that have a name, or wait for one. */
  readonly #taking = new Set<Client>();

  constructor(
    private readonly runner: StepRunner,
    readonly schema: string,
    private readonly openClient: OpenClient,
  ) {
    this.#qualifier = `${quoted(schema)}.`;
  }

  async run(...statements: readonly StateStatement[]): Promise<Rows> {
    const steps = statements.map(([text, ...values]) => ({ text: this.#text(text), values }));
    const [first] = steps;
    const ask = (): Promise<Rows> =>
      steps.length === 1 && first !== undefined && isRead.test(first.text)
        ? this.runner.readStep(first)
        : this.runner.together(steps);
    // A list of statements is complete in itself, so it can be repeated.
    return againAfterConflict(ask);
  }

  readWithin(transaction: Transaction, [text, ...values]: StateStatement): Promise<Rows> {
    const bindings = values.map((_, at) => new Slot(at));
    const statement: Statement = { sql: this.#text(text), bindings, isOfState: true };
    return Promise.resolve(transaction.rows(statement, values));
  }

  /**
   * A transaction on a connection of its own holds an advisory lock for the name, which works
   * through a pooler, too. PostgreSQL releases it with the connection if the process is killed.
   */
  async take(
    name: string,
    isWaiting: boolean,
    lost: (error: Error) => void,
  ): Promise<Release | undefined> {
    const client = await this.openClient();
    let isReleased = false;
    client.once('end', () => {
      this.#taking.delete(client);
      if (!isReleased) lost(new DatabaseUnavailableError(connectionLost, undefined));
    });
    this.#taking.add(client);
    const release = async (): Promise<void> => {
      isReleased = true;
      await client.end().catch(nothing);
    };
    try {
      await client.query('begin isolation level read committed read only');
      await client.query(asLongAsItTakes);
      const hash = createHash('sha256').update(`${this.schema}\n${name}`).digest();
      const lock = isWaiting ? 'pg_advisory_xact_lock($1), true' : 'pg_try_advisory_xact_lock($1)';
      const { rows } = await client.query<{ taken: boolean }>(`select ${lock} as taken`, [
        String(hash.readBigInt64BE()),
      ]);
      if (rows[0]?.taken === true) return release;
      await release();
      return undefined;
    } catch (error) {
      await release();
      throw new DatabaseUnavailableError(connectionLost, error);
    }
  }

  /** The connections of the pool belong to the database. */
  async close(): Promise<void> {
    await Promise.all([...this.#taking].map((each) => each.end().catch(nothing)));
  }

  #text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const made = text.replaceAll('drs_state.', this.#qualifier);
    this.#texts.set(text, made);
    return made;
  }
}

const connectionLost = 'the connection to the database broke';

/** Overrides limits of the database, the user and the URL. PostgreSQL detects a dead machine in a minute. */
const asLongAsItTakes = `select set_config(name, value, true) from (values ('lock_timeout', '0'),
  ('statement_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('tcp_keepalives_idle', '30'),
  ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')) as wanted (name, value)`;

function nothing(): void {
  // Whoever waits for the connection gets the error.
}

/** PostgreSQL cuts longer names. */
const longestName = 63;

/**
 * The schema for the state of the servers that use a schema: a copy of an application must not know
 * the sessions and locks of the original.
 */
export function stateSchemaOf(schema: string): string {
  if (schema === 'public') return 'drs_state';
  const name = `drs_state_${schema}`;
  if (Buffer.byteLength(name) <= longestName) return name;
  return `drs_state_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
}

/** Servers that start at once take turns; the number means nothing. */
const turn = 4_711_240_119;

/**
 * Creates the tables of the state, or finds them as they should be.
 * @param schema of the application
 * @returns the schema of the state
 * @throws Error with the reason
 */
export async function prepareState(
  client: Client,
  schema: string,
  wanted: StateSchema,
): Promise<string> {
  const name = stateSchemaOf(schema);
  const found = await versionOf(client, name);
  const place = `The schema ${name}`;
  if (found !== undefined) requireVersion(found, wanted, place);
  if (found === wanted.version) return name;
  const own = quoted(name);
  try {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(${turn})`);
    // Another server may have been faster.
    requireVersion((await versionOf(client, name)) ?? 0, wanted, place);
    await client.query(`create schema if not exists ${own}`);
    for (const each of wanted.statements({
      bytes: 'bytea',
      unlogged: 'unlogged',
      hasFunctions: true,
    })) {
      await client.query(each.replaceAll('drs_state.', `${own}.`));
    }
    await client.query(`create table if not exists ${own}.format (version integer not null)`);
    await client.query(`delete from ${own}.format`);
    await client.query(`insert into ${own}.format values ($1)`, [wanted.version]);
    await client.query('commit');
    return name;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `the tables for sessions and other state cannot be created in the schema ${name}: ${reason}. Let an administrator run CREATE SCHEMA ${own} AUTHORIZATION <user>, or set STATE=memory for a single server`,
      { cause: error },
    );
  }
}

/** The state of the servers that use a schema, for a command; none if they keep none. */
export async function stateOn(
  client: Client,
  schema: string,
  wanted: StateSchema,
): Promise<Pick<StateDatabase, 'run'> | undefined> {
  const name = stateSchemaOf(schema);
  const found = await versionOf(client, name);
  if (found === undefined) return undefined;
  requireVersion(found, wanted, `The schema ${name}`);
  return {
    run: async (...statements) => {
      let last: Rows = [];
      for (const [sql, ...values] of statements) {
        const text = sql.replaceAll('drs_state.', `${quoted(name)}.`);
        last = (await client.query<SqlValue[]>({ text, values, rowMode: 'array' })).rows;
      }
      return last;
    },
  };
}

async function versionOf(client: Client, name: string): Promise<number | undefined> {
  const { rows: tables } = await client.query(
    `select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = 'format'`,
    [name],
  );
  if (tables.length === 0) return undefined;
  const own = quoted(name);
  try {
    const { rows } = await client.query<{ version: number }>(`select version from ${own}.format`);
    return rows[0]?.version;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== insufficientPrivilege) throw error;
    throw new Error(
      `the database user may not use the tables for sessions and other state: ${error.message}. Let their owner run GRANT USAGE ON SCHEMA ${own} TO <user>; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${own} TO <user>; or set STATE=memory for a single server`,
      { cause: error },
    );
  }
}

const insufficientPrivilege = '42501';

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
