import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';
import { aggregate, aggregatesModel } from './aggregates-model.js';

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(aggregatesModel);
  await create(app, 'Owner', [{ code: 'A', name: 'ann' }, { code: 'B' }]);
  await create(app, 'Thing', [
    {
      text: 'beta',
      indexedText: 'beta',
      number: 2,
      indexedNumber: 2,
      yes: true,
      day: '2020-01-02',
      data: { a: 1, list: ['x', 'X', null, 3, { y: 1 }], deep: [{ tag: 'p' }, { tag: 'q' }] },
      owner: 'A',
    },
    {
      text: 'Beta',
      indexedText: 'Beta',
      number: 1.5,
      indexedNumber: 1.5,
      yes: false,
      day: '1999-12-31',
      data: { a: '1', list: [], deep: [{ tag: ['r', 'p'] }] },
      owner: 'A',
    },
    {
      text: 'BETA',
      indexedText: 'BETA',
      number: 2,
      indexedNumber: 2,
      data: { a: true, list: 'x' },
    },
    { text: 'alpha', indexedText: 'alpha', data: { a: false }, owner: 'B' },
    { text: 'É', indexedText: 'É', data: { a: { b: 1 } } },
    { text: 'e\u0301', indexedText: 'e\u0301', data: { a: 1.0 } },
    { data: [{ a: 'x' }] },
    {},
  ]);
});
afterAll(() => app.close());

describe('$distinct', () => {
  it.each([
    // Equal but for case or composition: the first by code point.
    ['text', ['alpha', 'BETA', 'e\u0301']],
    ['indexedText', ['alpha', 'BETA', 'e\u0301']],
    ['number', [1.5, 2]],
    ['indexedNumber', [1.5, 2]],
    ['yes', [false, true]],
    ['day', ['31!12!1999', '2!1!2020']],
    ['half', [0.75, 1]],
    ['odd', []],
    ['shout', ['ALPHA', 'BETA', 'É'.normalize('NFD').toUpperCase()]],
    ['ownerName', ['ann']],
    ['owner.code', ['A', 'B']],
    ['__STAMP', [1]],
    ['data.a', [false, true, 1, '1']],
    ['data.list', [3, 'X']],
    ['data.list[]', [3, 'X']],
    ['data.deep[].tag', ['p', 'q', 'r']],
    ['data.deep.tag', []],
    ['data.missing', []],
  ])('answers for %s: %j', async (path, expected) => {
    const all = await aggregate(app, `Thing/${encodeURIComponent(path)}?$distinct=true`);
    expect(JSON.parse(all)).toEqual(expected);
    const paged = await aggregate(app, `Thing/${encodeURIComponent(path)}?$distinct=true&$top=5`);
    expect(paged).toBe(all);
    const second = `Thing/${encodeURIComponent(path)}?$distinct=true&$skip=1&$top=1`;
    expect(JSON.parse(await aggregate(app, second))).toEqual(expected.slice(1, 2));
  });
});

describe('$distinct', () => {
  it.each([
    ['Thing/text?$distinct=true&$filter=ID<3', ['Beta']],
    ['Thing/indexedText?$distinct=true&$filter=ID<3', ['Beta']],
    ["Thing/text?$distinct=true&$filter=owner.name='ann'", ['Beta']],
    ['Thing/text?$distinct=true&$filter=ID>99', []],
    ['Owner/things.number?$distinct=true', [1.5, 2]],
    ["Owner/things.text?$distinct=true&$filter=code='b'", ['alpha']],
    ['Owner(a)/things.number?$distinct=true&$skip=1', [2]],
    ['Thing/text?$distinct=true&$skip=9007199254740991', []],
  ])('answers the request %s with %j', async (address, expected) => {
    expect(JSON.parse(await aggregate(app, address))).toEqual(expected);
  });

  it('has no limit of its own, and the server\u2019s for $top', async () => {
    await create(
      app,
      'Owner',
      Array.from({ length: 150 }, (_, index) => ({ code: `more ${index}` })),
    );
    const all = JSON.parse(await aggregate(app, 'Owner/code?$distinct=true')) as unknown[];
    expect(all).toHaveLength(152);
    const refused = await app.inject('/rest/Owner/code?$distinct=true&$top=6');
    expect(refused.statusCode).toBe(400);
  });
});
