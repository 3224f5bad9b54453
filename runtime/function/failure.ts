import { RestError } from '../class/rest-error.js';
import { SaveError } from '../class/save-error.js';
import { DatabaseUnavailableError } from '../dialect/executor.js';
import { RequestError } from '../protocol/errors.js';

/** The code of a function failed; what it threw is the cause, which is logged and not told. */
export class FunctionFailedError extends Error {
  constructor(shown: string, cause: unknown) {
    super(`${shown} failed`, { cause });
    this.name = 'FunctionFailedError';
  }
}

/** Refusals that have nothing to do with what the function's code is: who calls it, how often, and whether it is written. */
const passed: ReadonlySet<number> = new Set([401, 402, 403, 423, 429, 501, 503]);

/**
 * What a request is answered with whose function threw (protocol, status table; section 15.7). What class code throws for
 * clients is told, a `RestError` and a `SaveError`; all else is a mistake of the code, also what the runtime says about its
 * filters.
 * @param shown the function with its class, as `Company.hire`
 */
export function failureOf(shown: string, thrown: unknown): Error {
  if (thrown instanceof SaveError) return new RequestError(thrown.httpStatus, thrown.errors);
  if (thrown instanceof RestError || thrown instanceof DatabaseUnavailableError) return thrown;
  if (thrown instanceof RequestError && passed.has(thrown.status)) return thrown;
  return new FunctionFailedError(shown, thrown);
}
