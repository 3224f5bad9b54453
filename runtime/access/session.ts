import { fold } from '../protocol/fold.js';
import type { SetRequester } from '../entity-set/entity-set-store.js';

/** The names of privileges are compared without regard to case; a session holds them folded by {@link foldName}. */
export type PrivilegeSet = ReadonlySet<string>;

/** What a login, or class code, gives to a session. Names that are not declared are ignored. */
export interface Grant {
  /** The name of the session's user; if it is left out, the session keeps its name. */
  readonly userName?: string;
  /** Names of privileges: a list, or a text that separates them by commas. */
  readonly privileges?: string | readonly string[];
  /** Names of roles, in the same forms. */
  readonly roles?: string | readonly string[];
}

/**
 * Turns the names in a {@link Grant} into privileges: resolves roles and includes, leaves out
 * unknown names.
 */
export interface PrivilegeTable {
  /** @param names and roles as they were given, in any case */
  resolve(names: readonly string[], roles: readonly string[]): PrivilegeSet;
}

/**
 * Limits of one session, which its code may set (`access.md#quotas`): positive whole numbers. What
 * is left out is not limited.
 */
export interface SessionQuotas {
  /** Seconds without an access after which entity sets end that are made from now on. */
  defaultEntitySetTimeout: number | undefined;
  /** The longest `$timeout`, in seconds; a longer one is reduced to it. */
  maxEntitySetTimeout: number | undefined;
  /** Entity sets that are alive at once. */
  nbEntitySets: number | undefined;
  /** Requests to one process. */
  nbRequestsPerMin: number | undefined;
  /** What is used now. */
  readonly currentValues: Readonly<Record<string, number>>;
}

/** Values that live as long as a session; reading them creates no session for a guest. */
export interface SessionStorage {
  readonly size: number;
  get(name: string): unknown;
  has(name: string): boolean;
  set(name: string, value: unknown): void;
  delete(name: string): boolean;
  clear(): void;
  keys(): readonly string[];
}

/** The connection of a session's request. */
export interface Origin {
  /** Address and port. */
  readonly host: string;
  readonly address: string;
  readonly userAgent: string;
}

/**
 * The requester as class code sees it (`access.md#the-session-in-class-code`). A guest has no
 * state: what needs state (`setPrivileges`, `login`, `storage`, `quotas`, `keep`) creates a
 * session, whose cookie is sent with the answer.
 *
 * It belongs to the request, not to the cookie: if the session ends while a request runs, the
 * request continues as a guest.
 */
export interface Session {
  /**
   * Unlike the cookie it stays the same until a guest becomes a user; `undefined` for a guest
   * without state.
   */
  readonly id: string | undefined;
  /** Empty for a guest. */
  readonly userName: string;
  /** Whether the session has neither a user name nor a privilege (protocol P9.9). */
  readonly isGuest: boolean;
  /** All privileges that it holds, with roles and includes resolved, in lower case. */
  readonly privileges: PrivilegeSet;
  /** Values for the session's later requests; they are removed when the session ends. */
  readonly storage: SessionStorage;
  readonly quotas: SessionQuotas;
  /** The origin of its request; `undefined` for the server itself. */
  readonly origin: Origin | undefined;
  /** Names in any case. Everyone holds `guest`, nobody holds `none`. */
  hasPrivilege(name: string): boolean;
  /**
   * Ends the request if the session does not hold a privilege.
   * @throws RequestError 401 for a guest, 403 for others, as the protocol answers them
   * @throws Error for a privilege that the model does not declare
   */
  require(privilege: string): void;
  /**
   * Replaces what the session holds, and renews its cookie. A guest who becomes a user gets another
   * session, with another ID, which takes over the guest's storage, locks, uploads and singletons;
   * other running requests continue as a guest's.
   * @throws RequestError 402 with 1823 if there is no room for another session
   */
  setPrivileges(grant: string | readonly string[] | Grant): void;
  /** Removes privileges and user name, and renews the cookie. The session continues as a guest. */
  clearPrivileges(): void;
  /**
   * Runs the `login` of `src/login.ts` and sets what it grants.
   * @returns whether it granted something
   * @throws RequestError 429 while too many logins fail, 402 with 1823 if there is no room for
   * another session
   */
  login(user: string, password: string): Promise<boolean>;
  /**
   * Runs code with more privileges than the session holds (`access.md#privileges-of-class-code`):
   * what the code reads and writes, and what it calls and awaits, including its `this.session`.
   * Other code of the same call does not hold them, nor does this code hold them later. A selection
   * is read when it is used: one that is returned unread is read with the privileges of the
   * session.
   * @param privileges names, in any case; what they include is held too
   * @returns what the work returns
   * @throws Error for a privilege that the model does not declare
   */
  promote<T>(privileges: string | readonly string[], work: () => T | Promise<T>): Promise<T>;
  /**
   * Makes sure that the session is stored, for what belongs to it: locks, uploads, singletons.
   * @returns its ID
   * @throws RequestError 402 with 1823 if there is no room for another session
   */
  keep(): string;
}

/** The form in which names of privileges, roles and users are compared. */
export function foldName(name: string): string {
  return fold(name);
}

/**
 * The storage of a session that may not exist yet.
 * @param find returns the stored values, if there are some
 * @param make returns them to be changed, created if needed
 */
export function storageOf(
  find: () => SessionStorage | undefined,
  make: () => SessionStorage,
): SessionStorage {
  return {
    get size() {
      return find()?.size ?? 0;
    },
    get: (name) => find()?.get(name),
    has: (name) => find()?.has(name) ?? false,
    set: (name, value) => {
      make().set(name, value);
    },
    delete: (name) => find()?.has(name) === true && make().delete(name),
    clear: () => {
      if (find() !== undefined) make().clear();
    },
    keys: () => find()?.keys() ?? [],
  };
}

/** Values in the memory of this process. */
export class MemoryStorage implements SessionStorage {
  readonly #values = new Map<string, unknown>();

  get size(): number {
    return this.#values.size;
  }

  get(name: string): unknown {
    return this.#values.get(name);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  set(name: string, value: unknown): void {
    this.#values.set(name, value);
  }

  delete(name: string): boolean {
    return this.#values.delete(name);
  }

  clear(): void {
    this.#values.clear();
  }

  keys(): readonly string[] {
    return [...this.#values.keys()];
  }
}

/** A session as the owner of entity sets (protocol P9.9). */
export function setRequesterOf(session: Session): SetRequester {
  const counted = (): string => session.keep();
  if (session.id === undefined) return { owner: undefined, keeper: undefined, counted };
  const { defaultEntitySetTimeout, maxEntitySetTimeout, nbEntitySets } = session.quotas;
  return {
    owner: session.isGuest ? undefined : session.id,
    keeper: keeperOf(session),
    defaultTimeout: defaultEntitySetTimeout,
    maxTimeout: maxEntitySetTimeout,
    maxSets: nbEntitySets,
    counted,
  };
}

/**
 * A saved definition outlives its session, and the user has another session after a restart
 * (protocol P9.10): it is found by the name that the login gave. A session with privileges and no
 * name is known by its ID only. A set that is made from a definition is read with the privileges of
 * the session that requests it.
 */
function keeperOf({ id, isGuest, userName }: Session): string | undefined {
  if (isGuest) return undefined;
  return userName === '' ? `session:${id ?? ''}` : `user:${userName}`;
}
