import { type Client, clientLeft, type Executor, type Transaction } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import {
  type BindTransaction,
  runToEnd,
  TransactionScope,
  unlessIdle,
} from '../dialect/transaction-scope.js';
import type { RequestScopes } from './request-scope.js';

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

/** Reads inside the transaction of the calling code, if there is one; else what is committed. */
export type Reads = Pick<Executor, 'read' | 'value' | 'rows' | 'table'>;

/** What runs outside of a transaction. */
type Outside = Reads & Pick<Executor, 'explain' | 'change'>;

/** Completes statements with what the current scope may see; see `class/hooks/restrictions.ts`. */
export interface StatementRestrictions {
  readonly reads: (executor: Outside) => Outside;
  readonly transaction: BindTransaction;
}

type WorkInScope<T> = (transaction: TransactionScope) => Promise<T>;

interface ScopeExecutorOptions {
  /** Whether class code may run inside {@link ScopeExecutor.write}, and so needs its transaction. */
  readonly runsCode?: boolean;
  /** Absent if the model has no `restrict`. */
  readonly restrictions?: StatementRestrictions | undefined;
  /** Milliseconds that a transaction may run without a statement. */
  readonly longestIdle?: number;
}

/**
 * Runs the statements of requests. Those of code inside a transaction take part in it. A write inside
 * waits for nobody else, and is undone alone if it fails.
 */
export class ScopeExecutor implements Executor {
  readonly #outside: Outside;
  readonly #bound: BindTransaction | undefined;
  readonly #runsCode: boolean;
  readonly #longestIdle: number;
  /** The last version of uncommitted data. Each is given once, so that no result is reused for it. */
  #uncommitted = 0;

  constructor(
    private readonly executor: Executor,
    private readonly scopes: RequestScopes,
    { runsCode = true, restrictions, longestIdle = defaultLongestIdle }: ScopeExecutorOptions = {},
  ) {
    const { change } = executor;
    const outside: Outside = {
      read: (statement, values) => this.#read((client) => executor.read(statement, values, client)),
      value: (statement, values) =>
        this.#read((client) => executor.value(statement, values, client)),
      rows: (statement, values) => this.#read((client) => executor.rows(statement, values, client)),
      table: (statement, values) =>
        this.#read((client) => executor.table(statement, values, client)),
      explain: (statement, values) => executor.explain(statement, values),
      change,
    };
    this.#outside = restrictions?.reads(outside) ?? outside;
    this.#bound = restrictions?.transaction;
    this.#runsCode = runsCode;
    this.#longestIdle = longestIdle;
  }

  read(statement: Statement, values: readonly SqlValue[]): ReturnType<Executor['read']> {
    return this.#reads().read(statement, values);
  }

  value(statement: Statement, values: readonly SqlValue[]): ReturnType<Executor['value']> {
    return this.#reads().value(statement, values);
  }

  rows(statement: Statement, values: readonly SqlValue[]): ReturnType<Executor['rows']> {
    return this.#reads().rows(statement, values);
  }

  table(statement: Statement, values: readonly SqlValue[]): ReturnType<Executor['table']> {
    return this.#reads().table(statement, values);
  }

  explain(statement: Statement, values: readonly SqlValue[]): ReturnType<Executor['explain']> {
    // With one connection, the plan would wait for the transaction, and the transaction for the plan.
    if (this.scopes.current().transaction === undefined)
      return this.#outside.explain(statement, values);
    throw new Error('explain is not available inside a transaction.');
  }

  dataVersion(): number | undefined {
    if (this.scopes.current().transaction === undefined) return this.executor.dataVersion();
    this.#uncommitted -= 1;
    return this.#uncommitted;
  }

  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { transaction: open } = this.scopes.current();
    // Only the work itself uses the transaction: it needs no scope.
    if (!this.#runsCode && open === undefined) return this.executor.write(work);
    const joined = this.#joined(({ transaction }) => work(transaction));
    return open === undefined ? this.#open(joined) : open.run(joined);
  }

  get change(): Executor['change'] {
    return this.scopes.current().transaction === undefined ? this.#outside.change : undefined;
  }

  get part(): Executor['part'] {
    const { transaction } = this.scopes.current();
    return transaction === undefined ? undefined : (work) => this.writeIn(work);
  }

  /**
   * Runs work of class code in a transaction that the code of the work joins. Code that does not await a save may set
   * further values until its next await. It awaits what it returns, so that the stack of an error leads to the code.
   */
  async writeIn<T>(work: WorkInScope<T>): Promise<T> {
    const joined = this.#joined(work);
    const { transaction: open } = this.scopes.current();
    if (open !== undefined) return await open.run(joined);
    await Promise.resolve();
    return await this.#open(joined);
  }

  close(): Promise<void> {
    return this.executor.close();
  }

  #read<T>(read: (client: Client | undefined) => T): T {
    const { client } = this.scopes.current();
    if (client?.hasLeft === true) throw clientLeft();
    return read(client);
  }

  #reads(): Reads {
    return this.scopes.current().transaction?.transaction ?? this.#outside;
  }

  #joined<T>(work: WorkInScope<T>): WorkInScope<T> {
    return (transaction) => this.scopes.with({ transaction }, () => work(transaction));
  }

  async #open<T>(work: WorkInScope<T>): Promise<T> {
    let begun: TransactionScope | undefined;
    try {
      const result = await this.executor.write((transaction) => {
        const opened = new TransactionScope(transaction, undefined, this.#bound);
        begun = opened;
        return unlessIdle(runToEnd(opened, work), opened.clock, this.#longestIdle, () => {
          opened.close();
          return new TransactionIdleError(this.#longestIdle);
        });
      });
      begun?.reportOutcome(true);
      return result;
    } catch (error) {
      begun?.reportOutcome(false);
      throw error;
    }
  }
}
