import type { Clock } from '../entity-set/clock.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import { FailureCounts } from './failures.js';
import type { Login, LoginModule } from './login-module.js';
import { network } from './network.js';
import { foldName, type Grant } from './session.js';

/** Names and passwords are not longer, so that hashing them takes no longer. */
const longestText = 1024;
/** Logins that run at once: each hashes a password, which takes a processor and some megabytes. */
const mostAtOnce = 32;
/** Names, and addresses, whose failures are remembered. */
const mostRemembered = 10_000;

/**
 * Runs the user's own `login` and slows down failed attempts, by user and by address. A user is made to wait less than an
 * address: otherwise anyone could keep a user out.
 */
export class Logins {
  readonly #ofUser: FailureCounts;
  readonly #ofAddress: FailureCounts;
  #running = 0;

  constructor(
    private readonly module: Pick<LoginModule, 'login'>,
    clock: Clock,
  ) {
    this.#ofUser = new FailureCounts(clock, { free: 5, longest: 60 }, mostRemembered);
    this.#ofAddress = new FailureCounts(clock, { free: 20, longest: 900 }, mostRemembered);
  }

  /**
   * @returns `undefined` when the user is unknown or the password is wrong
   * @throws RequestError 429 with `Retry-After` while the user or the address has to wait; what the user's code throws
   */
  async grantOf(user: string, password: string, address: string): Promise<Grant | undefined> {
    // Some directories take an empty password for a visitor, whom they let in.
    if (user === '' || password === '') return undefined;
    if (user.length > longestText || password.length > longestText) return undefined;
    const names = [
      [this.#ofUser, foldName(user)],
      [this.#ofAddress, network(address)],
    ] as const;
    const wait = Math.max(...names.map(([counts, name]) => counts.wait(name)));
    if (wait > 0) throw tooMany(wait);
    if (this.#running >= mostAtOnce) throw tooMany(1);
    for (const [counts, name] of names) counts.begin(name);
    this.#running += 1;
    let granted: Login | null;
    try {
      granted = await this.module.login(user, password);
    } catch (error) {
      // An error of the server is no failure of the user.
      for (const [counts, name] of names) counts.takeBack(name);
      throw error;
    } finally {
      this.#running -= 1;
    }
    if (!granted) return undefined;
    this.#ofUser.clear(foldName(user));
    // Logging in to an account of one's own must not free an address that tries others.
    this.#ofAddress.takeBack(network(address));
    return granted;
  }
}

function tooMany(seconds: number): RequestError {
  const message = `Too many logins have failed. Try again in ${seconds} s.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], {
    'retry-after': String(seconds),
  });
}
