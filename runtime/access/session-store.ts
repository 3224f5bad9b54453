import type { QuotaValues } from './quotas.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import type { PrivilegeSet, SessionStorage } from './session.js';

/** A stored session. Only its store changes it. */
export interface SessionRecord {
  /**
   * Stays the same while the session lives, and identifies what belongs to the session. It gives no
   * access. A guest who becomes a user gets a session with another ID.
   */
  readonly id: string;
  /**
   * The value of the cookie: 128 bits from a secure source; empty if only another server knows it.
   */
  readonly token: string;
  readonly userName: string;
  readonly privileges: PrivilegeSet;
  readonly storage: SessionStorage;
  readonly quotas: QuotaValues;
  /** Seconds without a request after which the session ends. */
  readonly idleTimeout: number;
  /**
   * When the session ends unless there is a request before, in milliseconds of the store's clock.
   */
  readonly expires: number;
  /** Whether the token comes with each request, and the session cannot renew it: a bearer token. */
  readonly isForeign: boolean;
  /**
   * The address from which the session began. The sessions of guests are limited by address.
   * `undefined` for a bearer token.
   */
  readonly address: string | undefined;
  readonly hasEnded: boolean;
  /**
   * Whether it was the session of a guest, and ended because the guest became a user with another
   * session.
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

/** The largest numbers of sessions. */
export interface SessionRoom {
  /** Sessions with a user or privileges. */
  readonly users: number;
  readonly guests: number;
  /** Guests from the addresses that count as one, see `network`. */
  readonly guestsOfAddress: number;
}

/**
 * Stores sessions for their lifetime, in the memory of this process, or in the database for several
 * servers. Changes are synchronous, because class code makes them with `session.setPrivileges` and
 * others: a store in the database notes them, and {@link flush} stores them.
 */
export interface SessionStore {
  /** Whether other servers have these sessions, too. */
  readonly isShared: boolean;
  /**
   * The living session with that token. Its idle time starts anew.
   * @throws DatabaseUnavailableError if the store cannot be read: a user must not become a guest by that
   */
  find(token: string): Promise<SessionRecord | undefined>;
  /**
   * Ends the sessions of users who may not continue (`access.md#users`).
   * @throws DatabaseUnavailableError if the users cannot be read
   */
  endSessionsOfUsers(): Promise<void>;
  /**
   * @param room limits of the number of sessions; leave it out to create the session in any case
   * @throws RequestError 402 with 1823 if there is no room, 429 if a guest's address has too many;
   * a store in the database throws it when it stores the session
   */
  begin(session: NewSession, room?: SessionRoom): SessionRecord;
  /**
   * Begins a session that takes over everything of another one, which ends.
   * @throws RequestError as {@link begin}
   */
  replace(record: SessionRecord, session: NewSession, room?: SessionRoom): SessionRecord;
  /**
   * Has no effect on a session that has ended.
   * @param room if a guest becomes a user
   * @throws RequestError as {@link begin}
   */
  change(record: SessionRecord, change: SessionChange, room?: SessionRoom): void;
  /** Sets the idle timeout, in seconds, which starts now. */
  setIdleTimeout(record: SessionRecord, seconds: number): void;
  /** Ends a session before its time. */
  remove(record: SessionRecord): void;
  /**
   * Stores what was changed, also inside of stored values; until then no other server knows it.
   * Call it before the client is answered.
   * @param hasStorage whether code had access to the stored values
   * @throws RequestError if there is no room for the session, DatabaseUnavailableError
   */
  flush(record: SessionRecord, hasStorage: boolean): Promise<void>;
  /** All living sessions. */
  list(): Promise<readonly SessionRecord[]>;
  /**
   * Called with the ID of each session that ended, by time or by {@link remove}; with several
   * servers, in one of them.
   */
  onEnd(listener: (id: string) => void): void;
  /** Called with the IDs of a session and its successor, see {@link replace}. */
  onMove(listener: (from: string, to: string) => void): void;
  close(): Promise<void>;
}

/** The refusal of a session for which there is no room. */
export function sessionsFull(): RequestError {
  return refuse('noSession', 'The server has as many sessions as it may have.');
}

/** Seconds that a refused guest waits before the next attempt; when there will be room is unknown. */
const retryAfter = 60;

/** The refusal of a guest whose address has as many sessions as it may have. */
export function addressFull(most: number): RequestError {
  const message = `An address has ${most} sessions of guests at most. Log in, or try again later.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], {
    'retry-after': String(retryAfter),
  });
}
