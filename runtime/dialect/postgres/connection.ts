import type { PoolClient, QueryArrayConfig, QueryArrayResult } from 'pg';
import { bind, type SqlValue, type Statement } from '../statement.js';
import { type RunResult, type Table, TooComplexError, UnusableValueError } from '../executor.js';
import type { TransactionMode } from './connect.js';
import { endsConnection, isOutdated } from './errors.js';
import { readerOf, toWire } from './wire-values.js';

/** One statement with its values. */
export interface Step {
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** Set for a text of several statements, without values; they have no answer. */
  readonly isScript?: true;
  /** Set for a statement that is not to be prepared. */
  readonly isUnprepared?: true;
}

export type StatementResult = QueryArrayResult<SqlValue[]>;

/** Texts that ran once, over all connections; beyond this number, the older generation is dropped. */
const mostSeen = 4_096;

/** Texts that ran on any connection. Only a text that runs again is prepared: clients send filters of ever new shapes. */
export class SeenTexts {
  #young = new Set<string>();
  #old = new Set<string>();

  /** Whether a text was requested before. */
  has(text: string): boolean {
    if (this.#young.has(text)) return true;
    const isKnown = this.#old.has(text);
    if (this.#young.size * 2 >= mostSeen) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(text);
    return isKnown;
  }
}

/** Per connection: a prepared statement needs about ten kilobytes in the database's process, more if it is long. */
const mostPrepared = 256;
const mostCharacters = 1024 * 1024;

/**
 * The names of the statements that one connection keeps prepared. pg prepares a named statement at
 * its first run and cannot drop it, so a connection whose prepared statements are no longer used is
 * replaced.
 */
class PreparedNames {
  readonly #names = new Map<string, string>();
  #characters = 0;
  #missed = 0;

  constructor(private readonly seen: SeenTexts) {}

  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (!this.seen.has(text) || text.length * 8 > mostCharacters) return undefined;
    if (this.#names.size >= mostPrepared || this.#characters + text.length > mostCharacters) {
      this.#missed += 1;
      return undefined;
    }
    const name = `s${this.#names.size + 1}`;
    this.#names.set(text, name);
    this.#characters += text.length;
    return name;
  }

  /** Whether other statements have run as often as it would take to prepare them on a new connection. */
  get isOutdated(): boolean {
    return this.#missed >= mostPrepared;
  }
}

/** The wire protocol counts values with 16 bits. */
const mostValues = 65_535;

const isCopy = /^(?:\s|--.*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*copy\b/i;

const commit: Step = { text: 'commit', values: [] };

const namesOf = new WeakMap<PoolClient, PreparedNames>();

/** A connection for one user until it is released. */
export class PostgresConnection {
  readonly #names: PreparedNames | undefined;
  #isBroken = false;
  #isReleased = false;

  constructor(
    private readonly client: PoolClient,
    seen: SeenTexts,
    /** How transactions begin where a pooler lends a connection for each. */
    private readonly beginning?: (mode: TransactionMode) => string,
  ) {
    // A statement that one connection has prepared is unknown to the next one.
    if (beginning !== undefined) return;
    let names = namesOf.get(client);
    if (names === undefined) {
      names = new PreparedNames(seen);
      namesOf.set(client, names);
    }
    this.#names = names;
  }

  /**
   * Sends statements without waiting for answers in between. PostgreSQL runs each of them, also after a failure: in a
   * transaction, those after it fail too. Not callable while other statements run.
   * @returns the answer of the statement at the position `main`
   * @throws Error of the first statement that fails; `failed` gets how many succeeded before
   */
  async run(
    steps: readonly Step[],
    main: number,
    failed?: (done: number) => void,
  ): Promise<StatementResult> {
    const queries = this.#queriesOf(steps);
    const outcomes = await Promise.allSettled(
      queries.map((query) => this.client.query<SqlValue[]>(query)),
    );
    const done = outcomes.findIndex(({ status }) => status === 'rejected');
    const failure = outcomes[done];
    if (failure?.status === 'rejected') {
      const error = failure.reason as Error;
      if (endsConnection(error)) this.#isBroken = true;
      failed?.(done);
      throw error;
    }
    const answer = outcomes[main];
    if (answer?.status !== 'fulfilled') throw new Error('No statement was sent.');
    return answer.value;
  }

  /** Runs a statement that only reads, by itself. */
  async read(step: Step): Promise<StatementResult> {
    if (this.beginning === undefined) {
      try {
        return await this.run([step], 0);
      } catch (error) {
        // A server of a newer model may have changed the table since the statement was prepared.
        if (!isOutdated(error)) throw error;
        return this.run([{ ...step, isUnprepared: true }], 0);
      }
    }
    // If the transaction does not begin, the error counts, and not what was read.
    return this.run([script(this.beginning('read only')), step, commit], 1);
  }

  /**
   * Runs the statements of a transaction, which the last one ends.
   * @param main the position of the statement whose answer counts
   */
  async transaction(
    mode: TransactionMode,
    steps: readonly Step[],
    main: number,
  ): Promise<StatementResult> {
    const begun = await this.begin(mode);
    return this.run([...begun, ...steps], begun.length + main);
  }

  /**
   * Begins a transaction.
   * @returns the statement that does so, to be sent with the first one
   */
  async begin(mode: TransactionMode): Promise<readonly Step[]> {
    if (this.beginning === undefined) return [beginnings[mode]];
    // A statement that is sent behind it would run alone if the transaction does not begin. Without a
    // pooler, the session only reads outside of transactions.
    await this.run([script(this.beginning(mode))], 0);
    return [];
  }

  /** Returns the connection to the pool; closes it if it is broken or its state is unknown. */
  release(isKept = true): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.client.release(this.#isBroken || !isKept || this.#names?.isOutdated === true);
  }

  /** @throws TooComplexError, UnusableValueError for a statement that cannot be sent */
  #queriesOf(steps: readonly Step[]): readonly (ExtendedQuery | string)[] {
    try {
      return steps.map((step) => this.#queryOf(step));
    } catch (error) {
      // Behind a pooler, a transaction may have begun, which no statement ends now.
      if (this.beginning !== undefined) this.#isBroken = true;
      throw error;
    }
  }

  #queryOf({ text, values, isScript, isUnprepared }: Step): ExtendedQuery | string {
    if (isScript === true) return text;
    if (values.length > mostValues) {
      throw new TooComplexError(`A statement takes ${mostValues} values at most.`, undefined);
    }
    // PostgreSQL would treat the text as ended there.
    if (text.includes('\0')) {
      throw new UnusableValueError('A statement holds the character U+0000.', undefined);
    }
    // It waits for rows, or sends some, in a form of its own.
    if (isCopy.test(text))
      throw new Error('COPY is not possible here: it needs a client of its own.');
    const name = isUnprepared === true ? undefined : this.#names?.of(text);
    return {
      text,
      values: values.map(toWire),
      ...(name === undefined ? {} : { name }),
      rowMode: 'array',
      types: { getTypeParser: readerOf },
      queryMode: 'extended',
    };
  }
}

/** The declared types lack this option of pg: a text is one statement, also where it has no values. */
interface ExtendedQuery extends QueryArrayConfig {
  readonly queryMode: 'extended';
}

const beginnings: Readonly<Record<TransactionMode, Step>> = {
  'read only': plainStep('begin read only'),
  'read write': plainStep('begin isolation level read committed read write'),
};

function script(text: string): Step {
  return { text, values: [], isScript: true };
}

export function stepOf(statement: Statement, values: readonly SqlValue[]): Step {
  return { text: statement.sql, values: bind(statement, values) };
}

export function plainStep(text: string): Step {
  return { text, values: [] };
}

/** The first column of the first row; may be `null`. */
export function firstValue({ rows }: StatementResult): SqlValue | undefined {
  return rows[0]?.[0];
}

export function tableOf(answer: StatementResult): Table {
  const columns = answer.fields.map(({ name }) => name);
  if (columns.length > 0) return { columns, rows: answer.rows };
  return { columns, rows: [], result: resultOf(answer) };
}

/** A statement that generates a key returns it. */
export function resultOf(answer: StatementResult): RunResult {
  return { changes: answer.rowCount ?? 0, insertedKey: Number(firstValue(answer) ?? 0) };
}
