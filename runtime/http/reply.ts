import type { FastifyReply } from 'fastify';
import type { RequestError } from '../protocol/errors.js';

const jsonHeaders = {
  'content-type': 'application/json; charset=utf-8',
  // Answers depend on who asks and on when.
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Sends JSON that is a text already. */
export function sendJson(reply: FastifyReply, json: string | Uint8Array): FastifyReply {
  return reply.headers(jsonHeaders).send(json);
}

export function sendError(reply: FastifyReply, error: RequestError): FastifyReply {
  reply.code(error.status).headers(error.headers);
  return sendJson(reply, JSON.stringify({ __ERROR: error.errors }));
}
