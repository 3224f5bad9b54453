import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, isOnPostgres, serverOf } from '../../support/server.js';
import { found } from './found.js';

const model = `
drs: 1
name: texts
protocol: { wildcard: true }
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      text: string
      indexed: { type: string, indexed: true }
      object: object
      number: number
      others: { to: Item, many: true, inverse: parent }
      parent: { to: Item }
`;

const texts = [
  'Ärger im Büro',
  'abc@def*',
  'x_y a1b é e\u0301a',
  '100% sure; 50_50',
  '😀 smile 𝒳𝒳',
  '',
  'aaa',
  'İstanbul ΟΔΟΣ',
];

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  const items = texts.map((text, at) => ({ ID: at + 1, text, indexed: text, object: { text } }));
  await create(app, 'Item', [...items, { ID: 9, object: { text: 5 } }]);
});
afterAll(() => app.close());

type Case = readonly [comparator: string, value: string, keys: string];

const contains: readonly Case[] = [
  ['contains', 'ÄRGER', '1'],
  ['contains', 'A\u0308', '1'],
  ['contains', '@d', '2'],
  ['contains', '*', '2'],
  ['contains', '0%', '4'],
  ['contains', '50_5', '4'],
  ['contains', '', '1,2,3,4,5,6,7,8'],
  ['contains', 'e', '1,2,4,5'],
  ['contains', 'É', '3'],
  ['contains', 'οδος', '8'],
  ['contains', '𝒳', '5'],
  ['contains', 'aaaa', ''],
];

const words: readonly Case[] = [
  ['%', 'im', '1'],
  ['%', 'IM BÜRO', '1'],
  ['%', 'b', ''],
  ['%', 'abc', '2'],
  ['%', 'abc@def', '2'],
  ['%', 'x', ''],
  ['%', 'x_y', '3'],
  ['%', 'a1', ''],
  ['%', 'é', '3'],
  ['%', 'e', ''],
  ['%', '100', '4'],
  ['%', '50', ''],
  ['%', '50_50', '4'],
  ['%', '😀', '5'],
  ['%', '𝒳', ''],
  ['%', '𝒳𝒳', '5'],
  ['%', 'aa', ''],
  ['%', 'aaa', '7'],
  ['%', 'ΟΔΟΣ', '8'],
  ['%', '', ''],
];

const patterns: readonly Case[] = [
  ['=', 'ärg@', '1'],
  ['=', 'ÄRG*', '1'],
  ['=', '@BÜRO', '1'],
  ['=', '@', '1,2,3,4,5,6,7,8'],
  ['=', '*', '1,2,3,4,5,6,7,8'],
  ['=', '@@', '1,2,3,4,5,6,7,8'],
  ['=', '@e@ü@', '1'],
  ['=', '@ü@e@', ''],
  ['=', 'abc@def*', '2'],
  ['=', 'a*a', ''],
  ['=', '*a', ''],
  ['=', 'a@a', '7'],
  ['=', 'aa@aa', ''],
  ['=', 'a@a@a', '7'],
  ['=', 'a@a@a@a', ''],
  ['=', 'aaa@', '7'],
  ['=', '@aaa', '7'],
  ['=', '100% @', '4'],
  ['=', '___@', ''],
  ['=', 'x@e\u0301a', '3'],
  ['=', '@smile@', '5'],
  ['!=', 'a@', '1,3,4,5,6,8,9'],
  ['===', 'aaa@', ''],
  ['===', 'ABC@DEF*', '2'],
  ['!==', 'abc@def*', '1,3,4,5,6,7,8,9'],
  ['begin', 'abc@', '2'],
  ['begin', 'a@', ''],
  ['contains', 'a@', ''],
];

describe.each([
  ['A text', 'text'],
  ['An indexed text', 'indexed'],
  ['A property', 'object.text'],
])('%s', (_, path) => {
  it.each([...contains, ...words, ...patterns])(
    'matches %s %j',
    async (comparator, value, keys) => {
      const filter = `${path} ${comparator} :1`;
      expect(await found(app, 'Item', filter, [value])).toBe(keys);
      const others = texts.map((__, at) => String(at + 1)).concat('9');
      const rest = others.filter((key) => !keys.split(',').includes(key));
      expect(await found(app, 'Item', `NOT (${filter})`, [value])).toBe(rest.join());
    },
  );

  it.each<readonly [list: readonly (string | null | number)[], keys: string]>([
    [['ä@', 'aaa'], '1,7'],
    [['@def*', '', null], path === 'object.text' ? '2,6' : '2,6,9'],
    [['a*', 'a@', '@é@'], '2,3,7'],
    [['__proto__@', '1@', '@%@'], '4'],
    [['@"\\@', '@ ΟΔ@'], '8'],
  ])('matches a list with wildcards %j', async (list, keys) => {
    expect(await found(app, 'Item', `${path} in :1`, [list])).toBe(keys);
  });
});

it('Wildcards have no meaning if no text is compared', async () => {
  expect(await found(app, 'Item', 'number = :1', ['1@'])).toMatch(/^1280: .* found "1@"/);
  expect(await found(app, 'Item', 'ID in :1', [['1@', 2]])).toMatch(/^1280: .* found "1@"/);
});

it('Wildcards work over relations', async () => {
  await create(app, 'Item', [{ ID: 20, text: 'child', parent: 7 }]);
  expect(await found(app, 'Item', "parent.text = 'a@'")).toBe('20');
  expect(await found(app, 'Item', "others.text = '@ld'")).toBe('7');
  expect(await found(app, 'Item', "others.text != '@ld' AND ID = 7")).toBe('');
});

it('Patterns and values do not share a statement', async () => {
  expect(await found(app, 'Item', "text = 'aaa'")).toBe('7');
  expect(await found(app, 'Item', "text = 'aa@'")).toBe('7');
  expect(await found(app, 'Item', "text = 'aa'")).toBe('');
});

// It takes processor time of this process, which PostgreSQL does not.
it.skipIf(isOnPostgres)('A pattern that is made to be expensive is cheap', async () => {
  const long = 'a'.repeat(200_000);
  await create(app, 'Item', [{ ID: 30, text: long, object: { text: long } }]);
  const hostile = [
    `${'a@'.repeat(2_000)}b`,
    `@${'a'.repeat(8_000)}b@`,
    `@${'a'.repeat(4_000)}b${'a'.repeat(3_000)}@`,
    `@${'aab@'.repeat(2_000)}`,
  ];
  const before = process.cpuUsage();
  for (const value of hostile) {
    expect(await found(app, 'Item', 'text = :1', [value])).toBe('');
    expect(await found(app, 'Item', 'object.text = :1', [value])).toBe('');
    expect(await found(app, 'Item', 'text in :1', [[value, `${value}@`]])).toBe('');
  }
  for (const value of ['a'.repeat(8_000), `${'a'.repeat(8_000)}b`]) {
    expect(await found(app, 'Item', 'text % :1', [value])).toBe('');
  }
  expect(await found(app, 'Item', 'text = :1', [`a@${'a@'.repeat(3_000)}`])).toBe('30');
  // Backtracking would take years.
  expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
});
