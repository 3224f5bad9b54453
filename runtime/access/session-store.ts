import type { Pending } from '../dialect/pending.js';
import type { QuotaValues, Rates } from './quota-values.js';
import type { PrivilegeSet, SessionStorage } from './session.js';

/** What is kept of a session. Its store alone changes it. */
export interface SessionRecord {
  /**
   * Stays the same while the session lives: what belongs to the session names it by this. Nobody gets in with it. A guest who
   * becomes a user gets a session of another.
   */
  readonly id: string;
  /** What the cookie holds: 128 bits from a secure source. */
  readonly token: string;
  readonly userName: string;
  readonly privileges: PrivilegeSet;
  readonly storage: SessionStorage;
  readonly quotas: QuotaValues;
  /** What the session has used up of its rates; none before a rate is set. */
  readonly rates: Rates | undefined;
  /** Seconds without a request after which the session ends. */
  readonly idleTimeout: number;
  /** The session ends then unless there is a request before, in milliseconds of the store's clock. */
  readonly expires: number;
  /** The token comes with each request by itself, and is not the session's to renew: a bearer token. */
  readonly isForeign: boolean;
  /** The address that it began from, which it is counted for while it is a guest's; none for a bearer token. */
  readonly address: string | undefined;
  readonly hasEnded: boolean;
  /** It was a guest's, and ended when that one became a user: its client has another session now. */
  readonly wasReplaced: boolean;
}

/** What a session begins with. */
export interface NewSession extends Pick<
  SessionRecord,
  'token' | 'userName' | 'privileges' | 'quotas' | 'idleTimeout' | 'isForeign' | 'address'
> {
  /** It ends then all the same: a bearer token has a last moment. */
  readonly ends: number;
}

/** What can be changed of a session. Another token renews it: the old one opens nothing any more. */
export type SessionChange = Partial<
  Pick<SessionRecord, 'token' | 'userName' | 'privileges' | 'quotas'>
>;

/** Sessions that live; those that have expired a moment ago may be among them. */
export interface SessionCounts {
  readonly guests: number;
  readonly users: number;
}

/**
 * Keeps sessions for their time, in the memory of this process or where several processes have them. A store answers at once;
 * one that is elsewhere may answer `find` with a promise, and makes it wait for what was written before.
 */
export interface SessionStore {
  /** Whether other processes have these sessions, too. */
  readonly isShared: boolean;
  /** The living session with that token. Its idle time starts anew. */
  find(token: string): Pending<SessionRecord | undefined>;
  /** @returns the new session, or the one with that token which another process was faster to begin */
  begin(session: NewSession): SessionRecord;
  /** Nothing happens to a session that has ended. */
  change(record: SessionRecord, change: SessionChange): void;
  /** Sets the idle timeout, in seconds, which starts now. */
  setIdleTimeout(record: SessionRecord, seconds: number): void;
  /** Gives what is in the storage of a session, and what it has used up of its rates, to another one. */
  moveOf(from: SessionRecord, to: SessionRecord): void;
  /**
   * Ends a session before its time.
   * @param wasReplaced see {@link SessionRecord.wasReplaced}
   */
  remove(record: SessionRecord, wasReplaced?: boolean): void;
  /** Where sessions are shared: tells other processes what code has changed inside of stored values. */
  save(record: SessionRecord): void;
  /** Where sessions are shared: reads of the session what other processes have changed. */
  look(record: SessionRecord): void;
  /** Runs changes that belong together: what other processes see of them is all or nothing. */
  together<T>(changes: () => T): T;
  readonly counts: SessionCounts;
  /** Of guests that began from the addresses which count as one, see `network`. */
  guestsFrom(address: string): number;
  /** All that live. */
  list(): Pending<readonly SessionRecord[]>;
  /** Called with the ID of each session that ended, by time or by {@link remove}; where several processes serve, in one. */
  onEnd(listener: (id: string) => void): void;
  close(): Pending<void>;
}
