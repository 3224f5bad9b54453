import type { FastifyRequest } from 'fastify';
import { methodNotAllowed, refuse, type RequestError } from '../protocol/errors.js';
import { type Parameters, readParameters, type RequestMode } from '../query/parameters.js';

/**
 * A longer address does not reach the routes, unless a parameter of its query makes it that long.
 */
export const maxUrlLength = 64 * 1024;

/** Methods that change data, and methods of entity sets. */
const methodsOfPost = new Set(['update', 'validate', 'delete']);
const methodsOfReads = new Set(['entityset', 'subentityset', 'release']);

/**
 * The parameters of a read.
 * @param methods that `$method` may have here
 * @param may `mayContinue` whether `$cursor` and `$after` apply here
 * @throws RequestError for wrong parameters or a wrong address, and for another $method
 */
export function readingParameters(
  request: FastifyRequest,
  methods: readonly string[] = [],
  { mayLock = false, mayContinue = false } = {},
): Parameters {
  const { length } = request.raw.url ?? '';
  if (length > maxUrlLength) {
    throw refuse('uriTooLong', `An address has at most ${maxUrlLength} characters.`);
  }
  const parameters = parametersOf(request, 'read', mayContinue);
  if (!mayLock) refuseLock(parameters);
  const { method } = parameters;
  if (method !== undefined && !methods.includes(method)) throw refusedMethod(method, 'GET');
  refuseSaveParameters(parameters);
  return parameters;
}

/**
 * The parameters of a request. The parser of query strings leaves what cannot be decoded as it is, including percent
 * signs.
 */
export function parametersOf(
  request: FastifyRequest,
  mode: RequestMode,
  mayContinue = false,
): Parameters {
  const query = request.query as Readonly<Record<string, unknown>>;
  for (const name in query) {
    const value = query[name];
    if (name.includes('%') || (typeof value === 'string' && value.includes('%'))) {
      checkEncoding(request.raw.url ?? '');
      break;
    }
  }
  const parameters = readParameters(query, mode);
  if (!mayContinue) refuseCursor(parameters);
  return parameters;
}

/** Ignoring these parameters would answer another question, or delete more than the client means. */
export function refuseCursor({ cursor, after }: Parameters): void {
  if (!cursor && after === undefined) return;
  throw refuse(
    'malformedUrl',
    `${cursor ? '$cursor' : '$after'} applies to a read of the entities of a dataclass, or of a to-many relation of one entity; an entity set has pages by $skip.`,
  );
}

/**
 * `$lock` applies to one entity as a whole; elsewhere, ignoring it would answer another question.
 */
export function refuseLock({ lock }: Parameters): void {
  if (lock === undefined) return;
  throw refuse(
    'methodNotApplicable',
    '$lock applies to one entity: /<dataClass>(<key>)?$lock=true.',
  );
}

/** Parameters of a save: a client that sends one expects that entities are saved. */
export function refuseSaveParameters({ upsert, atMost }: Parameters): void {
  if (upsert === undefined && atMost === undefined) return;
  const [name, remedy] =
    upsert === undefined
      ? ['$atMost', '$filter=...&$method=update&$atMost=<number>']
      : ['$upsert', '$method=update&$upsert=<attribute>'];
  throw refuse('malformedUrl', `${name} applies to a save: POST /<dataClass>?${remedy}.`);
}

function checkEncoding(url: string): void {
  try {
    decodeURIComponent(url.slice(url.indexOf('?')));
  } catch {
    throw refuse('malformedUrl', 'The percent-encoding of a parameter is malformed.');
  }
}

/** The error for a `$method` that cannot be served. */
export function refusedMethod(method: string, verb: 'GET' | 'POST'): RequestError {
  if (verb === 'GET' && methodsOfPost.has(method)) {
    return methodNotAllowed(`$method=${method} changes data and is sent with POST.`, 'POST');
  }
  if (method === 'subentityset') {
    return refuse('notForSubsets', '$method=subentityset applies to a to-many relation.');
  }
  return methodsOfReads.has(method) || methodsOfPost.has(method)
    ? refuse('methodNotApplicable', `$method=${method} cannot be applied here.`)
    : refuse('unknownMethod', `"${method}" is no $method.`);
}

/** Parameters that apply to entity sets only; ignoring them would answer another question. */
export function refuseSetParameters(parameters: Parameters): void {
  const { clean, logicOperator, otherCollection, subOrderby, method } = parameters;
  const name = clean
    ? '$clean'
    : logicOperator !== undefined
      ? '$logicOperator'
      : otherCollection !== undefined
        ? '$otherCollection'
        : undefined;
  if (name !== undefined) {
    throw refuse('malformedUrl', `${name} applies to an entity set: /$entityset/<entitySetID>.`);
  }
  if (subOrderby !== undefined && method !== 'subentityset') {
    throw refuse('malformedUrl', '$subOrderby applies to $method=subentityset; use $orderby.');
  }
}
