import type { QuotaName, QuotaValues } from './quota-values.js';

/** What rates count. */
export type Counted = 'nbRequests' | 'inBytes' | 'outBytes';

const windows = [
  { suffix: 'PerMin', milliseconds: 60_000 },
  { suffix: 'PerHour', milliseconds: 3_600_000 },
] as const;

type RateName = `${Counted}${(typeof windows)[number]['suffix']}` & QuotaName;

/** Milliseconds of the clock, and what was used since. */
export interface RateWindow {
  start: number;
  used: number;
}

/** What was used up in the minute and in the hour that run (protocol section 19.3); each begins with its first use. */
export interface Rates {
  /**
   * @param now milliseconds
   * @returns seconds until a window ends whose quota is used up; `undefined` when none is
   */
  exceeded(quotas: QuotaValues, now: number): number | undefined;
  /** Counts for the quotas that are set. */
  count(quotas: QuotaValues, counted: Counted, amount: number, now: number): void;
  /** What is used up now, for the quotas that are set. */
  current(quotas: QuotaValues, now: number): Record<string, number>;
}

/** Rates that this process counts. */
export class RateWindows implements Rates {
  readonly #windows: Map<string, RateWindow>;

  /** @param windows what was used up before, by the names of the quotas */
  constructor(windows: Iterable<readonly [string, RateWindow]> = []) {
    this.#windows = new Map(windows);
  }

  get windows(): readonly (readonly [string, RateWindow])[] {
    return [...this.#windows];
  }

  exceeded(quotas: QuotaValues, now: number): number | undefined {
    let longest: number | undefined;
    for (const [name, window] of this.#windows) {
      const most = quotas[name as RateName];
      const end = window.start + millisecondsOf(name);
      if (most === undefined || window.used < most || end <= now) continue;
      longest = Math.max(longest ?? 1, Math.ceil((end - now) / 1000));
    }
    return longest;
  }

  count(quotas: QuotaValues, counted: Counted, amount: number, now: number): void {
    for (const { suffix, milliseconds } of windows) {
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

function millisecondsOf(name: string): number {
  return name.endsWith('PerMin') ? 60_000 : 3_600_000;
}
