import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverOf } from '../../support/server.js';

const model = `
drs: 1
name: tree
dataclasses:
  Node:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      parent: { to: Node, inverse: children }
      children: { to: Node, many: true, inverse: parent }
`;

describe('Nested expansions', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(model);
  });
  afterAll(() => app.close());

  it.each([
    ['/rest/Node?$attributes=children.children.ID', 200],
    ['/rest/Node?$attributes=children.children.children.ID', 400],
    ['/rest/Node?$attributes=children.children.children.ID&$top=1', 200],
    ['/rest/Node?$attributes=children.parent.children.parent.ID', 200],
    ['/rest/Node?$attributes=children.parent.children.parent.children.ID', 400],
    ['/rest/Node?$expand=children.children&$top=1000', 400],
    ['/rest/Node(1)?$attributes=children.children.children.children.ID', 400],
  ])('with %s are answered with %i', async (url, status) => {
    const response = await app.inject(url);
    expect(response.statusCode).toBe(status);
    if (status === 400) expect(response.json()).toMatchObject({ __ERROR: [{ errCode: 1805 }] });
  });
});
