import { DatabaseUnavailableError } from '../dialect/executor.js';
import { RequestError } from '../protocol/errors.js';
import { RestError } from '../protocol/rest-error.js';

/** An accessor of a computed attribute failed; what it threw is the cause, which is logged and not told. */
export class AccessorFailedError extends Error {
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
