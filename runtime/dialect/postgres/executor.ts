import {
  type Client,
  clientLeft,
  DatabaseUnavailableError,
  type Executor,
  type JsonAnswer,
  type Rows,
  type Table,
  type TableSearch,
  type Transaction,
  type TransactionFrame,
} from '../executor.js';
import { settledWithin } from '../settled-within.js';
import type { SqlValue, Statement } from '../statement.js';
import { WriterLine } from '../writer-line.js';
import type { PostgresPool } from './connect.js';
import {
  type StatementResult,
  firstValue,
  plainStep,
  type PostgresConnection,
  type Step,
  stepOf,
  tableOf,
} from './connection.js';
import { type ErrorFacts, ofCommit, translateChangeError, translateError } from './errors.js';
import { commit, notBegun, PostgresTransaction } from './transaction.js';
import { DatabaseError } from 'pg';

/** How long a statement may run whose client has left: a cancellation takes a connection of its own. */
const leftMilliseconds = 250;

/** How long closing waits for open transactions: class code in one may never end. */
const defaultGraceMilliseconds = 5_000;

interface PostgresOptions extends ErrorFacts {
  /** Maximum number of connections, at least 2. */
  readonly size: number;
  /** How long {@link PostgresExecutor.close} waits for transactions; some seconds by default. */
  readonly graceMilliseconds?: number;
}

/** Runs statements on PostgreSQL. Transactions run concurrently at the isolation level `READ COMMITTED`. */
export class PostgresExecutor implements Executor {
  /** Class code joins the transactions of another executor, which knows them. */
  readonly part = undefined;
  readonly #writers: WriterLine;
  /** Connections with an open transaction. */
  readonly #open = new Set<PostgresConnection>();
  #isClosed = false;

  constructor(
    private readonly connections: PostgresPool,
    private readonly options: PostgresOptions,
  ) {
    // Code in a transaction may also read outside of it: one connection is reserved for that, or all could
    // deadlock.
    this.#writers = new WriterLine(undefined, options.size - 1);
  }

  read(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Promise<JsonAnswer | undefined> {
    return this.value(statement, values, client) as Promise<JsonAnswer | undefined>;
  }

  value(
    statement: Statement,
    values: readonly SqlValue[],
    client?: Client,
  ): Promise<SqlValue | undefined> {
    const first = (answer: StatementResult): SqlValue | undefined =>
      firstValue(answer) ?? undefined;
    return this.#ask(stepOf(statement, values), first, client);
  }

  rows(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Rows> {
    return this.#ask(stepOf(statement, values), rowsOf, client);
  }

  table(statement: Statement, values: readonly SqlValue[], client?: Client): Promise<Table> {
    const step = stepOf(statement, values);
    return this.#using((connection) =>
      this.#until(client, connection, async () => tableOf(await readTable(connection, step))),
    );
  }

  explain(statement: Statement, values: readonly SqlValue[]): Promise<readonly TableSearch[]> {
    return this.#using((connection) => explained(connection, stepOf(statement, values)));
  }

  dataVersion(): undefined {
    return undefined;
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, frame?: TransactionFrame): Promise<T> {
    return this.#writers.run(() => this.#run(work, beginningOf(frame)));
  }

  readonly change = (
    statement: Statement,
    values: readonly SqlValue[],
    frame?: TransactionFrame,
  ): Promise<Rows> => this.#writers.run(() => this.#changed(stepOf(statement, values), frame));

  async close(): Promise<void> {
    const grace = this.options.graceMilliseconds ?? defaultGraceMilliseconds;
    await settledWithin(this.#writers.idle(), grace);
    this.#isClosed = true;
    for (const connection of this.#open) connection.release(false);
    await settledWithin(this.connections.end(), grace);
  }

  async #run<T>(
    work: (transaction: Transaction) => Promise<T>,
    before: readonly Step[],
  ): Promise<T> {
    const connection = await this.#take();
    const { options } = this;
    const aside = (...steps: Step[]): Promise<StatementResult> => this.#aside(steps);
    const transaction = new PostgresTransaction(connection, options, aside, before);
    this.#open.add(connection);
    let isClean = true;
    try {
      const result = await work(transaction);
      await transaction.commit();
      return result;
    } catch (error) {
      isClean = await transaction.rollback();
      throw error;
    } finally {
      this.#open.delete(connection);
      connection.release(isClean);
    }
  }

  async #changed(step: Step, frame: TransactionFrame | undefined): Promise<Rows> {
    const connection = await this.#take();
    let hasBegun = false as boolean;
    try {
      const begun = (has: boolean): void => {
        hasBegun = has;
      };
      const answer = await connection.change(step, begun, beginningOf(frame));
      return answer.takeRows();
    } catch (error) {
      const reason = translateChangeError(error as Error, this.options);
      if (hasBegun) throw ofCommit(error as Error, reason);
      // Without a pooler the change is sent together with what begins its transaction.
      const isAnswered = error instanceof DatabaseError || this.connections.beginning !== undefined;
      throw notBegun(isAnswered ? reason : ofCommit(error as Error, reason));
    } finally {
      connection.release();
    }
  }

  /** Runs steps as one transaction, and returns the rows of the last one. */
  together(steps: readonly Step[]): Promise<Rows> {
    const [first] = steps;
    return this.#using(async (connection) => {
      if (steps.length === 1 && first !== undefined) {
        return (await connection.change(first, nothing)).takeRows();
      }
      const answer = await connection.transaction(
        'read write',
        [...steps, commit],
        steps.length - 1,
      );
      return answer.takeRows();
    });
  }

  /** Runs a step that only reads. */
  readStep(step: Step): Promise<Rows> {
    return this.#ask(step, rowsOf);
  }

  /** Transactions leave one connection free, on which this waits for no other transaction. */
  #aside(steps: readonly Step[]): Promise<StatementResult> {
    return this.#using((connection) =>
      connection.transaction('read write', [notFlushed, ...steps, commit], steps.length),
    );
  }

  #ask<T>(step: Step, taken: (answer: StatementResult) => T, client?: Client): Promise<T> {
    return this.#using(async (connection) =>
      taken(await this.#until(client, connection, () => connection.read(step))),
    );
  }

  /** Runs a read, which the database cancels when its client leaves. */
  async #until<T>(
    client: Client | undefined,
    connection: PostgresConnection,
    read: () => Promise<T>,
  ): Promise<T> {
    if (client === undefined) return read();
    // It may have waited for the connection.
    if (client.hasLeft) throw clientLeft();
    const { signal } = client;
    let timer: NodeJS.Timeout | undefined;
    const cancelLater = (): void => {
      timer = setTimeout(() => {
        // The read reports what happens to it.
        this.connections.cancel(connection).catch(nothing);
      }, leftMilliseconds).unref();
    };
    signal.addEventListener('abort', cancelLater);
    try {
      return await read();
    } catch (error) {
      throw signal.aborted ? clientLeft() : error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancelLater);
    }
  }

  async #using<T>(use: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      return await use(connection);
    } catch (error) {
      throw translateError(error as Error, this.options);
    } finally {
      connection.release();
    }
  }

  #take(): Promise<PostgresConnection> {
    return this.#isClosed ? Promise.reject(closedError()) : this.connections.take();
  }
}

function rowsOf(answer: StatementResult): Rows {
  return answer.takeRows();
}

function beginningOf(frame: TransactionFrame | undefined): readonly Step[] {
  return frame === undefined ? [] : [stepOf(frame.begin, frame.values)];
}

/** The commit of the transaction that uses the result writes this one to the disk as well. */
const notFlushed = plainStep('set local synchronous_commit = off');

function closedError(): Error {
  return new DatabaseUnavailableError('the database is closed', undefined);
}

/** A node of the output of `explain (format json)`. */
interface PlanNode {
  readonly Alias?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A column of an index; `shown` is the name as conditions print it, quoted if necessary. */
type IndexColumn = readonly [index: string, isPrimary: number, name: string, shown: string];

const indexColumns = `select i.relname, x.indisprimary, a.attname, quote_ident(a.attname)
from pg_index x
join pg_class i on i.oid = x.indexrelid
cross join unnest(x.indkey) with ordinality as k (number, position)
join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.number
where i.relnamespace = quote_ident(current_schema())::regnamespace and k.position <= x.indnkeyatts
  and i.relname in (select json_array_elements_text($1::json))`;

/** PostgreSQL scans a small table whatever indexes exist, and tables are small during development. */
const asIfLarge = plainStep('set local enable_seqscan = off');

/** The plan of a statement as if the tables were large. */
async function explained(
  connection: PostgresConnection,
  { text, values }: Step,
): Promise<readonly TableSearch[]> {
  const answer = await readOnly(connection, [
    asIfLarge,
    { text: `explain (format json) ${text}`, values },
  ]);
  const [{ Plan: root }] = JSON.parse(String(firstValue(answer))) as [{ readonly Plan: PlanNode }];
  const indexes = JSON.stringify(allNodes(root).flatMap((node) => node['Index Name'] ?? []));
  const found = await connection.read({ text: indexColumns, values: [indexes] });
  return tableSearches(root, found.takeRows() as unknown as readonly IndexColumn[]);
}

/** The tables of a plan. A bitmap scan has its indexes in child nodes. */
function tableSearches(root: PlanNode, columns: readonly IndexColumn[]): TableSearch[] {
  return allNodes(root).flatMap((node) => {
    const alias = node.Alias;
    if (alias === undefined) return [];
    const indexed = [node, ...bitmapsOf(node)];
    const used = indexed.flatMap((each) => usedColumns(each, columns));
    return {
      alias,
      columns: used.map(([, , name]) => name),
      byKey: used.some(([, isPrimary]) => isPrimary === 1),
    };
  });
}

function allNodes(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(allNodes)];
}

function bitmapsOf(node: PlanNode): readonly PlanNode[] {
  const below = (node.Plans ?? []).filter((each) => each.Alias === undefined);
  return below.flatMap((each) => [each, ...bitmapsOf(each)]);
}

/** The columns of a node's index that its condition names; columns of other tables have an alias. */
function usedColumns(node: PlanNode, columns: readonly IndexColumn[]): readonly IndexColumn[] {
  const condition = (node['Index Cond'] ?? '').replaceAll(/'(?:[^']|'')*'/g, "''");
  const words = new Set(condition.match(/(?:"(?:[^"]|"")*"|[\p{L}\p{N}_$.])+/gu) ?? []);
  return columns.filter(([index, , , shown]) => index === node['Index Name'] && words.has(shown));
}

const rollback = plainStep('rollback');

/** `read_only_sql_transaction` */
const changesSomething = '25006';

/** Runs statements in a read-only transaction that keeps no setting, and returns the result of the last one. */
function readOnly(
  connection: PostgresConnection,
  steps: readonly Step[],
): Promise<StatementResult> {
  return connection.transaction('read only', [...steps, rollback], steps.length - 1);
}

/** Runs a statement of class code, which must not change anything, not even through a function. */
async function readTable(connection: PostgresConnection, step: Step): Promise<StatementResult> {
  try {
    const answer = await readOnly(connection, [step]);
    if (answer.columns.length > 0) return answer;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== changesSomething) throw error;
  }
  throw new Error('A statement that may change something needs a transaction.');
}

function nothing(): void {
  // All errors are translated alike.
}
