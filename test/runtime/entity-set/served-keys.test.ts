import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import { create, modelOf, serverOf } from '../../support/server.js';

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

describeDatabases('A number as a key', ({ create: database, driver }) => {
  let app: FastifyInstance;

  beforeAll(async () => {
    const { url, drop } = await database();
    app = await serverOf({ ...modelOf(model), databases: [driver] }, { databaseUrl: url });
    app.addHook('onClose', drop);
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

  it('is found again by an entity set', async () => {
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

  it('is found in a list', async () => {
    for (const key of keys) {
      const params = encodeURIComponent(JSON.stringify([[key]]));
      const { __ENTITIES: found } = await get(`/rest/Weight?$filter=grams in :1&$params=${params}`);
      expect(found.map(({ grams }) => grams)).toEqual([key]);
    }
  });

  it('is written alike as a key and as a value', async () => {
    const { body } = await app.inject('/rest/Weight');
    const written = [...body.matchAll(/"__KEY":"([^"]+)".+?"grams":([^,}]+)/g)];
    expect(written).toHaveLength(keys.length);
    for (const [, key = '', value] of written) {
      expect(key).toBe(value);
      expect((await app.inject(`/rest/Weight(${encodeURIComponent(key)})`)).statusCode).toBe(200);
    }
  });
});
