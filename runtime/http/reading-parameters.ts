import type { FastifyRequest } from 'fastify';
import { methodNotAllowed, refuse, type RequestError } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import { readJson } from './body.js';
import { bodyTooLarge } from './errors.js';
import { checkParameters, type Subject } from './parameter-rules.js';
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
 * @param subject what it reads
 * @param methods that `$method` may have here
 * @throws RequestError for wrong parameters or a wrong address, and for another $method
 */
export function readingParameters(
  request: FastifyRequest,
  subject: Subject,
  methods: readonly string[] = [],
): Parameters {
  const { length } = request.raw.url ?? '';
  if (length > maxUrlLength) {
    throw refuse('uriTooLong', `An address has at most ${maxUrlLength} characters.`);
  }
  const parameters = parametersOf(request, 'read');
  checkParameters(parameters, subject, request.server.setup.settings);
  const { method } = parameters;
  if (method !== undefined && !methods.includes(method)) throw refusedMethod(method, 'GET');
  return parameters;
}

/**
 * The parameters of a request. The parser of query strings leaves what cannot be decoded as it is, including percent
 * signs.
 */
export function parametersOf(request: FastifyRequest, mode: RequestMode): Parameters {
  const query = request.query as Readonly<Record<string, unknown>>;
  for (const name in query) {
    const value = query[name];
    if (name.includes('%') || (typeof value === 'string' && value.includes('%'))) {
      checkEncoding(request.raw.url ?? '');
      break;
    }
  }
  return readParameters(query, mode);
}

/** Bodies of these POSTs are entities, or the bytes of an image or a BLOB. */
const ownBodies = /^\$(?:rawpict|binary)$/i;
const savingMethods = new Set(['update', 'validate']);

/**
 * Whether a POST reads by a filter in its body, which may be too long for an address (protocol P3.35): the body is an
 * object with `$filter`, `$params` or both. They become parameters of the request. The body of one entity
 * is its values.
 * @throws RequestError 400 for other members, parameters that are in the address as well, and a `$method` that changes
 *   data
 */
export function readsByBody(request: FastifyRequest): boolean {
  const known = request as Asked;
  return (known[asks] ??= takesFilter(request));
}

/** The check of a route and its handler both want to know it. */
const asks = Symbol('asks');

interface Asked {
  [asks]?: boolean | undefined;
}

function takesFilter(request: FastifyRequest): boolean {
  const { body } = request;
  const { key, attributes } = request.params as { key?: string; attributes?: string };
  const isOfEntity = key !== undefined && attributes === undefined;
  const isObject = body instanceof Uint8Array && body[0] === 0x7b;
  if (request.method !== 'POST' || isOfEntity || !isObject) return false;
  const { bodySize } = request.server.setup.limits;
  const query = request.query as Readonly<Record<string, unknown>>;
  const names = Object.keys(query);
  const method = query[names.find((name) => name.toLowerCase() === '$method') ?? ''];
  const isSave = typeof method === 'string' && savingMethods.has(method);
  if (isSave || names.some((name) => ownBodies.test(name))) return false;
  if (body.length > bodySize) throw bodyTooLarge(bodySize);
  const given = readJson(body, request.headers['content-type'], 'all') as Readonly<
    Record<string, unknown>
  >;
  const asked = Object.keys(given);
  if (!asked.some((name) => name === '$filter' || name === '$params')) return false;
  if (method !== undefined && !(method === 'entityset' || method === 'subentityset')) {
    throw refuse(
      'badBody',
      'A body with $filter or $params only reads: with a $method that changes data, send them in the address.',
    );
  }
  for (const name of asked) {
    if (name !== '$filter' && name !== '$params') {
      const problem = `The body of a read holds $filter and $params, and not ${JSON.stringify(shortened(name))}`;
      throw refuse('badBody', `${problem}: send other parameters in the address.`);
    }
    if (names.some((each) => each.toLowerCase() === name)) {
      throw refuse('malformedUrl', `${name} is in the address and in the body: send it once.`);
    }
  }
  const { $filter: filter, $params: params } = given;
  if (filter !== undefined && typeof filter !== 'string') {
    throw refuse('badBody', '$filter in the body must be a text.');
  }
  request.query = {
    ...query,
    ...(filter === undefined ? {} : { $filter: filter }),
    ...(params === undefined ? {} : { $params: JSON.stringify(params) }),
  };
  return true;
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
