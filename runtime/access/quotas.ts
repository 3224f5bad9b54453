import type { SessionQuotas } from './session.js';
import { isIPv6 } from 'node:net';

/** Stored limits; what is missing is not limited. */
export type QuotaValues = Readonly<Partial<Record<QuotaName, number>>>;

export type QuotaName = Exclude<keyof SessionQuotas, 'currentValues'>;

/** Every limit of a session (`access.md#quotas`). */
export const quotaNames = [
  'defaultEntitySetTimeout',
  'maxEntitySetTimeout',
  'nbEntitySets',
  'nbRequestsPerMin',
  'nbRequestsPerHour',
  'inBytesPerMin',
  'inBytesPerHour',
  'outBytesPerMin',
  'outBytesPerHour',
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

/** What rates count in addition to requests. */
export type BytesUnit = 'inBytes' | 'outBytes';
type RateUnit = 'nbRequests' | BytesUnit;

export const rateWindows = [
  { suffix: 'PerMin', milliseconds: 60_000 },
  { suffix: 'PerHour', milliseconds: 3_600_000 },
] as const;

export type RateName = `${RateUnit}${(typeof rateWindows)[number]['suffix']}` & QuotaName;

/** Milliseconds of the clock, and what was used since. */
interface RateWindow {
  start: number;
  used: number;
}

/**
 * What was used in the current minute and hour (`access.md#quotas`); each begins with its first
 * use.
 */
export interface Rates {
  /**
   * Counts a request, unless a quota is used up.
   * @param now milliseconds
   * @returns seconds until the window of a quota ends that is used up; `undefined` if none is
   */
  admit(quotas: QuotaValues, now: number): Promise<number | undefined>;
  count(quotas: QuotaValues, counted: BytesUnit, amount: number, now: number): Promise<void>;
  /** What is used up now, for the quotas that are set. */
  current(quotas: QuotaValues, now: number): Record<string, number>;
}

/** Rates that this process alone counts. */
export class RateWindows implements Rates {
  /** Windows by the names of the quotas. */
  readonly #windows = new Map<string, RateWindow>();

  async admit(quotas: QuotaValues, now: number): Promise<number | undefined> {
    const seconds = this.#exceeded(quotas, now);
    if (seconds === undefined) this.#count(quotas, 'nbRequests', 1, now);
    return seconds;
  }

  async count(quotas: QuotaValues, counted: BytesUnit, amount: number, now: number): Promise<void> {
    this.#count(quotas, counted, amount, now);
  }

  #exceeded(quotas: QuotaValues, now: number): number | undefined {
    let longest: number | undefined;
    for (const [name, window] of this.#windows) {
      const most = quotas[name as RateName];
      const end = window.start + millisecondsOf(name);
      if (most === undefined || window.used < most || end <= now) continue;
      longest = Math.max(longest ?? 1, Math.ceil((end - now) / 1000));
    }
    return longest;
  }

  #count(quotas: QuotaValues, counted: RateUnit, amount: number, now: number): void {
    for (const { suffix, milliseconds } of rateWindows) {
      const name: RateName = `${counted}${suffix}`;
      if (quotas[name] === undefined) continue;
      const window = this.#windows.get(name);
      if (window === undefined || window.start + milliseconds <= now) {
        this.#windows.set(name, { start: now, used: amount });
      } else {
        window.used += amount;
      }
    }
  }

  current(quotas: QuotaValues, now: number): Record<string, number> {
    const values: Record<string, number> = {};
    for (const [name, { start, used }] of this.#windows) {
      if (quotas[name as RateName] === undefined) continue;
      values[name] = start + millisecondsOf(name) <= now ? 0 : used;
    }
    return values;
  }
}

/** Whether any rate is limited. */
export function hasRates(quotas: QuotaValues): boolean {
  return Object.keys(quotas).some((name) => /Per(?:Min|Hour)$/.test(name));
}

/** How long the window of a quota is. */
export function millisecondsOf(name: string): number {
  return name.endsWith('PerMin') ? 60_000 : 3_600_000;
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

/** Names of limits that only sessions have. */
type SetQuota = 'defaultEntitySetTimeout' | 'maxEntitySetTimeout' | 'nbEntitySets';
type RateQuota = Exclude<QuotaName, SetQuota>;

/**
 * Limits of the server as a whole, with the suffix `PerSession` of each session, and with
 * `PerGuestAddress` of all guests with one address (`access.md#quotas`): positive whole numbers. What is left out is not limited.
 */
export type ServerQuotas = Readonly<
  Partial<
    Record<
      | RateQuota
      | `${RateQuota}PerSession`
      | `${RateQuota}PerGuestAddress`
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

const setQuotas: ReadonlySet<string> = new Set([
  'defaultEntitySetTimeout',
  'maxEntitySetTimeout',
  'nbEntitySets',
]);
const rates = quotaNames.filter((name) => !setQuotas.has(name));
const names = [
  ...rates,
  ...rates.map((name) => `${name}PerSession`),
  'nbEntitySetsPerSession',
  ...rates.map((name) => `${name}PerGuestAddress`),
];

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
    if (!names.includes(name)) {
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
