import type { Dataclass } from '../../dataclass/dataclasses.js';
import { type ComputedDefinition, memberName } from '../../protocol/definition.js';
import type { ComputedOrder, ComputedQuery, FilterWithValues } from '../objects/types.js';
import type { ClassContext } from '../objects/context.js';
import { DatabaseUnavailableError } from '../../dialect/executor.js';
import { RequestError, RestError } from '../../protocol/errors.js';

/** The result of class code for an attribute, and the name of the accessor in errors. */
interface Said<T> {
  /** The accessor with its class, as `Employee.queryFullName`. */
  readonly shown: string;
  readonly value: T;
}

/** Calls accessors of the class of a dataclass, in the running call. */
export class ComputedAccessors {
  constructor(private readonly host: ClassContext) {}

  /**
   * @throws AccessorFailedError for a result that is no filter with values
   * @throws what the accessor throws for clients
   */
  query(
    dataclass: Dataclass,
    attribute: ComputedDefinition,
    query: ComputedQuery,
  ): Promise<Said<FilterWithValues>> {
    return this.#ask(dataclass, attribute, 'query', query, (result) => {
      const { filter, values = [] } = (result ?? {}) as Partial<FilterWithValues>;
      if (typeof filter !== 'string' || !Array.isArray(values)) {
        throw new TypeError('it must return { filter, values }, a text and a list');
      }
      return { filter, values: values as readonly unknown[] };
    });
  }

  /** As {@link query}, for an order text. */
  orderBy(
    dataclass: Dataclass,
    attribute: ComputedDefinition,
    order: ComputedOrder,
  ): Promise<Said<string>> {
    return this.#ask(dataclass, attribute, 'orderBy', order, (result) => {
      if (typeof result === 'string') return result;
      throw new TypeError('it must return an order text');
    });
  }

  async #ask<T>(
    { name: dataclass }: Dataclass,
    attribute: ComputedDefinition,
    accessor: 'query' | 'orderBy',
    given: ComputedQuery | ComputedOrder,
    read: (result: unknown) => T,
  ): Promise<Said<T>> {
    const { instance } = this.host.codeOf(dataclass);
    const name = memberName(attribute);
    const member = `${accessor}${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
    const shown = `${instance.constructor.name}.${member}`;
    try {
      const method: unknown = Reflect.get(instance, member);
      if (typeof method !== 'function') throw new TypeError('it is no method');
      return { shown, value: read(await Reflect.apply(method, instance, [given])) };
    } catch (error) {
      throw accessorFailure(shown, error);
    }
  }
}

/**
 * Runs the runtime's part of the work with the result of an accessor; errors in the result are
 * those of the accessor.
 * @param isOfClient whether an error is one of the client nevertheless
 */
export async function checked<T, R>(
  { shown, value }: Said<T>,
  work: (value: T) => Promise<R>,
  isOfClient: (error: unknown) => boolean = () => false,
): Promise<R> {
  try {
    return await work(value);
  } catch (error) {
    throw isOfClient(error) ? error : accessorFailure(shown, error);
  }
}

/**
 * An accessor of a computed attribute failed; the cause is its error, which is logged and not sent.
 */
class AccessorFailedError extends Error {
  constructor(shown: string, cause: unknown) {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    super(`${shown} failed${reason}`, { cause });
    this.name = 'AccessorFailedError';
  }
}

/**
 * Errors that are not the fault of the accessor's code: an accessor that is not written, and an
 * unreachable database.
 */
const passed: ReadonlySet<number> = new Set([501, 503]);

/**
 * The error to answer when an accessor throws. A `RestError` is for clients. Everything else is a
 * mistake of the class code, including what the runtime says about the filter or the order that it
 * returned.
 * @param shown the accessor with its class, as `EmployeeEntity.fullName`
 */
export function accessorFailure(shown: string, thrown: unknown): Error {
  if (thrown instanceof AccessorFailedError || thrown instanceof RestError) return thrown;
  if (thrown instanceof DatabaseUnavailableError) return thrown;
  if (thrown instanceof RequestError && passed.has(thrown.status)) return thrown;
  return new AccessorFailedError(shown, thrown);
}
