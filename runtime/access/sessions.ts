import { randomBytes } from 'node:crypto';
import type { Clock } from '../entity-set/clock.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import type { EndedUsers, WatchedLogin } from './ended-users.js';
import { grantedPrivileges, isGuest, listOf, noPrivileges } from './grants.js';
import { noQuotas, type QuotaValues, RequestCounts } from './quotas.js';
import type { RequestScopes } from './request-scope.js';
import { foldName, type Grant, type PrivilegeTable, type Session } from './session.js';
import type {
  NewSession,
  SessionChange,
  SessionRecord,
  SessionRoom,
  SessionStore,
} from './session-store.js';

export interface SessionLimits {
  /** Seconds without a request after which a session ends. */
  readonly sessionIdleTimeout: number;
  /** Sessions with a user or privileges. */
  readonly maxSessions: number;
  /** Sessions of guests that have locks, uploads or other state. */
  readonly maxGuestSessions: number;
}

/** The values with which a session begins. */
interface Beginning {
  readonly grant?: Grant;
  /** The address of its request. */
  readonly address?: string | undefined;
  /** Seconds; the server's if left out. */
  readonly idleTimeout?: number;
  /** The token of a bearer, and its expiry in milliseconds of the clock. */
  readonly foreign?: { readonly token: string; readonly ends: number };
}

/** A day: the longest idle timeout of a client, unless the server's own is longer. */
const longestIdleTimeout = 24 * 3600;
/** The shortest idle timeout; shorter ones are raised to it. */
const shortestIdleTimeout = 60;

/** The life of sessions: they begin, get privileges, end (`access.md#sessions`). */
export class Sessions {
  readonly #room: SessionRoom;
  /** Requests by the IDs of sessions. */
  readonly counts = new RequestCounts();
  #hasRequestQuotas: boolean;

  /**
   * @param quotas with which each session begins
   * @param scopes if code of the user runs
   * @param ended if logins say whose sessions end
   */
  constructor(
    readonly store: SessionStore,
    readonly clock: Clock,
    private readonly limits: SessionLimits,
    private readonly table: PrivilegeTable,
    private readonly quotas: QuotaValues = noQuotas,
    private readonly scopes?: RequestScopes,
    private readonly ended?: EndedUsers,
  ) {
    // Other processes may set quotas of sessions.
    this.#hasRequestQuotas = store.isShared || quotas.nbRequestsPerMin !== undefined;
    store.onMove((from, to) => {
      this.counts.move(from, to);
    });
    const { maxSessions: users, maxGuestSessions: guests } = limits;
    // One address must not take the sessions of all others.
    this.#room = { users, guests, guestsOfAddress: Math.max(20, Math.floor(guests / 100)) };
  }

  /**
   * @throws RequestError 402 with 1823 if there is no room for it, 429 if a guest's address has too
   * many; with several servers, `flush` of the store throws it
   */
  begin(beginning: Beginning = {}): SessionRecord {
    return this.store.begin(this.#newSession(beginning), this.#room);
  }

  #newSession({ grant = {}, idleTimeout, foreign, address }: Beginning): NewSession {
    return {
      token: foreign?.token ?? newToken(),
      userName: grant.userName ?? '',
      privileges: grantedPrivileges(grant, this.table),
      quotas: this.quotas,
      idleTimeout: this.#idleTimeout(idleTimeout),
      ends: foreign?.ends ?? Infinity,
      isForeign: foreign !== undefined,
      address,
    };
  }

  /**
   * Replaces what a session holds, and renews its token. A guest who becomes a user, and a user who
   * gets another name, have a session of their own from then on, which takes over everything of the
   * old one: somebody else may know the token of the old one, and requests that came with it
   * continue as a guest's.
   * @returns the session that holds the grant
   * @throws RequestError 402 with 1823 if a guest becomes a user and there is no room for one
   */
  grant(record: SessionRecord, grant: Grant): SessionRecord {
    const privileges = grantedPrivileges(grant, this.table);
    const userName = grant.userName ?? record.userName;
    const becomesUser = !isGuest(userName, privileges);
    const isAnother = isGuestRecord(record) || userName !== record.userName;
    // A user who becomes a guest, or another user, keeps the slot.
    const room = becomesUser && isGuestRecord(record) ? this.#room : undefined;
    // A bearer token belongs to its client: nobody has planted it.
    if (becomesUser && isAnother && !record.isForeign) {
      const { address, quotas, idleTimeout } = record;
      const made = this.#newSession({ grant: { ...grant, userName }, address });
      return this.store.replace(record, { ...made, quotas, idleTimeout }, room);
    }
    this.#renew(record, { privileges, userName }, room);
    return record;
  }

  /** Runs a login, whose session must not live on if its user is changed meanwhile. */
  watch<T>(login: WatchedLogin<T>): Promise<T> {
    return this.ended?.watch(this.store, login) ?? login(() => Promise.resolve(false));
  }

  givesNothing(grant: Grant): boolean {
    return isGuest(grant.userName ?? '', grantedPrivileges(grant, this.table));
  }

  clear(record: SessionRecord): void {
    this.#renew(record, { privileges: noPrivileges, userName: '' });
  }

  setIdleTimeout(record: SessionRecord, seconds: number | undefined): void {
    this.store.setIdleTimeout(record, this.#idleTimeout(seconds));
  }

  /** Whether the requests of some session are, or were, limited. */
  get hasRequestQuotas(): boolean {
    return this.#hasRequestQuotas;
  }

  setQuotas(record: SessionRecord, quotas: QuotaValues): void {
    this.store.change(record, { quotas });
    if (quotas.nbRequestsPerMin !== undefined) this.#hasRequestQuotas = true;
  }

  /** See {@link Session.require}; for a privilege that the session does not hold. */
  refuse({ isGuest }: Pick<Session, 'isGuest'>, privilege: string): never {
    if (this.table.resolve([privilege], []).size === 0) {
      throw new Error(`Code requires privileges of the model, and it has no "${privilege}".`);
    }
    const problem = protocolError('executeDenied', 'No permission to do this.');
    throw new RequestError(isGuest ? 401 : 403, [problem]);
  }

  /**
   * See {@link Session.promote}.
   * @param requester the session of code that belongs to no request
   * @throws Error for a privilege that is not declared
   */
  async promote<T>(
    privileges: string | readonly string[],
    work: () => T | Promise<T>,
    requester: Session,
  ): Promise<T> {
    if (this.scopes === undefined) throw new Error('Class code alone can be promoted.');
    const names = listOf(privileges).filter((name) => foldName(name) !== 'guest');
    for (const name of names) {
      if (this.table.resolve([name], []).size > 0) continue;
      throw new Error(`Code is promoted by privileges of the model, and it has no "${name}".`);
    }
    return this.scopes.promoted([...this.table.resolve(names, [])], work, requester);
  }

  #renew(record: SessionRecord, change: SessionChange, room?: SessionRoom): void {
    const token = record.isForeign ? {} : { token: newToken() };
    this.store.change(record, { ...change, ...token }, room);
  }

  #idleTimeout(seconds: number | undefined): number {
    const { sessionIdleTimeout } = this.limits;
    if (seconds === undefined) return sessionIdleTimeout;
    const longest = Math.max(sessionIdleTimeout, longestIdleTimeout);
    return Math.min(Math.max(seconds, shortestIdleTimeout), longest);
  }
}

function isGuestRecord({ userName, privileges }: SessionRecord): boolean {
  return isGuest(userName, privileges);
}

function newToken(): string {
  return randomBytes(16).toString('hex').toUpperCase();
}
