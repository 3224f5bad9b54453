import { DatabaseUnavailableError } from '../dialect/executor.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import type { Attempt, LoginFailures } from './failures.js';
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
    const attempt = { user: foldName(user), address: network(address) };
    if (this.#running >= mostAtOnce) throw tooMany(1);
    this.#running += 1;
    try {
      const wait = await this.failures.begin(attempt);
      if (wait > 0) throw tooMany(wait);
      const granted = await this.#granted(user, password, attempt);
      if (granted === undefined) return undefined;
      await this.failures.succeeded(attempt);
      return granted;
    } finally {
      this.#running -= 1;
    }
  }

  async #granted(user: string, password: string, attempt: Attempt): Promise<Grant | undefined> {
    try {
      const granted: Login | null = await this.module.login(user, password);
      return granted ?? undefined;
    } catch (error) {
      // An error of the server is no failure of the user.
      await this.failures.takeBack(attempt);
      throw isOfSystem(error) ? new DatabaseUnavailableError('the login failed', error) : error;
    }
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
