import {
  foldName,
  type Grant,
  type Origin,
  type PrivilegeSet,
  type Session,
  type SessionQuotas,
  type SessionStorage,
} from './session.js';
import { holds } from './grants.js';

/**
 * A session whose code holds additional privileges for one call of a function, or for a part of it
 * (`access.md#privileges-of-class-code`). Storage, grants and everything reported about the session
 * are those of the session itself.
 */
export class PromotedSession implements Session {
  readonly #session: Session;
  readonly #added: readonly string[];
  /** The session's own privileges, which are replaced and never changed, and all. */
  #privileges: { readonly own: PrivilegeSet; readonly all: PrivilegeSet } | undefined;

  /** @param added names of privileges, including those that they contain */
  constructor(session: Session, added: readonly string[]) {
    this.#session = session;
    this.#added = added.map(foldName);
  }

  get id(): string | undefined {
    return this.#session.id;
  }

  get userName(): string {
    return this.#session.userName;
  }

  get isGuest(): boolean {
    return this.#session.isGuest;
  }

  get privileges(): PrivilegeSet {
    const { privileges: own } = this.#session;
    if (this.#privileges?.own !== own) {
      this.#privileges = { own, all: new Set([...own, ...this.#added]) };
    }
    return this.#privileges.all;
  }

  get storage(): SessionStorage {
    return this.#session.storage;
  }

  get quotas(): SessionQuotas {
    return this.#session.quotas;
  }

  get origin(): Origin | undefined {
    return this.#session.origin;
  }

  hasPrivilege(name: string): boolean {
    return this.#added.includes(foldName(name)) || holds(this.#session.privileges, name);
  }

  require(privilege: string): void {
    if (!this.hasPrivilege(privilege)) this.#session.require(privilege);
  }

  setPrivileges(grant: string | readonly string[] | Grant): void {
    this.#session.setPrivileges(grant);
  }

  clearPrivileges(): void {
    this.#session.clearPrivileges();
  }

  login(user: string, password: string): Promise<boolean> {
    return this.#session.login(user, password);
  }

  promote<T>(privileges: string | readonly string[], work: () => T | Promise<T>): Promise<T> {
    return this.#session.promote(privileges, work);
  }

  keep(): string {
    return this.#session.keep();
  }
}

/**
 * A session with the user and the privileges that it had when a scope began, for `restrict`, which
 * may run after they have changed.
 */
export class SessionSnapshot extends PromotedSession {
  readonly #kept: Pick<Session, 'userName' | 'isGuest' | 'privileges'>;

  constructor(session: Session, kept: Pick<Session, 'userName' | 'isGuest' | 'privileges'>) {
    super(session, []);
    this.#kept = kept;
  }

  override get userName(): string {
    return this.#kept.userName;
  }

  override get isGuest(): boolean {
    return this.#kept.isGuest;
  }

  override get privileges(): PrivilegeSet {
    return this.#kept.privileges;
  }

  override hasPrivilege(name: string): boolean {
    return holds(this.privileges, name);
  }
}
