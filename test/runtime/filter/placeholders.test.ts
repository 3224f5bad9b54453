import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: placeholders
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      uuid: uuid
      number: number
      flag: boolean
      date: date
      duration: duration
      object: object
      parent: { to: Item }
`;

describe('A list or an object in $params', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(model);
    await create(app, 'Item', [{ text: 'x' }]);
  });
  afterAll(() => app.close());

  function read(filter: string, params: string): Promise<Response> {
    const query = `$filter=${encodeURIComponent(filter)}&$params=${encodeURIComponent(params)}`;
    return app.inject(`/rest/Item?${query}`);
  }

  it.each(['ID', 'text', 'uuid', 'number', 'flag', 'date', 'duration', 'parent', '__KEY'])(
    'is not a value of %s',
    async (name) => {
      for (const param of ['{}', '[]', '[1]', '{"vector":[1]}']) {
        for (const comparator of ['=', '!=']) {
          const response = await read(`${name} ${comparator} :1`, `[${param}]`);
          expect(response.statusCode, `${name} ${param}`).toBe(400);
          expect(response.json()).toMatchObject({ __ERROR: [{ errCode: 1280 }] });
        }
      }
    },
  );

  it.each([
    ['text = :1', '[{}]', 'Character 8 of $filter', ':1 in $params, found an object.'],
    ['text begin :1', '[[1]]', 'Character 12 of $filter', ':1 in $params, found a list.'],
    ['(ID=:1) or text = :2', '[1,[]]', 'Character 19 of $filter', ':2 in $params, found a list.'],
    ["text='abc' or ID=:1", '[[]]', 'Character 18 of $filter', ':1 in $params'],
    // The statement of the filter before is used again.
    ["text='abcdef' or ID=:1", '[[]]', 'Character 21 of $filter', ':1 in $params'],
  ])('is reported with its place: %s with %s', async (filter, params, place, found) => {
    const { body } = await read(filter, params);
    expect(body).toContain(place);
    expect(body).toContain(found);
  });

  it('does not change other values', async () => {
    for (const param of ['"x"', '1', '1.5', 'true', 'null']) {
      expect((await read('text = :1', `[${param}]`)).statusCode, param).toBe(200);
    }
    for (const param of ['"1"', '1', '1.5', 'null']) {
      expect((await read('ID = :1', `[${param}]`)).statusCode, param).toBe(200);
    }
    expect((await read('text = :1', '["x",{}]')).json()).toMatchObject({ __COUNT: 1 });
    expect((await read('object = :1', '[{}]')).statusCode).toBe(400);
  });
});
