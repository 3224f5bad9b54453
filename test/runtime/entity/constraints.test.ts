import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, isOnPostgres, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: computed
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      day: { computed: string, expression: "date(text)" }
      number: { computed: number, expression: "text" }
      json: { computed: object, expression: "text" }
      a: { computed: string, expression: "iif(text like '{%', json_extract(text, '$.a'), null)" }
${isOnPostgres ? '' : `      infinite: { computed: number, expression: "iif(text = 'x', 9e999, 1)" }`}
`;

describe('Computed attributes with an expression', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(model);
  });
  afterAll(() => app.close());

  function post(body: unknown): Promise<Response> {
    return app.inject({
      method: 'POST',
      url: '/rest/Note?$method=update',
      payload: JSON.stringify(body),
    });
  }

  it.each([
    ['x', { number: null, json: null, ...(isOnPostgres ? {} : { infinite: null }) }],
    ['12', { number: 12, json: 12, ...(isOnPostgres ? {} : { infinite: 1 }) }],
    ['{"a":"b"}', { number: null, json: { a: 'b' }, a: 'b' }],
    ['"', { number: null, json: null }],
    [null, { number: null, json: null, day: null }],
  ])('are valid JSON whatever the expression returns: %j', async (text, wanted) => {
    const [note] = await create(app, 'Note', [{ text }]);
    expect(note).toMatchObject(wanted);
  });

  it.each(['now', '{'])('refuse values for which the expression fails: %j', async (text) => {
    const response = await post({ text });
    expect(response.statusCode).toBe(422);
    const { __STATUS, __ERROR } = response.json<{
      readonly __STATUS: object;
      readonly __ERROR: readonly object[];
    }>();
    expect(__STATUS).toMatchObject({ status: 8 });
    expect(__ERROR[0]).toMatchObject({ errCode: 1569 });
  });

  it('refuse one entity of a list and keep the others', async () => {
    const before = await count();
    const response = await post([{ text: 'a' }, { text: 'now' }, { text: 'b' }]);
    expect(response.statusCode).toBe(200);
    expect(await count()).toBe(before + 2);
  });

  async function count(): Promise<number> {
    const response = await app.inject('/rest/Note?$top=0');
    return response.json<{ readonly __COUNT: number }>().__COUNT;
  }
});

describe('A constraint over a column with an unusual name', () => {
  it('is reported with the name of its attribute', async () => {
    const app = await serverOf(`
drs: 1
name: odd
dataclasses:
  Thing:
    table: 'a b, c: d'
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: integer, unique: true, column: 'x.y, z: q' }
`);
    await create(app, 'Thing', [{ code: 1 }]);
    const response = await app.inject({
      method: 'POST',
      url: '/rest/Thing?$method=update',
      payload: '{"code":1}',
    });
    expect(response.statusCode).toBe(409);
    const { __ERROR } = response.json<{ readonly __ERROR: readonly { message: string }[] }>();
    expect(__ERROR[0]?.message).toBe('code must be unique: another entity has this value.');
    await app.close();
  });
});
