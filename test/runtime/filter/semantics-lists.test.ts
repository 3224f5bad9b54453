import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, isOnPostgres, serverOf } from '../../support/server.js';
import { found } from './found.js';

const model = `
drs: 1
name: lists
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      text: string
      indexed: { type: string, indexed: true }
      uuid: uuid
      number: number
      flag: boolean
      day: { type: date, dateOnly: true }
      moment: date
      duration: duration
      twice: { computed: number, expression: number * 2 }
      group: { to: Group }
  Group:
    attributes:
      code: { type: string, key: true }
      items: { to: Item, many: true, inverse: group }
`;
const a = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** PostgreSQL keeps no U+0000. */
const nul = isOnPostgres ? '' : '\u0000';

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  await create(app, 'Group', [{ code: 'Äa' }, { code: 'b' }]);
  const odd = `odd "\\${nul}\u0001\u2028 😀`;
  await create(app, 'Item', [
    { ID: 1, text: 'Äpfel', indexed: 'Äpfel', uuid: a, number: 0.1, flag: true, group: 'äA' },
    { ID: 2, text: odd, indexed: odd, number: 1e300, flag: false, day: '2020-02-29', group: 'b' },
    { ID: 3, text: 'true', indexed: 'TRUE', number: 7, moment: '2020-01-01T00:00:00Z' },
    { ID: 4, duration: 1000, number: -0.30000000000000004 },
  ]);
});
afterAll(() => app.close());

describe('A list in $params', () => {
  it.each<readonly [filter: string, list: readonly unknown[], keys: string]>([
    ['text in :1', ['äPFEL', 'x'], '1'],
    ['indexed in :1', ['A\u0308PFEL'], '1'],
    ['text in :1', [`ODD "\\${nul}\u0001\u2028 😀`], '2'],
    ['indexed in :1', [`odd "\\${nul}\u0001\u2028 😀`], '2'],
    ['text in :1', [true], '3'],
    ['indexed in :1', [7, true, 'a@'], '3'],
    ['uuid in :1', [a.toLowerCase(), '{AAAAAAAA-AAAA-AAAA-AAAA-AAAAAAAAAAAA}'], '1'],
    ['number in :1', [0.1, 1e300, -0.30000000000000004], '1,2,4'],
    ['number in :1', ['7', '0.1'], '1,3'],
    ['number in :1', ['1e999', '-1e999'], ''],
    ['twice in :1', [14, 0.2], '1,3'],
    ['flag in :1', [true], '1'],
    ['flag in :1', ['FALSE', 1], '1,2'],
    ['flag in :1', [null, false], '2,3,4'],
    ['day in :1', ['29!2!2020'], '2'],
    ['moment in :1', ['2020-01-01T01:00:00+01:00'], '3'],
    ['duration in :1', [1000], '4'],
    ['__KEY in :1', ['1', 3, '99', 2.5], '1,3'],
    ['__STAMP in :1', [1], '1,2,3,4'],
    ['group in :1', ['ÄA'], '1'],
    ['group in :1', [null, 'B'], '2,3,4'],
    ['group.code in :1', [null, 'B'], '2,3,4'],
    ['group.items.number in :1', [0.1], '1'],
    ['text in :1', [], ''],
    ['NOT (text in :1)', [], '1,2,3,4'],
    ['NOT (text in :1)', ['äpfel'], '2,3,4'],
    ['NOT (text in :1)', ['äpfel', null], '2,3'],
    ['ID > 1 EXCEPT number in :1', [7], '2,4'],
    ['text in :1 OR number in :1', ['7', 0.1], '1,3'],
  ])('is matched by %s with %j', async (filter, list, keys) => {
    expect(await found(app, 'Item', filter, [list])).toBe(keys);
  });

  it('may be long', async () => {
    const list = Array.from({ length: 2_000 }, (_, index) => index + 2);
    expect(await found(app, 'Item', 'ID in :1', [list])).toBe('2,3,4');
  });

  it('must be a list of values', async () => {
    for (const value of [1, 'x', null, true, { a: 1 }, [[1]], [{}]]) {
      expect(await found(app, 'Item', 'ID in :1', [value])).toMatch(/^1280: Character 7 of/);
    }
  });
});

it('A list over a to-many relation is matched by one related entity', async () => {
  expect(await found(app, 'Group', 'items.number in [0.1] AND items.flag in [false]')).toBe('');
  expect(await found(app, 'Group', 'items.number in [0.1] AND items.flag in [true]')).toBe('Äa');
  expect(await found(app, 'Group', 'NOT (items.number in [0.1])')).toBe('b');
});

it('One statement serves lists of every length', async () => {
  const statements = new Set<string>();
  const watched = await serverOf(model, { onStatement: (sql) => statements.add(sql) });
  for (const list of [[], [1], [1, 2, 3]]) await found(watched, 'Item', 'ID in :1', [list]);
  await found(watched, 'Item', 'ID in [4]');
  expect(statements.size).toBeLessThanOrEqual(2);
  await watched.close();
});
