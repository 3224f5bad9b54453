import { isIP } from 'node:net';
import type { RolesSettings, TokenSettings } from '../access/login-module.js';
import { type Environment, setting } from '../protocol/environment.js';

/** The model's settings for the whole server; written by the generator. */
export interface Settings {
  /** Name of the datastore. */
  readonly name: string;
  readonly limits: Limits;
  /** Answers clients of this older kind of server, too, as it did (protocol P14.1). */
  readonly compatibility?: 'wakanda';
  readonly dateOnlyFormat: 'iso' | 'bang';
  /** The value of `$format` that selects the report format. */
  readonly reportFormat: string;
  /** Whether texts are compared without their accents. */
  readonly accentInsensitive: boolean;
  /**
   * Whether `@`, and `*` at the end, match any characters in texts that are compared with `=`, `!=`
   * and `IN`.
   */
  readonly wildcard: boolean;
  /** Origins of front ends on other hosts, if the model names some. */
  readonly origins?: readonly string[];
  /** Whether the model has no roles: everything is allowed to everyone. */
  readonly isOpen: boolean;
  /** Set unless it is open. */
  readonly roles?: RolesSettings;
}

/** Sizes are bytes; `null` means no limit. */
export interface Limits {
  /** Entities in an answer if the client names no number. */
  readonly pageSize: number;
  /** The largest number that a client may name. */
  readonly maxPageSize: number;
  /** A request's body. */
  readonly bodySize: number;
  /** The text of a `$filter`. */
  readonly filterLength: number;
  /** Nested parentheses of a `$filter`. */
  readonly filterDepth: number;
  /** Nested relations of `$attributes` and `$expand`. */
  readonly expandDepth: number;
  /** Entities in one body. */
  readonly batchSize: number;
  /** Milliseconds that a statement may run. */
  readonly queryTimeout: number | null;
  /** Seconds without an access after which an entity set ends. */
  readonly entitySetTimeout: number;
  /** Seconds without an access after which an entity set ends that was made again. */
  readonly recreatedEntitySetTimeout: number;
  /** The longest `$timeout`; a longer one is reduced to it. */
  readonly maxEntitySetTimeout: number | null;
  /** Memory of all entity sets; the least recently used ones make room. */
  readonly entitySetMemory: number;
  /** Entity sets of one session. */
  readonly maxEntitySetsPerSession: number | null;
  /** Seconds without a request after which a session ends. */
  readonly sessionIdleTimeout: number;
  /** Sessions with a user or privileges. */
  readonly maxSessions: number;
  /** Sessions of guests that have locks, uploads or other state. */
  readonly maxGuestSessions: number;
  /** Entities that one session may lock. */
  readonly maxLocksPerSession: number;
  /** An uploaded file. */
  readonly uploadSize: number;
  /** Memory of all uploaded files that wait for the entities that use them. */
  readonly uploadSpace: number;
  /** Seconds that an uploaded file waits. */
  readonly uploadTimeout: number;
}

/** The name of each limit in the environment. */
export const limitVariables: Readonly<Record<keyof Limits, string>> = {
  pageSize: 'PAGE_SIZE',
  maxPageSize: 'MAX_PAGE_SIZE',
  bodySize: 'BODY_SIZE',
  filterLength: 'FILTER_LENGTH',
  filterDepth: 'FILTER_DEPTH',
  expandDepth: 'EXPAND_DEPTH',
  batchSize: 'BATCH_SIZE',
  queryTimeout: 'QUERY_TIMEOUT',
  entitySetTimeout: 'ENTITY_SET_TIMEOUT',
  recreatedEntitySetTimeout: 'RECREATED_ENTITY_SET_TIMEOUT',
  maxEntitySetTimeout: 'MAX_ENTITY_SET_TIMEOUT',
  entitySetMemory: 'ENTITY_SET_MEMORY',
  maxEntitySetsPerSession: 'MAX_ENTITY_SETS_PER_SESSION',
  sessionIdleTimeout: 'SESSION_IDLE_TIMEOUT',
  maxSessions: 'MAX_SESSIONS',
  maxGuestSessions: 'MAX_GUEST_SESSIONS',
  maxLocksPerSession: 'MAX_LOCKS_PER_SESSION',
  uploadSize: 'UPLOAD_SIZE',
  uploadSpace: 'UPLOAD_SPACE',
  uploadTimeout: 'UPLOAD_TIMEOUT',
};

/** Timers of Node hold 31 bits of milliseconds. */
const mostMilliseconds = 2_147_483_647;
const mostSeconds = Math.floor(mostMilliseconds / 1_000);

/** The largest values of the limits that timers measure; as in the model. */
const largestLimits: Readonly<Partial<Record<keyof Limits, number>>> = {
  queryTimeout: mostMilliseconds,
  entitySetTimeout: mostSeconds,
  recreatedEntitySetTimeout: mostSeconds,
  maxEntitySetTimeout: mostSeconds,
  sessionIdleTimeout: mostSeconds,
  uploadTimeout: mostSeconds,
};

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** @throws Error that names `LOG_LEVEL`, if it is no level */
export function logLevel(environment: Environment): string {
  const level = setting(environment, 'LOG_LEVEL', 'info');
  if (logLevels.includes(level)) return level;
  throw new Error(
    `LOG_LEVEL is ${JSON.stringify(level)}; it must be one of ${logLevels.join(', ')}.`,
  );
}

type TrustedSteps = (address: string, steps: number) => boolean;

/** Networks that have a name, in addition to addresses. */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal'];

/**
 * Proxies in front of the server, from `TRUST_PROXY`: how many, or a list of their addresses and
 * networks. The server trusts their `X-Forwarded-For`; anybody else could forge it.
 * @returns `false` without any, or whether to trust the proxy that is that many hops away from the
 * server
 * @throws Error that names `TRUST_PROXY`
 */
export function trustedProxies(environment: Environment): false | string[] | TrustedSteps {
  const text = setting(environment, 'TRUST_PROXY', '');
  if (text === '' || text === '0') return false;
  if (/^\d{1,2}$/.test(text)) return (_address, steps) => steps < Number(text);
  const networks = text.split(',').map((each) => each.trim());
  if (networks.every(isNetwork)) return networks;
  throw new Error(
    `TRUST_PROXY is ${JSON.stringify(text)}; it must be a number of proxies, or addresses and networks with commas between them.`,
  );
}

function isNetwork(text: string): boolean {
  if (namedNetworks.includes(text)) return true;
  const [address = '', bits = '0', ...others] = text.split('/');
  const longest = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= longest && others.length === 0;
}

/**
 * The name of the cookie of sessions: `SESSION_COOKIE`, or `DRSID_<name of the datastore>`.
 * @throws Error that names `SESSION_COOKIE`
 */
export function sessionCookie(environment: Environment, datastore: string): string {
  const name = setting(environment, 'SESSION_COOKIE', `DRSID_${datastore}`);
  if (/^[A-Za-z0-9_.-]{1,100}$/.test(name)) return name;
  throw new Error(
    `SESSION_COOKIE is ${JSON.stringify(name)}; it must be the name of a cookie: letters, digits, "_", "-" and ".", at most 100.`,
  );
}

/**
 * For how many milliseconds a session that was read from the database is trusted: `SESSION_TRUST`, in
 * seconds (`access.md#sessions`).
 * @throws Error that names `SESSION_TRUST`
 */
export function sessionTrust(environment: Environment): number {
  const text = setting(environment, 'SESSION_TRUST', '1');
  if (/^\d{1,4}$/.test(text)) return Number(text) * 1000;
  throw new Error(
    `SESSION_TRUST is ${JSON.stringify(text)}; it must be a whole number of seconds, at most 9999, or 0.`,
  );
}

/** Keys of bearer tokens: `TOKEN_KEY` or `TOKEN_KEYS_URL`, and what their claims must contain. */
export function tokenSettings(environment: Environment): TokenSettings {
  return {
    key: setting(environment, 'TOKEN_KEY', ''),
    keysUrl: setting(environment, 'TOKEN_KEYS_URL', ''),
    issuer: setting(environment, 'TOKEN_ISSUER', ''),
    audience: setting(environment, 'TOKEN_AUDIENCE', ''),
  };
}

/**
 * The model's limits, overridden by those of the environment. A lower `MAX_PAGE_SIZE` also lowers
 * the page size of the model.
 * @throws Error that names the variable, if one is not a positive whole number or too large, or two
 * contradict each other
 */
export function limitsFrom(limits: Limits, environment: Environment): Limits {
  const overridden: Partial<Record<keyof Limits, number>> = {};
  for (const [limit, variable] of Object.entries(limitVariables)) {
    const text = setting(environment, variable, '');
    if (text === '') continue;
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new Error(
        `${variable} is ${JSON.stringify(text)}; it must be a positive whole number.`,
      );
    }
    const largest = largestLimits[limit as keyof Limits];
    if (largest !== undefined && value > largest) {
      throw new Error(`${variable} is ${text}; it must not be greater than ${largest}.`);
    }
    overridden[limit as keyof Limits] = value;
  }
  const result = { ...limits, ...overridden };
  const { pageSize, maxPageSize } = result;
  if (pageSize <= maxPageSize) return result;
  if (overridden.pageSize === undefined) return { ...result, pageSize: maxPageSize };
  throw new Error(
    `PAGE_SIZE is ${pageSize}; it must not be greater than MAX_PAGE_SIZE, ${maxPageSize}.`,
  );
}

/**
 * The port of the metrics, from `METRICS_PORT`; `undefined` if it is not set.
 * @throws Error that names the variable
 */
export function metricsPort(environment: Environment): number | undefined {
  const text = setting(environment, 'METRICS_PORT', '');
  if (text === '') return undefined;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new Error(
    `METRICS_PORT is ${JSON.stringify(text)}; it must be a whole number from 1 to 65535.`,
  );
}
