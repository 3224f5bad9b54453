import {
  DatabaseUnavailableError,
  type Executor,
  type PendingAnswer,
  type Rows,
  type Table,
  type TableSearch,
  type Transaction,
} from '../executor.js';
import { type Pending, settledWithin } from '../pending.js';
import type { SqlValue, Statement } from '../statement.js';
import { WriterLine } from '../writer-line.js';
import type { RawAnswer, Step } from './ask.js';
import type { Connections } from './connect.js';
import {
  allRows,
  firstValue,
  plainStep,
  PostgresConnection,
  stepOf,
  tableOf,
} from './connection.js';
import { type ErrorFacts, translateError } from './errors.js';
import { SeenTexts } from './prepared-statements.js';
import { PostgresTransaction } from './transaction.js';
import { DatabaseError } from 'pg';

/** How long transactions that run may take to end when the database is closed: code of a transaction may wait forever. */
const defaultGraceMilliseconds = 5_000;

const snapshot = plainStep('select pg_current_snapshot()::text');

interface ExecutorOptions extends ErrorFacts {
  /** Connections at once, 2 at least. */
  readonly size: number;
  /** How long {@link PostgresExecutor.close} waits for transactions; some seconds when left out. */
  readonly graceMilliseconds?: number;
}

/** Runs statements on a PostgreSQL. Transactions run side by side, and see what others have committed (`READ COMMITTED`). */
export class PostgresExecutor implements Executor {
  readonly #seen = new SeenTexts();
  readonly #writers: WriterLine;
  /** Of transactions that are open. */
  readonly #open = new Set<PostgresConnection>();
  readonly #writes = new Set<Promise<unknown>>();
  #isClosed = false;
  #snapshot = '';
  #version = 0;

  constructor(
    private readonly connections: Connections,
    private readonly options: ExecutorOptions,
  ) {
    // What runs in a transaction may read outside of it: a connection is left for that, or all would wait for each other.
    this.#writers = new WriterLine(undefined, options.size - 1);
  }

  async read(statement: Statement, values: readonly SqlValue[]): Promise<Awaited<PendingAnswer>> {
    return (await this.value(statement, values)) as Awaited<PendingAnswer>;
  }

  async value(statement: Statement, values: readonly SqlValue[]): Promise<SqlValue | undefined> {
    return firstValue(await this.#ask(stepOf(statement, values))) ?? undefined;
  }

  async rows(statement: Statement, values: readonly SqlValue[]): Promise<Rows> {
    return allRows(await this.#ask(stepOf(statement, values)));
  }

  table(statement: Statement, values: readonly SqlValue[]): Promise<Table> {
    return this.#using(async (connection) =>
      tableOf(await readTable(connection, stepOf(statement, values))),
    );
  }

  explain(statement: Statement, values: readonly SqlValue[]): Promise<readonly TableSearch[]> {
    return this.#using((connection) => explained(connection, stepOf(statement, values)));
  }

  /**
   * PostgreSQL tells which transactions a statement would see. That is another text whenever one has ended that changed
   * something, in whatever process, and the same text never comes back.
   */
  async dataVersion(): Promise<number> {
    const seen = firstValue(await this.#ask(snapshot));
    if (seen !== this.#snapshot) {
      this.#snapshot = String(seen);
      this.#version += 1;
    }
    return this.#version;
  }

  async write<T>(work: (transaction: Transaction) => Pending<T>): Promise<T> {
    if (this.#isClosed) throw closedError();
    const writing = Promise.resolve(this.#writers.run(() => this.#run(work)));
    this.#writes.add(writing);
    try {
      return await writing;
    } finally {
      this.#writes.delete(writing);
    }
  }

  async close(): Promise<void> {
    const grace = this.options.graceMilliseconds ?? defaultGraceMilliseconds;
    await settledWithin(Promise.allSettled(this.#writes), grace);
    this.#isClosed = true;
    for (const connection of this.#open) connection.release(false);
    await settledWithin(this.connections.end(), grace);
  }

  async #run<T>(work: (transaction: Transaction) => Pending<T>): Promise<T> {
    const connection = await this.#take();
    const transaction = new PostgresTransaction(connection, this.options);
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

  #ask(step: Step): Promise<RawAnswer> {
    return this.#using((connection) => connection.run([step], 0));
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

  async #take(): Promise<PostgresConnection> {
    if (this.#isClosed) throw closedError();
    return new PostgresConnection(await this.connections.take(), this.#seen);
  }
}

function closedError(): Error {
  return new DatabaseUnavailableError('the database is closed', undefined);
}

/** A step of PostgreSQL's plan, as `explain (format json)` tells it. */
interface PlanNode {
  readonly Alias?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A column of an index. */
interface IndexColumn {
  readonly index: string;
  readonly isPrimary: boolean;
  readonly name: string;
  /** As conditions are told: in quotes where it needs them. */
  readonly shown: string;
}

const indexColumns = `select i.relname, x.indisprimary, a.attname, quote_ident(a.attname)
from pg_index x
join pg_class i on i.oid = x.indexrelid
cross join unnest(x.indkey) with ordinality as k (number, position)
join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.number
where i.relnamespace = quote_ident(current_schema())::regnamespace and k.position <= x.indnkeyatts
  and i.relname in (select json_array_elements_text($1::json))`;

/** A table of some pages is read as a whole, whatever indexes it has: while a program is written, tables have some pages. */
const asIfLarge = plainStep('set local enable_seqscan = off');

/** Asks PostgreSQL how it would run a statement if the tables were large. */
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
  const found = await connection.run([{ text: indexColumns, values: [indexes] }], 0);
  const columns = allRows(found).map(([index, isPrimary, name, shown]) => ({
    index: String(index),
    isPrimary: isPrimary === 1,
    name: String(name),
    shown: String(shown),
  }));
  return tableSearches(root, columns);
}

/** The tables that a plan reads. A table read by a bitmap has the indexes in steps below its own. */
function tableSearches(root: PlanNode, columns: readonly IndexColumn[]): TableSearch[] {
  return allNodes(root).flatMap((node) => {
    const alias = node.Alias;
    if (alias === undefined) return [];
    const indexed = [node, ...bitmapsOf(node)];
    const used = indexed.flatMap((each) => usedColumns(each, columns));
    return {
      alias,
      columns: used.map(({ name }) => name),
      byKey: used.some(({ isPrimary }) => isPrimary),
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

/** Columns of a step's index that its condition speaks of; those of other tables have an alias before them. */
function usedColumns(node: PlanNode, columns: readonly IndexColumn[]): readonly IndexColumn[] {
  const condition = (node['Index Cond'] ?? '').replaceAll(/'(?:[^']|'')*'/g, "''");
  const words = new Set(condition.match(/(?:"(?:[^"]|"")*"|[\p{L}\p{N}_$.])+/gu) ?? []);
  return columns.filter(({ index, shown }) => index === node['Index Name'] && words.has(shown));
}

const begin = plainStep('begin read only');
const rollback = plainStep('rollback');

/** `read_only_sql_transaction` */
const changesSomething = '25006';

/** Runs statements in a transaction that changes nothing, and keeps no setting; answers what the last one gives. */
async function readOnly(
  connection: PostgresConnection,
  steps: readonly Step[],
): Promise<RawAnswer> {
  try {
    return await connection.run([begin, ...steps, rollback], steps.length);
  } catch (error) {
    await connection.run([rollback], 0);
    throw error;
  }
}

/**
 * Runs a statement that the runtime did not write, and that must not change anything, be it by a function that it calls.
 * @throws Error for a statement that may change something
 */
async function readTable(connection: PostgresConnection, step: Step): Promise<RawAnswer> {
  try {
    const answer = await readOnly(connection, [step]);
    if (answer.columns.length > 0) return answer;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== changesSomething) throw error;
  }
  throw new Error('A statement that may change something needs a transaction.');
}
