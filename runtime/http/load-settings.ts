import { type Environment, setting } from '../protocol/environment.js';
import type { Limits } from './settings.js';

/** How much a server takes on at once, and how long it waits for its clients. */
export interface LoadSettings {
  /** Milliseconds of work that may lie before a request when its turn comes; those behind it are refused. */
  readonly maxWait: number;
  readonly maxConnections: number;
  /** Bytes of bodies that have come and are not answered yet; as many of answers that their clients have not taken yet. */
  readonly transferMemory: number;
  /** Seconds in which a request must have come as a whole, and in which a client takes at least a part of its answer. */
  readonly requestTimeout: number;
  /** Seconds that a connection without a request is kept: more than proxies keep theirs, which are 60 mostly. */
  readonly keepAliveTimeout: number;
}

const variables: Readonly<
  Record<keyof LoadSettings, { readonly variable: string; readonly usual: number }>
> = {
  maxWait: { variable: 'MAX_WAIT', usual: 1000 },
  maxConnections: { variable: 'MAX_CONNECTIONS', usual: 20_000 },
  transferMemory: { variable: 'TRANSFER_MEMORY', usual: 128 * 1024 * 1024 },
  requestTimeout: { variable: 'REQUEST_TIMEOUT', usual: 60 },
  keepAliveTimeout: { variable: 'KEEP_ALIVE_TIMEOUT', usual: 72 },
};

/** Timers of Node take no more, in milliseconds. */
const longest = 2 ** 31 - 1;

/**
 * @param limits of bodies that are held in memory, which the largest one fits into
 * @throws Error that names the variable that is no positive whole number, or is too large or too small
 */
export function loadSettings(
  environment: Environment,
  { bodySize, uploadSize }: Pick<Limits, 'bodySize' | 'uploadSize'>,
): LoadSettings {
  const largestBody = Math.max(bodySize, uploadSize);
  const settings = {
    maxWait: positive(environment, 'maxWait', longest),
    maxConnections: positive(environment, 'maxConnections', longest),
    transferMemory: positive(environment, 'transferMemory', Number.MAX_SAFE_INTEGER),
    requestTimeout: positive(environment, 'requestTimeout', Math.floor(longest / 1000)),
    keepAliveTimeout: positive(environment, 'keepAliveTimeout', Math.floor(longest / 1000)),
  };
  const { transferMemory } = settings;
  if (transferMemory >= largestBody) return settings;
  const { variable } = variables.transferMemory;
  if (setting(environment, variable, '') === '')
    return { ...settings, transferMemory: largestBody };
  throw new Error(
    `${variable} is ${transferMemory}; it must not be less than the largest body, ${largestBody}.`,
  );
}

function positive(environment: Environment, name: keyof LoadSettings, most: number): number {
  const { variable, usual } = variables[name];
  const text = setting(environment, variable, String(usual));
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new Error(
    `${variable} is ${JSON.stringify(text)}; it must be a whole number from 1 to ${most}.`,
  );
}
