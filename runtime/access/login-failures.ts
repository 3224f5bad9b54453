import type { Clock } from '../entity-set/clock.js';
import { FailureCounts } from './failures.js';

/** Names, and addresses, whose failures are remembered. */
const mostRemembered = 10_000;

/** Logins that have failed. A user is made to wait less than an address: otherwise anyone could keep a user out. */
export class LoginFailures {
  readonly ofUser: FailureCounts;
  readonly ofAddress: FailureCounts;

  constructor(clock: Clock) {
    this.ofUser = new FailureCounts(clock, { free: 5, longest: 60 }, mostRemembered);
    this.ofAddress = new FailureCounts(clock, { free: 20, longest: 900 }, mostRemembered);
  }
}
