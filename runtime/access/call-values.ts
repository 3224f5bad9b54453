import type { Executor, Transaction } from '../dialect/executor.js';
import { CallSlot, Slot, type SqlValue, type Statement } from '../dialect/statement.js';

/** The values of one call, by who owns them. */
export type CallValues = ReadonlyMap<object, readonly SqlValue[]>;

/** A statement whose values of the call are bound like those of the request, behind them. */
interface Prepared {
  readonly statement: Statement;
  /** How many values of the request come before. */
  readonly given: number;
  readonly slots: readonly CallSlot[];
}

/**
 * Runs statements that hold values of the call in which they run.
 * @param valuesOf the call that asks; a statement whose values it does not have fails
 */
export class CallValueBinder {
  readonly #prepared = new WeakMap<Statement, Prepared | 'plain'>();

  constructor(private readonly valuesOf: () => CallValues | undefined) {}

  /** The values that a statement takes from the call, for what is remembered of its answer. */
  taken(statement: Statement): readonly SqlValue[] {
    const prepared = this.#prepare(statement);
    return prepared === 'plain' ? [] : this.#values(prepared.slots);
  }

  /** An executor for statements that may hold values of the call. */
  executor(executor: Executor): Executor {
    return {
      read: this.#bound((...given) => executor.read(...given)),
      value: this.#bound((...given) => executor.value(...given)),
      rows: this.#bound((...given) => executor.rows(...given)),
      table: this.#bound((...given) => executor.table(...given)),
      explain: this.#bound((...given) => executor.explain(...given)),
      dataVersion: () => executor.dataVersion(),
      write: (work) => executor.write((transaction) => work(this.#transaction(transaction))),
      close: () => executor.close(),
    };
  }

  #transaction(transaction: Transaction): Transaction {
    return {
      run: this.#bound((...given) => transaction.run(...given)),
      value: this.#bound((...given) => transaction.value(...given)),
      read: this.#bound((...given) => transaction.read(...given)),
      rows: this.#bound((...given) => transaction.rows(...given)),
      table: this.#bound((...given) => transaction.table(...given)),
    };
  }

  #bound<T>(
    run: (statement: Statement, values: readonly SqlValue[]) => T,
  ): (statement: Statement, values: readonly SqlValue[]) => T {
    return (statement, values) => {
      const prepared = this.#prepare(statement);
      if (prepared === 'plain') return run(statement, values);
      const { given, slots } = prepared;
      return run(prepared.statement, [...values.slice(0, given), ...this.#values(slots)]);
    };
  }

  #prepare(statement: Statement): Prepared | 'plain' {
    const known = this.#prepared.get(statement);
    if (known !== undefined) return known;
    const prepared = prepare(statement);
    this.#prepared.set(statement, prepared);
    return prepared;
  }

  #values(slots: readonly CallSlot[]): readonly SqlValue[] {
    const values = this.valuesOf();
    return slots.map(({ owner, index }) => {
      const value = values?.get(owner)?.[index];
      if (value === undefined) {
        throw new Error('A statement with a restriction runs in a call that has another one.');
      }
      return value;
    });
  }
}

function prepare({ sql, bindings }: Statement): Prepared | 'plain' {
  const indexes = bindings.map((each) => (each instanceof Slot ? each.index : -1));
  const given = Math.max(-1, ...indexes) + 1;
  const slots: CallSlot[] = [];
  const bound = bindings.map((each) => {
    if (!(each instanceof CallSlot)) return each;
    slots.push(each);
    return new Slot(given + slots.length - 1);
  });
  return slots.length === 0 ? 'plain' : { statement: { sql, bindings: bound }, given, slots };
}
