import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sql } from '../dialect/dialect.js';
import type { Client } from '../dialect/executor.js';
import type { SqlValue } from '../dialect/statement.js';
import type { TransactionScope } from '../dialect/transaction-scope.js';
import { PromotedSession, SessionSnapshot } from './promoted-session.js';
import { bothBits, HeldBits, type Holder } from './bits.js';
import type { PrivilegeSet, Session } from './session.js';
import type { Bits } from '../protocol/definition.js';

/**
 * One request, or one task of the server: who asks, which rows they may see, in which transaction.
 * It is made once, at the entrance of a request, and never changes; parts of the request that need
 * another session or a transaction run in a copy. Which dataclasses and attributes are visible
 * follows from the privileges that the session holds.
 */
export interface RequestScope {
  readonly session: Session;
  /** What the session may do, fixed when the scope is made. */
  readonly held: Bits;
  /** Set for code of the server itself: it reads and writes everything, whatever its session may. */
  readonly isServer?: true | undefined;
  /** The ID of the request; absent in tasks of the server. */
  readonly requestId?: string | undefined;
  /** The client that waits for the answer, if reads end when it leaves; never set in a transaction. */
  readonly client?: Client | undefined;
  /** Absent if every row is visible: in the server's own scope, and without any `restrict`. */
  readonly rows?: VisibleRows | undefined;
  /** The innermost open transaction of this code; other code never sees it. */
  readonly transaction?: TransactionScope | undefined;
  /** Names of the works of `ds.exclusive` around this code. */
  readonly exclusive?: ReadonlySet<string> | undefined;
  /** Set inside a save or a deletion whose events run. */
  readonly nesting?: Nesting | undefined;
}

type AddedScope = Pick<RequestScope, 'isServer' | 'transaction' | 'exclusive' | 'nesting'>;

/** Nested saves and deletions with events. */
export interface Nesting {
  /** 1 for the outermost. */
  readonly depth: number;
  /** State that all saves and deletions within one outermost share: if they are too many, all fail. */
  readonly tree: { failure?: Error };
}

/** What `restrict` of one dataclass returned to one scope, as SQL. */
export interface ResolvedRestriction {
  /** Equal for restrictions that differ only in values. */
  readonly id: string;
  /**
   * Writes the condition that an entity is visible; none if all are. It adds no table to the
   * statement around it.
   * @param alias the table's name there
   * @param first the position of its first value in the statement's list of values
   */
  readonly condition: ((alias: string, first: number) => Sql) | undefined;
  /** Whether the condition reads nothing but the row itself. */
  readonly isOfRow: boolean;
  /** The values that the condition binds. */
  readonly values: readonly SqlValue[];
}

/**
 * Which rows of the dataclasses with `restrict` one scope may see. `restrict` runs when the first
 * statement reads its dataclass, and once: its answer, or its failure, holds for the whole scope.
 */
class VisibleRows {
  /** What the session was when the scope began: `restrict` may run later. */
  readonly #userName: string;
  readonly #privileges: PrivilegeSet;
  readonly #isGuest: boolean;
  #resolved: Map<string, Promise<ResolvedRestriction>> | undefined;

  constructor(private readonly session: Session) {
    this.#userName = session.userName;
    this.#privileges = session.privileges;
    this.#isGuest = session.isGuest;
  }

  /** Whether the session still has its privileges and its user. */
  get isCurrent(): boolean {
    const { privileges, userName } = this.session;
    return privileges === this.#privileges && userName === this.#userName;
  }

  /** @param resolve runs `restrict` of the dataclass */
  of(
    dataclass: string,
    resolve: (dataclass: string, session: Session) => Promise<ResolvedRestriction>,
  ): Promise<ResolvedRestriction> {
    const all = (this.#resolved ??= new Map<string, Promise<ResolvedRestriction>>());
    const known = all.get(dataclass);
    if (known !== undefined) return known;
    const session = new SessionSnapshot(this.session, {
      userName: this.#userName,
      privileges: this.#privileges,
      isGuest: this.#isGuest,
    });
    const resolving = resolve(dataclass, session);
    // The statement that needs it reports the error.
    resolving.catch(() => undefined);
    all.set(dataclass, resolving);
    return resolving;
  }
}

/**
 * The scopes of one server. Code belongs to the scope in which it was started: what it awaits, and
 * what it starts without awaiting, runs in it; other requests never do.
 */
export class RequestScopes {
  readonly #storage: AsyncLocalStorage<RequestScope>;

  /**
   * @param server the scope of code outside of any request: it may do everything
   * @param isRestricted whether a dataclass of the model has `restrict`
   */
  constructor(
    protected readonly server: RequestScope,
    readonly bits: HeldBits = new HeldBits(),
    private readonly isRestricted = false,
    storage = new AsyncLocalStorage<RequestScope>(),
  ) {
    this.#storage = storage;
  }

  /**
   * These scopes for code of requests only: outside of any scope it is refused, instead of running as
   * the server.
   */
  ofRequests(): RequestScopes {
    return new ScopesOfRequests(this.server, this.bits, this.isRestricted, this.#storage);
  }

  /** Call it when no code runs in a scope any more: until then, each promise of the process takes longer. */
  close(): void {
    this.#storage.disable();
  }

  heldBy({ privileges }: Pick<Session, 'privileges'>): Bits {
    return this.bits.of(privileges);
  }

  /** A new scope of a session, with the privileges that the session holds now. */
  of(session: Session, requestId?: string, client?: Client): RequestScope {
    const held = this.heldBy(session);
    return this.isRestricted
      ? { session, held, requestId, client, rows: new VisibleRows(session) }
      : { session, held, requestId, client };
  }

  /** Returns the scope itself, or a new one if its session was given other privileges or another user meanwhile. */
  renewed(scope: RequestScope): RequestScope {
    const isCurrent = scope.held === this.heldBy(scope.session) && scope.rows?.isCurrent !== false;
    return isCurrent ? scope : this.of(scope.session, scope.requestId);
  }

  /** Who asks: the scope of the calling code; nobody outside of any. */
  readonly holder = (): Holder => this.#storage.getStore() ?? nobody;

  /** The scope of the calling code; outside of any, the server's own. */
  current(): RequestScope {
    return this.#storage.getStore() ?? this.outside();
  }

  /** Runs code in a scope, without anything of the scope around it. */
  run<A extends readonly unknown[], T>(
    scope: RequestScope,
    work: (...given: A) => T,
    ...given: A
  ): T {
    return this.#storage.run(scope, work, ...given);
  }

  /** Runs code with something added to the current scope. */
  with<T>(added: AddedScope, work: () => T): T {
    const current = this.current();
    // Without spreads, which take longer than all else here.
    const scope: RequestScope = {
      session: current.session,
      held: added.isServer === true ? this.server.held : current.held,
      isServer: added.isServer ?? current.isServer,
      requestId: current.requestId,
      client: added.transaction === undefined ? current.client : undefined,
      rows: current.rows,
      transaction: added.transaction ?? current.transaction,
      exclusive: added.exclusive ?? current.exclusive,
      nesting: added.nesting ?? current.nesting,
    };
    return this.#storage.run(scope, work);
  }

  /**
   * Runs code in another scope as a part of what the current one does, which waits for it: in its
   * transaction, if there is one. Code outside of that would wait for its own caller.
   */
  runWithin<T>(scope: RequestScope, work: () => T): T {
    const { transaction, nesting } = this.current();
    const { session, held, isServer, requestId, rows, exclusive } = scope;
    const within = { session, held, isServer, requestId, rows, transaction, exclusive, nesting };
    return this.#storage.run(within, work);
  }

  /** Runs code as the server itself, which may do everything. */
  asServer<T>(work: () => T): T {
    return this.#storage.run(this.server, work);
  }

  /** Runs code as the server itself, as a part of what the current scope does: see {@link runWithin}. */
  asServerWithin<T>(work: () => T): T {
    const current = this.#storage.getStore();
    // Outside of any scope it is the server's own code already.
    if (current === undefined) return work();
    const isPart = current.transaction !== undefined || current.nesting !== undefined;
    return isPart ? this.runWithin(this.server, work) : this.asServer(work);
  }

  /**
   * Runs code of the current scope with more privileges; it keeps those that it already holds.
   * @param requester the session of code that belongs to no scope
   */
  promoted<T>(added: readonly string[], work: () => T, requester: Session): T {
    const scope = this.#storage.getStore() ?? this.of(requester);
    const session = new PromotedSession(scope.session, added);
    if (scope.isServer === true) return this.#storage.run({ ...scope, session }, work);
    // `restrict` may check the privileges of the session.
    const { held, rows } = this.of(session);
    return this.#storage.run({ ...scope, session, held: bothBits(scope.held, held), rows }, work);
  }

  /** The scope of code that belongs to none. */
  protected outside(): RequestScope {
    return this.server;
  }
}

const nobody: Holder = { session: { isGuest: true }, held: 0 };

/** Code that has lost its async context must not do everything. */
class ScopesOfRequests extends RequestScopes {
  protected override outside(): never {
    throw new Error(
      'The datastore of a request is used where its request is unknown: request.ds outside of the handler of a route, or this.ds or request.ds in a callback that has lost the async context of its request. Await a promise instead, or wrap such a callback with AsyncResource.bind() of node:async_hooks.',
    );
  }
}
