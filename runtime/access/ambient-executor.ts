import type {
  Executor,
  JsonAnswer,
  PendingAnswer,
  Rows,
  Transaction,
} from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { ComputedPlace, SqlValue, Statement } from '../dialect/statement.js';
import {
  type BindTransaction,
  runToEnd,
  TransactionScope,
  unlessIdle,
} from '../dialect/transaction-scope.js';
import type { Calls } from './call.js';

/**
 * Other writers wait as long as a transaction runs: one whose code never ends must not block them
 * for ever.
 */
const defaultLongestIdle = 60_000;

/** A transaction was rolled back because its code did nothing with it for too long. */
export class TransactionIdleError extends Error {
  constructor(milliseconds: number) {
    super(
      `The transaction was rolled back: its code ran no statement for ${milliseconds / 1000} seconds, while others waited for it.`,
    );
  }
}

type PromisedAnswer = Promise<JsonAnswer | undefined>;

/**
 * Puts values of class code into an answer.
 * @param isLast whether it is the last attempt, which accepts whatever the database holds
 * @returns `undefined` if entities were changed after the answer was read
 */
export type CompleteAnswer = (
  places: readonly ComputedPlace[],
  answer: JsonAnswer,
  isLast: boolean,
) => PromisedAnswer;

/** An answer is read again if entities change before class code has read them. */
const mostAttempts = 5;

type Read<T> = (statement: Statement, values: readonly SqlValue[]) => Pending<T>;

/**
 * An executor for a server with class code: statements of code inside a transaction take part in
 * it. A write inside waits for nobody else, and is undone alone if it fails.
 */
export class AmbientExecutor implements Executor {
  readonly read: Executor['read'];
  /** Puts values of class code into answers; only if the model has some. */
  completeAnswer: CompleteAnswer | undefined;
  /** Whether class code may run inside {@link write}, and so needs to know the transaction. */
  runsCode = true;
  readonly value: Executor['value'];
  readonly rows: Executor['rows'];
  readonly table: Executor['table'];
  /** Uncommitted data has versions of its own, each of which is used once. */
  #uncommitted = 0;

  /**
   * @param longestIdle milliseconds that a transaction may run without a statement
   * @param bound resolves the restrictions of statements in a transaction through class code; none
   * if nothing is restricted
   */
  constructor(
    private readonly executor: Executor,
    private readonly calls: Calls,
    private readonly longestIdle = defaultLongestIdle,
    private readonly bound?: BindTransaction,
  ) {
    const joined =
      <T>(outside: Read<T>, inside: (transaction: Transaction) => Read<T>): Read<T> =>
      (statement, values) => {
        const { scope } = calls.current();
        return scope === undefined
          ? outside(statement, values)
          : inside(scope.transaction)(statement, values);
      };
    const read = joined(
      (...given) => executor.read(...given),
      (transaction) =>
        (...given) =>
          transaction.read(...given),
    );
    this.read = (statement, values) => {
      const answer = read(statement, values);
      return statement.computed === undefined
        ? answer
        : this.#completed(statement.computed, answer, () => read(statement, values));
    };
    this.value = joined(
      (...given) => executor.value(...given),
      (transaction) =>
        (...given) =>
          transaction.value(...given),
    );
    const rows = joined(
      (...given) => executor.rows(...given),
      (transaction) =>
        (...given) =>
          transaction.rows(...given),
    );
    this.rows = (statement, values) =>
      statement.computed === undefined
        ? rows(statement, values)
        : this.#completedRows(statement.computed, () => rows(statement, values));
    this.table = joined(
      (...given) => executor.table(...given),
      (transaction) =>
        (...given) =>
          transaction.table(...given),
    );
  }

  /** Whether statements may need restrictions from class code. */
  get isRestricted(): boolean {
    return this.bound !== undefined;
  }

  explain: Executor['explain'] = (statement, values) => {
    // With only one connection, it would wait for the transaction that waits for it.
    if (this.calls.current().scope === undefined) return this.executor.explain(statement, values);
    throw new Error('explain is not available inside a transaction.');
  };

  dataVersion(): number | undefined {
    if (this.calls.current().scope === undefined) return this.executor.dataVersion();
    this.#uncommitted -= 1;
    return this.#uncommitted;
  }

  write<T>(work: (transaction: Transaction) => Pending<T>): Pending<T> {
    // Only the work itself uses the transaction: it needs no scope.
    if (!this.runsCode && this.calls.current().scope === undefined)
      return this.executor.write(work);
    return this.writeIn(async ({ transaction }) => work(this.#completing(transaction)));
  }

  /** The reads of the transaction, with the values of class code. */
  #completing(transaction: Transaction): Transaction {
    if (this.completeAnswer === undefined) return transaction;
    return {
      ...transaction,
      read: async (statement, values) => {
        const answer = await transaction.read(statement, values);
        return statement.computed === undefined
          ? answer
          : this.#completed(statement.computed, answer, () => transaction.read(statement, values));
      },
    };
  }

  /** The same for the first column of a single row. */
  async #completedRows(places: readonly ComputedPlace[], read: () => Pending<Rows>): Promise<Rows> {
    let others: readonly SqlValue[] = [];
    const readAnswer = async (): PromisedAnswer => {
      const [[answer, ...rest] = []] = await read();
      others = rest;
      return (answer ?? undefined) as JsonAnswer | undefined;
    };
    const completed = await this.#completed(places, readAnswer(), readAnswer);
    return completed === undefined ? [] : [[completed, ...others]];
  }

  async #completed(
    places: readonly ComputedPlace[],
    first: PendingAnswer,
    again: () => PendingAnswer,
  ): PromisedAnswer {
    const complete = this.completeAnswer;
    if (complete === undefined) throw new Error('No class code computes what this answer needs.');
    for (let attempt = 1; ; attempt += 1) {
      const answer = await (attempt === 1 ? first : again());
      if (answer === undefined) return undefined;
      const completed = await complete(places, answer, attempt === mostAttempts);
      if (completed !== undefined) return completed;
    }
  }

  /** The same for work that needs its scope, which is the ambient one for the code that it runs. */
  writeIn<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    const ambient = (scope: TransactionScope): Promise<T> =>
      this.calls.with({ scope }, () => work(scope));
    const { scope } = this.calls.current();
    return scope === undefined ? this.#open(ambient) : scope.run(ambient);
  }

  close(): Promise<void> {
    return this.executor.close();
  }

  async #open<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T> {
    let scope: TransactionScope | undefined;
    let isKept = false;
    // Class code that does not await a save may continue to set what belongs to it.
    await Promise.resolve();
    try {
      const result = await this.executor.write((transaction) => {
        const opened = new TransactionScope(transaction, undefined, this.bound);
        scope = opened;
        return unlessIdle(runToEnd(opened, work), opened.clock, this.longestIdle, () => {
          opened.close();
          return new TransactionIdleError(this.longestIdle);
        });
      });
      isKept = true;
      return result;
    } finally {
      scope?.settle(isKept);
    }
  }
}
