import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { functionServer } from '../support/function-server.js';
import { codesOf, expectServed } from '../support/expect-served.js';
import { sampled } from '../support/long.js';

let app: FastifyInstance;
let set = '';

beforeAll(async () => {
  app = await functionServer({ environment: { BODY_SIZE: '200000' } });
  const made = await app.inject('/rest/Company?$method=entityset');
  set = made.json<{ __ENTITYSET: string }>().__ENTITYSET.slice(-32);
});
afterAll(() => app.close());

/** Functions that throw no errors themselves, whatever their arguments. */
const calm = [
  '/rest/Company/fromCity',
  '/rest/Company/draft',
  '/rest/Company/echo',
  '/rest/Company/since',
  '/rest/Company/both',
  '/rest/Company/totalRevenue',
  '/rest/Company/names',
  '/rest/Company/itself',
  '/rest/Company/names/$entityset',
  '/rest/Company(1)/hire',
  '/rest/Company(1)/label',
  '/rest/$catalog/authentify',
  '/rest/$catalog/größe',
  '/rest/$singleton/Clock/now',
  '/rest/$singleton/Counter/next',
  '/rest/$singleton/Cart/add',
];

const names = ['ID', 'name', 'city', 'founded', 'revenue', 'rating', 'logo', 'manager', 'staff'];
const ofEmployee = ['lastName', 'salary', 'employer', 'employerID', 'firstName'];
const marks = ['__DATACLASS', '__ENTITY', '__ENTITIES', '__KEY', '__STAMP', '__DATASET', 'ID'];

const json = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(null, 1, '1', 1e308, -0, 2 ** 53, '', '2020-01-01', '\ud800', [[]], {
    __KEY: 1,
  }),
);
const object = fc.dictionary(
  fc.oneof(fc.constantFrom(...names, ...ofEmployee, ...marks, '__proto__', 'uri'), fc.string()),
  json,
  { maxKeys: 6 },
);
/** Nearly correct arguments. */
const entity = fc
  .tuple(
    fc.constantFrom('Company', 'Employee'),
    fc.option(fc.constantFrom(1, '2', '9', {}, '')),
    object,
  )
  .map(([__DATACLASS, key, rest]) => ({
    ...rest,
    __DATACLASS,
    __ENTITY: true,
    ...(key === null ? {} : { __KEY: key }),
  }));
const selection = object.map((rest) => ({ ...rest, __DATASET: set, __ENTITIES: true }));
const argument = fc.oneof(json, object, entity, selection, fc.array(entity, { maxLength: 3 }));
const body = fc.oneof(
  fc.array(argument, { maxLength: 3 }),
  fc.array(argument, { maxLength: 3 }).map((params) => ({ params })),
  argument,
);

describe('Any arguments', () => {
  it('are served or refused by POST', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...calm), body, async (path, sent) => {
        const payload = JSON.stringify(sent);
        const response = await app.inject({ method: 'POST', url: encodeURI(path), payload });
        expectServed(response, `${path} ${payload}`);
      }),
      { numRuns: sampled(2_500) },
    );
  });

  it('are served or refused by GET', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...calm), body, async (path, sent) => {
        const params = encodeURIComponent(JSON.stringify(sent));
        const url = `${encodeURI(path)}?$params=${params}`;
        expectServed(await app.inject(url), url);
      }),
      { numRuns: sampled(1_000) },
    );
  });

  it('are refused if their bytes are not JSON', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...calm), fc.uint8Array(), async (path, bytes) => {
        const payload = Buffer.from(bytes);
        const response = await app.inject({ method: 'POST', url: encodeURI(path), payload });
        expectServed(response, path);
      }),
      { numRuns: sampled(500) },
    );
  });
});

it('Any address of a function is served or refused', async () => {
  const segment = fc.oneof(
    fc.constantFrom(
      'Company',
      'Employee',
      '$catalog',
      '$singleton',
      '$entityset',
      'Clock',
      'now',
      'names',
      'itself',
      'label',
      'Company(1)',
      'Company(',
      'Company[2]',
      'hire',
      'größe',
      'constructor',
      '__proto__',
      'toString',
      '%24catalog',
      '%',
      '',
    ),
    fc
      .string({ maxLength: 5 })
      // Dots lead out of the base, where Fastify answers.
      .filter((text) => text !== '.' && text !== '..')
      .map((text) => encodeURIComponent(text)),
  );
  const query = fc.constantFrom(
    '',
    '?$filter=name=a',
    '?$orderby=name',
    '?$method=entityset',
    '?$method=update',
    '?$top=0',
    '?$attributes=name',
    '?$expand=staff',
    '?$params=[]',
    '?$params={',
    '?$asArray=true',
    '?$compute=sum',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(segment, { maxLength: 5 }),
      query,
      fc.constantFrom('GET' as const, 'POST' as const),
      async (segments, search, method) => {
        const url = `/rest/${segments.join('/')}${search}`;
        expectServed(await app.inject({ method, url }), `${method} ${url}`);
      },
    ),
    { numRuns: sampled(3_000) },
  );
});

describe('A function that is not exposed', () => {
  it.each([
    'constructor',
    'toString',
    'hasOwnProperty',
    '__proto__',
    'ds',
    'session',
    'all',
    'get',
    'query',
    'new',
    'newSelection',
    'drop',
    'then',
  ])('cannot be called: %s', async (name) => {
    for (const path of ['Company', 'Company(1)', `Company/$entityset/${set}`]) {
      const response = await app.inject({
        method: 'POST',
        url: `/rest/${path}/${name}`,
        payload: '[]',
      });
      expect(response.statusCode, path).toBe(404);
    }
    for (const path of ['$catalog', '$singleton/Clock', `$singleton/${name}`]) {
      const response = await app.inject({
        method: 'POST',
        url: `/rest/${path}/${name}`,
        payload: '[]',
      });
      expect(codesOf(response), path).toEqual([1827]);
    }
  });
});

it('An entity argument cannot set hidden attributes or a prototype', async () => {
  const text = `[[{"__DATACLASS":"Company","__ENTITY":true,"name":"x","__proto__":{"secret":"y"}}],
    {"__DATASET":"${set}","__ENTITIES":true}]`;
  const response = await app.inject({ method: 'POST', url: '/rest/Company/both', payload: text });
  expect(response.statusCode, response.body).toBe(200);
  expect(response.body).not.toContain('"y"');
  expect(({} as Record<string, unknown>)['secret']).toBeUndefined();
});

it('A function cannot be called from a page of another site', async () => {
  const response = await app.inject({
    method: 'POST',
    url: '/rest/Company/draft',
    payload: '["x"]',
    headers: { origin: 'https://evil.example' },
  });
  expect(response.statusCode).toBe(403);
});

it('Deeply nested and long arguments are refused', async () => {
  const deep = `[${'['.repeat(50_000)}${']'.repeat(50_000)}]`;
  const long = JSON.stringify(['x'.repeat(190_000)]);
  const many = JSON.stringify([new Array(50_000).fill(1)]);
  for (const payload of [deep, long, many]) {
    const response = await app.inject({ method: 'POST', url: '/rest/Company/echo', payload });
    expectServed(response, payload.slice(0, 20));
  }
});
