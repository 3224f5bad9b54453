import { fold } from '../protocol/fold.js';
import type { SetAsker } from '../entity-set/entity-set-store.js';

/** The names of privileges are compared without regard to case; a session holds them folded by {@link foldName}. */
export type PrivilegeSet = ReadonlySet<string>;

/** What a login, or class code, gives to a session (protocol section 16.7). Names that are not declared are ignored. */
export interface Grant {
  /** What the session's user is called; the name that the session has stays when it is left out. */
  readonly userName?: string;
  /** Names of privileges: a list, or a text with commas between them. */
  readonly privileges?: string | readonly string[];
  /** Names of roles, written as the privileges are. */
  readonly roles?: string | readonly string[];
}

/** Turns the names that a {@link Grant} holds into privileges: includes and roles resolved, unknown names left out. */
export interface PrivilegeTable {
  /** @param names and roles as they were given, in any case */
  resolve(names: readonly string[], roles: readonly string[]): PrivilegeSet;
}

/** Limits of one session, which its code may set (protocol section 19.1). Each is a positive whole number; none is no limit. */
export interface SessionQuotas {
  /** Seconds that entity sets made from now on are kept after their last use. */
  defaultEntitySetTimeout: number | undefined;
  /** The longest `$timeout`, in seconds; a longer one becomes this one. */
  maxEntitySetTimeout: number | undefined;
  /** Entity sets that are alive at once. */
  nbEntitySets: number | undefined;
  nbRequestsPerMin: number | undefined;
  nbRequestsPerHour: number | undefined;
  /** Bytes of the bodies and headers that the session sends. */
  inBytesPerMin: number | undefined;
  inBytesPerHour: number | undefined;
  /** Bytes of the bodies that the session is sent. */
  outBytesPerMin: number | undefined;
  outBytesPerHour: number | undefined;
  /** What is used up now. */
  readonly currentValues: Readonly<Record<string, number>>;
}

/** Values that live as long as a session; reading it makes no session of a guest. */
export interface SessionStorage {
  readonly size: number;
  get(name: string): unknown;
  has(name: string): boolean;
  set(name: string, value: unknown): void;
  delete(name: string): boolean;
  clear(): void;
  keys(): readonly string[];
}

/** The connection that a session's request came by. */
export interface Origin {
  /** Address and port. */
  readonly host: string;
  readonly address: string;
  readonly userAgent: string;
}

/**
 * Who a request comes from, as class code sees it (protocol decision 18, section 16). A guest has no state: what gives it
 * one (`setPrivileges`, `login`, `storage`, `quotas`, `keep`) makes a session, whose cookie goes out with the answer.
 *
 * It stands for the request, not for the cookie: when the session ends while a request runs, the request goes on as a guest.
 */
export interface Session {
  /** Other than the cookie it is the same until a guest becomes a user; `undefined` for a guest without state. */
  readonly id: string | undefined;
  /** Empty for a guest. */
  readonly userName: string;
  /** Has neither a user name nor a privilege (protocol decision 30). */
  readonly isGuest: boolean;
  /** All that are held, roles and includes resolved, in lower case. */
  readonly privileges: PrivilegeSet;
  /** For the session's later requests; emptied when the session ends. */
  readonly storage: SessionStorage;
  readonly quotas: SessionQuotas;
  /** Where its request came from; `undefined` for the server itself. */
  readonly origin: Origin | undefined;
  /** In any case. `guest` is held by everyone, `none` by nobody. */
  hasPrivilege(name: string): boolean;
  /**
   * Ends the request of who does not hold a privilege.
   * @throws RequestError 401 for a guest, 403 for others, as the protocol answers them
   * @throws Error for a privilege that the model does not declare
   */
  require(privilege: string): void;
  /**
   * Replaces what the session holds, and renews its cookie. A guest who becomes a user gets another session, with another ID, which
   * takes the guest's storage, locks, uploads and singletons; other requests that run go on as a guest's.
   * @throws RequestError 402 with 1823 when there is no place for another session
   */
  setPrivileges(grant: string | readonly string[] | Grant): void;
  /** Takes privileges and user name away, and renews the cookie. The session goes on as a guest. */
  clearPrivileges(): void;
  /**
   * Runs the `login` of `src/login.ts` and sets what it grants.
   * @returns whether it granted something
   * @throws RequestError 429 while too many logins fail, 402 with 1823 when there is no place for another session
   */
  login(user: string, password: string): Promise<boolean>;
  /**
   * Runs code with more privileges than the session holds (protocol section 17.6): what it reads and writes, and what it
   * calls and awaits, `this.session` of it among that. Other code of the same call has them not, nor has it them later.
   * A selection is read when it is used: what is returned without having been read is read with what the session holds.
   * @param privileges names, in any case; what they include is held too
   * @returns what the work returns
   * @throws Error for a privilege that the model does not declare
   */
  promote<T>(privileges: string | readonly string[], work: () => T | Promise<T>): Promise<T>;
  /**
   * Makes sure that the session is kept, for what belongs to it: locks, uploads, singletons.
   * @returns its ID
   * @throws RequestError 402 with 1823 when there is no place for another session
   */
  keep(): string;
}

/** A name of a privilege, a role or a user as it is compared. */
export function foldName(name: string): string {
  return fold(name);
}

/**
 * The storage of a session that may not be there yet.
 * @param find what is kept, if there is something
 * @param make the same, made when it is needed
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
    delete: (name) => find()?.delete(name) ?? false,
    clear: () => find()?.clear(),
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

/** A session as entity sets see it: those of a user are the session's own, those of a guest are open to all (protocol decision 15). */
export function setAskerOf(session: Session): SetAsker {
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
 * A kept definition outlives the session of its user, who has another one after a restart (protocol decision 16): it is found by the
 * name that logging in has given. Who holds privileges and has no name is known by the session alone. What is made of a
 * definition is read with what the asking session may see.
 */
function keeperOf({ id, isGuest, userName }: Session): string | undefined {
  if (isGuest) return undefined;
  return userName === '' ? `session:${id ?? ''}` : `user:${userName}`;
}
