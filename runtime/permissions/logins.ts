import { DatabaseUnavailableError } from '../dialect/executor.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import type { Login, LoginAttempts, LoginModule } from '../access/login-module.js';
import { network } from '../access/quotas.js';
import { foldName, type Grant } from '../access/session.js';
import type { Clock } from '../entity-set/clock.js';
import { ownText } from '../protocol/own-text.js';
import type { Sharing } from '../shared-state/sharing.js';
import type { StateStatement } from '../shared-state/state-database.js';

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

/** From when, and by how much, attempts with a name or from an address are slowed down. */
interface Slowdown {
  /** Failures in a row without a wait. */
  readonly free: number;
  /** Seconds; the first wait is one second, and each further failure doubles it. */
  readonly longest: number;
}

/** Counts failures by name, and says how long a name has to wait. */
interface FailureCounter {
  /** Seconds until the next attempt is allowed; 0 if it is allowed now. */
  wait(name: string): number;
  /**
   * Counts an attempt as failed before its outcome is known, so that simultaneous attempts do not
   * avoid the wait.
   */
  begin(name: string): void;
  /** Uncounts an attempt that did not fail. */
  takeBack(name: string): void;
  /** Forgets all failures of a name. */
  clear(name: string): void;
}

interface Failures {
  count: number;
  /** No attempt is allowed before this time, in milliseconds. */
  until: number;
  /** Forgotten then. */
  expires: number;
}

/** How long failures are remembered. */
export const memoryMilliseconds = 3_600_000;

/** Counts failures by name, in bounded memory: the oldest failures are forgotten first. */
class FailureCounts implements FailureCounter {
  readonly #failures = new Map<string, Failures>();

  /** @param most names that are remembered */
  constructor(
    private readonly clock: Clock,
    private readonly slowdown: Slowdown,
    private readonly most: number,
  ) {}

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

/** Failed logins. A user waits less than an address: otherwise anyone could lock a user out. */
interface LoginFailures {
  readonly ofUser: FailureCounter;
  readonly ofAddress: FailureCounter;
}

const slowdowns = {
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

/** Failed logins that all processes count together. */
export function sharedLoginFailures(sharing: Sharing): LoginFailures {
  return {
    ofUser: new SharedFailures(sharing, 'user', slowdowns.ofUser),
    ofAddress: new SharedFailures(sharing, 'address', slowdowns.ofAddress),
  };
}

class SharedFailures implements FailureCounter {
  readonly #find: StateStatement;
  readonly #set: StateStatement;
  readonly #update: StateStatement;
  readonly #remove: StateStatement;
  readonly #forget: StateStatement;

  constructor(
    private readonly sharing: Sharing,
    private readonly kind: string,
    private readonly slowdown: Slowdown,
  ) {
    const { state } = sharing;
    const one = 'where "kind" = ? and "name" = ?';
    this.#find = state.prepare(`select "count", "until", "expires" from "failure" ${one}`);
    this.#set = state.prepare(
      'insert or replace into "failure" ("kind", "name", "count", "until", "expires") values (?, ?, ?, ?, ?)',
    );
    this.#update = state.prepare(`update "failure" set "count" = ?, "until" = ? ${one}`);
    this.#remove = state.prepare(`delete from "failure" ${one}`);
    // Those that failed longest ago.
    this.#forget = state.prepare(
      `delete from "failure" where "kind" = ?1 and "position" <= (select "position" from "failure"
       where "kind" = ?1 order by "position" desc limit 1 offset ${mostRemembered})`,
    );
  }

  wait(name: string): number {
    const now = this.sharing.clock.now();
    const { until = 0 } = this.#alive(name) ?? {};
    return Math.max(0, Math.ceil((until - now) / 1000));
  }

  begin(name: string): void {
    this.sharing.state.change(() => {
      const now = this.sharing.clock.now();
      const count = (this.#alive(name)?.count ?? 0) + 1;
      const until = now + waitAfter(this.slowdown, count) * 1000;
      this.#set.run(this.kind, name, count, until, now + memoryMilliseconds);
      this.#forget.run(this.kind);
    });
  }

  takeBack(name: string): void {
    this.sharing.state.change(() => {
      const known = this.#alive(name);
      if (known === undefined) return;
      const count = known.count - 1;
      const until = count <= this.slowdown.free ? 0 : known.until;
      if (count <= 0) this.#remove.run(this.kind, name);
      else this.#update.run(count, until, this.kind, name);
    });
  }

  clear(name: string): void {
    this.sharing.state.change(() => this.#remove.run(this.kind, name));
  }

  #alive(name: string): { readonly count: number; readonly until: number } | undefined {
    const row = this.#find.first(this.kind, name);
    if (row === undefined) return undefined;
    const [count, until, expires] = row as readonly [number, number, number];
    return expires > this.sharing.clock.now() ? { count, until } : undefined;
  }
}
