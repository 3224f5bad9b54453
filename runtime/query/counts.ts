import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Database } from '../dialect/database.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { planCount, type SelectionPlan } from './collection.js';
import type { AnswerOptions } from './context.js';
import { firstFilterPosition, planFor, type SelectionRequest } from './selection-request.js';

/** Bytes of all remembered numbers. */
const maxCountBytes = 4 * 1024 * 1024;

/** A selection whose entities are counted. */
export interface Counted {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
  /** The same for selections of the same entities, except for what the scope decides. */
  readonly name: string;
}

/**
 * The numbers of entities of selections, remembered until the data changes: a client that reads all
 * pages of a filter makes the database count once.
 */
export class Counts {
  #version: number | undefined;
  #numbers = emptyNumbers();

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
  prepare(request: SelectionRequest): Counted {
    const { plan, values } = planFor(this.plans, request, 'count', {}, (selection) =>
      planCount(this.database.dialect, this.options, selection),
    );
    const own = [request.baseValue, ...values.slice(firstFilterPosition)];
    return { statement: plan.statement, values, name: request.name + nameOfValues(own) };
  }

  /** @returns `undefined` if the entity whose relation is read does not exist */
  number(counted: Counted): Pending<number | undefined> {
    // Read before the database counts, so that a number that was true only for a moment is not
    // remembered for longer.
    const version = this.database.executor.dataVersion();
    return version instanceof Promise
      ? version.then((later) => this.#numberAt(later, counted))
      : this.#numberAt(version, counted);
  }

  #numberAt(version: number, counted: Counted): Pending<number | undefined> {
    if (version !== this.#version) {
      this.#version = version;
      this.#numbers = emptyNumbers();
    }
    const numbers = this.#numbers;
    const { name } = counted;
    if (this.restrictedBy === undefined) return this.#known(numbers, name, counted);
    return whenThere(this.restrictedBy(counted.statement), (values) =>
      this.#known(numbers, values.length === 0 ? name : name + nameOfValues(values), counted),
    );
  }

  #known(
    numbers: BoundedCache<number>,
    name: string,
    { statement, values }: Counted,
  ): Pending<number | undefined> {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    return whenThere(this.database.executor.value(statement, values), (value) => {
      if (typeof value !== 'number') return undefined;
      numbers.set(name, value);
      return value;
    });
  }
}

function emptyNumbers(): BoundedCache<number> {
  return new BoundedCache(maxCountBytes, () => 8);
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
