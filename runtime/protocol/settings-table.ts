import {
  text,
  cookieName,
  milliseconds,
  oneOf,
  onOrOff,
  origins,
  positive,
  processes,
  proxies,
  seconds,
  type SettingKind,
  whole,
} from './setting-kinds.js';

/** A setting that a server reads from its environment. */
export interface Setting {
  readonly kind: SettingKind<unknown>;
  /** What it is if the environment does not set it. */
  readonly usual?: string | number | boolean;
  /** What it is then, in words, if that depends on something. */
  readonly usually?: string;
  /** Only servers with this have the setting. */
  readonly of?: 'sqlite' | 'postgres' | 'roles' | 'live' | 'jobs';
  /** The limit of the model that it overrides. */
  readonly limit?: string;
  /** For READMEs, without a full stop. */
  readonly meaning: string;
}

/** All settings of servers, in the order of their READMEs. */
export const settings = {
  PORT: {
    kind: whole(0, 65_535),
    usual: 8080,
    meaning: 'port to listen on; 0 lets the system choose',
  },
  HOST: { kind: text, usual: '127.0.0.1', meaning: 'address to listen on; 0.0.0.0 for all' },
  PROCESSES: {
    kind: processes,
    usual: 1,
    meaning:
      'processes that serve at one address and share sessions, entity sets, locks and uploads; `auto` for one per processor',
  },
  DATABASE_URL: {
    kind: text,
    usually: "of the model's first database",
    meaning: 'where the data is',
  },
  STATE: {
    kind: oneOf('memory', 'database'),
    usually: '`database` on PostgreSQL and with `PROCESSES` above 1, else `memory`',
    meaning:
      'where sessions, entity sets, locks and uploads are: in the `database`, for several servers, or in the `memory` of the only process',
  },
  MIGRATE: {
    kind: oneOf('auto', 'check', 'off'),
    usual: 'auto',
    meaning:
      "what a start does to a database whose schema is not the model's: `auto` changes it; `check` waits until another server has done so; `off` uses it as it is",
  },
  MIGRATE_KEEP: {
    kind: text,
    meaning: 'tables, separated by commas, that stay unused although a new one is similar',
  },
  SQLITE_SYNCHRONOUS: {
    kind: oneOf('normal', 'full'),
    usual: 'normal',
    of: 'sqlite',
    meaning:
      '`full` writes every change to the disk before it is acknowledged; with `normal` a power failure, but no crash of the process, can undo the last moments',
  },
  READERS: {
    kind: positive,
    of: 'sqlite',
    usually: 'number of processors, at least 3',
    meaning: 'maximum number of processes for long reads of a database file; they start on demand',
  },
  DATABASE_POOL: {
    // Transactions leave one connection free, because they may also read outside of themselves.
    kind: whole(2),
    usual: 10,
    of: 'postgres',
    meaning: 'connections to PostgreSQL per process of the server, at least 2',
  },
  DATABASE_POOLER: {
    kind: oneOf('transaction'),
    of: 'postgres',
    meaning:
      '`transaction` if `DATABASE_URL` names a pooler that lends a connection for one transaction, such as PgBouncer',
  },
  DATABASE_DIRECT_URL: {
    kind: text,
    of: 'postgres',
    meaning: 'URL of PostgreSQL itself, if there is such a pooler',
  },
  USERS_DATABASE: {
    kind: text,
    of: 'roles',
    usually: 'next to the data',
    meaning: 'database of the users that `npm run users` manages',
  },
  TOKEN_KEY: {
    kind: text,
    of: 'roles',
    meaning: 'secret, or public key (PEM), that verifies bearer tokens',
  },
  TOKEN_KEYS_URL: {
    kind: text,
    of: 'roles',
    meaning: 'address of a JSON Web Key Set, instead of `TOKEN_KEY`',
  },
  TOKEN_ISSUER: { kind: text, of: 'roles', meaning: '`iss` that bearer tokens must have' },
  TOKEN_AUDIENCE: { kind: text, of: 'roles', meaning: '`aud` that bearer tokens must have' },
  LIVE_MEMBERS: {
    kind: positive,
    usual: 10_000,
    of: 'live',
    meaning: 'entities of an entity set that is followed; more are refused with 413',
  },
  LIVE_STREAMS: {
    kind: positive,
    usual: 1000,
    of: 'live',
    meaning: 'streams of changes that are open at once; then 429',
  },
  LIVE_STREAMS_PER_SESSION: {
    kind: positive,
    usual: 20,
    of: 'live',
    meaning: 'those of one session, or of guests with one address',
  },
  JOBS: {
    // A greater number is a mistake: each job may need a connection to the database.
    kind: whole(0, 1_000),
    usual: 4,
    of: 'jobs',
    meaning: 'jobs that a process runs at a time; 0 runs none in it',
  },
  QUOTAS: {
    kind: text,
    meaning:
      'requests of the server, of each session, and of guests with one address, for instance `{"nbRequestsPerMin":6000,"nbRequestsPerMinPerSession":600,"nbRequestsPerMinPerGuestAddress":300}`',
  },
  TMPDIR: {
    kind: text,
    usually: 'that of the system',
    meaning: 'folder for pending uploads, with `STATE=memory`',
  },
  LOG_LEVEL: {
    kind: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    usual: 'info',
    meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
  },
  REQUEST_LOG: {
    kind: onOrOff,
    usual: false,
    meaning:
      '`on` logs a line for each request: ID, user, dataclass, kind, status, milliseconds, rows, bytes',
  },
  METRICS_PORT: {
    kind: whole(1, 65_535),
    meaning: 'port at which `GET /metrics` answers metrics for Prometheus',
  },
  TRACING: {
    kind: onOrOff,
    usual: false,
    meaning: '`on` makes a span of OpenTelemetry for each request and each SQL statement',
  },
  SLOW_QUERY_MS: {
    kind: whole(0, undefined, 'milliseconds'),
    meaning: 'milliseconds from which on an SQL statement is logged with its plan',
  },
  SESSION_TRUST: {
    kind: whole(0, 9_999, 'seconds'),
    usual: 1,
    meaning:
      'seconds for which a session that was read from the database is not read again; 0: each request reads it',
  },
  SESSION_COOKIE: {
    kind: cookieName,
    usually: '`DRSID_` and the name of the model',
    meaning: 'name of the session cookie, for several servers of one model on a host',
  },
  ORIGINS: {
    kind: origins,
    usually: 'those of the model',
    meaning:
      'origins of front ends on other hosts, separated by commas: `https://app.example.com`. Pages of other origins can read and write nothing',
  },
  OPENAPI: {
    kind: onOrOff,
    usual: true,
    meaning: '`off`: the server does not describe itself at `/rest/$openapi`',
  },
  EXPLORER: {
    kind: onOrOff,
    usually: '`off`; `on` under `npm run dev`',
    meaning:
      '`on` serves a page at `/explorer` that shows and edits the data, as far as its user may',
  },
  TRUST_PROXY: {
    kind: proxies,
    meaning:
      'proxies in front of the server, whose `X-Forwarded-For` is believed: their number, or addresses and networks such as `10.0.0.0/8`. Without it, failed logins behind a proxy slow down everybody',
  },
  MAX_WAIT: {
    kind: milliseconds,
    usual: 1000,
    meaning:
      'milliseconds by which the event loop may be late, on average over a second; then requests are answered with 503 and `Retry-After`',
  },
  MAX_CONNECTIONS: {
    kind: whole(1, 2 ** 31 - 1),
    usual: 20_000,
    meaning: 'connections per process; further ones are closed',
  },
  TRANSFER_MEMORY: {
    kind: whole(1, undefined, 'bytes'),
    usual: 128 * 1024 * 1024,
    meaning:
      'bytes of request bodies that are not answered yet; further ones are answered with 503. The same limit applies to answers that clients have not read yet; beyond it, the slowest connections are closed',
  },
  REQUEST_TIMEOUT: {
    kind: seconds,
    usual: 60,
    meaning:
      'seconds in which a request must arrive completely (an upload may take longer, as long as bytes of it arrive), and a client must read at least a part of its answer',
  },
  KEEP_ALIVE_TIMEOUT: {
    kind: seconds,
    usual: 72,
    meaning:
      'seconds that a connection is kept without a request; longer than a proxy in front keeps it',
  },
  STOP_DELAY: {
    // Whatever waits for the end of a server does not wait for longer.
    kind: whole(0, 3_600, 'seconds'),
    usual: 0,
    meaning:
      'seconds between SIGTERM and the stop, in which `/health/ready` answers 503 and all other requests are answered',
  },
  PAGE_SIZE: { kind: positive, limit: 'pageSize', meaning: 'entities in an answer without `$top`' },
  MAX_PAGE_SIZE: { kind: positive, limit: 'maxPageSize', meaning: 'largest `$top`' },
  BODY_SIZE: { kind: positive, limit: 'bodySize', meaning: 'bytes of a request body' },
  FILTER_LENGTH: { kind: positive, limit: 'filterLength', meaning: 'characters of a `$filter`' },
  FILTER_DEPTH: {
    kind: positive,
    limit: 'filterDepth',
    meaning: 'nested parentheses of a `$filter`',
  },
  EXPAND_DEPTH: {
    kind: positive,
    limit: 'expandDepth',
    meaning: 'nested relations of `$attributes` and `$expand`',
  },
  BATCH_SIZE: { kind: positive, limit: 'batchSize', meaning: 'entities in one body' },
  QUERY_TIMEOUT: {
    kind: milliseconds,
    limit: 'queryTimeout',
    meaning: 'milliseconds that a statement of the database may run',
  },
  ENTITY_SET_TIMEOUT: {
    kind: seconds,
    limit: 'entitySetTimeout',
    meaning: 'seconds that an entity set is kept after its last use',
  },
  RECREATED_ENTITY_SET_TIMEOUT: {
    kind: seconds,
    limit: 'recreatedEntitySetTimeout',
    meaning: 'the same for an entity set that was recreated',
  },
  MAX_ENTITY_SET_TIMEOUT: {
    kind: seconds,
    limit: 'maxEntitySetTimeout',
    meaning: 'longest `$timeout` of an entity set',
  },
  ENTITY_SET_MEMORY: {
    kind: positive,
    limit: 'entitySetMemory',
    meaning: 'bytes of all entity sets',
  },
  MAX_ENTITY_SETS_PER_SESSION: {
    kind: positive,
    limit: 'maxEntitySetsPerSession',
    meaning: 'entity sets of one session',
  },
  SESSION_IDLE_TIMEOUT: {
    kind: seconds,
    limit: 'sessionIdleTimeout',
    meaning: 'seconds after which an unused session ends',
  },
  MAX_SESSIONS: { kind: positive, limit: 'maxSessions', meaning: 'sessions of users' },
  MAX_GUEST_SESSIONS: {
    kind: positive,
    limit: 'maxGuestSessions',
    meaning: 'sessions of guests with locks, uploads or other state',
  },
  MAX_LOCKS_PER_SESSION: {
    kind: positive,
    limit: 'maxLocksPerSession',
    meaning: 'entities that one session locks',
  },
  UPLOAD_SIZE: { kind: positive, limit: 'uploadSize', meaning: 'bytes of an uploaded file' },
  UPLOAD_SPACE: {
    kind: positive,
    limit: 'uploadSpace',
    meaning: 'bytes of all uploaded files that wait for their entities',
  },
  UPLOAD_TIMEOUT: {
    kind: seconds,
    limit: 'uploadTimeout',
    meaning: 'seconds that an uploaded file waits for its entities',
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settings;

type LimitVariable = {
  [Name in SettingName]: (typeof settings)[Name] extends { readonly limit: string } ? Name : never;
}[SettingName];

/** The names of the settings that override limits of the model. */
export const limitVariables = Object.keys(settings).filter(
  (name): name is LimitVariable => 'limit' in settings[name as SettingName],
);
