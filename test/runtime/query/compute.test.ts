import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';
import { aggregate, aggregatesModel } from './aggregates-model.js';

const largest = Number.MAX_SAFE_INTEGER;

let app: FastifyInstance;
const statements: string[] = [];

beforeAll(async () => {
  app = await serverOf(aggregatesModel, { onStatement: (sql) => statements.push(sql) });
  await create(app, 'Owner', [{ code: 'A', name: 'ann' }, { code: 'B' }]);
  await create(app, 'Thing', [
    {
      text: 'beta',
      indexedText: 'É',
      token: '0'.repeat(31) + 'B',
      number: 1.5,
      indexedNumber: 3,
      whole: 1,
      yes: true,
      day: '2020-01-02',
      instant: '2020-01-02T03:04:05Z',
      time: 60_000,
      data: { a: 1, mixed: true, list: [{ x: 3 }, { x: 4 }, {}], 'odd name': 7, text: 'b' },
      owner: 'A',
    },
    {
      text: 'Alpha',
      indexedText: 'é',
      token: '0'.repeat(31) + 'A',
      number: 2,
      indexedNumber: -1,
      whole: 0,
      yes: false,
      day: '1999-12-31',
      instant: '1999-12-31T00:00:00Z',
      time: 1,
      data: { a: 2.5, mixed: 'Text', list: [{ x: 5 }], text: 'B' },
      owner: 'A',
      parent: 1,
    },
    { text: 'alpha', whole: 7, data: { a: null, mixed: 9, list: {} }, owner: 'B', parent: 1 },
    { text: '"quoted"\u2028', data: [1, 2], parent: 2 },
    {},
  ]);
});
afterAll(() => app.close());

describe('$compute=$all', () => {
  it.each([
    ['text', '{"count":4,"min":"\\"quoted\\"\u2028","max":"beta"}'],
    ['indexedText', '{"count":2,"min":"É","max":"É"}'],
    ['token', `{"count":2,"min":"${'0'.repeat(31)}A","max":"${'0'.repeat(31)}B"}`],
    ['number', '{"count":2,"sum":3.5,"average":1.75,"min":1.5,"max":2}'],
    ['indexedNumber', '{"count":2,"sum":2,"average":1,"min":-1,"max":3}'],
    ['whole', '{"count":3,"sum":8,"average":2.6666666666666665,"min":0,"max":7}'],
    ['yes', '{"count":2,"min":false,"max":true}'],
    ['day', '{"count":2,"min":"31!12!1999","max":"2!1!2020"}'],
    ['instant', '{"count":2,"min":"1999-12-31T00:00:00.000Z","max":"2020-01-02T03:04:05.000Z"}'],
    ['time', '{"count":2,"sum":60001,"average":30000.5,"min":1,"max":60000}'],
    ['half', '{"count":2,"sum":1.75,"average":0.875,"min":0.75,"max":1}'],
    ['shout', '{"count":4,"min":"\\"QUOTED\\"\u2028","max":"BETA"}'],
    ['ownerName', '{"count":2,"min":"ann","max":"ann"}'],
    ['owner.name', '{"count":2,"min":"ann","max":"ann"}'],
    ['__STAMP', '{"count":5,"sum":5,"average":1,"min":1,"max":1}'],
    ['__KEY', '{"count":5,"sum":15,"average":3,"min":1,"max":5}'],
    ['data.a', '{"count":2,"sum":3.5,"average":1.75,"min":1,"max":2.5}'],
    ['data.text', '{"count":2,"sum":0,"average":null,"min":"B","max":"B"}'],
    ['data.mixed', '{"count":3,"sum":9,"average":9,"min":true,"max":"Text"}'],
    ['data.list', '{"count":3,"sum":0,"average":null,"min":null,"max":null}'],
    ['data.list.length', '{"count":2,"sum":4,"average":2,"min":1,"max":3}'],
    ['data.list[].x', '{"count":3,"sum":12,"average":4,"min":3,"max":5}'],
    ['data[]', '{"count":2,"sum":3,"average":1.5,"min":1,"max":2}'],
    ['data.odd name', '{"count":1,"sum":7,"average":7,"min":7,"max":7}'],
    ['data.missing.way', '{"count":0,"sum":0,"average":null,"min":null,"max":null}'],
  ])('answers for %s: %s', async (path, expected) => {
    const address = `Thing/${encodeURIComponent(path)}?$compute=$all`;
    expect(await aggregate(app, address)).toBe(`{${JSON.stringify(path)}:${expected}}`);
  });

  it('has the same values as each keyword alone', async () => {
    const paths = ['text', 'number', 'day', 'yes', 'data.mixed', 'indexedText'];
    for (const path of paths) {
      const all = JSON.parse(await aggregate(app, `Thing/${path}?$compute=$all`)) as Readonly<
        Record<string, Readonly<Record<string, unknown>>>
      >;
      for (const [keyword, value] of Object.entries(all[path] ?? {})) {
        const single = await aggregate(app, `Thing/${path}?$compute=${keyword}`);
        expect(JSON.parse(single), `${path} ${keyword}`).toEqual(value);
      }
    }
  });

  it('does not count a value that an entity shows as null', async () => {
    expect(await aggregate(app, 'Thing/odd?$compute=count')).toBe('0');
    expect(await aggregate(app, 'Thing/truth?$compute=$all')).toBe(
      '{"truth":{"count":2,"min":false,"max":true}}',
    );
    expect(await aggregate(app, 'Thing/parsed.x?$compute=count')).toBe('0');
  });
});

describe('$compute', () => {
  it.each([
    ['Thing/number?$compute=sum&$filter=ID<3', '3.5'],
    ["Thing/text?$compute=min&$filter=text begin 'A'", '"Alpha"'],
    ["Thing/text?$compute=max&$filter=text begin 'A'", '"Alpha"'],
    ["Thing/text?$compute=min&$filter=owner.name='ann'", '"Alpha"'],
    ['Thing/text?$compute=min&$filter=ID > 99999', 'null'],
    ['Owner/things.whole?$compute=sum', '8'],
    ["Owner/things.whole?$compute=sum&$filter=name='ann'", '1'],
    ['Thing/owner.things.whole?$compute=count&$filter=ID<4', '3'],
    ['Thing/children.children.text?$compute=count&$filter=ID=1', '1'],
    ['Thing/children.owner.name?$compute=count&$filter=ID=1', '1'],
    ['Owner(a)/things.whole?$compute=sum', '1'],
    ['Owner(A)/things.children.whole?$compute=sum', '7'],
    ['Owner(A)/things.whole?$compute=max&$filter=text=null', 'null'],
    ['Owner(B)/things.indexedText?$compute=min', 'null'],
  ])('answers the request %s with %s', async (address, expected) => {
    expect(await aggregate(app, address)).toBe(expected);
  });

  it('runs one statement, which is compiled once for each shape', async () => {
    for (const path of ['text', 'number', 'data.mixed', 'children.text', 'owner.name']) {
      statements.length = 0;
      await aggregate(app, `Thing/${path}?$compute=$all&$filter=ID>1`);
      await aggregate(app, `Thing/${path}?$compute=$all&$filter=ID>2`);
      expect(statements).toHaveLength(2);
      expect(statements[0]).toBe(statements[1]);
    }
  });
});

describe('$compute of large numbers:', () => {
  let large: FastifyInstance;

  beforeAll(async () => {
    large = await serverOf(aggregatesModel);
    const wholes = Array.from({ length: 1_100 }, () => ({ whole: largest }));
    await create(large, 'Thing', wholes);
    await create(large, 'Thing', [
      { number: 1.7e308, data: { n: 1e308 } },
      { number: 1.7e308, data: { n: 1e308 } },
    ]);
  });
  afterAll(() => large.close());

  it('a sum beyond 64 bits is a number', async () => {
    const sum = Number(await aggregate(large, 'Thing/whole?$compute=sum'));
    expect(sum / (1_100 * largest)).toBeCloseTo(1, 12);
    const average = Number(await aggregate(large, 'Thing/whole?$compute=average'));
    expect(average / largest).toBeCloseTo(1, 12);
  });

  it('a sum within 53 bits is exact', async () => {
    const sum = await aggregate(large, 'Thing/whole?$compute=sum&$filter=ID=1');
    expect(sum).toBe(String(largest));
    const average = await aggregate(large, 'Thing/whole?$compute=average&$filter=ID=1');
    expect(average).toBe(String(largest));
  });

  it('a sum that is not a number is null', async () => {
    expect(await aggregate(large, 'Thing/number?$compute=$all')).toBe(
      '{"number":{"count":2,"sum":null,"average":null,"min":1.7e+308,"max":1.7e+308}}',
    );
    expect(await aggregate(large, 'Thing/data.n?$compute=sum')).toBe('null');
  });
});
