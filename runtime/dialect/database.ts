import type { Dialect } from './dialect.js';
import type { Client, Executor, Rows, Transaction, TransactionFrame } from './executor.js';
import type { StateAccess, StateDatabase, StateStatement } from './state-database.js';
import type { SqlValue, Statement } from './statement.js';

/** An open database: its dialect and its executor. */
export interface Database {
  readonly dialect: Dialect;
  readonly executor: Executor;
  /** 32 hexadecimal digits, created with the schema: `__UNIQID` of the catalog. */
  readonly uniqueId: string;
  /** Identifies the model: servers of one model have the same hash. */
  readonly schemaHash: string;
  /** Set for a database in memory, which no other process can open. */
  readonly isOfOneProcess?: boolean;
  /** Opens what servers remember about clients; absent for a database in memory. */
  readonly state?: StateAccess | undefined;
  /** What the start changed in an existing schema and which parts it found unused, in words. */
  readonly added?: readonly string[];
}

/** Called with every statement before it runs. */
export type StatementObserver = (sql: string, values: readonly SqlValue[]) => void;

/** An executor that reports each statement to an observer before it runs. */
export function observedExecutor(executor: Executor, observe: StatementObserver): Executor {
  return wrappedExecutor(executor, (statement, values, run) => {
    observe(statement.sql, values);
    return run();
  });
}

/** Runs a statement with `run`, and does something before or after it. It returns what `run` does. */
export type StatementWrapper = <T>(
  statement: Statement,
  values: readonly SqlValue[],
  run: () => Promise<T>,
) => Promise<T>;

/** Calls a function when a statement has ended, with the milliseconds that it took and its error. */
export async function whenEnded<T>(
  run: () => Promise<T>,
  ended: (ms: number, error?: unknown) => void,
): Promise<T> {
  const begin = performance.now();
  try {
    const result = await run();
    ended(performance.now() - begin);
    return result;
  } catch (error) {
    ended(performance.now() - begin, error);
    throw error;
  }
}

/**
 * An executor that runs each statement, also those of transactions, by a wrapper.
 * @param frameOf what a transaction that begins now runs around its work
 */
export function wrappedExecutor(
  executor: Executor,
  wrap: StatementWrapper,
  frameOf?: () => TransactionFrame | undefined,
): Executor {
  const { change } = executor;
  const wrapped =
    <T>(run: (statement: Statement, values: readonly SqlValue[], client?: Client) => Promise<T>) =>
    (statement: Statement, values: readonly SqlValue[], client?: Client): Promise<T> =>
      wrap(statement, values, () => run(statement, values, client));
  return {
    get part() {
      return executor.part;
    },
    read: wrapped((statement, values, client) => executor.read(statement, values, client)),
    value: wrapped((statement, values, client) => executor.value(statement, values, client)),
    rows: wrapped((statement, values, client) => executor.rows(statement, values, client)),
    table: wrapped((statement, values, client) => executor.table(statement, values, client)),
    ...(change === undefined
      ? {}
      : {
          change: (statement, values, frame = frameOf?.()) =>
            wrap(statement, values, () => change(statement, values, frame)),
        }),
    explain: (statement, values) => executor.explain(statement, values),
    dataVersion: () => executor.dataVersion(),
    write: (work, frame = frameOf?.()) =>
      executor.write((transaction) => {
        const observed: Transaction = {
          run: wrapped((statement, values) => transaction.run(statement, values)),
          value: wrapped((statement, values) => transaction.value(statement, values)),
          aside: wrapped((statement, values) => transaction.aside(statement, values)),
          read: wrapped((statement, values) => transaction.read(statement, values)),
          rows: wrapped((statement, values) => transaction.rows(statement, values)),
          table: wrapped((statement, values) => transaction.table(statement, values)),
          raiseStamp: (changes) => {
            transaction.raiseStamp(changes);
          },
        };
        return work(observed);
      }, frame),
    close: () => executor.close(),
  };
}

/** The state, whose statements are run by a wrapper, too. Those of one transaction are one statement. */
export function wrappedState(access: StateAccess, wrap: StatementWrapper): StateAccess {
  return {
    isForMachines: access.isForMachines,
    open: async (schema) => wrappedStateDatabase(await access.open(schema), wrap),
  };
}

function wrappedStateDatabase(state: StateDatabase, wrap: StatementWrapper): StateDatabase {
  const run = (...statements: readonly StateStatement[]): Promise<Rows> => {
    const sql = statements.map(([text]) => text.trim()).join(';\n');
    return wrap({ sql, bindings: [], isOfState: true }, [], () => state.run(...statements));
  };
  return {
    now: state.now,
    schema: state.schema,
    skipLocked: state.skipLocked,
    run,
    // In the application's own database, the wrapper of its executor runs the statement.
    readWithin: (transaction, statement) =>
      state.schema === undefined ? run(statement) : state.readWithin(transaction, statement),
    take: (name, isWaiting, lost) => state.take(name, isWaiting, lost),
    close: () => state.close(),
  };
}
