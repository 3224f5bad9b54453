import {
  DatabaseUnavailableError,
  type JsonAnswer,
  type Rows,
  type RunResult,
  type Table,
  type Transaction,
} from '../executor.js';
import type { SqlValue, Statement } from '../statement.js';
import {
  type StatementResult,
  firstValue,
  plainStep,
  type PostgresConnection,
  resultOf,
  type Step,
  stepOf,
  tableOf,
} from './connection.js';
import { type ErrorFacts, ofCommit, translateChangeError, translateError } from './errors.js';
import { raiseStamp } from './global-stamp.js';

const guard = plainStep('savepoint "statement"');
const pass = plainStep('release savepoint "statement"');
const goBack = plainStep('rollback to savepoint "statement"');
export const commit = plainStep('commit');
const rollback = plainStep('rollback');

/** Savepoint statements of class code could hide or end an enclosing savepoint. */
const ofSavepoints = /^\s*(?:savepoint|release|rollback)\b/i;
const beginsPart = /^\s*savepoint\b/i;

/** Runs statements as a transaction of its own, on another connection; returns the answer of the last one. */
type RunAside = (...steps: Step[]) => Promise<StatementResult>;

type Translate = (error: Error, facts: ErrorFacts) => Error;

/**
 * One transaction on a connection, begun with its first statement. PostgreSQL aborts a transaction after an error. So
 * a savepoint, which is sent together with the next statement, follows each change, and serves until something changes
 * again: after an error the transaction goes back to it. After an error in the first statement, it begins again.
 */
export class PostgresTransaction implements Transaction {
  #state: 'new' | 'open' | 'lost' | 'ended' = 'new';
  /** Whether nothing has changed since the last savepoint. */
  #isGuarded = false;
  /** Resolves when the last statement requested so far has ended; never rejects. */
  #line: Promise<unknown> = Promise.resolve();
  #changes = 0;

  constructor(
    private readonly connection: PostgresConnection,
    private readonly facts: ErrorFacts,
    private readonly runAside: RunAside,
    /** What the transaction begins with. */
    private readonly first: readonly Step[],
  ) {}

  async aside(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    if (this.#state === 'ended' || this.#state === 'lost') throw lostError();
    return firstValue(await this.runAside(stepOf(statement, values)));
  }

  raiseStamp(changes: number): void {
    this.#changes += changes;
  }

  async run(statement: Statement, values: readonly SqlValue[]): Promise<RunResult> {
    return resultOf(await this.#ask(statement, values, 'changes', translateChangeError));
  }

  async value(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    return firstValue(await this.#ask(statement, values, 'reads'));
  }

  async read(statement: Statement, values: readonly SqlValue[]): Promise<JsonAnswer | undefined> {
    const answer = firstValue(await this.#ask(statement, values, 'reads'));
    return answer === null ? undefined : (answer as JsonAnswer | undefined);
  }

  async rows(statement: Statement, values: readonly SqlValue[]): Promise<Rows> {
    return (await this.#ask(statement, values, 'reads')).takeRows();
  }

  async table(statement: Statement, values: readonly SqlValue[]): Promise<Table> {
    return tableOf(await this.#ask(statement, values, 'changes'));
  }

  /** @throws ConstraintError for a deferred constraint, UnknownOutcomeError if the connection is lost */
  commit(): Promise<void> {
    return this.#next(async () => {
      if (this.#state === 'lost') throw lostError();
      const isOpen = this.#state === 'open';
      this.#state = 'ended';
      if (!isOpen) return;
      const before = this.#changes === 0 ? [] : [{ text: raiseStamp, values: [this.#changes] }];
      const { tag } = await this.#run(
        [...before, commit],
        before.length,
        (error, facts) => ofCommit(error, translateError(error, facts)),
        (done) => {
          if (done === undefined || done < before.length) this.#state = 'lost';
        },
      );
      // PostgreSQL turns a commit after an error into a rollback.
      if (tag !== 'COMMIT') throw lostError();
    });
  }

  /** Rolls back and refuses further statements; returns whether others can use the connection. */
  rollback(): Promise<boolean> {
    return this.#next(async () => {
      const state = this.#state;
      this.#state = 'ended';
      if (state === 'new' || state === 'ended') return true;
      try {
        await this.connection.run([rollback], 0);
        return true;
      } catch {
        return false;
      }
    });
  }

  /** @param does `changes` if it may change something, or lock rows */
  #ask(
    statement: Statement,
    values: readonly SqlValue[],
    does: 'reads' | 'changes',
    translate: Translate = translateError,
  ): Promise<StatementResult> {
    return this.#next(async () => {
      if (this.#state === 'ended' || this.#state === 'lost') throw lostError();
      const step = stepOf(statement, values);
      if (this.#state === 'new') {
        const begin = await this.#begin();
        this.#state = 'open';
        const before = [...begin, ...this.first];
        const main = before.length;
        let hasBegun = true;
        const translated: Translate = (error, facts) =>
          hasBegun ? translate(error, facts) : notBegun(translate(error, facts));
        return this.#run([...before, step], main, translated, async (done) => {
          hasBegun = done === undefined || done >= begin.length;
          if (done !== undefined) await this.#recover(!hasBegun, rollback);
          if (this.#state === 'open') this.#state = 'new';
        });
      }
      const isGuarded = this.#isGuarded;
      if (ofSavepoints.test(statement.sql)) {
        this.#isGuarded = false;
        // Savepoints that nobody releases would add up.
        const before = isGuarded && beginsPart.test(statement.sql) ? [pass] : [];
        return this.#run([...before, step], before.length, translate);
      }
      const before = isGuarded ? [] : [guard];
      const after = does === 'changes' ? [pass] : [];
      this.#isGuarded = does === 'reads';
      return this.#run([...before, step, ...after], before.length, translate, async (done) => {
        if (done === undefined) {
          this.#isGuarded = isGuarded;
          return;
        }
        this.#isGuarded = true;
        await this.#recover(done < before.length, goBack);
      });
    });
  }

  /** @returns the statement that begins the transaction, if it is still to be sent */
  async #begin(): Promise<readonly Step[]> {
    try {
      return await this.connection.begin('read write');
    } catch (error) {
      this.#state = 'lost';
      throw notBegun(translateError(error as Error, this.facts));
    }
  }

  /**
   * Restores the state before a failed statement.
   * @param isLost whether a statement failed that the others needed
   */
  async #recover(isLost: boolean, step: Step): Promise<void> {
    if (isLost) {
      this.#state = 'lost';
      return;
    }
    try {
      await this.connection.run([step], 0);
    } catch {
      this.#state = 'lost';
    }
  }

  /** @param recover gets how many statements succeeded; nothing if none was sent */
  async #run(
    steps: readonly Step[],
    main: number,
    translate: Translate,
    recover?: (done: number | undefined) => Promise<void> | void,
  ): Promise<StatementResult> {
    let done: number | undefined;
    try {
      return await this.connection.run(steps, main, (number) => {
        done = number;
      });
    } catch (error) {
      await recover?.(done);
      throw translate(error as Error, this.facts);
    }
  }

  /** pg accepts one statement at a time per connection. */
  #next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#line.then(work);
    this.#line = result.then(nothing, nothing);
    return result;
  }
}

/** For example where the database is a standby: nothing has happened, and later it may be another one. */
export function notBegun(error: Error): Error {
  if (error instanceof DatabaseUnavailableError) return error;
  return new DatabaseUnavailableError('the database begins no transaction', error);
}

function lostError(): DatabaseUnavailableError {
  const reason = 'the database has given up the transaction, or the transaction has ended';
  return new DatabaseUnavailableError(reason, undefined);
}

function nothing(): void {
  // The caller of each statement handles its errors.
}
