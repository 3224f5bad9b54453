import { Client } from 'pg';
import type { DatabaseCopy, CopyOptions, DatabaseDriver } from '../driver.js';
import { DatabaseUnavailableError, type Executor } from '../executor.js';
import { MigrationError, SchemaMismatchError } from '../schema-mismatch.js';
import { migrateOptions } from '../schema-version.js';
import type { DataOptions } from '../schema/migrate-data.js';
import {
  clientOptions,
  openClient,
  PostgresPool,
  type PoolOptions,
  prepareSession,
} from './connect.js';
import { PostgresExecutor } from './executor.js';
import { hashOf, isCurrent, type WantedSchema } from './schema.js';
import type { Fold } from '../../protocol/fold.js';
import type { Database } from '../database.js';
import type { StateAccess } from '../state-database.js';
import { PostgresState, prepareState, stateOn, stateSchemaOf } from './state.js';
import { postgresDialect } from './dialect.js';
import { expressionFunctions } from './expression-functions.js';
import { postgresFunctions } from './functions.js';
import { type Environment, readSetting } from '../../protocol/environment.js';

/** The oldest supported version. */
const oldestVersion = 15;

export interface Opened {
  readonly executor: Executor;
  readonly state: StateAccess;
  readonly uniqueId: string;
  readonly schemaHash: string;
  /** What the start added to existing tables, in words. */
  readonly added: readonly string[];
}

interface Facts {
  readonly database: string;
  readonly version: string;
  readonly server_encoding: string;
  readonly client_encoding: string;
  readonly schema: string | null;
}

/** Opens a database such as `postgres://user:password@host:5432/name?sslmode=…`, and brings its schema to the model. */
export function openConnections(options: PoolOptions, wanted: WantedSchema): Promise<Opened> {
  const startUrl = options.directUrl ?? options.url;
  return withClient(startUrl, async (client, schema): Promise<Opened> => {
    const added = await prepareDatabase(client, schema, wanted);
    const uniqueId = await readUniqueId(client);
    const uniqueColumns = await readUniqueColumns(client);
    const connections = new PostgresPool(options, schema);
    const executor = new PostgresExecutor(connections, { ...options, uniqueColumns });
    await requireOwnSession(client, executor);
    return {
      executor,
      state: {
        isForMachines: true,
        open: (wanted) =>
          withClient(startUrl, async (own, name) => {
            const place = await prepareState(own, name, wanted);
            return new PostgresState(executor, place, () => openClient(startUrl));
          }),
      },
      uniqueId,
      schemaHash: hashOf(wanted),
      added,
    };
  });
}

/**
 * Two connections with one session are those of a pooler that lends sessions for a transaction.
 * @throws Error that says what to set
 */
async function requireOwnSession(client: Client, executor: PostgresExecutor): Promise<void> {
  const text = 'select pg_backend_pid()';
  const { rows } = await client.query<[number]>({ text, rowMode: 'array' });
  try {
    const other = await executor.value({ sql: text, bindings: [] }, []);
    if (other !== rows[0]?.[0]) return;
  } catch (error) {
    await executor.close();
    throw error;
  }
  await executor.close();
  // Others use the same session.
  await client.query('reset all');
  throw new Error(
    'a pooler lends its connections for one transaction each, as PgBouncer does with pool_mode=transaction. Set DATABASE_POOLER=transaction, and DATABASE_DIRECT_URL to the URL of PostgreSQL itself',
  );
}

/** Copies what servers created in the schema of a `DATABASE_URL` to a new schema of the same database. */
async function copyPostgres(
  url: string,
  name: string,
  { log }: CopyOptions,
): Promise<DatabaseCopy> {
  const { copySchema, requirePlainName } = await import('./migration/adapt.js');
  const copy = { name, functions, log };
  requirePlainName(copy.name);
  await withClient(url, (client, schema) => copySchema(client, schema, copy));
  const path = `-c search_path=${copy.name}`;
  const own = new URL(url);
  // The last setting wins.
  const others = own.searchParams.get('options') ?? process.env['PGOPTIONS'];
  own.searchParams.set('options', [...(others === undefined ? [] : [others]), path].join(' '));
  return {
    url: own.href,
    words: [
      `The copy stays: ?options=${encodeURIComponent(path)} in DATABASE_URL starts a server on it.`,
      // The second one is that of servers on the copy.
      `When you no longer need it: DROP SCHEMA IF EXISTS "${copy.name}", "${stateSchemaOf(copy.name)}" CASCADE;`,
    ],
  };
}

/** @throws Error that names the database if it cannot be opened */
async function withClient<T>(
  url: string,
  use: (client: Client, schema: string) => Promise<T>,
): Promise<T> {
  const client = new Client(clientOptions(url));
  // An error while no query runs.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const schema = await checkDatabase(client);
    await prepareSession(client, schema, null);
    return await use(client, schema);
  } catch (error) {
    throw cannotOpen(url, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Most starts find the database as the last one left it, and need nothing that changes a schema. */
async function prepareDatabase(
  client: Client,
  name: string,
  wanted: WantedSchema,
): Promise<readonly string[]> {
  if (await isCurrent(client, name, wanted)) return [];
  const { adaptDatabase } = await import('./migration/adapt.js');
  return adaptDatabase(client, name, wanted);
}

/** @returns the schema for new tables according to the URL or the user's settings: `public` by default */
async function checkDatabase(client: Client): Promise<string> {
  const { rows } = await client.query<Facts>(
    `select current_database() as "database", current_setting('server_version_num') as "version",
      current_setting('server_encoding') as "server_encoding",
      current_setting('client_encoding') as "client_encoding", current_schema() as "schema"`,
  );
  const [facts] = rows as [Facts];
  const version = Math.floor(Number(facts.version) / 10_000);
  if (version < oldestVersion) {
    throw new Error(
      `it is version ${version}; this server needs PostgreSQL ${oldestVersion} or newer`,
    );
  }
  if (facts.server_encoding !== 'UTF8') {
    throw new Error(
      `its encoding is ${facts.server_encoding}, which cannot hold every text; create it with encoding UTF8`,
    );
  }
  if (facts.client_encoding !== 'UTF8') {
    throw new Error(`client_encoding is ${facts.client_encoding}; it must be UTF8`);
  }
  if (facts.schema === null) {
    throw new Error('its search_path names no schema that exists; name one that holds the tables');
  }
  return facts.schema;
}

async function readUniqueId(client: Client): Promise<string> {
  const { rows } = await client.query<{ text: string }>(
    `select "text" from "__datastore" where "name" = 'uniqueID'`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('its table "__datastore" lacks the row uniqueID');
  return row.text;
}

/** Errors of unique indexes contain the name of the index. */
async function readUniqueColumns(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ index: string; columns: string }>(
    `select i.relname as "index", string_agg(t.relname || '.' || a.attname, ', ' order by k.position) as "columns"
    from pg_index x
    join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
    cross join unnest(x.indkey) with ordinality as k (number, position)
    join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.number
    where t.relnamespace = quote_ident(current_schema())::regnamespace and x.indisunique
      and k.position <= x.indnkeyatts
    group by i.relname`,
  );
  return new Map(rows.map(({ index, columns }) => [index, columns]));
}

function cannotOpen(url: string, error: unknown): unknown {
  if (
    error instanceof SchemaMismatchError ||
    error instanceof MigrationError ||
    error instanceof DatabaseUnavailableError
  ) {
    return error;
  }
  const reason = error instanceof AggregateError ? messagesOf(error) : messageOf(error);
  return new Error(`Cannot open the database ${shownUrl(url)}: ${reason}.`, { cause: error });
}

/** A host name may have several addresses; if none responds, the error itself has no message. */
function messagesOf({ errors, message }: AggregateError): string {
  return message === '' ? errors.map(messageOf).join('; ') : message;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\.$/, '');
}

/** The URL without the password, which must not appear in logs. */
function shownUrl(url: string): string {
  try {
    const shown = new URL(url);
    shown.password = '';
    shown.search = '';
    return shown.href;
  } catch {
    return 'of DATABASE_URL';
  }
}

/** @throws Error with the reason if it cannot be opened; SchemaMismatchError if it belongs to another model */
export async function openPostgres(
  url: string,
  schema: readonly string[],
  fold: Fold,
  options: Omit<PoolOptions, 'url'>,
  start: Pick<WantedSchema, 'migration' | 'log'> & { readonly data?: DataOptions | undefined } = {},
): Promise<Database> {
  const data = start.data && { ...start.data, fold };
  const wanted = { ...start, statements: schema, functions, data };
  const opened = await openConnections({ ...options, url }, wanted);
  return { dialect: postgresDialect(fold), ...opened };
}

const functions: readonly string[] = [...postgresFunctions(), ...expressionFunctions];

/** The driver for PostgreSQL. */
export const postgresDriver: DatabaseDriver = {
  schemes: ['postgres', 'postgresql'],
  urls: 'postgres://<user>:<password>@<host>:<port>/<database>',
  open: (url, schema, fold, { queryTimeout, environment, data, log }) => {
    const options = {
      queryTimeout,
      size: readSetting(environment, 'DATABASE_POOL'),
      directUrl: directUrlOf(environment),
    };
    const start = { migration: migrateOptions(environment), data, log };
    return openPostgres(url, schema, fold, options, start);
  },
  plan: (url, schema, fold, data) => {
    const wanted = { statements: schema, functions, data: { ...data, fold } };
    return withClient(url, async (client, name) => {
      const { planMigrations } = await import('./migration/adapt.js');
      return planMigrations(client, name, wanted);
    });
  },
  copy: copyPostgres,
  withState: (url, schema, use) =>
    withClient(url, async (client, name) => {
      const state = await stateOn(client, name, schema);
      if (state !== undefined) await use(state);
    }),
};

/**
 * The URL of PostgreSQL itself if `DATABASE_POOLER` says that there is a pooler.
 * @throws Error that names the wrong variable
 */
function directUrlOf(environment: Environment): string | undefined {
  if (readSetting(environment, 'DATABASE_POOLER') === undefined) return undefined;
  const url = readSetting(environment, 'DATABASE_DIRECT_URL') ?? '';
  if (/^postgres(?:ql)?:/.test(url)) return url;
  throw new Error(
    'DATABASE_POOLER is transaction: DATABASE_DIRECT_URL must be the URL of PostgreSQL itself, postgres://<user>:<password>@<host>:<port>/<database>, which a start needs to change the schema.',
  );
}
