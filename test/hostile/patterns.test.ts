import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serverOf } from '../support/server.js';

let app: FastifyInstance;

/** Backtracking over all possible matches of these texts would never end. */
beforeAll(async () => {
  app = await serverOf(`
drs: 1
name: patterns
dataclasses:
  Text:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      short: { type: string, pattern: "^(a+)+$", maxLength: 10 }
      long: { type: string, pattern: "^(a+)+$" }
`);
});
afterAll(() => app.close());

it.each([
  ['short', 'must have at most 10 characters'],
  ['long', 'must have at most 2000 characters to be matched with its pattern'],
])('A text that is too long is not matched with the pattern of %s', async (name, message) => {
  const text = `${'a'.repeat(50_000)}!`;
  for (const method of ['update', 'validate']) {
    const response = await app.inject({
      method: 'POST',
      url: `/rest/Text?$method=${method}`,
      payload: JSON.stringify({ [name]: text }),
    });
    expect(response.body).toContain(`${name} ${message}`);
  }
});

it.each(['short', 'long'])(
  'A text that is short enough is matched with the pattern of %s',
  async (name) => {
    for (const [text, status] of [
      ['aaaa', 200],
      ['aaa!', 422],
    ]) {
      const response = await app.inject({
        method: 'POST',
        url: '/rest/Text?$method=update',
        payload: JSON.stringify({ [name]: text }),
      });
      expect(response.statusCode).toBe(status);
    }
  },
);
