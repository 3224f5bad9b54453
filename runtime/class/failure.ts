import { RestError } from '../protocol/rest-error.js';
import { SaveError } from './save-error.js';
import { DatabaseUnavailableError } from '../dialect/executor.js';
import { denialNames, isDenialStatus, PermissionError } from '../protocol/denial.js';
import {
  errorCodes,
  type ErrorName,
  type ProtocolError,
  protocolError,
  RequestError,
} from '../protocol/errors.js';

/** The code of a function failed; what it threw is the cause, which is logged and not told. */
export class FunctionFailedError extends Error {
  constructor(shown: string, cause: unknown) {
    super(`${shown} failed`, { cause });
    this.name = 'FunctionFailedError';
  }
}

/**
 * The code of a function, or an event, did what its caller has no privilege for. The cause names it, for the log: the client
 * may not know that it exists.
 */
export class DeniedInCodeError extends RequestError {
  /** @param name of the denial */
  constructor(shown: string, name: ErrorName, status: number, cause: Error) {
    super(status, [protocolError(name, 'No permission to do what this needs.')]);
    this.name = 'DeniedInCodeError';
    this.cause = new Error(`${shown} was denied to its caller`, { cause });
  }
}

/** Refusals that have nothing to do with what the function's code is: who calls it, how often, and whether it is written. */
const passed: ReadonlySet<number> = new Set([401, 402, 403, 423, 429, 501, 503]);

/**
 * What a request is answered with whose function threw (protocol, status table; section 15.7). What class code throws for
 * clients is told, a `RestError` and a `SaveError`; all else is a mistake of the code, also what the runtime says about its
 * filters. What its caller has no privilege for is told without its name.
 * @param shown the function with its class, as `Company.hire`
 */
export function failureOf(shown: string, thrown: unknown): Error {
  if (thrown instanceof PermissionError) return deniedInCode(shown, thrown, thrown.errors);
  if (thrown instanceof SaveError) {
    const { httpStatus, errors } = thrown;
    return isDenialStatus(httpStatus)
      ? deniedInCode(shown, thrown, errors)
      : new RequestError(httpStatus, errors);
  }
  if (thrown instanceof RestError || thrown instanceof DatabaseUnavailableError) return thrown;
  if (thrown instanceof RequestError && passed.has(thrown.status)) return thrown;
  return new FunctionFailedError(shown, thrown);
}

function deniedInCode(
  shown: string,
  error: PermissionError | SaveError,
  problems: readonly ProtocolError[],
): DeniedInCodeError {
  const status = error instanceof SaveError ? error.httpStatus : error.status;
  const codes = problems.map(({ errCode }) => errCode);
  const name = Object.values(denialNames).find((each) => codes.includes(errorCodes[each].code));
  return new DeniedInCodeError(shown, name ?? 'readDenied', status, error);
}
