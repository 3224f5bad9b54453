import type { FastifyReply } from 'fastify';
import type { RequestError } from '../protocol/errors.js';

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
  return sendJson(reply, JSON.stringify({ __ERROR: error.errors }));
}
