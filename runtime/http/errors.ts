import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import {
  ConflictError,
  DatabaseUnavailableError,
  QueryTimeoutError,
  TooComplexError,
  UnknownOutcomeError,
  UnusableValueError,
} from '../dialect/executor.js';
import { DeniedInCodeError, failureOf } from '../class/objects/failure.js';
import {
  type ErrorName,
  protocolError,
  refuse,
  RequestError,
  PermissionError,
  refuseBusy,
  methodNotAllowed,
  isDenialToGuest,
} from '../protocol/errors.js';
import { sendError } from './reply.js';
import { shortened } from '../protocol/names.js';

/** Errors that Fastify meets before a handler runs, by their status. */
const transportErrors: Readonly<Record<number, ErrorName>> = {
  400: 'malformedUrl',
  405: 'methodNotAllowed',
  413: 'tooLarge',
  414: 'uriTooLong',
};

export interface ErrorLog {
  error(what: object): void;
  warn(what: object): void;
}

export type ErrorHandler = (
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply;

/** Turns any error into the answer that the client gets. */
export type ErrorReporter = (error: FastifyError | Error, request: FastifyRequest) => RequestError;

/**
 * Logs errors that are not the client's fault; their answer contains only the ID of the request.
 * @param log the request's own, if left out
 */
export function errorReporter(log?: ErrorLog): ErrorReporter {
  return (thrown, request) => {
    const reqId = request.id;
    // For instance an error of a stream that a function has returned.
    const error = thrown instanceof PermissionError ? failureOf('Class code', thrown) : thrown;
    // The client's message does not name what the developer has to know.
    if (error instanceof DeniedInCodeError) (log ?? request.log).warn({ err: error.cause, reqId });
    // The client cannot change the order in which class code locks entities, but its developer can.
    if (error instanceof ConflictError) (log ?? request.log).warn({ err: error, reqId });
    const answered = asRequestError(error, request, (err) => {
      const written = log ?? request.log;
      try {
        written.error({ err, reqId });
      } catch {
        // What users' code throws may throw again when it is inspected.
        written.error({ msg: 'an error that cannot be written', reqId });
      }
    });
    return isDenialToGuest(answered.status, answered.errors)
      ? withEndOfSession(answered, request)
      : answered;
  };
}

function withEndOfSession(error: RequestError, request: FastifyRequest): RequestError {
  const { server } = request;
  const end = server.hasDecorator('sessions') ? server.sessions.endOf(request) : undefined;
  const { status, errors, headers } = error;
  return end === undefined ? error : new RequestError(status, [...errors, end], headers);
}

/** Answers every error of a request with an `__ERROR` body. */
export function errorHandler(report: ErrorReporter): ErrorHandler {
  return (error, request, reply) => sendError(reply, report(error, request));
}

function asRequestError(
  error: FastifyError | Error,
  { id, routeOptions }: FastifyRequest,
  log: (error: Error) => void,
): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof TooComplexError || error instanceof UnusableValueError) {
    return refuse('invalidQuery', error.message);
  }
  if (error instanceof QueryTimeoutError) {
    log(error);
    return refuse('queryTimeout', `The request asks too much of the database: ${error.message}.`);
  }
  if (error instanceof ConflictError) {
    const text =
      'The change met others that change the same entities, and was undone: send it again.';
    return refuse('conflict', text);
  }
  if (error instanceof UnknownOutcomeError) {
    log(error);
    // Without Retry-After: if the change is stored, the same change would conflict with it.
    return refuse('unavailable', `It is not known whether the change is stored: ${error.message}.`);
  }
  if (error instanceof DatabaseUnavailableError) {
    log(error);
    return refuseBusy(`The data cannot be reached now: ${error.message}.`);
  }
  const code = 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(routeOptions.bodyLimit);
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') {
    return refuse('badBody', 'The length of the body differs from Content-Length.');
  }
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (status !== undefined && status >= 400 && status < 500) {
    const name = transportErrors[status] ?? 'badBody';
    return new RequestError(status, [protocolError(name, error.message)]);
  }
  log(error);
  return refuse('internal', `An error of the server. It is logged under the request ${id}.`);
}

/** 413. */
export function bodyTooLarge(most: number): RequestError {
  return refuse('tooLarge', `The body has at most ${most} bytes.`);
}

const allowedMethods = new Set(['GET', 'HEAD', 'POST']);

/**
 * Answers requests for which there is no route.
 * @param served names of the dataclasses that have routes
 */
export function answerNotFound(
  request: FastifyRequest,
  reply: FastifyReply,
  served: ReadonlySet<string>,
): FastifyReply {
  const { method, raw } = request;
  if (!allowedMethods.has(method)) {
    const message = `${method} is not served: read with GET, change with POST.`;
    return sendError(reply, methodNotAllowed(message, 'GET, HEAD, POST'));
  }
  if (hasStrayAmpersand(raw.url ?? '')) return sendError(reply, strayAmpersand());
  const dataclass = dataclassIn(raw.url ?? '');
  return sendError(
    reply,
    dataclass === undefined || served.has(dataclass)
      ? refuse('notFound', 'Nothing is at this address.')
      : missingDataclass(dataclass),
  );
}

/**
 * The name in the place of a dataclass in a URL. Fastify has refused URLs that cannot be decoded.
 */
function dataclassIn(url: string): string | undefined {
  const name = /^[^?#]*?\/rest\/([^/(:?#]+)/.exec(url)?.[1];
  return name === undefined || name.startsWith('$') ? undefined : decodeURIComponent(name);
}

/** 404 with 1800, in the same words for what does not exist and for what is not exposed. */
export function missingDataclass(name: string): RequestError {
  return refuse('notFound', `The "${shortened(name)}" dataclass cannot be found.`);
}

/** Whether there are parameters in the path of an address: `/rest/Employee&$top=1`. */
function hasStrayAmpersand(url: string): boolean {
  const [path = ''] = url.split('?', 1);
  return path.startsWith('/rest/') && path.includes('&$');
}

/** The error for an `&` before the first parameter. It does not tell whether the intended address exists. */
function strayAmpersand(): RequestError {
  const message =
    'The address has an ampersand before its first parameter, where a question mark belongs: /rest/Employee?$top=1&$skip=2.';
  return refuse('ampersand', message);
}
