import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../support/long.js';
import { modelFile } from '../support/model-file.js';
import { create, isOnPostgres, modelOf, serverOf } from '../support/server.js';
import { codesOf, expectServed } from '../support/expect-served.js';
import { anyCharacter } from '../support/any-character.js';

const model = modelFile('staff');
let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  await create(app, 'Company', [
    { name: 'first', extra: { a: { b: [1, 'x', null, [2]] }, length: [] } },
    { name: 'second', extra: [{ a: 1 }] },
  ]);
  await create(app, 'Employee', [{ ID: '1'.repeat(32), lastName: 'one', employer: 1 }]);
});
afterAll(() => app.close());

const piece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...['.', '[]', '[', ']', ',', '*', '{2}', ' ', '%']) },
  fc.constantFrom(
    ...model.dataclasses.flatMap((each) => each.attributes.map(({ name }) => name)),
    ...['__KEY', '__STAMP', '__TIMESTAMP', '__proto__', 'a', 'b', 'length', "'", '"', '\0', '$'],
  ),
  fc.string({ maxLength: 3, unit: anyCharacter }),
);
const path = fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(''));
const asked = fc.constantFrom(
  ...['$all', 'count', 'sum', 'average', 'min', 'max', 'AVG', ''].map((each) => `$compute=${each}`),
  ...['', '&$top=2', '&$skip=1&$top=1', '&$top=-1', '&$filter=ID=1'].map(
    (each) => `$distinct=true${each}`,
  ),
);
const address = fc.constantFrom('Company/', 'Employee/', 'Company(1)/', 'Note/', 'Company/extra');

it('Any path in an aggregate is answered or refused', async () => {
  await fc.assert(
    fc.asyncProperty(address, path, asked, async (start, text, query) => {
      const encoded = encodeURIComponent(Buffer.from(text).toString());
      const url = `/rest/${start}${encoded}?${query}`;
      expectServed(await app.inject(url), url);
    }),
    { numRuns: sampled(3_000) },
  );
});

const terms = fc
  .array(
    fc.oneof(
      piece,
      fc.constantFrom(
        ...['count', 'sum(', 'MAX(', ')', ':month', ':', ' desc', ',', '(', 'eval(', '[count]'],
        ...[
          '=',
          '>',
          ':1',
          " 'x'",
          ' and ',
          ' not ',
          ' in [',
          ' null',
          'city',
          'salary',
          'founded',
        ],
      ),
    ),
    { maxLength: 9 },
  )
  .map((pieces) => pieces.join(''));

it('Any text in a parameter of groups is answered or refused', async () => {
  const values = fc.record({
    $groupby: fc.oneof(terms, fc.constantFrom('city', 'lastName', 'extra.a', '__KEY')),
    $compute: fc.oneof(terms, fc.constant('count')),
    $having: fc.oneof(terms, fc.constant('count > 0')),
    $orderby: fc.oneof(terms, fc.constant('count')),
  });
  await fc.assert(
    fc.asyncProperty(address, values, async (start, parameters) => {
      const query = Object.entries(parameters).map(
        ([name, value]) => `${name}=${encodeURIComponent(Buffer.from(value).toString())}`,
      );
      const url = `/rest/${start.replace(/\/$/, '')}?$params=[1]&${query.join('&')}`;
      expectServed(await app.inject(url), url);
    }),
    { numRuns: sampled(3_000) },
  );
});

it('Values in $having stay values in statements', async () => {
  for (const value of [`x' or '1'='1`, '"', "'; drop table Company; --", '%', '\u2028', '\\']) {
    const query = new URLSearchParams({
      $groupby: 'name',
      $having: 'name = :1 or max(name) = :1 or name in :2',
      $params: JSON.stringify([value, [value]]),
    });
    const response = await app.inject(`/rest/Company?${query.toString()}`);
    expect(response.json(), value).toMatchObject({ __COUNT: 0, __GROUPS: [] });
  }
});

it('Attributes that are called like functions and words are keys and values', async () => {
  const words = ['count', 'sum', 'and', 'desc', 'eval', 'year', 'not'];
  const attributes = words.map((each) => `      ${each}: integer`).join('\n');
  const text = `drs: 1\nname: words\ndataclasses:\n  Word:\n    attributes:\n      ID: { type: integer, key: true }\n${attributes}\n`;
  const served = await serverOf(modelOf(text));
  await create(served, 'Word', [{ ID: 1, count: 7, sum: 8, and: 9, desc: 1, eval: 2, not: 3 }]);
  const query = new URLSearchParams({
    $groupby: '[count],sum,and,desc,eval,not',
    $compute: 'count,count(count),sum(sum),max([count]),max(year)',
    $having:
      'count = 1 and [count] = 7 and sum(sum) = 8 and and = 9 and not = 3 and not (desc = 2)',
    $orderby: 'desc desc,[count],count',
  });
  const response = await served.inject(`/rest/Word?${query.toString()}`);
  expect(response.json()).toMatchObject({
    __GROUPS: [
      {
        '[count]': 7,
        sum: 8,
        and: 9,
        desc: 1,
        eval: 2,
        not: 3,
        count: 1,
        'count(count)': 1,
        'sum(sum)': 8,
        'max(count)': 7,
        'max(year)': null,
      },
    ],
  });
  const plain = await served.inject('/rest/Word?$groupby=count');
  expect(plain.json()).toMatchObject({ __ERROR: [{ errCode: 1804 }] });
  await served.close();
});

it('Groups of large numbers and of many terms are answered', async () => {
  const keys = ['ID', ...Array.from({ length: 19 }, (_, index) => `extra.k${String(index)}`)];
  const functions = ['count', 'sum', 'average', 'min', 'max'];
  const all = Array.from({ length: 50 }, (_, index) => {
    const name = functions[index % functions.length] ?? 'count';
    return `${name}(extra.${'long'.repeat(30)}${String(index)})`;
  });
  const order = all.map((each) => `${each} desc`);
  const query = `$groupby=${keys.join()}&$compute=${all.join()}&$orderby=${order.join()}&$having=${all.slice(0, 40).join('=1 or ')}=null`;
  const response = await app.inject(`/rest/Company?${query}`);
  expect(response.statusCode, response.body.slice(0, 300)).toBe(200);
  expect(response.json()).toMatchObject({ __COUNT: 2 });
});

describe('A long path in an aggregate', () => {
  const joined = (count: number, ...names: readonly string[]): string =>
    Array.from({ length: count }, (_, index) => names[index % names.length]).join('.');

  it.each([
    ['to-many and to-one relations', `${joined(62, 'staff', 'employer')}.name`, 200],
    ['to-many relations', `staff.${joined(30, 'team')}.lastName`, 200],
    [
      'more to-many relations than SQLite nests',
      `staff.${joined(60, 'team')}.lastName`,
      isOnPostgres ? 200 : 400,
    ],
    ['to-one relations', `manager.${joined(58, 'boss')}.lastName`, 200],
    ['as many tables as a database joins', `manager.${joined(62, 'boss')}.lastName`, 400],
    ['arrays in arrays', `extra.${joined(59, 'a[]')}`, 200],
    ['more arrays than a database joins', `extra.${joined(63, 'a[]')}`, 400],
    ['properties', `extra.${joined(63, 'a')}`, 200],
    ['too many names', `extra.${joined(64, 'a')}`, 400],
    ['a long property', `extra.${'x'.repeat(30_000)}`, 200],
    ['a long name', 'x'.repeat(30_000), 404],
    ['many names of properties', `extra.${joined(10_000, 'a')}`, 400],
  ])('of %s is answered or refused', async (_, way, status) => {
    for (const query of [
      '$compute=$all',
      '$compute=max',
      '$distinct=true',
      '$distinct=true&$top=1',
    ]) {
      const response = await app.inject(`/rest/Company/${encodeURIComponent(way)}?${query}`);
      expect(response.statusCode, `${query} ${response.body.slice(0, 200)}`).toBe(status);
    }
  });

  it('shares the limit of joins with the filter', async () => {
    const way = `manager.${joined(30, 'boss')}.lastName`;
    const filter = `manager.${joined(35, 'boss')}.lastName='x'`;
    expect((await app.inject(`/rest/Company/${way}?$compute=min`)).statusCode).toBe(200);
    const both = await app.inject(
      `/rest/Company/manager.${joined(58, 'boss')}.extra?$compute=min&$filter=${filter}`,
    );
    expect(both.statusCode).toBe(404);
    const wide = Array.from(
      { length: 40 },
      (_, index) => `${joined(index + 1, 'boss')}.employer.name='x'`,
    ).join(' or ');
    const refused = await app.inject(
      `/rest/Employee/${joined(30, 'boss')}.lastName?$compute=min&$filter=${wide}`,
    );
    expectServed(refused, 'a wide filter');
    expect(refused.statusCode).toBe(400);
  });
});

it('Names in an aggregate stay names in statements', async () => {
  const hostile = [`'`, `"`, `a'--`, `"."`, `x" or 1=1`, '$', '%s', '\\', `"'||1||'`, 'é\u2028é'];
  for (const name of hostile) {
    const url = `/rest/Company/${encodeURIComponent(`extra.${name}`)}?$compute=$all`;
    const response = await app.inject(url);
    expect(response.statusCode, url).toBe(200);
    expect(response.json(), url).toEqual({
      [`extra.${name}`]: { count: 0, sum: 0, average: null, min: null, max: null },
    });
  }
});

it('A name with U+0000 in an aggregate is refused', async () => {
  const response = await app.inject('/rest/Company/extra.%00?$compute=count');
  expect(response.statusCode).toBe(400);
  expect(codesOf(response)).toEqual([1804]);
});
