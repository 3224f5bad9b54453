import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serverOf } from '../../support/server.js';

const model = `drs: 1
name: places
dataclasses:
  Plot:
    attributes:
      ID: { type: integer, key: true }
      extra: object
      trees: { to: Tree, many: true, inverse: plot }
  Tree:
    attributes:
      ID: { type: integer, key: true }
      plot: { to: Plot }
`;

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(model);
  await app.inject({ method: 'POST', url: '/rest/Plot?$method=update', payload: '{"ID":1}' });
});
afterAll(() => app.close());

it.each([
  ['Plot?$orderby=ID, none', 'Character 5 of $orderby: expected the path of an attribute.'],
  ['Plot?$orderby=ID,extra', 'Character 4 of $orderby: extra is of the type object'],
  ['Plot?$orderby=ID desc,trees', 'Character 9 of $orderby: trees leads over a to-many relation'],
  ['Plot?$filter=ID>0 order by none', 'Character 15 of $filter: expected the path'],
  ['Plot?$filter=ID>0 order by ID, trees.ID', 'Character 19 of $filter: trees.ID leads over'],
  ['Plot(1)/trees?$method=subentityset&$subOrderby=none', 'Character 1 of $subOrderby: expected'],
  ['Plot(1)/trees?$method=subentityset&$subOrderby=ID,', 'Character 4 of $subOrderby: expected'],
  ['Plot(1)/trees?$expand=trees&$orderby=none', 'Character 1 of $orderby: expected'],
])('A wrong order is reported with its place: %s', async (url, expected) => {
  const response = await app.inject(`/rest/${url}`);
  const { __ERROR: errors } = response.json<{
    readonly __ERROR: readonly { readonly message: string }[];
  }>();
  expect(response.statusCode).toBe(400);
  expect(errors.at(-1)?.message).toContain(expected);
});
