import type { Dataclass } from '../dataclass/dataclasses.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import type { ComputedOrder, ComputedQuery, FilterWithValues } from '../class/types.js';
import type { ClassHost } from '../class/class-host.js';
import { DatabaseUnavailableError } from '../dialect/executor.js';
import { RequestError, RestError } from '../protocol/errors.js';

/** What code of a dataclass's class said of an attribute, and how its errors name it. */
export interface Said<T> {
  /** The accessor with its class, as `Employee.queryFullName`. */
  readonly shown: string;
  readonly value: T;
}

/** Asks the class of a dataclass, in the call that runs. */
export class ComputedAccessors {
  constructor(private readonly host: ClassHost) {}

  /**
   * @throws AccessorFailedError for what is no filter with values
   * @throws what the accessor throws for clients
   */
  async query(
    dataclass: Dataclass,
    attribute: ComputedDefinition,
    query: ComputedQuery,
  ): Promise<Said<FilterWithValues>> {
    const said = await this.#ask(dataclass, attribute, 'query', query);
    return {
      ...said,
      value: checked(said, (value) => {
        const { filter, values = [] } = (value ?? {}) as Partial<FilterWithValues>;
        if (typeof filter !== 'string' || !Array.isArray(values)) {
          throw new TypeError('it must return { filter, values }, a text and a list');
        }
        return { filter, values: values as readonly unknown[] };
      }),
    };
  }

  /** As {@link query}, for an order text. */
  async orderBy(
    dataclass: Dataclass,
    attribute: ComputedDefinition,
    order: ComputedOrder,
  ): Promise<Said<string>> {
    const said = await this.#ask(dataclass, attribute, 'orderBy', order);
    return {
      ...said,
      value: checked(said, (value) => {
        if (typeof value === 'string') return value;
        throw new TypeError('it must return an order text');
      }),
    };
  }

  async #ask(
    { name: dataclass }: Dataclass,
    { name }: ComputedDefinition,
    accessor: 'query' | 'orderBy',
    asked: ComputedQuery | ComputedOrder,
  ): Promise<Said<unknown>> {
    const { instance } = this.host.codeOf(dataclass);
    const member = `${accessor}${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
    const shown = `${instance.constructor.name}.${member}`;
    try {
      const method: unknown = Reflect.get(instance, member);
      if (typeof method !== 'function') throw new TypeError('it is no method');
      return { shown, value: (await Reflect.apply(method, instance, [asked])) as unknown };
    } catch (error) {
      throw accessorFailure(shown, error);
    }
  }
}

/** Runs the runtime's part of the work with what an accessor said; what is wrong with it is the accessor's fault. */
export function checked<T, R>({ shown, value }: Said<T>, work: (value: T) => R): R {
  try {
    return work(value);
  } catch (error) {
    throw accessorFailure(shown, error);
  }
}

/** An accessor of a computed attribute failed; what it threw is the cause, which is logged and not told. */
class AccessorFailedError extends Error {
  constructor(shown: string, cause: unknown) {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    super(`${shown} failed${reason}`, { cause });
    this.name = 'AccessorFailedError';
  }
}

/** Refusals that no code of the accessor is at fault for: one that is not written, and a database that is out of reach. */
const passed: ReadonlySet<number> = new Set([501, 503]);

/**
 * What a request is answered with whose accessor threw. A `RestError` is for clients; all else is a mistake of the class code,
 * also what the runtime says about the filter or the order that it gave.
 * @param shown the accessor with its class, as `EmployeeEntity.fullName`
 */
export function accessorFailure(shown: string, thrown: unknown): Error {
  if (thrown instanceof AccessorFailedError || thrown instanceof RestError) return thrown;
  if (thrown instanceof DatabaseUnavailableError) return thrown;
  if (thrown instanceof RequestError && passed.has(thrown.status)) return thrown;
  return new AccessorFailedError(shown, thrown);
}
