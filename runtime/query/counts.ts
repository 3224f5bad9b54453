import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Database } from '../dialect/database.js';
import type { JsonAnswer, PendingAnswer } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { planCount, planKnownCount } from './collection.js';
import type { AnswerOptions } from './context.js';
import {
  countPosition,
  firstFilterPosition,
  planFor,
  type SelectionRequest,
  versionPosition,
} from './selection-request.js';
import type { SelectionPlan } from './selection.js';

/** Bytes of all remembered numbers. */
const maxCountBytes = 4 * 1024 * 1024;

/** A selection whose entities are counted. */
export interface CountedSelection {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
  /** The same for selections of the same entities, except for what the scope decides. */
  readonly name: string;
  /** The statement of the page counts too. */
  readonly isInPage: boolean;
}

/** A number, and the data that it is true of. */
interface KnownNumber {
  readonly number: number;
  /** A text of the database, or a number of the executor. */
  readonly version: SqlValue;
}

/**
 * The numbers of entities of selections, remembered until the data changes: a client that reads all
 * pages of a filter makes the database count once.
 *
 * On PostgreSQL, which has versions of tables, the statement that needs a number gets the remembered
 * one with its version, and counts only if that is not the present one. Elsewhere the executor knows
 * the version of all data, and the number is known before the page is read.
 */
export class Counts {
  readonly #numbers = new BoundedCache<KnownNumber>(maxCountBytes, () => 32);

  /** @param restrictedBy what restricts a statement in the current scope; none without `restrict` */
  constructor(
    private readonly database: Database,
    private readonly options: AnswerOptions,
    private readonly plans: BoundedCache<SelectionPlan>,
    private readonly restrictedBy?: (statement: Statement) => Pending<readonly SqlValue[]>,
  ) {}

  /** @returns `undefined` if the entity whose relation is read does not exist */
  count(request: SelectionRequest): Pending<number | undefined> {
    return this.number(this.prepare(request));
  }

  /** Prepares the argument of {@link number} for repeated requests. */
  prepare(request: SelectionRequest): CountedSelection {
    const { dialect } = this.database;
    const { tablesVersion } = dialect;
    const { plan, values } = planFor(this.plans, request, 'count', {}, (selection) =>
      tablesVersion === undefined
        ? planCount(dialect, this.options, selection)
        : planKnownCount(dialect, tablesVersion, this.options, selection),
    );
    const own = [request.baseValue, ...values.slice(firstFilterPosition)];
    return {
      statement: plan.statement,
      values,
      name: request.name + nameOfValues(own),
      isInPage: tablesVersion !== undefined,
    };
  }

  /** @returns `undefined` if the entity whose relation is read does not exist */
  number(counted: CountedSelection): Pending<number | undefined> {
    const { statement, values } = counted;
    const { executor } = this.database;
    if (counted.isInPage) {
      return this.#reading(counted, statement, values, (row) => numberOf(row[0]));
    }
    // Read before the database counts, so that a number that was true only for a moment is not
    // remembered for longer.
    const version = executor.dataVersion() ?? null;
    return whenThere(this.#nameOf(counted), (name) => {
      const known = this.#numbers.get(name);
      if (known?.version === version) return known.number;
      return whenThere(executor.value(statement, values), (value) => {
        const number = numberOf(value);
        if (number !== undefined) this.#numbers.set(name, { number, version });
        return number;
      });
    });
  }

  /** As {@link number}, for a page whose statement counts too. */
  readPage(
    counted: CountedSelection,
    statement: Statement,
    values: readonly SqlValue[],
  ): PendingAnswer {
    return this.#reading(counted, statement, values, ([answer, number]) =>
      numberOf(number) === undefined ? undefined : (answer as JsonAnswer),
    );
  }

  /** @param read gets the only row, whose last columns are the number and the version */
  #reading<T>(
    counted: CountedSelection,
    statement: Statement,
    values: readonly SqlValue[],
    read: (row: readonly SqlValue[]) => T,
  ): Pending<T> {
    const { executor } = this.database;
    // Inside a transaction, the version does not change with each statement that changes data.
    const isShared = executor.dataVersion() === undefined;
    return whenThere(this.#nameOf(counted), (name) => {
      const known = isShared ? this.#numbers.get(name) : undefined;
      const own = [...values];
      own[countPosition] = known?.number ?? 0;
      own[versionPosition] = known?.version ?? null;
      return whenThere(executor.rows(statement, own), ([row = []]) => {
        const number = numberOf(row.at(-2));
        const version = row.at(-1) ?? null;
        if (isShared && number !== undefined && version !== known?.version) {
          this.#numbers.set(name, { number, version });
        }
        return read(row);
      });
    });
  }

  #nameOf({ statement, name }: CountedSelection): Pending<string> {
    if (this.restrictedBy === undefined) return name;
    return whenThere(this.restrictedBy(statement), (values) =>
      values.length === 0 ? name : name + nameOfValues(values),
    );
  }
}

function numberOf(value: SqlValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function nameOfValues(values: readonly unknown[]): string {
  // Without a filter.
  if (values.length === 1 && values[0] === null) return '[null]';
  return JSON.stringify(values.some(isInfinite) ? values.map(withoutInfinity) : values);
}

/** `1e999` in a filter is infinite, and JSON would write it as null. */
function isInfinite(value: unknown): boolean {
  return value === Infinity || value === -Infinity;
}

function withoutInfinity(value: unknown): unknown {
  return isInfinite(value) ? [String(value)] : value;
}
