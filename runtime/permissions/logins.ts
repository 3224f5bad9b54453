import { DatabaseUnavailableError } from '../dialect/executor.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import type { LoginFailures } from './failures.js';
import type { Login, LoginAttempts, LoginModule } from '../access/login-module.js';
import { network } from '../access/quota-values.js';
import { foldName, type Grant } from '../access/session.js';

/** The longest user name and password, which bounds the time to hash them. */
const longestText = 1024;
/** Logins that run at once: each hashes a password, which takes a processor and some megabytes. */
const mostAtOnce = 32;

/**
 * Runs the user's own `login` and slows down failed attempts, by user and by address.
 */
export class Logins implements LoginAttempts {
  #running = 0;

  constructor(
    private readonly module: Pick<LoginModule, 'login'>,
    private readonly failures: LoginFailures,
  ) {}

  async grantOf(user: string, password: string, address: string): Promise<Grant | undefined> {
    // Some directories accept an empty password as an anonymous login.
    if (user === '' || password === '') return undefined;
    if (user.length > longestText || password.length > longestText) return undefined;
    const { ofUser, ofAddress } = this.failures;
    const names = [
      [ofUser, foldName(user)],
      [ofAddress, network(address)],
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
      throw isOfSystem(error) ? new DatabaseUnavailableError('the login failed', error) : error;
    } finally {
      this.#running -= 1;
    }
    if (!granted) return undefined;
    ofUser.clear(foldName(user));
    // A login to one's own account must not clear the failures of an address that tries other
    // accounts.
    ofAddress.takeBack(network(address));
    return granted;
  }
}

/**
 * Whether an error, or its cause, is one of a disk, a network, SQLite or PostgreSQL (connections, resources, shutdown, failed
 * reads): another attempt may succeed.
 */
function isOfSystem(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  const isSystemCode =
    typeof code === 'string' &&
    /^(?:SQLITE_(?:FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM|CORRUPT|NOTADB)|E[A-Z]+$|EAI_|08|53|57P|58)/.test(
      code,
    );
  return isSystemCode || isOfSystem(error.cause);
}

function tooMany(seconds: number): RequestError {
  const message = `Too many logins have failed. Try again in ${seconds} s.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], {
    'retry-after': String(seconds),
  });
}
