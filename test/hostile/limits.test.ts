import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelFile } from '../support/model-file.js';
import { create, isOnPostgres, serverOf } from '../support/server.js';
import { codesOf, expectServed, type Response } from '../support/expect-served.js';

const update = '/rest/Company?$method=update';
const limits = {
  PAGE_SIZE: '3',
  MAX_PAGE_SIZE: '10',
  BODY_SIZE: '20000',
  FILTER_LENGTH: '100',
  FILTER_DEPTH: '2',
  EXPAND_DEPTH: '2',
  BATCH_SIZE: '6',
};

function companies(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({ name: `c${i}` }));
}

async function ask(app: FastifyInstance, url: string): Promise<Response> {
  const response = await app.inject(url);
  expectServed(response, url.slice(0, 200));
  return response;
}

async function post(app: FastifyInstance, payload: string): Promise<Response> {
  const response = await app.inject({ method: 'POST', url: update, payload });
  expectServed(response, payload.slice(0, 200));
  return response;
}

async function count(app: FastifyInstance): Promise<number> {
  return (await ask(app, '/rest/Company?$top=0')).json<{ __COUNT: number }>().__COUNT;
}

describe('A limit of the environment holds:', () => {
  let app: FastifyInstance;

  beforeAll(async () => {
    app = await serverOf(modelFile('staff'), { environment: limits });
    await create(app, 'Company', companies(5));
  });
  afterAll(() => app.close());

  it.each([
    ['pageSize', '/rest/Company', 200],
    ['maxPageSize', '/rest/Company?$top=10', 200],
    ['maxPageSize exceeded', '/rest/Company?$top=11', 400, 1806],
    ['maxPageSize exceeded by $limit', '/rest/Company?$limit=11', 400, 1806],
    ['filterLength', `/rest/Company?$filter=${'name=c1'.padEnd(100, 'x')}`, 200],
    ['filterLength exceeded', `/rest/Company?$filter=${'name=c1'.padEnd(101, 'x')}`, 400, 1162],
    ['filterDepth', '/rest/Company?$filter=((ID=1))', 200],
    ['filterDepth exceeded', '/rest/Company?$filter=(((ID=1)))', 400, 1162],
    ['filterDepth exceeded by NOT', '/rest/Company?$filter=NOT(NOT(NOT(ID=1)))', 400, 1162],
    ['expandDepth', '/rest/Company?$expand=staff.boss', 200],
    ['expandDepth exceeded', '/rest/Company?$expand=staff.boss.team', 400, 1805],
    ['expandDepth of $attributes', '/rest/Company?$attributes=staff.boss.lastName', 200],
    ['expandDepth of *', '/rest/Company?$attributes=staff.boss.*', 200],
    [
      'expandDepth of $attributes exceeded',
      '/rest/Company?$attributes=staff.boss.team.*',
      400,
      1804,
    ],
  ] as const)('%s: %s is answered with %i', async (_, url, status, ...codes) => {
    const response = await ask(app, url);
    expect(response.statusCode).toBe(status);
    expect(codesOf(response)).toEqual(codes);
  });

  it('pageSize is the size of a page and of an expansion', async () => {
    const people = Array.from({ length: 4 }, () => ({ lastName: 'x', employer: 1 }));
    await create(app, 'Employee', people);
    expect((await ask(app, '/rest/Company')).json()).toMatchObject({ __COUNT: 5, __SENT: 3 });
    expect((await ask(app, '/rest/Company(1)?$expand=staff')).json()).toMatchObject({
      staff: { __COUNT: 4, __SENT: 3 },
    });
    expect((await ask(app, '/rest/Company(1)/staff?$expand=staff')).json()).toMatchObject({
      __COUNT: 4,
      __SENT: 3,
    });
  });

  it('batchSize is the number of entities of a body', async () => {
    const before = await count(app);
    const response = await post(app, JSON.stringify(companies(7)));
    expect([response.statusCode, ...codesOf(response)]).toEqual([413, 1834]);
    expect(await count(app)).toBe(before);
    const entities = companies(6).map((each, i) => ({ ...each, name: `batch ${i}` }));
    expect((await post(app, JSON.stringify(entities))).statusCode).toBe(200);
    expect(await count(app)).toBe(before + 6);
  });

  it('bodySize is the number of bytes of a body', async () => {
    const before = await count(app);
    const of = (size: number): string => JSON.stringify({ name: 'n', city: '' }).padEnd(size, ' ');
    const response = await post(app, of(20_001));
    expect([response.statusCode, ...codesOf(response)]).toEqual([413, 1834]);
    expect(response.body).toContain('"The body has at most 20000 bytes."');
    expect(await count(app)).toBe(before);
    expect((await post(app, of(20_000))).statusCode).toBe(200);
  });
});

it.each([
  ['NOT(', 64, 200],
  // SQLite's own limit; PostgreSQL's is its stack.
  ['NOT(', 999, isOnPostgres ? 200 : 400],
  ['NOT(', 4000, 400],
  ['(', 1000, 200],
  ['(', 1001, 400],
] as const)(
  'Deeply nested filters break nothing, whatever the limit of depth: %s %i',
  async (open, depth, status) => {
    const environment = { FILTER_DEPTH: '100000', FILTER_LENGTH: '60000' };
    const app = await serverOf(modelFile('staff'), { environment });
    try {
      const url = `/rest/Company?$filter=${open.repeat(depth)}ID=1${')'.repeat(depth)}`;
      const response = await ask(app, url);
      expect(response.statusCode).toBe(status);
      expect(codesOf(response)).toEqual(status === 200 ? [] : [1162]);
    } finally {
      await app.close();
    }
  },
);

it.each(Object.keys(limits))(
  'A wrong %s stops the start and is named in the message',
  async (name) => {
    for (const value of ['0', '-1', '1.5', 'many', '1e400']) {
      const started = serverOf(modelFile('staff'), { environment: { [name]: value } });
      await expect(started, value).rejects.toThrow(`${name} is ${JSON.stringify(value)}`);
    }
  },
);
