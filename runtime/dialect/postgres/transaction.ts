import {
  DatabaseUnavailableError,
  type JsonAnswer,
  type Rows,
  type RunResult,
  type Table,
  type Transaction,
} from '../executor.js';
import type { SqlValue, Statement } from '../statement.js';
import type { RawAnswer } from './ask.js';
import {
  allRows,
  firstValue,
  plainStep,
  type PostgresConnection,
  resultOf,
  stepOf,
  tableOf,
} from './connection.js';
import { type ErrorFacts, translateChangeError, translateError } from './errors.js';

const begin = plainStep('begin isolation level read committed');
const guard = plainStep('savepoint "statement"');
const pass = plainStep('release savepoint "statement"');
const goBack = plainStep('rollback to savepoint "statement"');
const commit = plainStep('commit');
const rollback = plainStep('rollback');

/** Statements about savepoints of others, which one around them would hide or end. */
const ofSavepoints = /^\s*(?:savepoint|release|rollback)\b/i;

type Translate = (error: Error, facts: ErrorFacts) => Error;

/**
 * One transaction on a connection, begun with its first statement. A statement that fails would spoil it as a whole: each one
 * runs behind a savepoint, which travels with it.
 */
export class PostgresTransaction implements Transaction {
  #state: 'new' | 'open' | 'lost' | 'ended' = 'new';
  /** Ends when the last statement asked for so far has ended; never fails. */
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
    return allRows(await this.#ask(statement, values));
  }

  async table(statement: Statement, values: readonly SqlValue[]): Promise<Table> {
    return tableOf(await this.#ask(statement, values));
  }

  /**
   * Stores what was done, when all statements asked for have ended.
   * @throws ConstraintError where a constraint is checked at the end alone, DatabaseUnavailableError when it is lost
   */
  commit(): Promise<void> {
    return this.#next(async () => {
      const state = this.#state;
      this.#state = 'ended';
      if (state === 'lost') throw lostError();
      if (state !== 'open') return;
      const { tag } = await this.#run([commit], 0, translateError);
      // What the database makes of a commit after an error.
      if (tag !== 'COMMIT') throw lostError();
    });
  }

  /**
   * Undoes what was done; whatever is asked for from now on is refused.
   * @returns whether the connection can be used by others
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
  ): Promise<RawAnswer> {
    return this.#next(async () => {
      if (this.#state === 'ended' || this.#state === 'lost') throw lostError();
      const step = stepOf(statement, values);
      const before = this.#state === 'new' ? [begin] : [];
      this.#state = 'open';
      if (ofSavepoints.test(statement.sql)) {
        return this.#run([...before, step], before.length, translate);
      }
      const main = before.length + 1;
      return this.#run([...before, guard, step, pass], main, translate, (done) =>
        this.#recover(done, main),
      );
    });
  }

  /** The transaction goes on as it was before the statement, unless it did not get that far. */
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

  async #run(
    steps: Parameters<PostgresConnection['run']>[0],
    main: number,
    translate: Translate,
    recover?: (done: number) => Promise<void>,
  ): Promise<RawAnswer> {
    let done = 0;
    try {
      return await this.connection.run(steps, main, (number) => {
        done = number;
      });
    } catch (error) {
      await recover?.(done);
      throw translate(error as Error, this.facts);
    }
  }

  /** pg takes one statement at a time of a connection, whoever asks. */
  #next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#line.then(work);
    this.#line = result.then(nothing, nothing);
    return result;
  }
}

function lostError(): DatabaseUnavailableError {
  const reason = 'the database has given up the transaction, or the transaction has ended';
  return new DatabaseUnavailableError(reason, undefined);
}

function nothing(): void {
  // Whoever asked is told what became of it.
}
