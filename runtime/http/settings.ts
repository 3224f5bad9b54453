import type { RolesSettings, TokenSettings } from '../access/login-module.js';
import { type Environment, readSetting } from '../protocol/environment.js';
import { limitVariables, settings } from '../protocol/settings-table.js';

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

/**
 * Proxies in front of the server, from `TRUST_PROXY`: how many, or a list of their addresses and
 * networks. The server trusts their `X-Forwarded-For`; anybody else could forge it.
 * @returns `false` without any, or whether to trust the proxy that is that many hops away from the
 * server
 * @throws Error that names `TRUST_PROXY`
 */
export function trustedProxies(environment: Environment): false | string[] | TrustedSteps {
  const proxies = readSetting(environment, 'TRUST_PROXY') ?? 0;
  if (proxies === 0) return false;
  return typeof proxies === 'number' ? (_address, steps) => steps < proxies : proxies;
}

type TrustedSteps = (address: string, steps: number) => boolean;

/** Keys of bearer tokens: `TOKEN_KEY` or `TOKEN_KEYS_URL`, and what their claims must contain. */
export function tokenSettings(environment: Environment): TokenSettings {
  return {
    key: readSetting(environment, 'TOKEN_KEY') ?? '',
    keysUrl: readSetting(environment, 'TOKEN_KEYS_URL') ?? '',
    issuer: readSetting(environment, 'TOKEN_ISSUER') ?? '',
    audience: readSetting(environment, 'TOKEN_AUDIENCE') ?? '',
  };
}

/**
 * The model's limits, overridden by those of the environment. A lower `MAX_PAGE_SIZE` also lowers
 * the page size of the model.
 * @throws Error that names the variable, if one is wrong, or two contradict each other
 */
export function limitsFrom(limits: Limits, environment: Environment): Limits {
  const overridden: Partial<Record<keyof Limits, number>> = {};
  for (const variable of limitVariables) {
    const value = readSetting(environment, variable);
    if (value !== undefined) overridden[settings[variable].limit] = value;
  }
  const result = { ...limits, ...overridden };
  const { pageSize, maxPageSize } = result;
  if (pageSize <= maxPageSize) return result;
  if (overridden.pageSize === undefined) return { ...result, pageSize: maxPageSize };
  throw new Error(
    `PAGE_SIZE is ${pageSize}; it must not be greater than MAX_PAGE_SIZE, ${maxPageSize}.`,
  );
}
