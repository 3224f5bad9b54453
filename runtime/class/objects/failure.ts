import { DatabaseUnavailableError } from '../../dialect/executor.js';
import {
  errorCodes,
  type ErrorName,
  type ProtocolError,
  protocolError,
  RequestError,
  refuse,
  RestError,
  denialNames,
  isDenialStatus,
  PermissionError,
} from '../../protocol/errors.js';

/** The code of a function failed; the cause is what it threw, which is logged and not sent. */
export class FunctionFailedError extends Error {
  constructor(shown: string, cause: unknown) {
    super(`${shown} failed`, { cause });
    this.name = 'FunctionFailedError';
  }
}

/**
 * The code of a function, or an event, did something for which its caller has no privilege. The
 * cause names it, for the log: the client may not know that it exists.
 */
export class DeniedInCodeError extends RequestError {
  /** @param name of the denial */
  constructor(shown: string, name: ErrorName, status: number, cause: Error) {
    super(status, [protocolError(name, 'No permission to do what this needs.')]);
    this.name = 'DeniedInCodeError';
    this.cause = new Error(`${shown} was denied to its caller`, { cause });
  }
}

/**
 * Refusals that do not depend on the function's code: who calls it, how often, and whether it is
 * written.
 */
const passed: ReadonlySet<number> = new Set([401, 402, 403, 423, 429, 501, 503]);

/**
 * The error to answer when a function throws (protocol P11.25). A `RestError` and a `SaveError` are
 * meant for clients, and are sent. Everything else is a mistake of the code, including what the
 * runtime says about the code's filters. An error of missing privileges is sent without names.
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
  const names = [...Object.values(denialNames), 'rowDenied'] as const;
  const name = names.find((each) => codes.includes(errorCodes[each].code));
  return new DeniedInCodeError(shown, name ?? 'readDenied', status, error);
}

/** The parts of a {@link SaveError}: a refusal of the saver is one. */
export interface SaveProblem {
  readonly problems: readonly ProtocolError[];
  /** A status of HTTP. */
  readonly status: number;
  /** `status` of `__STATUS` (protocol P7.18). */
  readonly entityStatus: number;
}

/** An entity was not saved or not deleted, and nothing of it was stored. */
export class SaveError extends Error {
  /**
   * `status` of `__STATUS` (protocol P7.18): 2 stamp has changed, 3 locked, 5 the entity no longer
   * exists.
   */
  readonly status: number;
  /** All errors, as in `__ERROR`: they name attributes as clients do. */
  readonly errors: readonly ProtocolError[];
  /** The status that the answer of a request with this save has. */
  readonly httpStatus: number;

  constructor({ problems, status, entityStatus }: SaveProblem) {
    super(problems.map(({ message }) => message).join(' '));
    this.name = 'SaveError';
    this.status = entityStatus;
    this.errors = problems;
    this.httpStatus = status;
  }
}

/** Class code gives an attribute a value that it cannot have; nothing was changed. */
export class AttributeError extends TypeError {
  /**
   * @param attribute its name
   * @param predicate of a sentence that begins with the attribute
   */
  constructor(
    dataclass: string,
    readonly attribute: string,
    readonly predicate: string,
  ) {
    super(`${dataclass}.${attribute} ${predicate}.`);
  }
}

/**
 * What a function throws that nobody has written yet: 501 with the file in which to write it.
 * @param name with its class, as `Company.fromCity`
 * @param given its arguments, which are not used
 */
export function notWritten(name: string, file: string, ...given: readonly unknown[]): RequestError;
export function notWritten(name: string, file: string): RequestError {
  return refuse('notBuilt', `${name} is not written yet: ${file}.`);
}
