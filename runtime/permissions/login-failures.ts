import type { Clock } from '../entity-set/clock.js';
import { type FailureCounter, FailureCounts, type Slowdown } from './failures.js';

/** Names, and addresses, whose failures are remembered. */
export const mostRemembered = 10_000;

/** Logins that have failed. A user is made to wait less than an address: otherwise anyone could keep a user out. */
export interface LoginFailures {
  readonly ofUser: FailureCounter;
  readonly ofAddress: FailureCounter;
}

export const slowdowns = {
  ofUser: { free: 5, longest: 60 },
  ofAddress: { free: 20, longest: 900 },
} as const satisfies Record<keyof LoginFailures, Slowdown>;

/** Failures that this process remembers. */
export function memoryLoginFailures(clock: Clock): LoginFailures {
  return {
    ofUser: new FailureCounts(clock, slowdowns.ofUser, mostRemembered),
    ofAddress: new FailureCounts(clock, slowdowns.ofAddress, mostRemembered),
  };
}
