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
  type Answer,
  firstValue,
  plainStep,
  type PostgresConnection,
  resultOf,
  stepOf,
  tableOf,
} from './connection.js';
import { type ErrorFacts, translateChangeError, translateError } from './errors.js';

/** What runs outside of a transaction only reads, see `connect.ts`: nothing is written where this fails. */
const begin = plainStep('begin isolation level read committed read write');
const guard = plainStep('savepoint "statement"');
const pass = plainStep('release savepoint "statement"');
const goBack = plainStep('rollback to savepoint "statement"');
const commit = plainStep('commit');
const rollback = plainStep('rollback');

/** Savepoint statements of class code could hide or end an enclosing savepoint. */
const ofSavepoints = /^\s*(?:savepoint|release|rollback)\b/i;

type Translate = (error: Error, facts: ErrorFacts) => Error;

/**
 * One transaction on a connection, begun with its first statement. PostgreSQL aborts a transaction after an error,
 * so each statement runs in a savepoint, which is sent together with it.
 */
export class PostgresTransaction implements Transaction {
  #state: 'new' | 'open' | 'lost' | 'ended' = 'new';
  /** Resolves when the last statement requested so far has ended; never rejects. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly connection: PostgresConnection,
    private readonly facts: ErrorFacts,
  ) {}

  async run(statement: Statement, values: readonly SqlValue[]): Promise<RunResult> {
    return resultOf(await this.#ask(statement, values, translateChangeError));
  }

  async value(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    return firstValue(await this.#ask(statement, values));
  }

  async read(statement: Statement, values: readonly SqlValue[]): Promise<JsonAnswer | undefined> {
    const answer = firstValue(await this.#ask(statement, values));
    return answer === null ? undefined : (answer as JsonAnswer | undefined);
  }

  async rows(statement: Statement, values: readonly SqlValue[]): Promise<Rows> {
    return (await this.#ask(statement, values)).rows;
  }

  async table(statement: Statement, values: readonly SqlValue[]): Promise<Table> {
    return tableOf(await this.#ask(statement, values));
  }

  /**
   * Commits when all requested statements have ended.
   * @throws ConstraintError for a deferred constraint, DatabaseUnavailableError if the connection is lost
   */
  commit(): Promise<void> {
    return this.#next(async () => {
      const state = this.#state;
      this.#state = 'ended';
      if (state === 'lost') throw lostError();
      if (state !== 'open') return;
      const { command } = await this.connection.run([commit], 0).catch((error: unknown) => {
        throw translateError(error as Error, this.facts);
      });
      // PostgreSQL turns a commit after an error into a rollback.
      if (command !== 'COMMIT') throw lostError();
    });
  }

  /**
   * Rolls back and refuses further statements.
   * @returns whether others can use the connection
   */
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

  #ask(
    statement: Statement,
    values: readonly SqlValue[],
    translate: Translate = translateError,
  ): Promise<Answer> {
    return this.#next(async () => {
      if (this.#state === 'ended' || this.#state === 'lost') throw lostError();
      const before = this.#state;
      this.#state = 'open';
      const steps = before === 'new' ? [begin] : [];
      const isGuarded = !ofSavepoints.test(statement.sql);
      if (isGuarded) steps.push(guard);
      const main = steps.length;
      steps.push(stepOf(statement, values));
      if (isGuarded) steps.push(pass);
      let done: number | undefined;
      try {
        return await this.connection.run(steps, main, (number) => {
          done = number;
        });
      } catch (error) {
        // A statement that is refused here is not sent, nor are those around it.
        if (done === undefined) this.#state = before;
        else if (isGuarded) await this.#recover(done, main);
        const told = translate(error as Error, this.facts);
        throw steps[done ?? main] === begin ? notBegun(told) : told;
      }
    });
  }

  /** Restores the state before the statement, unless an earlier one of the batch failed. */
  async #recover(done: number, main: number): Promise<void> {
    if (done < main) {
      this.#state = 'lost';
      return;
    }
    try {
      await this.connection.run([goBack, pass], 0);
    } catch {
      this.#state = 'lost';
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
function notBegun(error: Error): Error {
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
