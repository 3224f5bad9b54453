import { parse } from 'fast-querystring';
import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { knownQuery, parseQuery, type Query } from '../../../runtime/http/known-queries.js';
import { askedAgain } from '../../support/asked-again.js';
import { serverOf } from '../../support/server.js';

describe('parseQuery', () => {
  const pieces = fc.constantFrom('a', '$top', '=', '&', '%20', '%zz', '+', '1', ';', '__proto__');
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces).map((list) => list.join('')),
  );

  it('gives what Fastify would, however often', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (let count = 0; count < 3; count += 1) {
          expect({ ...parseQuery(text) }).toEqual({ ...parse(text) });
        }
      }),
    );
  });

  it('knows what has come before', () => {
    const [first, second, third] = [1, 2, 3].map(() => parseQuery('one=memory'));
    expect(knownQuery(first ?? {})).toBeUndefined();
    expect(knownQuery(second ?? {})).toBeDefined();
    expect(knownQuery(third ?? {})).toBe(knownQuery(second ?? {}));
  });

  it.each([
    ['another value', (query: Query) => (query['a'] = '2')],
    ['one more', (query: Query) => (query['b'] = '1')],
    ['one more without a value', (query: Query) => (query['b'] = undefined)],
    ['one less', (query: Query) => delete query['a']],
    ['another in its place', (query: Query) => delete query['a'] && (query['b'] = '1')],
  ])('knows none that somebody has changed: %s', (_, change) => {
    for (let count = 0; count < 4; count += 1) {
      const query = parseQuery('a=1');
      change(query);
      expect(knownQuery(query)).toBeUndefined();
    }
    const query = parseQuery('a=1');
    expect({ ...query }).toEqual({ a: '1' });
    expect(knownQuery(query)).toBeDefined();
  });

  it('gives nothing but what was sent, and lists that nobody else has', () => {
    for (let count = 0; count < 4; count += 1) {
      const query = parseQuery('a=1&a=2');
      expect(Reflect.ownKeys(query)).toEqual(['a']);
      (query['a'] as string[]).push('3');
      expect(Reflect.ownKeys(parseQuery('b=1'))).toEqual(['b']);
      expect(parseQuery('b=1')['constructor']).toBeUndefined();
      expect('toString' in parseQuery('b=1')).toBe(false);
    }
  });

  it('does not take a copy for the query itself', () => {
    for (let count = 0; count < 4; count += 1) {
      expect(knownQuery({ ...parseQuery('a=copy') })).toBeUndefined();
    }
  });
});

describe('requests that come again', () => {
  const model = `
drs: 1
name: again
dataclasses:
  Thing:
    attributes:
      ID: { type: integer, key: true }
      name: string
      size: integer
`;
  let app: FastifyInstance;

  beforeEach(async () => {
    app = await serverOf(model);
    app.addHook('preValidation', (request, _reply, done) => {
      const query = request.query as Record<string, unknown>;
      if (query['$limit'] === 'one') request.query = { ...query, $limit: '1' };
      if (query['$limit'] === 'in place') query['$limit'] = '1';
      done();
    });
    await save({ ID: 1, name: 'a', size: 1 });
    await save({ ID: 2, name: 'b', size: 2 });
  });

  afterEach(async () => {
    await app.close();
  });

  async function save(entity: object): Promise<void> {
    const url = '/rest/Thing?$method=update';
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload: entity });
    expect(statusCode, body).toBe(200);
  }

  async function names(query: string): Promise<readonly [number, readonly string[]]> {
    const { body } = await app.inject({ url: `/rest/Thing${query}` });
    const { __COUNT, __ENTITIES } = JSON.parse(body) as {
      readonly __COUNT: number;
      readonly __ENTITIES: readonly { readonly name: string }[];
    };
    return [__COUNT, __ENTITIES.map(({ name }) => name)];
  }

  it.each([
    ['', 3, ['a', 'b', 'c']],
    ['?$top=2', 3, ['a', 'b']],
    ['?$skip=1&$orderby=size DESC', 3, ['b', 'a']],
    ['?$filter="size>1"', 2, ['b', 'c']],
    ['?$filter="size>:1"&$params="[1]"&$attributes=name', 2, ['b', 'c']],
  ])('%s: sees what was saved meanwhile', async (query, count, found) => {
    const before = await names(query);
    for (let times = 0; times < 3; times += 1) expect(await names(query)).toEqual(before);
    await save({ ID: 3, name: 'c', size: 3 });
    for (let times = 0; times < 3; times += 1) expect(await names(query)).toEqual([count, found]);
  });

  it.each([
    ['/rest/Thing?$top=x', 400],
    ['/rest/Thing?$top=1&$top=2', 400],
    ['/rest/Thing?$filter=%zz', 400],
    ['/rest/Thing?$nothing=1', 400],
    ['/rest/Thing?$filter="nothing=1"', 400],
    ['/rest/Thing?$lock=true', 400],
    ['/rest/Thing(1)?$attributes=name', 200],
    ['/rest/Thing(9)?$attributes=name', 404],
    ['/rest/Thing/name?$top=1', 200],
    ['/rest/Thing?$queryplan=true&$filter="size=1"', 200],
    ['/rest/Thing?$asArray=true', 200],
  ])('%s: %i, and the same again', async (url, status) => {
    const { statusCode } = await askedAgain(app, url);
    expect(statusCode).toBe(status);
  });

  it('gives the routes of others a query that their schema may change', async () => {
    const own = await serverOf(model);
    const properties = { size: { type: 'integer', default: 5 }, isNew: { type: 'boolean' } };
    const schema = { querystring: { type: 'object', properties } };
    own.get('/own', { schema }, (request) => request.query);
    for (let times = 0; times < 4; times += 1) {
      for (const [query, expected] of [
        ['?size=7', { size: 7 }],
        ['', { size: 5 }],
        ['?isNew=true', { size: 5, isNew: true }],
      ] as const) {
        const { statusCode, body } = await own.inject({ url: `/own${query}` });
        expect([statusCode, JSON.parse(body)]).toEqual([200, expected]);
      }
    }
    await own.close();
  });

  it('answers what a hook has made of the query', async () => {
    for (let times = 0; times < 3; times += 1) {
      expect(await names('?$limit=one')).toEqual([2, ['a']]);
      expect(await names('?$limit=in%20place')).toEqual([2, ['a']]);
      expect(await names('?$limit=2')).toEqual([2, ['a', 'b']]);
    }
  });
});

it('arguments of a GET are new ones for each call', async () => {
  const app = await serverOf(
    `
drs: 1
name: arguments
dataclasses:
  Thing:
    attributes:
      ID: { type: integer, key: true }
    functions:
      dataclass:
        grown: { exposed: true, onHTTPGet: true, params: { list: any }, returns: integer }
`,
    {},
    {
      'src/classes/Thing.ts': `import { ThingBase } from '../generated/api.js';

export class Thing extends ThingBase {
  grown(list: any): number {
    list.push(0);
    return list.length;
  }
}
`,
    },
  );
  try {
    for (let times = 0; times < 4; times += 1) {
      const { body } = await app.inject({ url: '/rest/Thing/grown?$params=[[1,2]]' });
      expect(JSON.parse(body)).toEqual({ result: 3 });
    }
  } finally {
    await app.close();
  }
});
