import { AsyncLocalStorage } from 'node:async_hooks';
import type { Restriction } from '../dataclass/dataclasses.js';
import type { Pending } from '../dialect/pending.js';
import type { SqlValue } from '../dialect/statement.js';
import type { TransactionScope } from '../dialect/transaction-scope.js';
import type { Session } from './session.js';

/** The session for which code runs, and its transaction. */
export interface Call {
  readonly session: Session;
  /** Code of the server itself: it reads and writes everything, whatever its session may. */
  readonly isServer?: true;
  /** What its session may see of the dataclasses with `restrict`; none in a server without such. */
  readonly restrictions?: CallRestrictions | undefined;
  /** The innermost open transaction of this code; other code never sees it. */
  readonly scope?: TransactionScope | undefined;
  /** Set inside a save or a deletion whose events run. */
  readonly nesting?: Nesting;
}

/** What one call may see of the dataclasses with `restrict`. */
export interface CallRestrictions {
  /** @throws RestrictionError, and what the classes throw */
  ofAll(dataclasses: readonly string[]): Pending<readonly CallRestriction[]>;
  /**
   * Resolves the restrictions of dataclasses that statements will read, before a transaction blocks
   * others; errors are reported by those statements.
   */
  askAhead(dataclasses: readonly string[]): Pending<void>;
}

/** What a call may see of one dataclass. */
export interface CallRestriction {
  /** The same for calls whose restrictions differ only in values. */
  readonly id: string;
  /** None if the call may see all entities. */
  readonly written: Restriction | undefined;
  /** The values of the slots of its condition. */
  readonly values: readonly SqlValue[];
}

/** Asks class code which entities sessions may see. */
export interface SessionRestrictions {
  /**
   * What a session may see, which is resolved when it is read: with the privileges that the session
   * holds now, even if code of the call changes them before.
   */
  of(session: Session): CallRestrictions;
}

/** Nested saves and deletions with events. */
export interface Nesting {
  /** 1 for the outermost. */
  readonly depth: number;
  /** Shared by all inside the same outermost one: once there were too many, all of them fail. */
  readonly tree: { failure?: Error };
}

/**
 * The calls of one server. A call belongs to its async context: what it awaits, and what it starts
 * without awaiting, runs in it; other requests never do.
 */
export class Calls {
  readonly #storage: AsyncLocalStorage<Call>;
  /**
   * Resolves which entities sessions may see; set when class code exists, if a dataclass has
   * `restrict`.
   */
  restrictions: SessionRestrictions | undefined;

  /** @param server the session of code outside of any request: it may do everything */
  constructor(
    protected readonly server: Call,
    storage = new AsyncLocalStorage<Call>(),
  ) {
    this.#storage = storage;
  }

  /**
   * The same calls for code of requests only: outside of any call it is refused, instead of running
   * as the server.
   */
  ofRequests(): Calls {
    return new RequestCalls(this.server, this.#storage);
  }

  /** Whether the calling code belongs to no call. */
  get isOutside(): boolean {
    return this.#storage.getStore() === undefined;
  }

  /** Runs the code of a call, without anything of the call that was ambient before. */
  run<A extends readonly unknown[], T>(call: Call, work: (...given: A) => T, ...given: A): T {
    return this.#storage.run(call, work, ...given);
  }

  /** The call of the calling code; outside of any, the server's own. */
  current(): Call {
    return this.#storage.getStore() ?? this.outside();
  }

  /** The call of code that belongs to none. */
  protected outside(): Call {
    return this.server;
  }

  /** Runs code as the server itself, which may do everything. */
  asServer<T>(work: () => T): T {
    return this.#storage.run(this.server, work);
  }

  /** The same as a part of what the current call does: see {@link runWithin}. */
  asServerWithin<T>(work: () => T): T {
    // Outside of any call it is the server's own code already.
    return this.#storage.getStore() === undefined ? work() : this.runWithin(this.server, work);
  }

  /**
   * Runs the code of another call as a part of what the current one does, which waits for it: in
   * its transaction, if there is one. Code outside of that would wait for its own caller.
   */
  runWithin<T>(call: Call, work: () => T): T {
    const { scope, nesting } = this.current();
    return this.#storage.run(
      { ...call, scope, ...(nesting === undefined ? {} : { nesting }) },
      work,
    );
  }

  /** Runs code with some of the current call's properties replaced. */
  with<T>(changes: Partial<Call>, work: () => T): T {
    return this.#storage.run({ ...this.current(), ...changes }, work);
  }
}

/** Code that has lost its async context must not do everything. */
class RequestCalls extends Calls {
  protected override outside(): never {
    throw new Error(
      'request.ds is used where its request is unknown: outside of the handler of a route, or in a callback that has lost the async context of its request. Use it in the handler, and wrap such a callback with AsyncResource.bind().',
    );
  }
}
