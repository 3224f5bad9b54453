import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `drs: 1
name: keys
dataclasses:
  Weight:
    attributes:
      grams: { type: number, key: true }
`;

/**
 * JavaScript prints whole numbers beyond 2^53 with fewer digits, which are those of other numbers.
 */
const keys = [
  -1.5,
  0,
  5e-324,
  1e-7,
  0.1,
  0.30000000000000004,
  1 / 3,
  123456789.12345679,
  2 ** 53,
  1234567890123456768,
  4e18,
  2 ** 63,
  12345678901234567000,
  1e21,
  1e23,
  Number.MAX_VALUE,
];

interface Collection {
  readonly __ENTITYSET?: string;
  readonly __COUNT: number;
  readonly __ENTITIES: readonly { readonly grams: number }[];
}

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  await create(
    app,
    'Weight',
    keys.map((grams) => ({ grams })),
  );
});
afterAll(() => app.close());

async function get(url: string): Promise<Collection> {
  return (await app.inject(url)).json();
}

it('Every number is a key that an entity set finds again', async () => {
  const created = await get('/rest/Weight?$method=entityset');
  const uri = String(created.__ENTITYSET);
  const sorted = [...keys].sort((one, other) => one - other);
  const valuesOf = ({ __ENTITIES: entities }: Collection): number[] =>
    entities.map(({ grams }) => grams);
  expect(valuesOf(created)).toEqual(sorted);
  expect(valuesOf(await get(uri))).toEqual(sorted);
  expect(valuesOf(await get(`${uri}?$filter=grams!=null`))).toEqual(sorted);
  expect(valuesOf(await get(`${uri}?$orderby=grams desc`))).toEqual([...sorted].reverse());
  expect(await get(`${uri}?$clean=true`)).toMatchObject({ __COUNT: keys.length });
});
