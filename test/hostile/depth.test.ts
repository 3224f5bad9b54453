import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { functionServer } from '../support/function-server.js';
import { expectServed, type Response } from '../support/expect-served.js';

let app: FastifyInstance;

beforeAll(async () => {
  app = await functionServer({ environment: { BODY_SIZE: '8000000' } });
});
afterAll(() => app.close());

const nestings: Readonly<Record<string, (depth: number) => string>> = {
  lists: (depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`,
  objects: (depth) => `${'{"__KEY":'.repeat(depth)}1${'}'.repeat(depth)}`,
  'lists between texts': (depth) => `${'["]\\"",'.repeat(depth)}1${']'.repeat(depth)}`,
};

/** The places that read JSON, as requests with a given value. */
const doors: Readonly<Record<string, (json: string) => Promise<Response>>> = {
  'a refused value of a body that is validated': (json) =>
    post('Company?$method=validate', `{"nothing":${json}}`),
  'a refused value of a list that is undone': (json) =>
    post('Company?$method=update&$atomic=true', `[{"name":"a"},{"nothing":${json}}]`),
  'a text attribute': (json) => post('Company?$method=update', `{"name":${json}}`),
  'a key': (json) => post('Company?$method=update', `{"__KEY":${json}}`),
  'a key of a related entity': (json) =>
    post('Company?$method=update', `{"name":"a","manager":{"__KEY":${json}}}`),
  'a body for an address': (json) => post('Company(1)?$method=update', `{"__KEY":${json}}`),
  'an argument': (json) => post('Company/echo', `[${json}]`),
  'a key of an entity that is an argument': (json) =>
    post('Company/echo', `[{"__DATACLASS":"Company","__ENTITY":true,"__KEY":${json}}]`),
  'arguments in $params': (json) => app.inject(`/rest/Company/echo?$params=${inUrl(`[${json}]`)}`),
  $params: (json) => app.inject(`/rest/Company?$filter=ID=:1&$params=${inUrl(`[${json}]`)}`),
  'sets to release': (json) => post('$entityset/$release', json),
  'a login': (json) => post('$directory/login', json),
  privileges: (json) => post('$directory/currentUserBelongsTo', json),
};

function inUrl(json: string): string {
  return encodeURIComponent(json);
}

function post(url: string, payload: string): Promise<Response> {
  return app.inject({ method: 'POST', url: `/rest/${url}`, payload });
}

describe.each(Object.keys(doors))('JSON in %s', (door) => {
  const ask = doors[door] as (json: string) => Promise<Response>;

  it.each(Object.keys(nestings))('is refused with more than 500 levels of %s', async (kind) => {
    const nested = nestings[kind] as (depth: number) => string;
    for (const depth of [501, 5_000, 200_000]) {
      const response = await ask(nested(depth));
      expectServed(response, `${depth}`);
      // An address cannot be that long.
      if (depth > 501 && response.statusCode === 414) continue;
      expect(response.statusCode).toBe(400);
      const { __ERROR: errors } = response.json<{ __ERROR: readonly { message: string }[] }>();
      expect(errors.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^(The body|\$params) must not nest more than 500 levels\.$/),
      ]);
    }
  });

  it('is read up to that depth, and refused for its content', async () => {
    for (const nested of Object.values(nestings)) {
      const response = await ask(nested(490));
      expect(response.statusCode).toBeLessThan(500);
      expect(response.body).not.toContain('more than 500 levels');
    }
  });
});

it('Brackets within texts do not count as levels', async () => {
  const text = '["\\{'.repeat(1000);
  const response = await post('Company/echo', JSON.stringify([text]));
  expect(response.json()).toEqual({ result: text });
});
