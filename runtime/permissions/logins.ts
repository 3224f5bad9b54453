import { DatabaseUnavailableError } from '../dialect/executor.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import {
  type Login,
  type LoginAttempts,
  type LoginModule,
  longestCredential,
} from '../access/login-module.js';
import { network } from '../access/quotas.js';
import { foldName, type Grant } from '../access/session.js';
import type { Clock } from '../entity-set/clock.js';
import { ownText } from '../protocol/own-text.js';

/** Logins that run at once: each hashes a password, which takes a processor and some megabytes. */
const mostAtOnce = 32;

/**
 * Runs the user's own `login` and slows down failed attempts, by user and by address.
 */
export class Logins implements LoginAttempts {
  #running = 0;
  /** Attempts that run, and count as failed until they end. */
  readonly #counted = new Map<Attempt, Promise<unknown>>();

  constructor(
    private readonly module: Pick<LoginModule, 'login'>,
    private readonly failures: FailedLogins,
  ) {}

  async grantOf(user: string, password: string, address: string): Promise<Grant | undefined> {
    // Some directories accept an empty password as an anonymous login.
    if (user === '' || password === '') return undefined;
    if (user.length > longestCredential || password.length > longestCredential) return undefined;
    const attempt = { user: foldName(user), address: network(address) };
    if (this.#running >= mostAtOnce) throw tooMany('run at once', 1);
    this.#running += 1;
    try {
      return await this.#allowed(attempt, () => this.#run(user, password, attempt));
    } finally {
      this.#running -= 1;
    }
  }

  /** Runs an attempt when it has not to wait any more because of others that run: they may succeed. */
  async #allowed<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
    for (;;) {
      const wait = this.failures.begin(attempt);
      if (wait === 0) {
        const running = work();
        this.#counted.set(attempt, running);
        try {
          return await running;
        } finally {
          this.#counted.delete(attempt);
        }
      }
      const others = [...this.#counted].filter(
        ([{ user, address }]) => user === attempt.user || address === attempt.address,
      );
      if (others.length === 0) throw tooMany('have failed', wait);
      await Promise.race(others.map(([, running]) => running)).catch(() => undefined);
    }
  }

  async #run(user: string, password: string, attempt: Attempt): Promise<Grant | undefined> {
    const granted = await this.#granted(user, password, attempt);
    if (granted !== undefined) this.failures.succeeded(attempt);
    return granted;
  }

  async #granted(user: string, password: string, attempt: Attempt): Promise<Grant | undefined> {
    try {
      const granted: Login | null = await this.module.login(user, password);
      return granted ?? undefined;
    } catch (error) {
      // An error of the server is no failure of the user.
      this.failures.takeBack(attempt);
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
  // pg has no code for this one.
  const isCut = error.message.startsWith('Connection terminated');
  return isSystemCode || isCut || isOfSystem(error.cause);
}

function tooMany(what: 'have failed' | 'run at once', seconds: number): RequestError {
  const message = `Too many logins ${what}. Try again in ${seconds} s.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], {
    'retry-after': String(seconds),
  });
}

/** When, and by how much, attempts with a name or from an address are slowed down. */
interface Slowdown {
  /** Failures in a row without a wait. */
  readonly free: number;
  /** Seconds; the first wait is one second, and each further failure doubles it. */
  readonly longest: number;
}

interface Failures {
  count: number;
  /** No attempt is allowed before this time, in milliseconds. */
  until: number;
  /** Forgotten then. */
  expires: number;
}

/** How long failures are remembered. */
const memoryMilliseconds = 3_600_000;

/** Counts failures by name, in bounded memory: the oldest failures are forgotten first. */
class FailureCounts {
  readonly #failures = new Map<string, Failures>();

  /** @param most names that are remembered */
  constructor(
    private readonly clock: Clock,
    private readonly slowdown: Slowdown,
    private readonly most: number,
  ) {}

  /** Seconds until the next attempt is allowed; 0 if it is allowed now. */
  wait(name: string): number {
    const failures = this.#alive(name);
    return failures === undefined
      ? 0
      : Math.max(0, Math.ceil((failures.until - this.clock.now()) / 1000));
  }

  begin(name: string): void {
    const now = this.clock.now();
    const count = (this.#alive(name)?.count ?? 0) + 1;
    const seconds = waitAfter(this.slowdown, count);
    this.#failures.delete(name);
    this.#failures.set(ownText(name), {
      count,
      until: now + seconds * 1000,
      expires: now + memoryMilliseconds,
    });
    if (this.#failures.size <= this.most) return;
    for (const oldest of this.#failures.keys()) {
      this.#failures.delete(oldest);
      return;
    }
  }

  /** Uncounts an attempt that did not fail. */
  takeBack(name: string): void {
    const failures = this.#failures.get(name);
    if (failures === undefined) return;
    failures.count -= 1;
    if (failures.count <= 0) this.#failures.delete(name);
    else if (failures.count <= this.slowdown.free) failures.until = 0;
  }

  clear(name: string): void {
    this.#failures.delete(name);
  }

  #alive(name: string): Failures | undefined {
    const failures = this.#failures.get(name);
    if (failures === undefined || failures.expires > this.clock.now()) return failures;
    this.#failures.delete(name);
    return undefined;
  }
}

/** Seconds to wait after that many failures in a row. */
function waitAfter({ free, longest }: Slowdown, count: number): number {
  return count <= free ? 0 : Math.min(longest, 2 ** Math.min(count - free - 1, 30));
}

/** Names, and addresses, whose failures are remembered. */
const mostRemembered = 10_000;

/** A user waits less than an address: otherwise anyone could lock a user out. */
const slowdowns = {
  user: { free: 5, longest: 60 },
  address: { free: 20, longest: 900 },
} as const satisfies Record<string, Slowdown>;

/** Who tries to log in. */
interface Attempt {
  readonly user: string;
  readonly address: string;
}

/** Failed logins of this process, by user and by address. */
export class FailedLogins {
  readonly #users: FailureCounts;
  readonly #addresses: FailureCounts;

  constructor(clock: Clock) {
    this.#users = new FailureCounts(clock, slowdowns.user, mostRemembered);
    this.#addresses = new FailureCounts(clock, slowdowns.address, mostRemembered);
  }

  /**
   * Counts an attempt as failed before its outcome is known, so that simultaneous attempts do not
   * avoid the wait.
   * @returns 0, or the seconds to wait, and then nothing is counted
   */
  begin({ user, address }: Attempt): number {
    const wait = Math.max(this.#users.wait(user), this.#addresses.wait(address));
    if (wait > 0) return wait;
    this.#users.begin(user);
    this.#addresses.begin(address);
    return 0;
  }

  /** Uncounts an attempt that did not fail: an error of the server. */
  takeBack({ user, address }: Attempt): void {
    this.#users.takeBack(user);
    this.#addresses.takeBack(address);
  }

  /**
   * Forgets all failures of a user who has logged in. A login to one's own account must not clear those of
   * an address that tries other accounts.
   */
  succeeded({ user, address }: Attempt): void {
    this.#users.clear(user);
    this.#addresses.takeBack(address);
  }
}
