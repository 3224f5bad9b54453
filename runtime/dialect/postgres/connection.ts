import type { PoolClient } from 'pg';
import { bind, type SqlValue, type Statement } from '../statement.js';
import type { Rows, RunResult, Table } from '../executor.js';
import { Ask, type RawAnswer, type Step } from './ask.js';
import { endsConnection } from './errors.js';
import { PreparedStatements, type SeenTexts } from './prepared-statements.js';
import { readerOf } from './wire-values.js';

const preparedOf = new WeakMap<PoolClient, PreparedStatements>();

/** A connection for one user until it is released. */
export class PostgresConnection {
  readonly #statements: PreparedStatements;
  #isBroken = false;
  #isReleased = false;

  constructor(
    private readonly client: PoolClient,
    seen: SeenTexts,
  ) {
    let statements = preparedOf.get(client);
    if (statements === undefined) {
      statements = new PreparedStatements(seen);
      preparedOf.set(client, statements);
    }
    this.#statements = statements;
  }

  /**
   * Sends statements together and stops at the first failure. Not callable while other statements run.
   * @param main position of the statement whose result is wanted
   * @throws Error of pg; `failed` gets the number of statements that succeeded
   */
  run(steps: readonly Step[], main: number, failed?: (done: number) => void): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const ask = new Ask(steps, main, this.#statements, (error, answer) => {
        if (answer !== undefined) {
          resolve(answer);
          return;
        }
        const reason = error ?? new Error('The database gave no answer.');
        if (endsConnection(reason)) this.#isBroken = true;
        failed?.(ask.done);
        reject(reason);
      });
      this.client.query(ask);
    });
  }

  /** Returns the connection to the pool; closes it if it is broken or its state is unknown. */
  release(isKept = true): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.client.release(this.#isBroken || !isKept);
  }
}

export function stepOf(statement: Statement, values: readonly SqlValue[]): Step {
  return { text: statement.sql, values: bind(statement, values) };
}

export function plainStep(text: string): Step {
  return { text, values: [] };
}

/** The first column of the first row; may be `null`. */
export function firstValue({ columns, rows }: RawAnswer): SqlValue | undefined {
  const raw = rows[0]?.[0];
  const column = columns[0];
  if (raw === undefined || raw === null || column === undefined) return raw;
  const read = readerOf(column);
  return read === undefined ? raw : read(raw);
}

export function allRows({ columns, rows }: RawAnswer): Rows {
  const readers = columns.map(readerOf);
  return rows.map((row) =>
    row.map((raw, index) => {
      const read = readers[index];
      return raw === null || read === undefined ? raw : read(raw);
    }),
  );
}

export function tableOf(answer: RawAnswer): Table {
  const columns = answer.columns.map(({ name }) => name);
  if (columns.length > 0) return { columns, rows: allRows(answer) };
  return { columns, rows: [], result: resultOf(answer) };
}

/** A statement that generates a key returns it. */
export function resultOf(answer: RawAnswer): RunResult {
  const changes = Number(/ (\d+)$/.exec(answer.tag)?.[1] ?? 0);
  return { changes, insertedKey: Number(firstValue(answer) ?? 0) };
}
