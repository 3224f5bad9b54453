import type { Sql } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { SqlValue } from '../dialect/statement.js';
import type { Fold } from '../protocol/fold.js';
import type { Origin, Session } from './session.js';
import { ownText } from '../protocol/own-text.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';

/**
 * Who holds a lock: the ID of the session, and what other sessions are told about it (protocol
 * P12.2).
 */
export interface LockHolder {
  readonly session: string;
  readonly origin: Origin | undefined;
}

export interface Lock extends LockHolder {
  /** A text is folded, as the database compares it. */
  readonly key: string | number;
}

/** Lets statements find the lock of another session in the database that they change. */
export interface LockGuard {
  /**
   * Calls a function for the row that a statement has changed, which fails with LockedRowError.
   * @param key placeholders of what {@link values} returns
   */
  readonly call: (dataclass: string, key: Sql, session: Sql) => Sql;
  /** A text of the lock of another session, of which {@link read} makes the lock; null if there is none. */
  readonly held: (dataclass: string, key: Sql, session: Sql) => Sql;
  readonly read: (text: SqlValue) => Lock | undefined;
  readonly values: (
    key: string | number,
    session: string | undefined,
  ) => readonly [key: SqlValue, session: SqlValue];
}

/** A lock of one of several dataclasses. */
export interface LockOfDataclass extends Lock {
  readonly dataclass: string;
}

/**
 * The entities that sessions have locked (protocol P12.1). The table stores nothing for entities
 * that are not locked, and writers check {@link LockTable.isEmpty} first, so that a server without
 * locks does no extra work.
 *
 * A key is the decoded value of a primary key. Text keys are compared folded, as the database
 * compares them.
 */
export interface LockTable {
  /** Whether it is certain that nothing is locked. */
  readonly isEmpty: boolean;
  /** Checks a lock in the statement of a change; `undefined` if changes read it before, see {@link refusal}. */
  readonly guard: LockGuard | undefined;
  /**
   * @returns `true` if the holder has the lock now, or had it; else its holder
   * @throws TooManyLocksError if the session holds as many as it may
   */
  lock(dataclass: string, key: string | number, holder: LockHolder): Promise<true | Lock>;
  /**
   * @returns `true` if nobody has the lock now; else its holder: a session does not end locks of
   * others
   */
  unlock(
    dataclass: string,
    key: string | number,
    session: string | undefined,
  ): Promise<true | Lock>;
  holderOf(dataclass: string, key: string | number): Promise<Lock | undefined>;
  /**
   * The lock of another session that prevents a session from changing or deleting an entity.
   * @param session `undefined` for a guest without state, who holds no lock
   * @param transaction the one that changes the entity, which has locked its row before: see
   * `DatabaseLockTable`
   */
  refusal(
    dataclass: string,
    key: string | number,
    session: string | undefined,
    transaction?: Transaction,
  ): Promise<Lock | undefined>;
  /** All locks of some dataclasses, for deletions whose keys stay in the database. */
  locksOf(
    dataclasses: readonly string[],
    transaction?: Transaction,
  ): Promise<readonly LockOfDataclass[]>;
  /** Ends the locks of entities that no longer exist; call it when their deletion is stored. */
  forget(dataclass: string, keys: readonly (string | number)[]): Promise<void>;
}

/** A session holds as many locks as it may. */
export class TooManyLocksError extends Error {
  constructor(readonly most: number) {
    super(`A session locks at most ${most} entities at once.`);
  }
}

/** Locks in the memory of this process. */
export class MemoryLockTable implements LockTable {
  readonly guard = undefined;
  readonly #byDataclass = new Map<string, Map<string | number, LockOfDataclass>>();
  readonly #bySession = new Map<string, Set<LockOfDataclass>>();
  #size = 0;

  /**
   * @param most that one session may hold
   * @param fold the form in which the database compares texts
   */
  constructor(
    private readonly most: number,
    private readonly fold: Fold,
  ) {}

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** How many entities are locked. */
  get size(): number {
    return this.#size;
  }

  async lock(
    dataclass: string,
    key: string | number,
    { session, origin }: LockHolder,
  ): Promise<true | Lock> {
    const held = this.#find(dataclass, key);
    if (held !== undefined) return held.session === session ? true : held;
    const others = this.#bySession.get(session);
    if (others !== undefined && others.size >= this.most) throw new TooManyLocksError(this.most);
    const compared = this.#compared(key);
    const own = typeof compared === 'string' ? ownText(compared) : compared;
    const lock: LockOfDataclass = { dataclass, key: own, session, origin };
    getOrInsertComputed(
      this.#byDataclass,
      dataclass,
      () => new Map<string | number, LockOfDataclass>(),
    ).set(lock.key, lock);
    getOrInsertComputed(this.#bySession, session, () => new Set<LockOfDataclass>()).add(lock);
    this.#size += 1;
    return true;
  }

  async unlock(
    dataclass: string,
    key: string | number,
    session: string | undefined,
  ): Promise<true | Lock> {
    const held = this.#find(dataclass, key);
    if (held === undefined) return true;
    if (held.session !== session) return held;
    this.#remove(held);
    return true;
  }

  async holderOf(dataclass: string, key: string | number): Promise<Lock | undefined> {
    return this.#find(dataclass, key);
  }

  async refusal(
    dataclass: string,
    key: string | number,
    session: string | undefined,
  ): Promise<Lock | undefined> {
    if (this.#size === 0) return undefined;
    const held = this.#find(dataclass, key);
    return held?.session === session ? undefined : held;
  }

  async locksOf(dataclasses: readonly string[]): Promise<readonly LockOfDataclass[]> {
    return dataclasses.flatMap((each) => [...(this.#byDataclass.get(each)?.values() ?? [])]);
  }

  async forget(dataclass: string, keys: Iterable<string | number>): Promise<void> {
    if (this.#size === 0) return;
    for (const key of keys) {
      const held = this.#find(dataclass, key);
      if (held !== undefined) this.#remove(held);
    }
  }

  /** Ends all locks of a session. */
  releaseAll(session: string): void {
    for (const held of this.#bySession.get(session) ?? []) this.#remove(held);
  }

  /** Moves all locks of a session to another one, which has none. */
  moveAll(from: string, to: string): void {
    const moved = this.#bySession.get(from);
    if (moved === undefined) return;
    this.#bySession.delete(from);
    const own = getOrInsertComputed(this.#bySession, to, () => new Set<LockOfDataclass>());
    for (const held of moved) {
      const lock = { ...held, session: to };
      this.#byDataclass.get(held.dataclass)?.set(held.key, lock);
      own.add(lock);
    }
  }

  #find(dataclass: string, key: string | number): LockOfDataclass | undefined {
    return this.#byDataclass.get(dataclass)?.get(this.#compared(key));
  }

  #remove(held: LockOfDataclass): void {
    const ofDataclass = this.#byDataclass.get(held.dataclass);
    if (ofDataclass?.delete(held.key) !== true) return;
    this.#size -= 1;
    if (ofDataclass.size === 0) this.#byDataclass.delete(held.dataclass);
    const ofSession = this.#bySession.get(held.session);
    ofSession?.delete(held);
    if (ofSession?.size === 0) this.#bySession.delete(held.session);
  }

  #compared(key: string | number): string | number {
    return typeof key === 'string' ? this.fold(key) : key;
  }
}

/** The session as the holder of a lock; a guest gets a session now. */
export function holderOfSession(session: Session): LockHolder {
  return { session: session.keep(), origin: session.origin };
}
