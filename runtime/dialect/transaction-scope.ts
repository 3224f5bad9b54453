import type { Executor, Transaction } from './executor.js';

/** Called once when it is certain whether the changes of a transaction are kept; must not throw. */
export type OutcomeListener = (isKept: boolean) => void;

/** One that is weak is not called if nothing else needs it any more. */
type KeptListener = OutcomeListener | WeakRef<OutcomeListener>;

/** So many listeners are kept before those that nobody needs are looked for. */
const fewListeners = 1_000;

/** Completes statements before they run; waiting for that does not count as work of the transaction. */
export type BindTransaction = (transaction: Transaction) => Transaction;

/** A transaction that has ended received another request. */
export class TransactionEndedError extends Error {
  constructor() {
    super(
      'The transaction has ended: code that was started in it, and not awaited by it, still uses it.',
    );
  }
}

/**
 * An open transaction, or a nested part of one in a savepoint. Parts of a scope run one after the other in the
 * order of their calls. A part is a scope of its own, so that what it runs does not wait for itself.
 */
export class TransactionScope {
  /** Runs statements while the scope is open. Statements do not wait for running parts. */
  readonly transaction: Transaction;
  /** The clock of the whole transaction. */
  readonly clock: IdleClock;
  /** The number of enclosing savepoints. */
  readonly depth: number;
  #isClosed = false;
  /** Resolves when the last part requested so far has ended; never rejects. */
  #parts: Promise<unknown> | undefined;
  #listeners: KeptListener[] = [];
  /** The number of listeners at which those that nobody needs are removed. */
  #mostListeners = fewListeners;
  /** Changes of a part, which count for the enclosing scope when it is released. */
  #changes = 0;

  /** @param bound wraps the statements; none if they run unchanged */
  constructor(
    private readonly base: Transaction,
    private readonly parent?: TransactionScope,
    private readonly bound?: BindTransaction,
  ) {
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    this.clock = parent?.clock ?? new IdleClock();
    const guarded = guardedTransaction(
      base,
      (run) => {
        this.#checkOpen();
        return this.clock.during(run);
      },
      (changes) => {
        this.#checkOpen();
        this.#raiseStamp(changes);
      },
    );
    this.transaction = bound?.(guarded) ?? guarded;
  }

  get isOpen(): boolean {
    return !this.#isClosed && this.parent?.isOpen !== false;
  }

  /** Runs `work` in a savepoint; if it throws, its changes are rolled back and the scope continues. */
  run<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    return this.alone(() => this.#runPart(work));
  }

  /** Runs `work` without a savepoint when no part runs: for one statement, which is atomic by itself. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    this.#checkOpen();
    const before = this.#parts;
    const result = (async () => {
      if (before !== undefined) await before;
      this.#checkOpen();
      return work();
    })();
    const ended = result.then(nothing, nothing);
    this.#parts = ended;
    try {
      return await result;
    } finally {
      if (this.#parts === ended) this.#parts = undefined;
    }
  }

  /** The scope of the whole transaction. */
  get whole(): TransactionScope {
    return this.parent?.whole ?? this;
  }

  /** `listener` is called when the savepoint is rolled back, otherwise at the end of the transaction. */
  onOutcome(listener: KeptListener): void {
    if (this.#listeners.length >= this.#mostListeners) {
      this.#listeners = this.#listeners.filter((each) => strong(each) !== undefined);
      this.#mostListeners = Math.max(fewListeners, 2 * this.#listeners.length);
    }
    this.#listeners.push(listener);
  }

  /** Waits for parts that nobody awaited; these may start more. */
  async idle(): Promise<void> {
    while (this.#parts !== undefined) await this.#parts;
  }

  /** Refuses everything from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /** Reports the outcome to all registered functions, in order; in reverse order after a rollback. */
  reportOutcome(isKept: boolean): void {
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const each of isKept ? listeners : listeners.reverse()) strong(each)?.(isKept);
  }

  async #runPart<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    const part = new TransactionScope(this.base, this, this.bound);
    const name = `"part ${part.depth}"`;
    await this.#statement(`savepoint ${name}`);
    try {
      const result = await runToEnd(part, work);
      await this.#statement(`release savepoint ${name}`);
      this.#raiseStamp(part.#changes);
      for (const each of part.#listeners) this.onOutcome(each);
      return result;
    } catch (error) {
      part.reportOutcome(false);
      await this.#goBack(name);
      throw error;
    }
  }

  async #goBack(name: string): Promise<void> {
    // The whole transaction was rolled back, or is about to be.
    if (!this.isOpen) return;
    try {
      await this.#statement(`rollback to savepoint ${name}`);
      await this.#statement(`release savepoint ${name}`);
    } catch {
      // After some errors, such as a full disk, the database rolls back the whole transaction by itself.
      this.#closeAll();
    }
  }

  #raiseStamp(changes: number): void {
    if (this.parent === undefined) this.base.raiseStamp(changes);
    else this.#changes += changes;
  }

  #closeAll(): void {
    this.close();
    if (this.parent !== undefined) this.parent.#closeAll();
  }

  async #statement(sql: string): Promise<void> {
    await this.transaction.run({ sql, bindings: [] }, []);
  }

  #checkOpen(): void {
    if (!this.isOpen) throw new TransactionEndedError();
  }
}

/** Runs `work` in a scope, waits for parts that it did not await, and closes the scope. */
export async function runToEnd<T>(
  scope: TransactionScope,
  work: (scope: TransactionScope) => Promise<T>,
): Promise<T> {
  try {
    const result = await work(scope);
    await scope.idle();
    return result;
  } finally {
    scope.close();
  }
}

/**
 * Runs `work` in a savepoint of the executor's open transaction; if it throws, its changes are rolled
 * back and the transaction continues.
 */
export function inPart<T>(
  executor: Executor,
  transaction: Transaction,
  work: () => Promise<T>,
): Promise<T> {
  return executor.part?.(work) ?? new TransactionScope(transaction).run(work);
}

function strong(listener: KeptListener): OutcomeListener | undefined {
  return typeof listener === 'function' ? listener : listener.deref();
}

function nothing(): void {
  // The caller of each part handles its errors.
}

/** @param guard runs each statement */
function guardedTransaction(
  transaction: Transaction,
  guard: <T>(run: () => Promise<T>) => Promise<T>,
  raiseStamp: Transaction['raiseStamp'],
): Transaction {
  return {
    run: (statement, values) => guard(() => transaction.run(statement, values)),
    value: (statement, values) => guard(() => transaction.value(statement, values)),
    aside: (statement, values) => guard(() => transaction.aside(statement, values)),
    read: (statement, values) => guard(() => transaction.read(statement, values)),
    rows: (statement, values) => guard(() => transaction.rows(statement, values)),
    table: (statement, values) => guard(() => transaction.table(statement, values)),
    raiseStamp,
  };
}

/** Measures how long a transaction has been idle. */
class IdleClock {
  #running = 0;
  #since = performance.now();

  /** Runs a statement, during which the transaction is not idle. */
  async during<T>(run: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await run();
    } finally {
      this.#running -= 1;
      this.#since = performance.now();
    }
  }

  /** Milliseconds; 0 while a statement runs. */
  get idle(): number {
    return this.#running > 0 ? 0 : performance.now() - this.#since;
  }
}

/**
 * Waits for work and stops waiting if its transaction stays idle for too long.
 * @param longest milliseconds that the transaction may be idle
 * @param expired called when the limit is exceeded; its result is thrown
 */
export function unlessIdle<T>(
  work: Promise<T>,
  clock: IdleClock,
  longest: number,
  expired: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const look = (): void => {
      const { idle } = clock;
      if (idle >= longest) reject(expired());
      else timer = lookIn(longest - idle);
    };
    // The timer does not keep the process alive.
    const lookIn = (milliseconds: number): NodeJS.Timeout =>
      setTimeout(look, Math.ceil(milliseconds)).unref();
    let timer = lookIn(longest);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
