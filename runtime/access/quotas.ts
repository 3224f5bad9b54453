import type { SessionQuotas } from './session.js';
import { isIPv6 } from 'node:net';
import { BoundedCache } from '../dialect/bounded-cache.js';

/** Stored limits; what is missing is not limited. */
export type QuotaValues = Readonly<Partial<Record<QuotaName, number>>>;

export type QuotaName = Exclude<keyof SessionQuotas, 'currentValues'>;

/** Every limit of a session (`access.md#quotas`). */
export const quotaNames = [
  'defaultEntitySetTimeout',
  'maxEntitySetTimeout',
  'nbEntitySets',
  'nbRequestsPerMin',
] as const satisfies readonly QuotaName[];

export const noQuotas: QuotaValues = Object.freeze({});

/**
 * The values with one of them set, or removed.
 * @throws RangeError if it is no positive whole number
 */
export function withQuota(
  values: QuotaValues,
  name: QuotaName,
  value: number | undefined,
): QuotaValues {
  const others = Object.entries(values).filter(([other]) => other !== name);
  const set = value === undefined ? [] : [[name, positive(name, value)]];
  return Object.fromEntries([...others, ...set]) as QuotaValues;
}

/** @throws RangeError if it is no positive whole number */
export function positive(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name} must be a positive whole number, or left out for no limit.`);
}

const minute = 60_000;

/** When a minute began, in milliseconds of the clock, and the requests since then. */
interface Minute {
  readonly start: number;
  requests: number;
}

/** Bytes for the minutes of sessions and addresses; the least recently used ones make room, and begin anew. */
const memoryOfMinutes = 16 * 1024 * 1024;

/**
 * Counts the requests of the server, of sessions and of addresses to this process, by the minute,
 * which begins with the first of them (`access.md#quotas`).
 */
export class RequestCounts {
  readonly #minutes = new BoundedCache<Minute>(memoryOfMinutes, () => 0);

  /**
   * Counts a request, unless as many as the quota allows were counted.
   * @param most requests in a minute
   * @returns seconds until the minute ends; `undefined` if the request was counted
   */
  admit(owner: string, most: number, now: number): number | undefined {
    const known = this.#minutes.get(owner);
    if (known === undefined || known.start + minute <= now) {
      this.#minutes.set(owner, { start: now, requests: 1 });
      return undefined;
    }
    if (known.requests >= most) return Math.ceil((known.start + minute - now) / 1000);
    known.requests += 1;
    return undefined;
  }

  /** Requests in the current minute. */
  used(owner: string, now: number): number {
    const known = this.#minutes.get(owner);
    return known === undefined || known.start + minute <= now ? 0 : known.requests;
  }

  /** Counts what one has used as used by another. */
  move(from: string, to: string): void {
    const known = this.#minutes.get(from);
    if (known !== undefined) this.#minutes.set(to, known);
  }
}

/** The key by which an address is counted: one subscriber of IPv6 has 2^64 addresses. */
export function network(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::', 2);
  const before = head.split(':');
  const after = tail.split(':');
  const missing = address.includes('::') ? 8 - before.length - after.length : 0;
  return [...before, ...Array<string>(Math.max(0, missing)).fill('0'), ...after]
    .slice(0, 4)
    .join(':');
}

/**
 * Limits of the server as a whole, with the suffix `PerSession` of each session, and with
 * `PerGuestAddress` of all guests with one address (`access.md#quotas`): positive whole numbers. What is left out is not limited.
 */
export type ServerQuotas = Readonly<
  Partial<
    Record<
      | 'nbRequestsPerMin'
      | 'nbRequestsPerMinPerSession'
      | 'nbRequestsPerMinPerGuestAddress'
      | 'nbEntitySetsPerSession',
      number
    >
  >
>;

/** The limits of the server, of each session, and of guests. */
export interface ReadQuotas {
  readonly ofServer: QuotaValues;
  /** The limits with which each session begins. */
  readonly ofSession: QuotaValues;
  /** The limits of all guests who have one address. */
  readonly ofGuestAddress: QuotaValues;
}

const names = [
  'nbRequestsPerMin',
  'nbRequestsPerMinPerSession',
  'nbRequestsPerMinPerGuestAddress',
  'nbEntitySetsPerSession',
] as const satisfies readonly (keyof ServerQuotas)[];

/** Whose use a quota limits, by the end of its name. */
const owners = [
  { suffix: 'PerSession', of: 'ofSession' },
  { suffix: 'PerGuestAddress', of: 'ofGuestAddress' },
  { suffix: '', of: 'ofServer' },
] as const;

/**
 * Reads the quotas of a server.
 * @param text JSON of {@link ServerQuotas}; empty for none
 * @throws Error that names what is wrong: a server does not start without the limits that it was given
 */
export function readServerQuotas(text: string, variable: string): ReadQuotas {
  const quotas = text === '' ? {} : parsed(text, variable);
  const read: Record<keyof ReadQuotas, Partial<Record<QuotaName, number>>> = {
    ofServer: {},
    ofSession: {},
    ofGuestAddress: {},
  };
  for (const [name, value] of Object.entries(quotas)) {
    if (!names.some((each) => each === name)) {
      throw new Error(
        `${variable} holds ${JSON.stringify(name)}; it may hold ${names.join(', ')}.`,
      );
    }
    const owner = owners.find(({ suffix }) => name.endsWith(suffix)) ?? owners[2];
    const quota = name.slice(0, name.length - owner.suffix.length) as QuotaName;
    read[owner.of][quota] = positive(`${variable}: ${name}`, value);
  }
  return read;
}

function parsed(text: string, variable: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${variable} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new Error(`${variable} must be a JSON object: {"nbRequestsPerMin": 1000}.`);
}
