import { setTimeout } from 'node:timers/promises';
import type { RequestScope, RequestScopes } from '../../access/request-scope.js';
import { TransactionEndedError, type TransactionScope } from '../../dialect/transaction-scope.js';

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

  /** @param logFailure writes errors to the log, which no client gets */
  constructor(
    private readonly scopes: RequestScopes,
    private readonly logFailure: (error: Error) => void,
  ) {}

  /**
   * @param work runs with the session of the calling code, outside of any transaction; at once if
   * there is none
   * @throws TransactionEndedError if the transaction of the code is over
   */
  run(work: WorkAfterCommit): void {
    const current = this.scopes.current();
    const { transaction } = current;
    const scope = {
      ...current,
      client: undefined,
      transaction: undefined,
      nesting: undefined,
      exclusive: undefined,
    };
    // Its stack shows the code that registered the work.
    const failure = new Error('Work of ds.afterCommit failed');
    if (transaction === undefined) {
      this.#keep(this.#try(scope, work, failure));
      return;
    }
    if (!transaction.isOpen) throw new TransactionEndedError();
    const { whole } = transaction;
    transaction.onOutcome((isKept) => {
      if (!isKept) return;
      const before = this.#last.get(whole) ?? Promise.resolve();
      const ended = before.then(() => this.#try(scope, work, failure));
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

  async #try(scope: RequestScope, work: WorkAfterCommit, failure: Error): Promise<void> {
    try {
      await this.scopes.run(scope, work);
    } catch (cause) {
      failure.cause = cause;
      this.logFailure(failure);
    }
  }
}
