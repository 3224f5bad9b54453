import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';
import { found } from './found.js';

const model = `
drs: 1
name: objects
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      extra: object
      note: string
      made: { computed: object, expression: "'{\\"n\\":' || ID || ',\\"list\\":[' || ID || ',\\"x\\"]}'" }
      broken: { computed: object, expression: "iif(ID = 1, '{\\"n\\":', '[1,2')" }
      parent: { to: Item }
      children: { to: Item, many: true, inverse: parent }
      parentExtra: { alias: parent.extra }
      grandExtra: { alias: parent.parentExtra }
`;

const objects: readonly (object | null)[] = [
  { a: 1, s: 'Ä', f: true, z: null, deep: { b: { c: 'x' } } },
  { a: '1', s: 'ä', f: 'true', deep: { b: 5 } },
  { a: 1.5, f: false, deep: [{ b: { c: 'x' } }], list: [] },
  { a: true, list: [1, 'Two', null, true, [1, 2, 3], { x: 1, y: 2, sub: [{ v: 1, w: 2 }] }] },
  { list: [{ x: 1, y: 9 }, { x: 9, y: 2, sub: [{ v: 1 }, { w: 2 }] }, { x: 'ONE' }] },
  ['top', { x: 1 }, [7]],
  { length: 4, list: { length: 'long', x: 1 }, a: -1e300 },
  {},
  null,
];

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  const items = objects.map((extra, at) => ({ ID: at + 1, extra }));
  await create(app, 'Item', items);
  await create(app, 'Item', [
    { ID: 20, parent: 1 },
    { ID: 21, parent: 20 },
    { ID: 22, parent: 20, extra: { a: 1, list: [{ x: 5 }] } },
    { ID: 23, parent: 20, extra: { a: 2, list: [{ y: 6 }] } },
  ]);
});
afterAll(() => app.close());

/** Keys among the first nine. */
async function keys(filter: string, params?: unknown): Promise<string> {
  return found(app, 'Item', `ID < 10 AND (${filter})`, params);
}

describe('Values in objects are compared with those of their own type:', () => {
  it.each<readonly [filter: string, found: string]>([
    ['extra.a = 1', '1'],
    ["extra.a = '1'", '2'],
    ['extra.a = true', '4'],
    ['extra.a = false', ''],
    ['extra.f = true', '1'],
    ["extra.f = 'TRUE'", '2'],
    ['extra.f = 0', ''],
    ['extra.a = 1.50', '3'],
    ['extra.a = -1e300', '7'],
    ['extra.a != 1', '2,3,4,5,6,7,8,9'],
    ['extra.a = null', '5,6,8,9'],
    ['extra.a != null', '1,2,3,4,7'],
    ['extra.z = null', '1,2,3,4,5,6,7,8,9'],
    ['extra.deep = null', '4,5,6,7,8,9'],
    ['extra.a < 1.5', '1,7'],
    ['extra.a >= 1', '1,3'],
    ["extra.a >= '1'", '2'],
    ["extra.a > '0' OR extra.a < '2'", '2'],
    ['extra.f < true', '3'],
    ['extra.f >= false', '1,3'],
    ["extra.s = 'ä'", '1,2'],
    ["extra.s > 'z'", '1,2'],
    ["extra.s begin 'Ä'", '1,2'],
    ["extra.s begin ''", '1,2'],
    ['extra.a begin 1', ''],
    ["extra.a begin '1'", '2'],
    ["extra.f contains 'RU'", '2'],
    ["extra.f % 'true'", '2'],
    ["extra.a in [1, '1', 1.5]", '1,2,3'],
    ['extra.a in [true, 1]', '1,4'],
    ['extra.f in [0, 1]', ''],
    ['extra.a in [null, true]', '4,5,6,8,9'],
    ['NOT (extra.a in [1, null])', '2,3,4,7'],
    ["extra.deep.b.c = 'X'", '1'],
    ['extra.deep.b = 5', '2'],
    ["extra.deep = '{}' OR extra.list = '[]' OR extra.list = ''", ''],
    ["extra.deep begin '{' OR extra.deep contains 'b'", ''],
    ['NOT (extra.a > 1)', '1,2,4,5,6,7,8,9'],
    ['ID > 0 EXCEPT extra.a = 1', '2,3,4,5,6,7,8,9'],
    ['extra.A = 1', ''],
    ['made.n = 3', '3'],
    ["made.list[] = 'X' AND made.list[] = 2", '2'],
    ['made.list.length = 2', '1,2,3,4,5,6,7,8,9'],
    ['broken.n = null', '1,2,3,4,5,6,7,8,9'],
    ['broken.n = 1 OR broken[] = 1 OR broken.length = 2', ''],
  ])('%s finds %j', async (filter, expected) => {
    expect(await keys(filter)).toBe(expected);
  });

  it.each<readonly [filter: string, value: unknown, found: string]>([
    ['extra.a = :1', 1, '1'],
    ['extra.a = :1', '1', '2'],
    ['extra.a = :1', true, '4'],
    ['extra.a = :1', null, '5,6,8,9'],
    ['extra.a != :1', null, '1,2,3,4,7'],
    ['extra.a < :1', 1e308, '1,3,7'],
    ['extra.a = :1', '\ud800', ''],
    ['extra.a != :1', '\ud800', '1,2,3,4,5,6,7,8,9'],
    ['extra.a in :1', [1, '1', true, [], 'x'].slice(0, 3), '1,2,4'],
  ])('%s with %j finds %j', async (filter, value, expected) => {
    expect(await keys(filter, [value])).toBe(expected);
  });

  it('by one statement for every type', async () => {
    const statements = new Set<string>();
    const watched = await serverOf(model, { onStatement: (sql) => statements.add(sql) });
    for (const value of [1, '1', true, 'x@']) {
      await found(watched, 'Item', 'extra.a = :1', [value]);
      await found(watched, 'Item', 'extra.a in :1', [[value]]);
    }
    expect(statements.size).toBeLessThanOrEqual(4);
    await watched.close();
  });
});

describe('A filter with arrays in objects', () => {
  it.each<readonly [filter: string, found: string]>([
    ['extra.list[] = 1', '4'],
    ["extra.list[] = 'two'", '4'],
    ['extra.list[] = true', '4'],
    ['extra.list[] = null', '4'],
    ['extra.list[] != null', '1,2,3,5,6,7,8,9'],
    ['extra.list[] != 1', '1,2,3,5,6,7,8,9'],
    ['extra.list[a] != 1', '4,5'],
    ['extra.list[a] != null', '4,5'],
    ['extra.list[].x = 1', '4,5'],
    ['extra.list[].x != 1', '1,2,3,6,7,8,9'],
    ['extra.list[a].x != 1', '4,5'],
    ['extra.list[].x = 1 AND extra.list[].y = 2', '4,5'],
    ['extra.list[a].x = 1 AND extra.list[a].y = 2', '4'],
    ['extra.list[A].x = 1 & extra.list[a].y = 9', '5'],
    ['extra.list[a].x = 1 AND extra.list[b].y = 2', '4,5'],
    ['extra.list[a].x = 1 AND (extra.list[a].y = 2 OR ID = 99)', '4,5'],
    ['extra.list[a].x = 1 AND (extra.list[a].y = 2)', '4'],
    ['extra.list[a].x = 1 EXCEPT extra.list[a].y = 2', ''],
    ['extra.list[a].x = 1 AND extra.list[a].y != 2', '5'],
    ["extra.list[].x in ['one', 7]", '5'],
    ["extra.list[].x begin 'ON'", '5'],
    ['extra.list[].sub[].v = 1', '4,5'],
    ['extra.list[].sub[].v = 1 AND extra.list[].sub[].w = 2', '4,5'],
    ['extra.list[].sub[a].v = 1 AND extra.list[].sub[a].w = 2', '4'],
    ['extra.list[a].sub[b].v = 1 AND extra.list[a].sub[b].w = 2', '4'],
    ['extra.list[a].sub[].v = 1 AND extra.list[a].sub[].w = 2', '4,5'],
    ['extra.list[a].sub[b].v = 1 AND extra.list[a].x = 9', '5'],
    ['extra.list[a].sub[b].v = 1 AND extra.list[a].x = 1', '4'],
    ['extra.list[].sub.length = 2', '5'],
    ['extra.list.x = 1', '7'],
    ['extra.list.length = 6', '4'],
    ['extra.list.length = 0', '3'],
    ['extra.list.length > 2', '4,5'],
    ["extra.list.length = 'LONG'", '7'],
    ['extra.list.length = null', '1,2,6,8,9'],
    ['extra.list.length != null', '3,4,5,7'],
    ['extra.list[].length = 3', '4'],
    ['extra.length = 4', '7'],
    ['extra.length = 3', '6'],
    ['extra.deep.length = 1', '3'],
    ['extra.list.length.x = null', '1,2,3,4,5,6,7,8,9'],
    ["extra[] = 'TOP'", '6'],
    ['extra[].x = 1', '6'],
    ['extra.a[] = 1', ''],
    ['extra[] = 1', ''],
    ['extra.deep[].b.c = x', '3'],
  ])('%s finds %j', async (filter, expected) => {
    expect(await keys(filter)).toBe(expected);
  });
});

describe('A filter with objects over relations', () => {
  it.each<readonly [filter: string, found: string]>([
    ['parent.extra.a = 1', '20'],
    ['parent.extra.a != 1 AND ID > 19', '21,22,23'],
    ['parent.extra.a = null AND ID > 19', '21,22,23'],
    ["parentExtra.deep.b.c = 'x'", '20'],
    ['grandExtra.a = 1', '21,22,23'],
    ['parent.grandExtra.a = null AND ID > 19', '20,21,22,23'],
    ['children.extra.a = 2', '20'],
    ['children.extra.a != 2 AND ID > 19', '21,22,23'],
    ['children.extra.list[].x = 5 AND children.extra.list[].y = 6', ''],
    ['children.extra.list[].x = 5 AND children{2}.extra.list[].y = 6', '20'],
    ['children.extra.list[a].x = 5 AND children{2}.extra.list[a].y = 6', '20'],
    ['children.extra.list[a].x = 5 AND children.extra.a = 1', '20'],
    ['children.extra.list[a].x = 5 AND children.extra.a = 2', ''],
    ['children.extra.list[a].x != 5', '1,2,3,4,5,6,7,8,9,21,22,23'],
    ['parent.children.extra.list.length = 1', '21,22,23'],
  ])('%s finds %j', async (filter, expected) => {
    expect(await found(app, 'Item', filter)).toBe(expected);
  });
});

describe('A property of an object', () => {
  const names = [
    'a"b',
    "a'b",
    'a\\b',
    '\\',
    '"',
    '$',
    '#',
    '*',
    ' ',
    '\n',
    '\u0001',
    '\u2028',
    'é',
    'e\u0301',
    '😀',
    '__proto__',
    'constructor',
    'toString',
    '0',
    '-1',
    '?',
    ':1',
    '%s',
    '(',
    "'); drop table Item; --",
    '\\u0041',
    'A',
    'null',
    'true',
  ];

  it.each(names)('may have the name %j', async (name) => {
    const key = 1000 + names.indexOf(name);
    const extra = JSON.parse(`{${JSON.stringify(name)}:{"in":[{"x":"hit"}]}}`) as object;
    await create(app, 'Item', [{ ID: key, extra, note: 'odd' }]);
    const only = `note = 'odd' AND :1 = :2`;
    expect(await found(app, 'Item', only, [`extra.${name}.in[].x`, 'HIT'])).toBe(String(key));
    expect(await found(app, 'Item', `ID = ${key} AND :1 = null`, [`extra.${name}`])).toBe('');
    const ordered = await found(app, 'Item', `ID = ${key} AND :1 > 0`, [`extra.${name}.in.length`]);
    expect(ordered).toBe(String(key));
  });

  it('must not have a name with U+0000', async () => {
    expect(await found(app, 'Item', ':1 = 1', ['extra.a\u0000b'])).toMatch(/^1162: .*U\+0000/);
  });
});

describe('A condition on an object', () => {
  it.each([
    ['extra = 1', '1112: Character 1 of $filter: the object attribute extra can be compared with'],
    ['extra < 1', '1112: '],
    ["extra begin 'x'", '1112: '],
    ["extra contains 'x'", '1112: '],
    ["extra % 'x'", '1112: '],
    ['extra in [1]', '1112: '],
    ['extra.a < null', '1112: '],
    ['extra.a contains null', '1112: '],
    ['extra.list[] > null', '1112: '],
    ['note[] = 1', '1162: Character 1 of $filter: [] can stand behind an array in an object'],
    ['parent[a].note = 1', '1162: Character 1 of $filter: [a] can stand'],
    [
      'parent.note{2} = 1',
      '1162: Character 8 of $filter: {2} can stand behind a relation, and note',
    ],
    ['extra{2}.a = 1', '1162: '],
    ['extra.a{3} = 1', '1162: '],
    ['parentExtra{2}.a = 1', '1162: '],
    ['note.length = 1', '1500: '],
    ['parentExtra.x.y = 1 AND extra.x = 1 AND nothing.x = 1', '1500: '],
  ])('is refused: %s', async (filter, message) => {
    expect(await found(app, 'Item', filter)).toContain(message);
  });

  it.each(['=', '<', 'begin', '%'])(
    'is refused with a list or an object after %s',
    async (comparator) => {
      for (const value of [[], [1], {}, { a: 1 }]) {
        expect(await found(app, 'Item', `extra.a ${comparator} :1`, [value])).toMatch(/^1280: /);
      }
    },
  );
});
