import type { Pending } from '../dialect/pending.js';
import type { Call, Calls } from './call.js';
import { listOf, holds } from './grants.js';
import {
  foldName,
  type PrivilegeTable,
  type Session,
  type Grant,
  type Origin,
  type PrivilegeSet,
  type SessionQuotas,
  type SessionStorage,
} from './session.js';

/**
 * Runs class code with more privileges than its session holds
 * (`access.md#privileges-of-class-code`).
 */
export class Promotions {
  constructor(
    private readonly calls: Calls,
    private readonly table: PrivilegeTable,
  ) {}

  /**
   * The calling code keeps what it already holds, by another promotion too.
   * @param asking the session of code that belongs to no call
   * @throws Error for a privilege that is not declared
   */
  run<T>(
    privileges: string | readonly string[],
    work: () => Pending<T>,
    asking: Session,
  ): Pending<T> {
    const names = listOf(privileges).filter((name) => foldName(name) !== 'guest');
    for (const name of names) {
      if (this.table.resolve([name], []).size > 0) continue;
      throw new Error(`Code is promoted by privileges of the model, and it has no "${name}".`);
    }
    const { isOutside } = this.calls;
    const { session: own, isServer } = isOutside ? call(asking) : this.calls.current();
    const session = new PromotedSession(own, [...this.table.resolve(names, [])]);
    // `restrict` may check the privileges of the session.
    const restrictions = isServer === true ? undefined : this.calls.restrictions?.of(session);
    return isOutside
      ? this.calls.run({ session, restrictions }, work)
      : this.calls.with({ session, restrictions }, work);
  }
}

function call(session: Session): Call {
  return { session };
}

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
