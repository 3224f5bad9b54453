import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { functionServer } from '../../support/function-server.js';

let app: FastifyInstance;

beforeAll(async () => {
  app = await functionServer();
});

afterAll(() => app.close());

type Answer = Awaited<ReturnType<FastifyInstance['inject']>>;

function post(url: string, body?: unknown, cookie?: string): Promise<Answer> {
  return app.inject({
    method: 'POST',
    url: encodeURI(url),
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    ...(cookie === undefined ? {} : { headers: { cookie } }),
  });
}

function get(url: string): Promise<Answer> {
  return app.inject({ method: 'GET', url: encodeURI(url) });
}

interface Body {
  readonly result?: unknown;
  readonly __ENTITIES?: readonly Record<string, unknown>[];
  readonly __ERROR?: readonly { readonly errCode: number; readonly message: string }[];
}

function codesOf(answer: Answer): unknown {
  return [answer.statusCode, ...(answer.json<Body>().__ERROR ?? []).map((each) => each.errCode)];
}

function keysOf(answer: Answer): unknown {
  return answer.json<Body>().__ENTITIES?.map((each) => each['__KEY']);
}

describe('A function', () => {
  it.each([
    ['of the datastore', '/rest/$catalog/größe', [], 4],
    ['of a dataclass', '/rest/Company/echo', [[1, { a: null }]], [1, { a: null }]],
    ['of all entities', '/rest/Company/totalRevenue', [], 1517.5],
    ['of an entity', '/rest/Company(2)/label', [], 'Bolt in Paris'],
    ['of a singleton', '/rest/$singleton/Clock/now', [], '1970-01-01T00:00:00.000Z'],
  ])('%s is called', async (_name, url, body, result) => {
    const answer = await post(url, body);
    expect([answer.statusCode, answer.json()]).toEqual([200, { result }]);
    expect((await get(url)).statusCode).toBe(200);
  });

  it('accepts arguments by POST and by GET', async () => {
    expect(keysOf(await post('/rest/Company/fromCity', ['PARIS']))).toEqual(['2', '3']);
    expect(keysOf(await post('/rest/Company/fromCity', { params: ['PARIS'] }))).toEqual(['2', '3']);
    expect(keysOf(await get(`/rest/Company/fromCity?$params='["PARIS"]'`))).toEqual(['2', '3']);
    expect((await post('/rest/Company/echo')).json()).toEqual({ result: null });
    const body = ['2026-01-02T03:04:05+01:00', ['2026-01-02']];
    expect((await post('/rest/Company/since', body)).json()).toEqual({
      result: { isDate: true, when: '2026-01-02T02:04:05.000Z', year: 2026, days: 1 },
    });
  });

  it.each([
    [['a'], [1, 'a']],
    [
      ['a', null],
      [2, 'a', null],
    ],
    [
      ['a', 'b'],
      [2, 'a', 'b'],
    ],
    [
      ['a', null, 'c'],
      [3, 'a', null, 'c'],
    ],
  ])('is called with as many arguments as are sent: %j', async (sent, result) => {
    expect((await post('/rest/Company/counted', sent)).json()).toEqual({ result });
    expect((await get(`/rest/Company/counted?$params='${JSON.stringify(sent)}'`)).json()).toEqual({
      result,
    });
  });

  it.each([
    ['too many', '/rest/Company/echo', [1, 2], [400, 1843]],
    ['too few', '/rest/Company/fromCity', [], [400, 1843]],
    ['of another type', '/rest/Company/fromCity', [1], [400, 1843]],
    ['no list', '/rest/Company/fromCity', { city: 'Paris' }, [400, 1843]],
  ])('refuses arguments that are %s', async (_name, url, body, codes) => {
    expect(codesOf(await post(url, body))).toEqual(codes);
  });

  it.each(['draft', 'names', 'names/$entityset/X', '$entityset/X/names'])(
    'is not called by GET unless the model allows it: %s',
    async (path) => {
      const answer = await get(`/rest/Company/${path}`);
      expect(codesOf(answer)).toEqual([405, 1829]);
      expect(answer.headers['allow']).toBe('POST');
    },
  );

  it.each([
    ['/rest/Company/notExposed', [404, 1500, 1804]],
    ['/rest/Company/nothing', [404, 1500, 1804]],
    ['/rest/Company(1)/nothing', [404, 1500, 1804]],
    ['/rest/$catalog/nothing', [404, 1827]],
    ['/rest/$singleton/Clock/hidden', [404, 1827]],
    ['/rest/$singleton/Clock/constructor', [404, 1827]],
    ['/rest/$singleton/Nothing/now', [404, 1827]],
    ['/rest/Company(9)/label', [404, 1543]],
    ['/rest/Company(x)/label', [404, 1543]],
  ])('is answered with 404 if it does not exist: %s', async (url, codes) => {
    expect(codesOf(await post(url, []))).toEqual(codes);
  });
});

describe('A function of a selection', () => {
  it('gets the entities of a filter', async () => {
    const filter = '$filter="city = paris"';
    expect((await post(`/rest/Company/names?${filter}&$orderby=name desc`)).json()).toEqual({
      result: ['Cargo', 'Bolt'],
    });
    expect((await post(`/rest/Company/names/$entityset/?${filter}`)).json()).toEqual({
      result: ['Bolt', 'Cargo'],
    });
    const placed = '$filter="revenue > :1"&$params=[0]';
    expect((await post(`/rest/Company/names?${placed}`)).json()).toEqual({
      result: ['Ärger', 'Bolt'],
    });
  });

  it('gets the members of a set, at both addresses', async () => {
    const made = await get(
      '/rest/Company?$filter="revenue > -5"&$method=entityset&$orderby=name desc',
    );
    const { __ENTITYSET: uri } = made.json<{ __ENTITYSET: string }>();
    const id = uri.slice(-32);
    for (const path of [`names/$entityset/${id}`, `$entityset/${id}/names`]) {
      expect((await post(`/rest/Company/${path}`)).json(), path).toEqual({
        result: ['Ärger', 'Cargo', 'Bolt'],
      });
    }
    expect(
      (await post(`/rest/Company/names/$entityset/${id}?$filter="revenue > 0"`)).json(),
    ).toEqual({
      result: ['Ärger', 'Bolt'],
    });
  });

  it.each([
    ['/rest/Company/names/$entityset/0123456789ABCDEF0123456789ABCDEF', [404, 1802]],
    ['/rest/Company/names?$filter=secret = 1', [400, 1500]],
    ['/rest/Company/names?$orderby=secret', [400, 1500, 1810]],
    ['/rest/Company/fromCity?$filter=city = 1', [400, 1806]],
    ['/rest/Company/names?$compute=sum', [400, 1813]],
    ['/rest/Company/names?$method=entityset', [400, 1813]],
    ['/rest/Company/names?$method=update', [400, 1813]],
    ['/rest/Company/names?$nothing=1', [400, 1811]],
  ])('refuses %s', async (url, codes) => {
    const found = codesOf(await post(url, url.includes('fromCity') ? ['Paris'] : [])) as number[];
    expect(found.slice(0, codes.length)).toEqual(codes);
  });

  it('returns a page, or a new set', async () => {
    const page = await get(
      '/rest/Company/itself?$filter="revenue > -5"&$top=1&$skip=1&$attributes=name',
    );
    expect(page.json()).toMatchObject({
      __entityModel: 'Company',
      __COUNT: 3,
      __SENT: 1,
      __FIRST: 1,
      __ENTITIES: [{ __KEY: '2', name: 'Bolt' }],
    });
    const set = await get('/rest/Company/itself?$orderby=name desc&$method=entityset');
    const body = set.json<{ __ENTITYSET: string }>();
    expect(Object.keys(body).slice(0, 2)).toEqual(['__ENTITYSET', '__DATACLASS']);
    expect(keysOf(await get(body.__ENTITYSET))).toEqual(['1', '4', '3', '2']);
  });
});

describe('Entities as arguments', () => {
  const mark = { __DATACLASS: 'Employee', __ENTITY: true };

  it('are new in memory, and only the function saves them', async () => {
    const hired = await post('/rest/Company(2)/hire?$attributes=lastName,employer', [
      { ...mark, lastName: 'Lovelace', salary: 5 },
    ]);
    const body = hired.json<Record<string, unknown>>();
    expect(Object.keys(body)).toEqual([
      '__DATACLASS',
      '__entityModel',
      '__KEY',
      '__TIMESTAMP',
      '__STAMP',
      'lastName',
      'employer',
    ]);
    expect(body).toMatchObject({
      __DATACLASS: 'Employee',
      __entityModel: 'Employee',
      __STAMP: 1,
      employer: { __deferred: { uri: '/rest/Company(2)', __KEY: '2' } },
    });
    const count = async (): Promise<unknown> =>
      (await get('/rest/Employee?$top=0')).json<{ __COUNT: number }>().__COUNT;
    const before = await count();
    const unsaved = await post('/rest/Company(2)/hire', [{ ...mark, lastName: 'Unsaved' }]);
    expect(unsaved.json()).toEqual({
      __DATACLASS: 'Employee',
      __entityModel: 'Employee',
      __KEY: null,
      __TIMESTAMP: null,
      __STAMP: 0,
      ID: null,
      firstName: null,
      lastName: 'Unsaved',
      salary: null,
      employer: { __deferred: { uri: '/rest/Company(2)', __KEY: '2' } },
    });
    expect(await count()).toBe(before);
  });

  it('exist, with the attributes of the client applied, and the stamp that the client knows', async () => {
    const made = await post('/rest/Employee?$method=update', { lastName: 'Byron', salary: 1 });
    const { __KEY: key } = made.json<{ __KEY: string }>();
    const hire = (sent: object): Promise<Answer> =>
      post('/rest/Company(1)/hire', [{ ...mark, __KEY: key, ...sent }]);
    const hired = await hire({ salary: 7, __STAMP: 1 });
    expect(hired.json()).toMatchObject({ __KEY: key, __STAMP: 2, salary: 7, lastName: 'Byron' });
    // Another client saved it meanwhile: the save of the function is refused, and reported like any
    // other.
    expect(codesOf(await hire({ salary: 8, __STAMP: 1 }))).toEqual([409, 1263, 1046, 1517]);
    // Not saved: the values that were read, with the changes.
    const shown = await hire({ lastName: 'Unsaved', salary: 9, employer: { __KEY: 3 } });
    expect(shown.json()).toMatchObject({ __KEY: key, __STAMP: 2, salary: 9, lastName: 'Unsaved' });
    expect((await get(`/rest/Employee(${key})`)).json()).toMatchObject({ salary: 7 });
  });

  it.each<[string, object, readonly number[]]>([
    ['no mark', { __DATACLASS: 'Employee' }, [400, 1843]],
    ['another dataclass', { __DATACLASS: 'Company', __ENTITY: true }, [400, 1843]],
    ['no dataclass', { __ENTITY: true }, [400, 1843]],
    ['an unknown key', { ...mark, __KEY: '0'.repeat(32) }, [404, 1542]],
    ['what can be no key', { ...mark, __KEY: { a: 1 } }, [404, 1542]],
    ['an unknown attribute', { ...mark, nothing: 1 }, [400, 1500]],
    ['a hidden attribute', { ...mark, employerID: 1 }, [400, 1500]],
    ['a value of another type', { ...mark, salary: 'x' }, [422, 1569]],
    ['a relation to nothing', { ...mark, employer: { __KEY: 99 } }, [404, 1542]],
  ])('are refused with %s', async (_name, sent, codes) => {
    expect(codesOf(await post('/rest/Company(1)/hire', [sent]))).toEqual(codes);
  });

  it('are refused with another value of a read-only attribute', async () => {
    const set = await get('/rest/Company?$method=entityset&$filter="ID = 1"');
    const { __ENTITYSET: uri } = set.json<{ __ENTITYSET: string }>();
    const of = { __DATASET: uri.slice(-32), __ENTITIES: true };
    const sent = { __DATACLASS: 'Company', __ENTITY: true, __KEY: '1' };
    const both = (rating: number): Promise<Answer> =>
      post('/rest/Company/both', [[{ ...sent, rating }], of]);
    expect((await both(3)).statusCode).toBe(200);
    expect(codesOf(await both(4))).toEqual([422, 1569]);
  });

  it('include lists and selections, also inside results', async () => {
    const set = await get('/rest/Company?$method=entityset&$filter="ID <= 2"&$orderby=ID desc');
    const { __ENTITYSET: uri } = set.json<{ __ENTITYSET: string }>();
    const of = { __DATASET: uri.slice(-32), __ENTITIES: true };
    const list = [
      { __DATACLASS: 'Company', __ENTITY: true, __KEY: 2 },
      { __DATACLASS: 'Company', __ENTITY: true, name: 'New' },
      { __DATACLASS: 'Company', __ENTITY: true, __KEY: 1, city: 'Rome' },
    ];
    const answer = await post('/rest/Company/both?$attributes=name,city', [list, of]);
    expect(answer.json()).toMatchObject({
      result: {
        list: [
          { __KEY: '2', name: 'Bolt', city: 'Paris' },
          { __KEY: null, name: 'New', city: null },
          { __KEY: '1', name: 'Ärger', city: 'Rome' },
        ],
        of: { __COUNT: 2, __ENTITIES: [{ __KEY: '2' }, { __KEY: '1' }] },
        names: ['Bolt', 'Ärger'],
      },
    });
    const modified = await post('/rest/Company/both', [[], { ...of, name: 'Same' }]);
    expect(modified.json()).toMatchObject({ result: { names: ['Same', 'Same'] } });
    expect((await get('/rest/Company(1)')).json()).toMatchObject({ name: 'Ärger' });
    const unknown = { ...of, __DATASET: 'X' };
    expect(codesOf(await post('/rest/Company/both', [[], unknown]))).toEqual([404, 1802]);
  });

  it('have their defaults and no hidden attributes if they are new', async () => {
    const draft = await post('/rest/Company/draft', ['Later']);
    expect(draft.json()).toMatchObject({
      __KEY: null,
      name: 'Later',
      founded: '2020-02-03',
      rating: 3,
    });
    expect(draft.body).not.toContain('secret');
    const part = await post('/rest/Company/draft?$attributes=name', ['Later']);
    expect(Object.keys(part.json<object>())).not.toContain('rating');
  });
});

describe('A message', () => {
  it.each([
    ['text', 200, 'text/plain; charset=utf-8', 'é'],
    ['json', 201, 'application/json; charset=utf-8', '{"a":"1970-01-01T00:00:00.000Z"}'],
    ['bytes', 200, 'application/octet-stream', '\u0001\u0002'],
    ['stream', 200, 'text/csv', 'ab'],
    ['web', 200, 'application/octet-stream', 'web'],
    ['iterable', 200, 'application/octet-stream', 'ab'],
    ['empty', 204, undefined, ''],
  ])('is sent for a result of the kind %s', async (what, status, type, body) => {
    const answer = await post('/rest/Company/sends', [what]);
    expect([answer.statusCode, answer.headers['content-type'], answer.body]).toEqual([
      status,
      type,
      body,
    ]);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['cache-control']).toBe(what === 'stream' ? 'max-age=5' : 'no-store');
  });

  it.each([
    'broken',
    'header',
    'none',
    'object',
    'web objects',
    'destroyed',
    'iterable of objects',
    'selection',
    'session',
    'pattern',
    'error',
  ])('is a mistake of the code if it cannot be sent: %s', async (what) => {
    expect(codesOf(await post('/rest/Company/sends', [what]))).toEqual([500, 1837]);
  });

  it.each([
    ['long text', 413],
    ['many bytes', 413],
    ['long stream', 200],
  ])(
    'is refused if it is larger than TRANSFER_MEMORY, unless it is a stream: %s',
    async (what, status) => {
      const sizes = { BODY_SIZE: '40000', UPLOAD_SIZE: '40000', TRANSFER_MEMORY: '40000' };
      const small = await functionServer({ environment: sizes });
      const payload = JSON.stringify([what]);
      const answer = await small.inject({ method: 'POST', url: '/rest/Company/sends', payload });
      await small.close();
      expect(answer.statusCode).toBe(status);
      if (status === 413) expect(codesOf(answer)).toEqual([413, 1834]);
      else expect(answer.body).toHaveLength(40_001);
    },
  );

  it.each(['text', 'stream', 'endless'])(
    'is sent without its body for a HEAD: %s',
    async (what) => {
      const url = encodeURI(`/rest/Company/sends?$params=["${what}"]`);
      const answer = await app.inject({ method: 'HEAD', url });
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
    },
  );
});

it.each(['$attributes=nothing', '$expand=name', '$attributes=secret'])(
  'A function does not run for an answer that is impossible: %s',
  async (list) => {
    const person = { __DATACLASS: 'Employee', __ENTITY: true, lastName: 'Nobody' };
    const hired = await post(`/rest/Company(1)/hire?${list}`, [person]);
    expect(hired.statusCode).toBe(400);
    const found = await get('/rest/Employee?$filter="lastName = Nobody"');
    expect(found.json()).toMatchObject({ __COUNT: 0 });
  },
);

describe('An error that a function throws', () => {
  it.each([
    ['rest', [418, 7]],
    ['save', [422, 1534]],
    ['query', [500, 1837]],
    ['status', [500, 1837]],
    ['text', [500, 1837]],
    ['nothing', [500, 1837]],
    ['sync', [500, 1837]],
    ['circle', [500, 1837]],
    ['unreadable', [500, 1837]],
    ['handles', [500, 1837]],
    ['media', [500, 1837]],
    ['entity', [500, 1837]],
    ['else', [500, 1837]],
  ])('is answered: %s', async (how, codes) => {
    const answer = await post('/rest/Company/fails', [how]);
    const found = codesOf(answer) as number[];
    expect(found[0]).toBe(codes[0]);
    if (how !== 'save') expect(found).toEqual(codes);
    expect(answer.body).not.toContain('leaked');
  });

  it('is logged with the request that the answer names', async () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => lines.push(line) };
    const logged = await functionServer({ logger: { level: 'error', stream } });
    const answer = await logged.inject({
      method: 'POST',
      url: '/rest/Company/fails',
      payload: '["else"]',
    });
    await logged.close();
    const [message = ''] = answer.json<Body>().__ERROR?.map((each) => each.message) ?? [];
    const [, id] = /request (\S+)\.$/.exec(message) ?? [];
    const log = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(log).toHaveLength(1);
    expect(log[0]).toMatchObject({ reqId: id });
    expect(JSON.stringify(log[0])).toMatch(/TypeError: leaked.*classes\/Company\.js/u);
  });

  it('includes a result of another type, and a stub without code', async () => {
    expect(codesOf(await post('/rest/Company/wrong'))).toEqual([500, 1837]);
    const unwritten = await post('/rest/Company/unwritten');
    expect(codesOf(unwritten)).toEqual([501, 1838]);
    expect(unwritten.body).toContain('src/classes/Company.ts');
  });

  it('does not come if the function never returns, which delays nobody else', async () => {
    void post('/rest/Company/hangs').catch(() => undefined);
    expect((await post('/rest/Company/names')).statusCode).toBe(200);
  });
});

describe('Singletons and sessions:', () => {
  it('a singleton of the process counts, one call after the other', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post('/rest/$singleton/Counter/next')));
    const counts = answers.map((each) => each.json<{ result: number }>().result);
    expect(counts.toSorted()).toEqual([1, 2, 3]);
  });

  it('a function is not run for a set that it does not return', async () => {
    const count = async (): Promise<number> =>
      (await post('/rest/$singleton/Counter/next')).json<{ result: number }>().result;
    const before = await count();
    const refused = await post('/rest/$singleton/Counter/next?$method=entityset');
    expect(codesOf(refused)).toEqual([400, 1813]);
    expect(await count()).toBe(before + 1);
  });

  it('a singleton of a session is found by the cookie', async () => {
    const first = await post('/rest/$singleton/Cart/add', ['a']);
    const cookie = String(first.headers['set-cookie']).split(';')[0];
    const second = await post('/rest/$singleton/Cart/add', ['b'], cookie);
    expect(second.json()).toEqual({ result: ['a', 'b'] });
    expect((await post('/rest/$singleton/Cart/add', ['c'])).json()).toEqual({ result: ['c'] });
  });

  it('a function logs its session in, and the answer contains the cookie', async () => {
    const wrong = await post('/rest/$catalog/authentify', ['mia', 'wrong']);
    expect([wrong.json(), wrong.headers['set-cookie']]).toEqual([{ result: '' }, undefined]);
    const right = await post('/rest/$catalog/authentify', ['mia', 'right']);
    expect(right.json()).toEqual({ result: 'mia' });
    expect(String(right.headers['set-cookie'])).toContain('HttpOnly');
  });
});

describe('An image', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d', 'hex');

  it('is sent as it is', async () => {
    expect((await get('/rest/Company(4)/picture')).rawPayload).toHaveLength(0);
    const url = '/rest/Company(1)/logo?$rawPict=true';
    expect((await app.inject({ method: 'POST', url, payload: png })).statusCode).toBe(200);
    const answer = await get('/rest/Company(1)/picture');
    expect(answer.headers['content-type']).toBe('image/png');
    expect(answer.rawPayload).toEqual(png);
  });
});

describe('The catalog', () => {
  it('lists the functions that can be called', async () => {
    const catalog = (await get('/rest/$catalog')).json<Record<string, unknown>>();
    expect(catalog).toMatchObject({
      methods: [
        {
          name: 'authentify',
          applyTo: 'dataStore',
          scope: 'public',
          from: 'remoteServer',
          allowedOnHTTPGET: false,
          exposed: true,
        },
        { name: 'größe', allowedOnHTTPGET: true },
      ],
      singletons: [
        { name: 'Clock', methods: [{ name: 'now', allowedOnHTTPGET: true, exposed: true }] },
        { name: 'Counter' },
        { name: 'Cart' },
      ],
    });
    const all = (await get('/rest/$catalog/Company')).json<{ methods: { name: string }[] }>();
    expect(all.methods.map((each) => each.name)).not.toContain('notExposed');
    expect(all.methods).toContainEqual({
      name: 'totalRevenue',
      applyTo: 'entitySelection',
      scope: 'public',
      from: 'remoteServer',
      allowedOnHTTPGET: true,
      exposed: true,
      params: [],
      returns: { type: 'number' },
    });
  });
});
