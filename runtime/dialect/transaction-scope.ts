import type { Transaction } from './executor.js';
import type { Pending } from './pending.js';

/** Told when it is certain whether something that a transaction did is kept; must not throw. */
export type Settled = (isKept: boolean) => void;

/** Completes the statements of a transaction before they run; what it waits for is no work of the transaction. */
export type BindTransaction = (transaction: Transaction) => Transaction;

/** Something was asked of a transaction that was committed or rolled back before. */
export class TransactionEndedError extends Error {
  constructor() {
    super(
      'The transaction has ended: code that was started in it, and not awaited by it, still uses it.',
    );
  }
}

/**
 * An open transaction, or a part of one behind a savepoint, with the code that it belongs to. Parts of one scope run one after
 * the other, in the order they were asked for; a part is a scope of its own, so that what it runs does not wait for itself.
 */
export class TransactionScope {
  /** Runs statements while the scope is open. They do not wait for parts that run. */
  readonly transaction: Transaction;
  /** Of the whole transaction. */
  readonly clock: IdleClock;
  /** How many savepoints are around it. */
  readonly depth: number;
  #isClosed = false;
  /** Ends when the last part asked for so far has ended; never fails. */
  #parts: Promise<unknown> | undefined;
  #settled: Settled[] | undefined;

  /**
   * @param parent of a part; none for a transaction
   * @param bound what its statements go through; none where they run as they are
   */
  constructor(
    private readonly base: Transaction,
    private readonly parent?: TransactionScope,
    private readonly bound?: BindTransaction,
  ) {
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    this.clock = parent?.clock ?? new IdleClock();
    const guarded = guardedTransaction(base, {
      begin: () => {
        this.#checkOpen();
        this.clock.begin();
      },
      end: () => {
        this.clock.end();
      },
    });
    this.transaction = bound?.(guarded) ?? guarded;
  }

  get isOpen(): boolean {
    return !this.#isClosed && this.parent?.isOpen !== false;
  }

  /**
   * Runs `work` behind a savepoint. When it throws, what it did is undone, and the scope goes on.
   * @throws TransactionEndedError, and what `work` throws
   */
  run<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    return this.alone(() => this.#runPart(work));
  }

  /**
   * Runs `work` when no part runs, without a savepoint: for one statement, of which the database keeps all or nothing.
   * @throws TransactionEndedError, and what `work` throws
   */
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

  /** The transaction that this is a part of, or is. */
  get whole(): TransactionScope {
    return this.parent?.whole ?? this;
  }

  /** Has a function told of the outcome: at once when a savepoint is gone back to, else at the end of the transaction. */
  whenSettled(settled: Settled): void {
    (this.#settled ??= []).push(settled);
  }

  /** Waits for parts that nobody awaited; they may ask for more. */
  async idle(): Promise<void> {
    while (this.#parts !== undefined) await this.#parts;
  }

  /** Whatever is asked of the scope from now on is refused. */
  close(): void {
    this.#isClosed = true;
  }

  /** Tells the outcome to all who asked for it, in that order; the last one first when all is undone. */
  settle(isKept: boolean): void {
    const settled = this.#settled ?? [];
    this.#settled = undefined;
    for (const tell of isKept ? settled : settled.reverse()) tell(isKept);
  }

  async #runPart<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    const part = new TransactionScope(this.base, this, this.bound);
    const name = `"part ${part.depth}"`;
    await this.#statement(`savepoint ${name}`);
    try {
      const result = await runToEnd(part, work);
      await this.#statement(`release savepoint ${name}`);
      if (part.#settled !== undefined) (this.#settled ??= []).push(...part.#settled);
      return result;
    } catch (error) {
      part.settle(false);
      await this.#goBack(name);
      throw error;
    }
  }

  async #goBack(name: string): Promise<void> {
    // The transaction as a whole was undone, or is about to be.
    if (!this.isOpen) return;
    try {
      await this.#statement(`rollback to savepoint ${name}`);
      await this.#statement(`release savepoint ${name}`);
    } catch {
      // After some errors, a full disk for one, the database has given up the whole transaction by itself.
      this.#closeAll();
    }
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

/** Runs `work` in a scope, then what it started there and did not await, and closes the scope. */
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

function nothing(): void {
  // Whoever asked for the part is told what became of it.
}

/** Told of the statements of a transaction. */
interface StatementGuard {
  /** @throws Error to refuse a statement that is about to run; it is the statement's */
  begin(): void;
  end(): void;
}

/** A transaction whose statements are told to a guard. */
function guardedTransaction(transaction: Transaction, guard: StatementGuard): Transaction {
  const guarded =
    <A extends readonly unknown[], T>(run: (...given: A) => Pending<T>) =>
    async (...given: A): Promise<T> => {
      guard.begin();
      try {
        return await run(...given);
      } finally {
        guard.end();
      }
    };
  return {
    run: guarded((statement, values) => transaction.run(statement, values)),
    value: guarded((statement, values) => transaction.value(statement, values)),
    read: guarded((statement, values) => transaction.read(statement, values)),
    rows: guarded((statement, values) => transaction.rows(statement, values)),
    table: guarded((statement, values) => transaction.table(statement, values)),
  };
}

/** Measures how long nothing has been asked of a transaction. */
class IdleClock {
  #running = 0;
  #since = performance.now();

  begin(): void {
    this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    this.#since = performance.now();
  }

  /** Milliseconds; 0 while a statement runs. */
  get idle(): number {
    return this.#running > 0 ? 0 : performance.now() - this.#since;
  }
}

/**
 * Waits for work that a clock is told of.
 * @param longest milliseconds that it may be idle
 * @param expired called when it was idle for longer; what this returns is thrown, and nobody waits for the work any more
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
    // A process that has nothing else to do may end.
    const lookIn = (milliseconds: number): NodeJS.Timeout =>
      setTimeout(look, Math.ceil(milliseconds)).unref();
    let timer = lookIn(longest);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
