import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** An address that answers alike to GET and POST (protocol decision 20); two routes, since POST has guards of its own. */
export function getAndPost(
  app: FastifyInstance,
  address: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.get(address, handler);
  app.post(address, handler);
}
