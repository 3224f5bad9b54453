import type { FastifyReply, FastifyRequest } from 'fastify';
import { methodNotAllowed, refuse, type RequestError } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import { sendError } from './reply.js';

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

/** The same error whether or not the intended address exists. */
function strayAmpersand(): RequestError {
  const message =
    'The address has an ampersand before its first parameter, where a question mark belongs: /rest/Employee?$top=1&$skip=2.';
  return refuse('ampersand', message);
}
