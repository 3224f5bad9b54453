import type { Pending } from '../dialect/pending.js';
import type { QuotaValues, Rates } from './quotas.js';
import type { PrivilegeSet, SessionStorage } from './session.js';

/** A stored session. Only its store changes it. */
export interface SessionRecord {
  /**
   * Stays the same while the session lives, and identifies what belongs to the session. It gives no
   * access. A guest who becomes a user gets a session with another ID.
   */
  readonly id: string;
  /** The value of the cookie: 128 bits from a secure source. */
  readonly token: string;
  readonly userName: string;
  readonly privileges: PrivilegeSet;
  readonly storage: SessionStorage;
  readonly quotas: QuotaValues;
  /** What the session has used of its rates; none before a rate is set. */
  readonly rates: Rates | undefined;
  /** Seconds without a request after which the session ends. */
  readonly idleTimeout: number;
  /**
   * When the session ends unless there is a request before, in milliseconds of the store's clock.
   */
  readonly expires: number;
  /** Whether the token comes with each request, and the session cannot renew it: a bearer token. */
  readonly isForeign: boolean;
  /**
   * The address from which it began, for which it counts while it is a guest's; none for a bearer
   * token.
   */
  readonly address: string | undefined;
  readonly hasEnded: boolean;
  /**
   * Whether it was a guest's, and ended when the guest became a user: its client has another
   * session now.
   */
  readonly wasReplaced: boolean;
}

/** The values with which a session begins. */
export interface NewSession extends Pick<
  SessionRecord,
  'token' | 'userName' | 'privileges' | 'quotas' | 'idleTimeout' | 'isForeign' | 'address'
> {
  /** When it ends in any case: a bearer token expires. */
  readonly ends: number;
}

/**
 * What can be changed of a session. Another token renews it: the old one no longer opens anything.
 */
export type SessionChange = Partial<
  Pick<SessionRecord, 'token' | 'userName' | 'privileges' | 'quotas'>
>;

/** The number of living sessions; some may have expired a moment ago. */
export interface SessionCounts {
  readonly guests: number;
  readonly users: number;
}

/**
 * Stores sessions for their lifetime, in the memory of this process or shared by several processes.
 * A store answers at once; a shared one may answer `find` with a promise, which waits for earlier
 * writes.
 */
export interface SessionStore {
  /** Whether other processes have these sessions, too. */
  readonly isShared: boolean;
  /** The living session with that token. Its idle time starts anew. */
  find(token: string): Pending<SessionRecord | undefined>;
  /** @returns the new session, or the one with that token that another process began earlier */
  begin(session: NewSession): SessionRecord;
  /** Has no effect on a session that has ended. */
  change(record: SessionRecord, change: SessionChange): void;
  /** Sets the idle timeout, in seconds, which starts now. */
  setIdleTimeout(record: SessionRecord, seconds: number): void;
  /** Moves the storage of a session, and what it has used of its rates, to another one. */
  moveOf(from: SessionRecord, to: SessionRecord): void;
  /**
   * Ends a session before its time.
   * @param wasReplaced see {@link SessionRecord.wasReplaced}
   */
  remove(record: SessionRecord, wasReplaced?: boolean): void;
  /** If sessions are shared: writes what code has changed inside of stored values. */
  save(record: SessionRecord): void;
  /** If sessions are shared: reads what other processes have changed. */
  look(record: SessionRecord): void;
  /** Runs changes as one: other processes see all of them or none. */
  together<T>(changes: () => T): T;
  readonly counts: SessionCounts;
  /** The number of guests from the addresses that count as one, see `network`. */
  guestsFrom(address: string): number;
  /** All that live. */
  list(): Pending<readonly SessionRecord[]>;
  /**
   * Called with the ID of each session that ended, by time or by {@link remove}; with several
   * processes, in one of them.
   */
  onEnd(listener: (id: string) => void): void;
  close(): Pending<void>;
}
