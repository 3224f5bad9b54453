import { holds, isGuest, noPrivileges, readGrant } from './grants.js';
import type { LoginAttempts } from './login-module.js';
import { noQuotas, type QuotaName, type QuotaValues, quotaNames, withQuota } from './quotas.js';
import {
  type Grant,
  type Origin,
  type PrivilegeSet,
  type Session,
  type SessionQuotas,
  type SessionStorage,
  storageOf,
} from './session.js';
import type { SessionRecord } from './session-store.js';
import type { Sessions } from './sessions.js';

/** Sends a session's token to its client. */
export interface Carrier {
  readonly origin: Origin;
  /**
   * @param record `undefined` if the session has ended
   * @param replaced the session that it replaces: its token is no longer sent
   */
  carry(record: SessionRecord | undefined, replaced?: SessionRecord): void;
  /** Sends the token that the session has now, or none if the session was not stored. */
  synchronize(isStored: boolean): void;
}

/** The session of one request. Its state is made when a member needs it. */
export class RequestSession implements Session {
  readonly #sessions: Sessions;
  readonly #carrier: Carrier;
  readonly #logins: LoginAttempts | undefined;
  #found: SessionRecord | undefined;
  /** Sessions that this request had before, and ended. */
  readonly #earlier: SessionRecord[] = [];
  #quotas: SessionQuotas | undefined;
  #storage: SessionStorage | undefined;

  /** @param logins `undefined` if nobody can log in */
  constructor(
    sessions: Sessions,
    carrier: Carrier,
    logins: LoginAttempts | undefined,
    found: SessionRecord | undefined,
  ) {
    this.#sessions = sessions;
    this.#carrier = carrier;
    this.#logins = logins;
    this.#found = found;
  }

  /** The stored session; `undefined` for a guest without state, and after it ended. */
  get record(): SessionRecord | undefined {
    return this.#found?.hasEnded === false ? this.#found : undefined;
  }

  get id(): string | undefined {
    return this.record?.id;
  }

  get userName(): string {
    return this.record?.userName ?? '';
  }

  get isGuest(): boolean {
    const { record } = this;
    return record === undefined || isGuest(record.userName, record.privileges);
  }

  get privileges(): PrivilegeSet {
    return this.record?.privileges ?? noPrivileges;
  }

  get origin(): Origin {
    return this.#carrier.origin;
  }

  get storage(): SessionStorage {
    return (this.#storage ??= storageOf(
      () => this.record?.storage,
      () => this.#kept().storage,
    ));
  }

  get quotas(): SessionQuotas {
    return (this.#quotas ??= quotasOf(this));
  }

  /** The limits that are set. */
  get quotaValues(): QuotaValues {
    return this.record?.quotas ?? noQuotas;
  }

  /** What is used of its quotas now. */
  get usedQuotas(): Record<string, number> {
    const { record } = this;
    if (record?.quotas.nbRequestsPerMin === undefined) return {};
    const { counts, clock } = this.#sessions;
    return { nbRequestsPerMin: counts.used(record.id, clock.now()) };
  }

  setQuota(name: QuotaName, value: number | undefined): void {
    const values = withQuota(this.quotaValues, name, value);
    this.#sessions.setQuotas(this.#kept(), values);
  }

  hasPrivilege(name: string): boolean {
    return holds(this.privileges, name);
  }

  require(privilege: string): void {
    if (!this.hasPrivilege(privilege)) this.#sessions.refuse(this, privilege);
  }

  setPrivileges(given: string | readonly string[] | Grant): void {
    this.#grant(readGrant(given));
  }

  clearPrivileges(): void {
    const { record } = this;
    if (record === undefined) return;
    this.#sessions.clear(record);
    this.#carry(record);
  }

  async login(user: string, password: string): Promise<boolean> {
    return this.logIn(user, password, undefined);
  }

  /**
   * Logs a user in. A session of another user ends, because what belongs to one user must not reach
   * another.
   * @param idleTimeout seconds, if the client asks for an idle timeout of its own
   */
  async logIn(user: string, password: string, idleTimeout: number | undefined): Promise<boolean> {
    const isIn = await this.#sessions.watch(async (haveEnded) => {
      const granted = await this.#logins?.grantOf(user, password, this.origin.address);
      if (granted === undefined) return false;
      this.#become(user, granted, idleTimeout);
      await this.synchronize();
      return (await haveEnded(user, granted.userName ?? user)) ? undefined : true;
    });
    if (isIn !== undefined) return isIn;
    if (this.#found !== undefined) this.#sessions.store.remove(this.#found);
    this.#carrier.carry(undefined);
    // The user was changed meanwhile: whether the password is right, and what it grants, is found out again.
    return this.logIn(user, password, idleTimeout);
  }

  #become(user: string, granted: Grant, idleTimeout: number | undefined): void {
    const { record } = this;
    const userName = granted.userName ?? user;
    if (record !== undefined && record.userName !== '' && record.userName !== userName) {
      this.#sessions.store.remove(record);
    }
    this.#grant({ ...granted, userName });
    if (idleTimeout !== undefined && this.record !== undefined) {
      this.#sessions.setIdleTimeout(this.record, idleTimeout);
    }
  }

  /** @returns whether there was a session to end */
  logOut(): boolean {
    const { record } = this;
    if (record === undefined) return false;
    this.#sessions.store.remove(record);
    this.#carrier.carry(undefined);
    return true;
  }

  promote<T>(privileges: string | readonly string[], work: () => T | Promise<T>): Promise<T> {
    return this.#sessions.promote(privileges, work, this);
  }

  keep(): string {
    return this.#kept().id;
  }

  /**
   * Stores what the request has changed of its session; call it before the answer is sent, if
   * several servers have the session.
   * @throws RequestError 402 or 429 if there is no room for the session, DatabaseUnavailableError
   */
  async synchronize(): Promise<void> {
    if (this.#found === undefined) return;
    const { store } = this.#sessions;
    try {
      for (let each = this.#earlier.shift(); each !== undefined; each = this.#earlier.shift()) {
        await store.flush(each, false);
      }
      const hasStorage = this.#storage !== undefined;
      await store.flush(this.#found, hasStorage);
      this.#carrier.synchronize(true);
    } catch (error) {
      this.#carrier.synchronize(false);
      throw error;
    }
  }

  #replaceBy(record: SessionRecord): SessionRecord {
    if (this.#found !== undefined && this.#found !== record) this.#earlier.push(this.#found);
    this.#found = record;
    return record;
  }

  #kept(): SessionRecord {
    const { record } = this;
    if (record !== undefined) return record;
    const wasReplaced = this.#found?.wasReplaced === true;
    const begun = this.#replaceBy(this.#sessions.begin({ address: this.origin.address }));
    // The client has become a user by another request: this guest's cookie must not replace the
    // user's.
    if (!wasReplaced) this.#carry(begun);
    return begun;
  }

  #grant(grant: Grant): void {
    const { record } = this;
    if (record !== undefined) {
      this.#carry(this.#replaceBy(this.#sessions.grant(record, grant)), record);
    } else if (!this.#sessions.givesNothing(grant)) {
      const { address } = this.origin;
      this.#carry(this.#replaceBy(this.#sessions.begin({ grant, address })));
    }
  }

  #carry(record: SessionRecord, before = record): void {
    if (record.isForeign) return;
    this.#carrier.carry(record, before === record ? undefined : before);
  }
}

/**
 * The limits of a session as members that can be set; a value that is no positive whole number
 * throws a RangeError.
 */
function quotasOf(session: RequestSession): SessionQuotas {
  const quotas = {};
  for (const name of quotaNames) {
    Object.defineProperty(quotas, name, {
      enumerable: true,
      get: () => session.quotaValues[name],
      set: (value: number | undefined) => {
        session.setQuota(name, value);
      },
    });
  }
  Object.defineProperty(quotas, 'currentValues', {
    enumerable: true,
    get: () => session.usedQuotas,
  });
  return quotas as SessionQuotas;
}
