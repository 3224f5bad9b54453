import { setTimeout } from 'node:timers/promises';
import type { Call, Calls } from '../access/call.js';
import { TransactionEndedError, type TransactionScope } from '../dialect/transaction-scope.js';

/** What class code wants to be done when what it stored is stored. */
export type WorkAfterCommit = () => unknown;

/** How long work that runs may take to end when the server does. */
const longestMilliseconds = 5_000;

/**
 * Runs work of class code when the transaction is committed that the code is part of, and never when that, or the part of it
 * that the code runs in, is undone. The works of one transaction run one after the other, in the order they were asked for.
 */
export class AfterCommit {
  /** The end of what was last asked for, by transaction; none of them fails. */
  readonly #last = new WeakMap<TransactionScope, Promise<void>>();
  readonly #running = new Set<Promise<void>>();

  /** @param tellFailure writes to the log what no client is told */
  constructor(
    private readonly calls: Calls,
    private readonly tellFailure: (error: Error) => void,
  ) {}

  /**
   * @param work runs with the session of the code that asks, outside of any transaction; at once where there is none
   * @throws TransactionEndedError when the transaction of the code is over
   */
  run(work: WorkAfterCommit): void {
    const { session, isServer, restrictions, scope } = this.calls.current();
    const call: Call = { session, restrictions, ...(isServer === undefined ? {} : { isServer }) };
    // Its stack tells who asked for the work.
    const failure = new Error('Work of ds.afterCommit failed');
    if (scope === undefined) {
      this.#keep(this.#try(call, work, failure));
      return;
    }
    if (!scope.isOpen) throw new TransactionEndedError();
    const { whole } = scope;
    scope.whenSettled((isKept) => {
      if (!isKept) return;
      const before = this.#last.get(whole) ?? Promise.resolve();
      const ended = before.then(() => this.#try(call, work, failure));
      this.#last.set(whole, ended);
      this.#keep(ended);
    });
  }

  /** Waits for what runs, and for what that asks for, but not for ever. */
  async end(): Promise<void> {
    const giveUp = new AbortController();
    const late = setTimeout(longestMilliseconds, undefined, { signal: giveUp.signal, ref: false });
    await Promise.race([this.#idle(), late]);
    giveUp.abort();
    await late.catch(() => undefined);
  }

  async #idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #keep(ended: Promise<void>): void {
    this.#running.add(ended);
    void ended.then(() => this.#running.delete(ended));
  }

  async #try(call: Call, work: WorkAfterCommit, failure: Error): Promise<void> {
    try {
      await this.calls.run(call, work);
    } catch (cause) {
      failure.cause = cause;
      this.tellFailure(failure);
    }
  }
}
