import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: order
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      extra: object
      made: { computed: object, expression: "'{\\"n\\":' || -ID || '}'" }
      parent: { to: Item }
      parentExtra: { alias: parent.extra }
`;

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  const values = ['b', 10, true, null, 'Ä', 9, false, [1], { x: 1 }, 'B', -1.5, 'z', '10', 10];
  const items = values.map((v, at) => ({ ID: at + 1, extra: { v, 'a"b': at } }));
  await create(app, 'Item', [...items, { ID: 15, extra: null }, { ID: 16, parent: 5 }]);
});
afterAll(() => app.close());

async function ordered(orderby: string): Promise<string> {
  const url = `/rest/Item?$top=100&$attributes=ID&$orderby=${encodeURIComponent(orderby)}`;
  const { __ENTITIES: entities } = (await app.inject(url)).json<{
    readonly __ENTITIES: readonly { readonly ID: number }[];
  }>();
  return entities.map((each) => each.ID).join();
}

const ascending = '4,8,9,15,16,7,3,11,6,2,14,13,1,10,12,5';

it.each([
  // Null and values without an order, false, true, numbers, folded texts; equal ones in key order.
  ['extra.v', ascending],
  ['extra.v, ID desc', '16,15,9,8,4,7,3,11,6,14,2,13,10,1,12,5'],
  ['extra.v desc', '5,12,1,10,13,2,14,6,11,3,7,4,8,9,15,16'],
  ['extra.v.length desc', '8,1,2,3,4,5,6,7,9,10,11,12,13,14,15,16'],
  ['extra.v.x desc, extra.v.length', '9,1,2,3,4,5,6,7,10,11,12,13,14,15,16,8'],
  ['made.n', '16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1'],
  ['parent.extra.v desc', '16,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15'],
  ['parentExtra.v desc', '16,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15'],
  ['extra.nothing.at.all', '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16'],
])('A property of an object orders entities: %s', async (orderby, keys) => {
  expect(await ordered(orderby)).toBe(keys);
});

it('Pages in the order of a property do not overlap', async () => {
  const pages: string[] = [];
  for (let skip = 0; skip < 16; skip += 5) {
    const url = `/rest/Item?$top=5&$skip=${skip}&$attributes=ID&$orderby=extra.v`;
    const { __ENTITIES: entities } = (await app.inject(url)).json<{
      readonly __ENTITIES: readonly { readonly ID: number }[];
    }>();
    pages.push(...entities.map((each) => String(each.ID)));
  }
  expect(pages.join()).toBe(ascending);
});
