import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
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

describe('A large request:', () => {
  let app: FastifyInstance;

  beforeAll(async () => {
    app = await serverOf(modelFile('staff'), {
      environment: { BODY_SIZE: '50000000', BATCH_SIZE: '100000', FILTER_LENGTH: '1000000' },
    });
    await create(app, 'Company', companies(5));
    const ids = Array.from({ length: 3 }, (_, i) => String(i).padStart(32, 'A'));
    await create(
      app,
      'Employee',
      ids.map((ID, i) => ({ ID, lastName: `e${i}`, employer: 1, boss: ids[i - 1] ?? null })),
    );
  });
  afterAll(() => app.close());

  const long = 'x'.repeat(65 * 1024);

  it.each([
    `/rest/Company?$filter=name=${long}`,
    `/rest/Company?${long}`,
    `/rest/Company?_=${long}`,
    `/rest/Company(${long})`,
    `/rest/Company/${long}`,
    `/rest/Company(1)/${long}`,
    `/rest/Company:name(${long})`,
  ])('an address beyond 64 KiB is refused as too long', async (url) => {
    const response = await ask(app, url);
    expect([response.statusCode, ...codesOf(response)]).toEqual([414, 1835]);
  });

  it.each([`/rest/${long}`, `/rest/$catalog/${long}`])(
    'an address beyond 64 KiB without a route is refused',
    async (url) => {
      expect([404, 414]).toContain((await ask(app, url)).statusCode);
    },
  );

  it('an address beyond 64 KiB outside of /rest is not found, with the answer of Fastify', async () => {
    const response = await app.inject(`/${long}`);
    expect(response.statusCode).toBe(404);
    expect(response.json()).toMatchObject({ error: 'Not Found' });
  });

  it('a shorter long address is served', async () => {
    const list = Array.from({ length: 12_000 }, () => 'name').join(',');
    expect((await ask(app, `/rest/Company/${list}?$top=1`)).statusCode).toBe(200);
    expect((await ask(app, `/rest/Company?$attributes=${list}&$top=1`)).statusCode).toBe(200);
    expect((await ask(app, `/rest/Note("${'k'.repeat(60_000)}")`)).statusCode).toBe(404);
  });

  it('a long order is served or refused', async () => {
    const list = Array.from({ length: 10_000 }, () => 'ID').join(',');
    expect((await ask(app, `/rest/Company?$orderby=${list}`)).statusCode).toBe(200);
  });

  it('thousands of parameters are refused', async () => {
    const query = Array.from({ length: 4_000 }, () => 'a=1').join('&');
    expect((await ask(app, `/rest/Company?${query}`)).statusCode).toBe(200);
    const tops = Array.from({ length: 4_000 }, () => '$top=1').join('&');
    expect(codesOf(await ask(app, `/rest/Company?${tops}`))).toEqual([1806]);
  });

  it.each(['&', ' AND ', ' OR '])(
    '4000 conditions joined by %j are served or refused',
    async (word) => {
      const filter = Array.from({ length: 4_000 }, () => 'ID=1').join(word);
      const response = await ask(app, `/rest/Company?$filter=${encodeURIComponent(filter)}`);
      expect([response.statusCode, ...codesOf(response)]).toEqual([400, 1162]);
    },
  );

  const conditions = ["city begin 'B'", 'staff.boss.lastName=x', 'staff.lastName!=x'];
  it.each([
    [' AND ', isLong ? conditions : conditions.slice(0, 1)],
    [' OR ', isLong ? conditions : conditions.slice(1, 2)],
    [' EXCEPT ', isLong ? conditions : conditions.slice(2)],
  ])('500 conditions joined by %j are served', async (word, some) => {
    for (const condition of some) {
      const filter = encodeURIComponent(Array.from({ length: 500 }, () => condition).join(word));
      const url = `/rest/Company?$filter=${filter}`;
      expect((await ask(app, url)).statusCode, condition).toBe(200);
    }
  });

  it.each(['(', 'NOT('])('deeply nested %j is served or refused', async (open) => {
    for (const depth of [64, 65, 5_000]) {
      const filter = `${open.repeat(depth)}ID=1${')'.repeat(depth)}`;
      const response = await ask(app, `/rest/Company?$filter=${filter}`);
      expect(response.statusCode).toBe(depth === 64 ? 200 : 400);
    }
  });

  it.each(isLong ? [5, 20, 60, 61, 62, 63, 64, 65, 200, 2_000] : [20, 60, 64, 65, 2_000])(
    'a path over %i relations is served or refused',
    async (hops) => {
      const bosses = Array.from({ length: hops }, () => 'boss').join('.');
      const teams = Array.from({ length: hops }, () => 'team').join('.');
      for (const url of [
        `/rest/Employee?$filter=${bosses}.lastName=x`,
        `/rest/Employee?$filter=${bosses}.lastName!=x`,
        `/rest/Employee?$filter=${teams}.lastName=x`,
        `/rest/Employee?$filter=${teams}.lastName!=x`,
        `/rest/Employee?$orderby=${bosses}.lastName`,
        `/rest/Employee?$attributes=${bosses}.lastName`,
      ]) {
        const { statusCode } = await ask(app, url);
        if ((hops <= 20 || (hops <= 60 && url.includes('boss'))) && !url.includes('$attributes'))
          expect(statusCode, url).toBe(200);
      }
    },
  );

  it('many short paths over relations in one filter, order and list are served or refused', async () => {
    const paths = ['boss', 'boss.boss', 'boss.boss.boss', 'employer', 'employer.manager'];
    const filter = Array.from(
      { length: 100 },
      (_, i) => `${String(paths[i % 5])}.ID='${String(i).padStart(32, '0')}'`,
    ).join(' OR ');
    const order = paths.map((each) => `${each}.ID desc`).join();
    const list = [...paths, 'team', 'team.team', 'employer.staff']
      .map((each) => `${each}.*`)
      .join();
    const url = `/rest/Employee?$filter=${filter}&$orderby=${order}&$attributes=${list}`;
    expect((await ask(app, encodeURI(url))).statusCode).toBe(200);
  });

  it('an expansion of every relation up to the limit is served', async () => {
    const relations: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
      Employee: [
        ['boss', 'Employee'],
        ['team', 'Employee'],
        ['employer', 'Company'],
      ],
      Company: [
        ['manager', 'Employee'],
        ['staff', 'Employee'],
      ],
    };
    const grow = (of: string, depth: number): string[] =>
      depth === 0
        ? []
        : (relations[of] ?? []).flatMap(([name, target]) => [
            name,
            ...grow(target, depth - 1).map((rest) => `${name}.${rest}`),
          ]);
    for (const depth of isLong ? [1, 2, 3, 4, 5] : [1, 5]) {
      await ask(app, `/rest/Employee?$expand=${grow('Employee', depth).join()}`);
      await ask(
        app,
        `/rest/Employee(${'0'.padStart(32, 'A')})?$expand=${grow('Employee', depth).join()}`,
      );
    }
  });

  it.each(['$top=10000', '$skip=9007199254740991', '$top=10000&$skip=9007199254740991'])(
    '%s is served',
    async (query) => {
      expect((await ask(app, `/rest/Company?${query}`)).json()).toMatchObject({ __COUNT: 5 });
    },
  );

  it.each(['', '/name'])(
    '$top above maxPageSize is refused, and the limit named: %s',
    async (path) => {
      const distinct = path === '' ? '' : '&$distinct=true';
      const response = await ask(app, `/rest/Company${path}?$top=10001${distinct}`);
      expect([response.statusCode, ...codesOf(response)]).toEqual([400, 1806]);
      expect(response.body).toMatch(/\$top is 10001; .* at most 10000 .*MAX_PAGE_SIZE.*\$skip/);
    },
  );

  it.each(['$top=9007199254740993', '$skip=99999999999999999999', '$top=1e999', '$skip=Infinity'])(
    '%s is refused',
    async (query) => {
      expect(codesOf(await ask(app, `/rest/Company?${query}`))).toEqual([1806]);
    },
  );

  it('$params of any size are served or refused', async () => {
    const values = JSON.stringify(Array.from({ length: 5_000 }, (_, i) => i));
    const url = `/rest/Company?$filter=ID=:1 OR ID=:128&$params=${values}`;
    expect((await ask(app, encodeURI(url))).statusCode).toBe(200);
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const response = await ask(app, `/rest/Company?$filter=ID=:1&$params=${deep}`);
    expect(response.statusCode).toBe(400);
    expect(codesOf(response)).toEqual([1280]);
  });

  it('10,000 entities in one body are answered', async () => {
    const before = await count(app);
    const entities = Array.from({ length: 10_000 }, (_, i) => ({ name: `many ${i}` }));
    const response = await post(app, JSON.stringify(entities));
    expect(response.json<{ __ENTITIES: unknown[] }>().__ENTITIES).toHaveLength(10_000);
    expect(await count(app)).toBe(before + 10_000);
    const half = entities.map((each, i) => (i % 2 === 0 ? each : { name: `more ${i}` }));
    expect((await post(app, JSON.stringify(half))).statusCode).toBe(200);
    expect(await count(app)).toBe(before + 15_000);
  });

  it('JSON of any depth is served or refused', async () => {
    for (const depth of isLong ? [10, 64, 65, 1_000, 10_000, 1_000_000] : [64, 65, 100_000]) {
      const array = `${'['.repeat(depth)}${']'.repeat(depth)}`;
      const object = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      for (const value of [array, object]) {
        await post(app, value);
        await post(app, `{"name":"n","city":${value}}`);
        await post(app, `{"name":"n","manager":${value}}`);
        await post(app, `{"name":"n","__KEY":${value}}`);
        await post(app, `{"name":"n","${value.slice(0, 50).replaceAll('"', '')}":1}`);
        const response = await post(
          app,
          `{"name":"deep ${depth}${value.slice(0, 1)}","extra":${value}}`,
        );
        expect(response.statusCode).toBe(depth <= 64 ? 200 : depth < 500 ? 422 : 400);
        if (response.statusCode !== 200) continue;
        const { uri } = response.json<{ uri: string }>();
        expect((await ask(app, uri)).body).toContain(`"extra":${value}`);
      }
      const manager = `${'{"__deferred":'.repeat(depth)}1${'}'.repeat(depth)}`;
      await post(app, `{"name":"n","manager":${manager}}`);
    }
  });

  it('a text of millions of characters is answered', async () => {
    const text = '字'.repeat(isLong ? 10_000_000 : 1_000_000);
    const response = await post(app, JSON.stringify({ name: 'long', city: text }));
    // PostgreSQL cannot index it.
    expect(response.statusCode).toBe(isOnPostgres ? 400 : 200);
    if (isOnPostgres) return;
    const { uri } = response.json<{ uri: string }>();
    expect((await ask(app, uri)).json<{ city: string }>().city === text).toBe(true);
  });
});
