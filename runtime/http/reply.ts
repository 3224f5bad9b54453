import type { FastifyReply } from 'fastify';
import type { RequestError } from '../protocol/errors.js';

/** What every answer in JSON has; {@link sendJson} sets them one by one, which is faster than a list of them. */
const jsonHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Sends JSON that is a text already. */
export function sendJson(reply: FastifyReply, json: string | Uint8Array): FastifyReply {
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .send(json);
}

export function sendError(reply: FastifyReply, error: RequestError): FastifyReply {
  reply.code(error.status).headers(error.headers);
  return sendJson(reply, errorJson(error));
}

/** The body of an error. */
export function errorJson({ errors }: RequestError): string {
  return JSON.stringify({ __ERROR: errors });
}

/** The headers of an error, for what is sent without Fastify. */
export function errorHeaders({ headers }: RequestError): Readonly<Record<string, string>> {
  return { ...jsonHeaders, ...headers };
}
