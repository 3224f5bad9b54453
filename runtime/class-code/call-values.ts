import { AbandonablePromise } from '../dialect/abandonable.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Executor, Transaction } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import {
  CallSlot,
  type RestrictedStatement,
  Slot,
  type SqlValue,
  type Statement,
} from '../dialect/statement.js';
import { always } from '../filter/context.js';
import type { CallRestriction, CallRestrictions } from '../access/call.js';

/**
 * A statement with the restrictions of a call, whose values are bound after those of the request.
 */
interface Prepared {
  readonly statement: Statement;
  /** The number of values of the request, which come first. */
  readonly given: number;
  readonly slots: readonly CallSlot[];
}

/** Bytes of all statements with restrictions. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Runs statements that read dataclasses with `restrict`: resolves the restrictions of the call, and
 * writes them into the statements. So `restrict` runs only when its dataclass is read, and nothing
 * reads the dataclass without it.
 * @param restrictionsOf returns the restrictions of the running call; a statement that needs them
 *   fails outside of a call
 */
export class CallValueBinder {
  readonly #numbers = new WeakMap<Statement, number>();
  readonly #prepared = new BoundedCache<Prepared>(maxBytes, ({ statement }) => {
    return statement.sql.length + statement.bindings.length * 16;
  });
  #count = 0;

  constructor(private readonly restrictionsOf: () => CallRestrictions | undefined) {}

  /** The restrictions of the call on a statement, by which its answer can be cached. */
  taken({ restricted }: Statement): Pending<readonly SqlValue[]> {
    if (restricted === undefined) return [];
    return whenAsked(this.#ask(restricted.dataclasses), (asked) =>
      asked.flatMap(({ id, values }) => [id, ...values]),
    );
  }

  /**
   * An executor for statements that may be restricted; {@link transaction} binds the values of
   * transactions that it opens.
   */
  executor(executor: Executor): Executor {
    return {
      read: this.#bound((...given) => executor.read(...given)),
      value: this.#bound((...given) => executor.value(...given)),
      rows: this.#bound((...given) => executor.rows(...given)),
      table: this.#bound((...given) => executor.table(...given)),
      explain: this.#bound((...given) => executor.explain(...given)),
      dataVersion: () => executor.dataVersion(),
      write: (work) => executor.write(work),
      close: () => executor.close(),
    };
  }

  transaction(transaction: Transaction): Transaction {
    return {
      run: this.#bound((...given) => transaction.run(...given)),
      value: this.#bound((...given) => transaction.value(...given)),
      read: this.#bound((...given) => transaction.read(...given)),
      rows: this.#bound((...given) => transaction.rows(...given)),
      table: this.#bound((...given) => transaction.table(...given)),
    };
  }

  #bound<T>(
    run: (statement: Statement, values: readonly SqlValue[]) => Pending<T>,
  ): (statement: Statement, values: readonly SqlValue[]) => Pending<T> {
    return (statement, values) => {
      const { restricted } = statement;
      if (restricted === undefined) return run(statement, values);
      return whenAsked(this.#ask(restricted.dataclasses), (asked) => {
        const { statement: prepared, given, slots } = this.#prepare(statement, restricted, asked);
        return run(prepared, [...values.slice(0, given), ...valuesOf(slots, asked)]);
      });
    };
  }

  #ask(dataclasses: readonly string[]): Pending<readonly CallRestriction[]> {
    const restrictions = this.restrictionsOf();
    if (restrictions === undefined) {
      throw new Error('It is not known which entities the session of this call may see.');
    }
    return restrictions.ofAll(dataclasses);
  }

  #prepare(
    statement: Statement,
    restricted: RestrictedStatement,
    asked: readonly CallRestriction[],
  ): Prepared {
    let number = this.#numbers.get(statement);
    if (number === undefined) {
      this.#count += 1;
      number = this.#count;
      this.#numbers.set(statement, number);
    }
    const name = `${number} ${asked.map(({ id }) => id).join()}`;
    const known = this.#prepared.get(name);
    if (known !== undefined) return known;
    const prepared = prepare(
      restricted.write(({ dataclass, alias }) => {
        const restriction = asked[restricted.dataclasses.indexOf(dataclass)];
        if (restriction === undefined) throw new Error(`${dataclass} has no resolved restriction.`);
        return restriction.written?.condition(alias) ?? always;
      }),
    );
    this.#prepared.set(name, prepared);
    return prepared;
  }
}

/**
 * Continues when `restrict` has returned; a long read that begins then can be cancelled like
 * others.
 */
function whenAsked<T>(
  asked: Pending<readonly CallRestriction[]>,
  next: (asked: readonly CallRestriction[]) => Pending<T>,
): Pending<T> {
  return asked instanceof Promise
    ? AbandonablePromise.waitingFor({ abandon: () => undefined }, asked).then(next)
    : next(asked);
}

function prepare({ sql, bindings }: Statement): Prepared {
  const indexes = bindings.map((each) => (each instanceof Slot ? each.index : -1));
  const given = Math.max(-1, ...indexes) + 1;
  const slots: CallSlot[] = [];
  const bound = bindings.map((each) => {
    if (!(each instanceof CallSlot)) return each;
    slots.push(each);
    return new Slot(given + slots.length - 1);
  });
  return { statement: { sql, bindings: bound }, given, slots };
}

function valuesOf(slots: readonly CallSlot[], asked: readonly CallRestriction[]): SqlValue[] {
  return slots.map(({ owner, index }) => {
    const value = asked.find(({ written }) => written === owner)?.values[index];
    if (value === undefined) {
      throw new Error('A statement with a restriction runs in a call that has another one.');
    }
    return value;
  });
}
