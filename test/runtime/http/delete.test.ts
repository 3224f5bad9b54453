import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectServed } from '../../support/expect-served.js';
import { create, isOnPostgres, serverOf } from '../../support/server.js';
import { anyCharacter } from '../../support/any-character.js';

const kinds = ['Integer', 'Number', 'Uuid', 'Text'] as const;

const model = `
drs: 1
name: keys
dataclasses:
${kinds
  .map(
    (kind) => `  ${kind}:
    attributes:
      ID: { type: ${kind === 'Text' ? 'string' : kind.toLowerCase()}, key: true }
      n: integer
      up: { to: ${kind} }
`,
  )
  .join('')}`;

let app: FastifyInstance;
beforeAll(async () => {
  app = await serverOf(model);
});
afterAll(() => app.close());

type Response = Awaited<ReturnType<FastifyInstance['inject']>>;

function post(url: string, payload?: string): Promise<Response> {
  return app.inject({ method: 'POST', url, ...(payload === undefined ? {} : { payload }) });
}

function remove(address: string): Promise<Response> {
  return post(`/rest/${address}${address.includes('?') ? '&' : '?'}$method=delete`);
}

async function keysOf(kind: string): Promise<readonly string[]> {
  const response = await app.inject(`/rest/${kind}?$attributes=ID`);
  const body = response.json<{ readonly __ENTITIES: readonly { readonly __KEY: string }[] }>();
  return body.__ENTITIES.map((each) => each.__KEY);
}

describe('An entity is deleted by its key:', () => {
  const uuid = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
  it.each<[string, string | number, string]>([
    ['Integer', 9007199254740991, '9007199254740991'],
    ['Integer', -7, '-007'],
    ['Number', 0.1, '0.1'],
    ['Number', 1500, '1.5e3'],
    ['Number', -0.5, '"-0.50"'],
    ['Uuid', uuid.toUpperCase(), uuid],
    ['Uuid', uuid, '0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9'],
    ['Text', 'Straße', "'STRAßE'"],
    ['Text', 'ΟΔΟΣ', 'οδοσ'],
    ['Text', 'E\u0301', '\u00e9'],
    ['Text', `a'b"c)`, `"A'b"c)"`],
    ['Text', '\'); drop table "Text"; --', `"'); DROP table "Text"; --"`],
    ['Text', '100% /?&#', "'100% /?&#'"],
    // PostgreSQL stores no U+0000.
    ...(isOnPostgres
      ? []
      : ([
          ['Text', '\u0000', "'\u0000'"],
          ['Text', 'a\u0000b', "'A\u0000B'"],
        ] satisfies [string, string, string][])),
    ['Text', ' ', "' '"],
    ['Text', '😀', '😀'],
  ])('%s %j as %s, and no other one', async (kind, key, written) => {
    const others = await keysOf(kind);
    const related = `r${String(others.length)}`;
    await create(app, kind, [{ ID: key }]);
    if (kind === 'Text') await create(app, kind, [{ ID: related, up: key }]);
    const response = await remove(`${kind}(${encodeURIComponent(written)})`);
    expect(response.body).toBe('{"ok":true}');
    const left = kind === 'Text' ? [...others, related] : others;
    expect([...(await keysOf(kind))].sort()).toEqual([...left].sort());
    if (kind !== 'Text') return;
    const loser = await app.inject(`/rest/Text(${related})`);
    expect(loser.json()).toMatchObject({ up: null, __STAMP: 2 });
    expect((await remove(`Text(${related})`)).statusCode).toBe(200);
  });

  it.each(['Integer(1.5)', 'Integer(9007199254740993)', 'Integer(null)', 'Number(NaN)', 'Uuid(1)'])(
    '%s is not a valid one',
    async (address) => {
      const response = await remove(address);
      expect(response.statusCode).toBe(404);
      expect(response.json()).toMatchObject({ __ERROR: [{ errCode: 1543 }] });
    },
  );
});

describe('A parameter without a meaning for a deletion is refused:', () => {
  const all = '$filter=n>=0';
  it.each([
    ['$top=1', 1813],
    ['$top=0', 1813],
    ['$limit=5', 1813],
    ['$LIMIT=5', 1813],
    ['$skip=0', 1813],
    ['$orderby=n', 1813],
    ['$orderby=', 1813],
    ['$expand=up', 1813],
    ['$attributes=n', 1813],
    ['$timeout=5', 1813],
    ['$savedfilter=true', 1813],
    ['$savedorderby=n', 1813],
    ['$subOrderby=n', 1813],
    ['$logicOperator=AND', 1813],
    ['$otherCollection=x', 1813],
    ['$clean=true', 1813],
    ['$distinct=true', 1813],
    ['$compute=sum', 1813],
    ['$asArray=true', 1813],
    ['$queryplan=true', 1813],
    ['$querypath=true', 1813],
    ['$format=looker', 1813],
    ['$filter=n<0', 1806],
    ['$FILTER=n<0', 1806],
    ['$filtre=n<0', 1811],
    ['filter=n<0', 1811],
    ['key=1', 1811],
  ])('%s', async (parameter, code) => {
    await create(app, 'Integer', [{ n: 1, ID: 1 }]);
    for (const address of [`Integer?${all}&${parameter}`, `Integer?${parameter}&${all}`]) {
      const response = await remove(address);
      expect(response.statusCode, response.body).toBe(400);
      expect(response.json()).toMatchObject({ __ERROR: [{ errCode: code }] });
    }
    expect(await keysOf('Integer')).toEqual(['1']);
    // The defaults of parameters are accepted.
    const harmless =
      '$metadata=full&$version=2&$format=json&$clean=false&$timeout=0&$distinct=false';
    expect((await remove(`Integer?${all}&${harmless}`)).body).toBe('{"ok":true}');
  });

  it('also together with a key', async () => {
    await create(app, 'Integer', [{ n: 1, ID: 1 }]);
    for (const parameter of ['$filter=n=1', '$filter=', '$params=[1]', '$top=1', 'x=1']) {
      expect((await remove(`Integer(1)?${parameter}`)).statusCode, parameter).toBe(400);
    }
    expect((await remove('Integer(1)')).statusCode).toBe(200);
  });
});

describe('Nothing is deleted', () => {
  it.each([
    'Text?$filter=',
    'Text?$filter=%20',
    'Text?$filter=%22%22',
    "Text?$filter=''",
    'Text?$filter="%09"',
    'Text?$filter=()',
    'Text?$filter=order by ID',
    'Text?$filter=ID',
    'Text?$filter=1=1',
    'Text?$filter=true',
    'Text?$filter=ID = :1',
    'Text?$filter=none != 1',
    `Text?$filter=ID = 'x'; delete from Text`,
    'Text?$filter=eval(1)',
    'Text?$params=[1]',
    'Text',
    'Text/',
    'Text()',
    'Text(',
    'Text/ID',
    'Text(safe)/up',
    'Text:ID(safe)',
    'Text/$entityset/',
    'Text/$entityset/0',
    '$catalog',
    '',
  ])('by %s', async (address) => {
    await create(app, 'Text', [{ ID: 'safe' }]);
    const response = await remove(encodeURI(decodeURI(address)));
    expect(response.statusCode, response.body).toBeGreaterThanOrEqual(400);
    expectServed(response, address);
    expect(await keysOf('Text')).toEqual(['safe']);
    await remove('Text(safe)');
  });

  it('by another verb than POST or another $method', async () => {
    await create(app, 'Text', [{ ID: 'safe' }]);
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const) {
      for (const url of [
        '/rest/Text(safe)',
        '/rest/Text?$filter=ID=safe',
        '/rest/Text/$entityset/0',
      ]) {
        const separator = url.includes('?') ? '&' : '?';
        const response = await app.inject({ method, url: `${url}${separator}$method=delete` });
        expect(response.statusCode, `${method} ${url}`).toBe(405);
      }
    }
    for (const method of ['DELETE', 'drop', 'delete,update', 'remove', '']) {
      const response = await post(`/rest/Text(safe)?$method=${method}`);
      expect(response.statusCode, method).toBe(400);
    }
    for (const address of ['Text(safe)/ID', 'Text/ID', 'Text(safe)/none', 'Text/none']) {
      const response = await post(`/rest/${address}?$filter=ID=safe&$method=delete`);
      expect(response.statusCode, address).toBe(400);
      expect(response.body).toContain('$method=delete cannot be applied here.');
    }
    const crossSite = await app.inject({
      method: 'POST',
      url: '/rest/Text(safe)?$method=delete',
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(crossSite.statusCode).toBe(403);
    expect(await keysOf('Text')).toEqual(['safe']);
    await remove('Text(safe)');
  });
});

it('any key and any filter is served or refused', async () => {
  const text = fc.oneof(fc.string({ unit: anyCharacter }), fc.string());
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...kinds), fc.boolean(), text, async (kind, byKey, any) => {
      const written = encodeURIComponent(any.replace(/\p{Surrogate}/gu, ''));
      const address = byKey ? `${kind}(${written})` : `${kind}?$filter=${written}`;
      expectServed(await remove(address), address);
    }),
    { numRuns: 300 },
  );
});

it('Deletions and creations at the same time all succeed', async () => {
  const ids = Array.from({ length: 60 }, (_, n) => n);
  await create(
    app,
    'Integer',
    ids.map((ID) => ({ ID, n: ID % 3 })),
  );
  const requests = [
    ...ids.slice(0, 20).map((ID) => remove(`Integer(${ID})`)),
    remove('Integer?$filter=n=0'),
    ...ids.map((ID) => create(app, 'Integer', [{ ID: ID + 100, n: 5 }])),
    remove('Integer?$filter=n=1'),
  ];
  const answers = await Promise.all(requests);
  const statuses = answers.flatMap((each) => ('statusCode' in each ? [each.statusCode] : []));
  expect(statuses.every((status) => status === 200)).toBe(true);
  const left = await keysOf('Integer');
  expect(left.map(Number)).toEqual([
    ...ids.filter((ID) => ID >= 20 && ID % 3 === 2),
    ...ids.map((ID) => ID + 100),
  ]);
});
