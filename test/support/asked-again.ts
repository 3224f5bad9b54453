import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';

/**
 * Sends the same request three times, so that the server uses its cache for the query string. The
 * answers must be the same.
 */
export async function askedAgain(
  app: FastifyInstance,
  url: string,
): Promise<{ readonly statusCode: number; readonly body: string }> {
  const { statusCode, body } = await app.inject({ method: 'GET', url });
  for (let again = 0; again < 2; again += 1) {
    const later = await app.inject({ method: 'GET', url });
    expect([url, later.statusCode, later.body]).toEqual([url, statusCode, body]);
  }
  return { statusCode, body };
}
