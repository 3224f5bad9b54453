import { type Connection, type FieldDef, type PoolClient, Query } from 'pg';
import { bind, type SqlValue, type Statement } from '../statement.js';
import {
  type Rows,
  type RunResult,
  type Table,
  TooComplexError,
  UnusableValueError,
} from '../executor.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';
import { endsConnection, isOutdated } from './errors.js';

/** One statement with its values. */
export interface Step {
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** Set for a text of several statements, without values; they have no answer. */
  readonly isScript?: true;
}

/**
 * What a statement returns. It hands out its rows once, and uses no array or object literal for them: V8 may allocate
 * the literals of a line of code in the old generation, if earlier ones lived long. What they reference stays in memory,
 * and is copied, until the next full collection. With the JSON of pages, that took a third of their processor time.
 */
export class StatementResult {
  /** Empty for a statement that returns no rows. */
  columns: readonly Column[] = [];
  /** What PostgreSQL says at the end of each statement, such as `INSERT 0 1`. */
  tag = '';
  #rows: SqlValue[][] | undefined;

  add(row: SqlValue[]): void {
    if (this.#rows === undefined) this.#rows = Array.of(row);
    else this.#rows.push(row);
  }

  /** The rows; none at a later call. */
  takeRows(): Rows {
    const rows = this.#rows;
    this.#rows = undefined;
    return rows ?? [];
  }
}

interface Column {
  readonly name: string;
  readonly read: ReadValue;
}

/** A statement that a connection prepares at its first run. */
interface Prepared {
  readonly name: string;
  isSent: boolean;
  /** Known after a run that succeeded. PostgreSQL refuses a later one that would return other columns. */
  columns: readonly Column[] | undefined;
}

/** Characters of the texts that ran once, over all connections; beyond them, the older half is dropped. */
const mostRemembered = 4 * 1024 * 1024;

/** Texts that ran on any connection. Only a text that runs again is prepared: clients send filters of ever new shapes. */
class RepeatedTexts {
  #current = new Set<string>();
  #previous = new Set<string>();
  #characters = 0;

  /** Whether a text was requested before. */
  has(text: string): boolean {
    if (this.#current.has(text)) return true;
    const isKnown = this.#previous.has(text);
    this.#characters += text.length;
    if (this.#characters * 2 > mostRemembered) {
      this.#previous = this.#current;
      this.#current = new Set();
      this.#characters = text.length;
    }
    this.#current.add(text);
    return isKnown;
  }
}

/** Per connection: a prepared statement needs about ten kilobytes in the database's process, more if it is long. */
const mostPrepared = 256;
const mostCharacters = 1024 * 1024;

/**
 * The statements that one connection keeps prepared. None is dropped: a connection whose prepared
 * statements are no longer used is replaced.
 */
class PreparedStatements {
  readonly #statements = new Map<string, Prepared>();
  #characters = 0;
  #missed = 0;

  constructor(private readonly texts: RepeatedTexts) {}

  /** The statement of a text that {@link of} has added. */
  known(text: string): Prepared | undefined {
    return this.#statements.get(text);
  }

  /** Adds a text that is not known yet, if it ran before and there is room. */
  of(text: string): Prepared | undefined {
    if (text.length * 8 > mostCharacters || !this.texts.has(text)) return undefined;
    if (this.#statements.size >= mostPrepared || this.#characters + text.length > mostCharacters) {
      this.#missed += 1;
      return undefined;
    }
    const name = `s${this.#statements.size + 1}`;
    const prepared = { name, isSent: false, columns: undefined };
    this.#statements.set(text, prepared);
    this.#characters += text.length;
    return prepared;
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

/** What is known of a connection as long as it is open, also while nobody uses it. */
interface ConnectionState {
  readonly prepared: PreparedStatements;
  /**
   * How many changes of one statement it has made since its last transaction of several ones. From
   * the second one on, its session may change something outside of a transaction.
   */
  changes: number;
  /** The number of the database's process; unknown where a pooler lends a connection for each transaction. */
  process?: number;
}

/** The states of the connections of a pool. */
export class ConnectionStates {
  readonly #texts = new RepeatedTexts();
  readonly #states = new WeakMap<PoolClient, ConnectionState>();

  of(client: PoolClient): ConnectionState {
    return getOrInsertComputed(this.#states, client, () => ({
      prepared: new PreparedStatements(this.#texts),
      changes: 0,
    }));
  }
}

const allowChanges: Step = { text: 'set default_transaction_read_only = off', values: [] };
const forbidChanges: Step = { text: 'set default_transaction_read_only = on', values: [] };

export type TransactionMode = 'read only' | 'read write';

/** A connection for one user until it is released. */
export class PostgresConnection {
  /** Left out behind a pooler: a statement that one connection has prepared is unknown to the next one. */
  readonly #prepared: PreparedStatements | undefined;
  #isBroken = false;
  isReleased = false;

  constructor(
    private readonly client: PoolClient,
    private readonly state: ConnectionState,
    /** How transactions begin where a pooler lends a connection for each. */
    private readonly beginning?: (mode: TransactionMode) => string,
  ) {
    this.#prepared = beginning === undefined ? state.prepared : undefined;
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
    const [first] = queries;
    if (queries.length === 1 && first !== undefined) {
      try {
        return await this.#send(first);
      } catch (error) {
        throw this.#failed(error as Error, 0, failed);
      }
    }
    const { stream } = this.client.connection;
    stream.cork();
    const sent = queries.map((query) => this.#send(query));
    stream.uncork();
    const outcomes = await Promise.allSettled(sent);
    const done = outcomes.findIndex(({ status }) => status === 'rejected');
    const failure = outcomes[done];
    if (failure?.status === 'rejected') {
      throw this.#failed(failure.reason as Error, done, failed);
    }
    const answer = outcomes[main];
    if (answer?.status !== 'fulfilled') throw new Error('No statement was sent.');
    return answer.value;
  }

  #send(query: ExtendedQuery | string): Promise<StatementResult> {
    if (typeof query === 'string')
      return this.client.query(query).then(() => new StatementResult());
    return this.client.query(query).answer;
  }

  /** @param mayRepeat whether to send it again if a server of a newer model has changed its table since it was prepared */
  async #runAlone(step: Step, mayRepeat: boolean): Promise<StatementResult> {
    try {
      return await this.#send(this.#queryOf(step));
    } catch (error) {
      const reason = this.#failed(error as Error, 0, undefined);
      if (mayRepeat && isOutdated(error)) return this.#runAlone(step, false);
      throw reason;
    }
  }

  #failed(error: Error, done: number, failed: ((done: number) => void) | undefined): Error {
    if (endsConnection(error)) this.#isBroken = true;
    failed?.(done);
    return error;
  }

  /** Runs a statement that only reads, by itself. */
  read(step: Step): Promise<StatementResult> {
    if (this.beginning === undefined) return this.#runAlone(step, true);
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
   * Runs a statement as a transaction of its own. It needs neither `begin` nor `commit` where the last
   * transactions of the connection were such ones, too.
   * @param begun called with whether the transaction has begun, which an error does not tell
   * @param before what the transaction runs before it
   */
  change(
    step: Step,
    begun: (hasBegun: boolean) => void,
    before: readonly Step[] = [],
  ): Promise<StatementResult> {
    const isAlone = before.length === 0 && this.state.changes > 1;
    begun(isAlone);
    return isAlone ? this.#runAlone(step, false) : this.#changeInTransaction(step, begun, before);
  }

  async #changeInTransaction(
    step: Step,
    begun: (hasBegun: boolean) => void,
    before: readonly Step[],
  ): Promise<StatementResult> {
    if (before.length > 0) {
      const begin = await this.begin('read write');
      begun(begin.length === 0);
      const main = begin.length + before.length;
      return this.run([...begin, ...before, step, commit], main, (done) => {
        begun(done >= begin.length);
      });
    }
    const { changes } = this.state;
    const begin = await this.#begun('read write');
    begun(true);
    const changed = this.run([...begin, step, commit], begin.length, (done) => {
      begun(done >= begin.length);
    });
    if (this.beginning !== undefined) return changed;
    this.state.changes = changes + 1;
    // It is sent behind the commit.
    const allowed = changes === 1 ? this.#set(allowChanges) : undefined;
    const [answer] = await Promise.allSettled([changed, allowed]);
    if (answer.status === 'rejected') throw answer.reason as Error;
    return answer.value;
  }

  /** A connection that does not take a setting is not used again. */
  async #set(setting: Step): Promise<void> {
    try {
      await this.run([setting], 0);
    } catch {
      this.#isBroken = true;
    }
  }

  /**
   * Begins a transaction.
   * @returns the statement that does so, to be sent with the first one
   */
  async begin(mode: TransactionMode): Promise<readonly Step[]> {
    if (this.state.changes > 1) void this.#set(forbidChanges);
    this.state.changes = 0;
    return this.#begun(mode);
  }

  async #begun(mode: TransactionMode): Promise<readonly Step[]> {
    if (this.beginning === undefined) return [beginnings[mode]];
    // A statement that is sent behind it would run alone if the transaction does not begin. Without a
    // pooler, the session only reads outside of transactions, unless `change` has allowed more.
    await this.run([script(this.beginning(mode))], 0);
    return [];
  }

  /**
   * Gives the number of the database's process, if it is known, for the cancellation of what it runs. The connection is
   * not used again then: a late cancellation would meet its next statement.
   */
  takeProcess(): number | undefined {
    const { process } = this.state;
    if (process !== undefined) this.#isBroken = true;
    return process;
  }

  /** Returns the connection to the pool; closes it if it is broken or its state is unknown. */
  release(isKept = true): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.client.release(this.#isBroken || !isKept || this.#prepared?.isOutdated === true);
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

  #queryOf({ text, values, isScript }: Step): ExtendedQuery | string {
    if (isScript === true) return text;
    if (values.length > mostValues) {
      throw new TooComplexError(`A statement takes ${mostValues} values at most.`, undefined);
    }
    const known = this.#prepared?.known(text);
    if (known === undefined) requirePlain(text);
    return new ExtendedQuery(text, values.map(toWire), known ?? this.#prepared?.of(text));
  }
}

/** @throws UnusableValueError, Error for a text that cannot be sent as one statement */
function requirePlain(text: string): void {
  // PostgreSQL would treat the text as ended there.
  if (text.includes('\0')) {
    throw new UnusableValueError('A statement holds the character U+0000.', undefined);
  }
  // It waits for rows, or sends some, in a form of its own.
  if (isCopy.test(text)) {
    throw new Error('COPY is not possible here: it needs a client of its own.');
  }
}

/**
 * One statement. pg's own query copies its options, makes two promises, and asks for the columns at each run: by
 * measurement, a fifth of the processor time of a small request. In pipeline mode, pg accepts subclasses of it only.
 */
class ExtendedQuery extends Query {
  readonly answer: Promise<StatementResult>;
  /** A member of pg's query, which a client wraps if the URL sets `query_timeout`. */
  declare callback: (error: Error | undefined, answer?: StatementResult) => void;
  readonly #result = new StatementResult();

  constructor(
    readonly text: string,
    readonly values: WireValue[],
    private readonly prepared: Prepared | undefined,
  ) {
    super(text);
    this.answer = new Promise((resolve, reject) => {
      this.callback = (error, answer) => {
        if (error === undefined) resolve(answer as StatementResult);
        else reject(error);
      };
    });
  }

  override submit = (connection: Connection): void => {
    const { prepared } = this;
    const columns = prepared?.columns;
    const name = prepared?.name ?? '';
    connection.stream.cork();
    if (columns === undefined) {
      // A run that failed may have prepared it.
      if (prepared?.isSent === true) connection.close({ type: 'S', name }, true);
      if (prepared !== undefined) prepared.isSent = true;
      connection.parse({ name, text: this.text, types: [] }, true);
    }
    connection.bind({ statement: name, values: this.values }, true);
    if (columns === undefined) connection.describe({ type: 'P', name: '' }, true);
    else this.#result.columns = columns;
    connection.execute(null, true);
    connection.sync();
    connection.stream.uncork();
  };

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#result.columns = fields.map(({ name, dataTypeID }) => ({
      name,
      read: readerOf(dataTypeID),
    }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { columns } = this.#result;
    this.#result.add(
      fields.map((text, index) => (text === null ? null : (columns[index] as Column).read(text))),
    );
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#result.tag = text;
  }

  handleReadyForQuery(): void {
    if (this.prepared !== undefined) this.prepared.columns = this.#result.columns;
    this.callback(undefined, this.#result);
  }

  handleError(error: Error): void {
    const { prepared } = this;
    if (prepared !== undefined && isOutdated(error)) prepared.columns = undefined;
    this.callback(error);
  }
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
export function firstValue(answer: StatementResult): SqlValue | undefined {
  return answer.takeRows()[0]?.[0];
}

export function tableOf(answer: StatementResult): Table {
  const columns = answer.columns.map(({ name }) => name);
  if (columns.length > 0) return { columns, rows: answer.takeRows() };
  return { columns, rows: [], result: resultOf(answer) };
}

/** A statement that generates a key returns it. */
export function resultOf(answer: StatementResult): RunResult {
  const changes = Number(/\d+$/.exec(answer.tag)?.[0] ?? 0);
  return { changes, insertedKey: Number(firstValue(answer) ?? 0) };
}

/** A value as it is sent: a text, which PostgreSQL parses by the expected type, or bytes. */
type WireValue = string | Buffer | null;

/** @throws UnusableValueError for a text with U+0000, which PostgreSQL does not support */
function toWire(value: SqlValue): WireValue {
  if (value === null) return value;
  if (typeof value === 'string') {
    if (!value.includes('\0')) return value;
    const reason = 'A text holds the character U+0000, which this database cannot keep.';
    throw new UnusableValueError(reason, undefined);
  }
  if (typeof value !== 'object') return String(value);
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

type ReadValue = (text: string) => SqlValue;

const unread: ReadValue = (text) => text;

/** By type number of PostgreSQL's catalog. Values of other types stay texts. */
const readers: ReadonlyMap<number, ReadValue> = new Map<number, ReadValue>([
  // boolean
  [16, (text) => (text === 't' ? 1 : 0)],
  // bytea
  [17, (text) => Buffer.from(text.slice(2), 'hex')],
  // bigint, smallint, integer, oid
  [20, exact],
  [21, Number],
  [23, Number],
  [26, Number],
  // real, double precision, numeric
  [700, Number],
  [701, Number],
  [1700, (text) => (/^-?\d+$/.test(text) ? exact(text) : Number(text))],
]);

/** The reader for the values of a column, by the number of its type. */
function readerOf(type: number): ReadValue {
  return readers.get(type) ?? unread;
}

/** An integer as a number if that is exact, otherwise as a bigint. */
function exact(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}
