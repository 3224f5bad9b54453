import { setTimeout } from 'node:timers/promises';
import type { Call, Calls } from '../access/call.js';
import { TransactionEndedError, type TransactionScope } from '../dialect/transaction-scope.js';

/** Work that class code wants to run after its changes are committed. */
export type WorkAfterCommit = () => unknown;

/** How long running work may take to end when the server stops. */
const longestMilliseconds = 5_000;

/**
 * Runs work of class code after the transaction of the code is committed, and never if the
 * transaction, or the part of it in which the code runs, is rolled back. The works of one
 * transaction run one after the other, in the order of the calls.
 */
export class AfterCommit {
  /** The end of the last work, by transaction; none of these promises rejects. */
  readonly #last = new WeakMap<TransactionScope, Promise<void>>();
  readonly #running = new Set<Promise<void>>();

  /** @param tellFailure writes errors to the log, which no client gets */
  constructor(
    private readonly calls: Calls,
    private readonly tellFailure: (error: Error) => void,
  ) {}

  /**
   * @param work runs with the session of the calling code, outside of any transaction; at once if
   * there is none
   * @throws TransactionEndedError if the transaction of the code is over
   */
  run(work: WorkAfterCommit): void {
    const { session, isServer, restrictions, scope } = this.calls.current();
    const call: Call = { session, restrictions, ...(isServer === undefined ? {} : { isServer }) };
    // Its stack shows the code that registered the work.
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

  /** Waits for running work, and for the work that it registers, but not for ever. */
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
