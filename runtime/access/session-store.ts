import type { Pending } from '../dialect/pending.js';
import type { QuotaValues } from './quota-values.js';
import type { RateWindows } from './rate-windows.js';
import type { PrivilegeSet } from './session.js';

/** What is kept of a session. Whoever changes it tells the store by one of its members. */
export interface SessionRecord {
  /**
   * Stays the same while the session lives: what belongs to the session names it by this. Nobody gets in with it. A guest who
   * becomes a user gets a session of another.
   */
  readonly id: string;
  /** What the cookie holds: 128 bits from a secure source. */
  token: string;
  userName: string;
  privileges: PrivilegeSet;
  readonly storage: Map<string, unknown>;
  quotas: QuotaValues;
  /** What the session has used up of its rates; none before a rate is set. */
  rates: RateWindows | undefined;
  /** Seconds without a request after which the session ends. */
  idleTimeout: number;
  /** Time of the last request, in milliseconds of the store's clock. */
  refreshed: number;
  /** The session ends then unless there is a request before. */
  expires: number;
  /** It ends then all the same: a bearer token has a last moment. */
  readonly ends: number;
  /** The token comes with each request by itself, and is not the session's to renew: a bearer token. */
  readonly isForeign: boolean;
  /** The address that it began from, which it is counted for while it is a guest's; none for a bearer token. */
  readonly address: string | undefined;
  hasEnded: boolean;
  /** It was a guest's, and ended when that one became a user: its client has another session now. */
  wasReplaced: boolean;
}

/**
 * Keeps sessions for their time. The store of this process answers at once; one elsewhere may answer `find` with a promise,
 * and makes it wait for what was written before.
 */
export interface SessionStore {
  /** The living session with that token. Its idle time starts anew. */
  find(token: string): Pending<SessionRecord | undefined>;
  add(record: SessionRecord): void;
  /** Gives a session another token; the old one opens nothing any more. */
  renew(record: SessionRecord, token: string): void;
  /** Ends a session before its time. */
  remove(record: SessionRecord): void;
  /** Sets the idle timeout, in seconds, which starts now. */
  setIdleTimeout(record: SessionRecord, seconds: number): void;
  /** All that live. */
  list(): Pending<readonly SessionRecord[]>;
  /** Called with each session that ended, by time or by {@link remove}. */
  onEnd(listener: (record: SessionRecord) => void): void;
  close(): Pending<void>;
}
