import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: updating
limits: { bodySize: 4194304 }
dataclasses:
  Ticket:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      number: { type: integer, generated: sequence, unique: true }
      first: { type: string, unique: true }
      second: { type: string, unique: true }
      data: object
  Fixed:
    attributes:
      ID: { type: uuid, key: true, generated: uuid, readOnly: true }
      ticketID: { type: integer, readOnly: true, default: 1 }
      ticket: { to: Ticket, foreignKey: ticketID }
      name: string
`;

interface Answer {
  readonly __ENTITIES?: readonly Readonly<Record<string, unknown>>[];
  readonly __ERROR?: readonly { readonly message: string; readonly errCode: number }[];
  readonly [name: string]: unknown;
}

let app: FastifyInstance;
beforeAll(async () => {
  app = await serverOf(model);
});
afterAll(() => app.close());

async function post(
  dataclass: string,
  body: unknown,
  query = '',
): Promise<{ status: number; json: Answer }> {
  const response = await app.inject({
    method: 'POST',
    url: `/rest/${dataclass}?$method=update${query}`,
    payload: JSON.stringify(body),
  });
  return { status: response.statusCode, json: response.json() };
}

it('A sequence continues after a number that a change sets', async () => {
  const [made] = await create(app, 'Ticket', [{}]);
  const { status } = await post('Ticket', { __KEY: made?.['__KEY'], __STAMP: 1, number: 500 });
  expect(status).toBe(200);
  expect(await create(app, 'Ticket', [{}])).toMatchObject([{ number: 501 }]);
});

it('All duplicates of unique values are reported together', async () => {
  const [, other] = await create(app, 'Ticket', [{ first: 'a', second: 'B' }, { first: 'c' }]);
  const body = { __KEY: other?.['__KEY'], __STAMP: 1, first: 'A', second: 'b' };
  const { status, json } = await post('Ticket', body);
  expect(status).toBe(409);
  expect(json.__ERROR?.map(({ errCode }) => errCode)).toEqual([1569, 1569, 1046, 1517]);
  expect(json.__ERROR?.[0]?.message).toContain('first must be unique');
  expect(json.__ERROR?.[1]?.message).toContain('second must be unique');
});

it('Two entities of a body cannot swap a unique value one after the other', async () => {
  const [one, two] = await create(app, 'Ticket', [{ first: 'x' }, { first: 'y' }]);
  const { json } = await post('Ticket', [
    { __KEY: one?.['__KEY'], __STAMP: 1, first: 'y' },
    { __KEY: two?.['__KEY'], __STAMP: 1, first: 'x' },
  ]);
  expect(json.__ENTITIES).toMatchObject([
    { first: 'x', __STAMP: 1, __STATUS: { status: 4 } },
    { first: 'y', __STAMP: 1, __STATUS: { status: 4 } },
  ]);
});

it('A relation whose foreign key is read-only is read-only', async () => {
  const [ticket] = await create(app, 'Ticket', [{}]);
  const [made] = await create(app, 'Fixed', [{ name: 'x', ticketID: 1 }]);
  const whole = { ...made, name: 'y' };
  expect(await post('Fixed', whole)).toMatchObject({
    status: 200,
    json: { __STAMP: 2, name: 'y' },
  });
  const { status, json } = await post('Fixed', {
    __KEY: made?.['__KEY'],
    __STAMP: 2,
    ticket: ticket?.['__KEY'],
    name: 7,
  });
  expect(status).toBe(422);
  // All other errors are reported, too.
  expect(json.__ERROR?.map(({ errCode }) => errCode)).toEqual([1569, 1569, 1570, 1517]);
});

it.each(['', '&$atomic=true', '&$refresh=true'])(
  'A short body whose answer would be huge is refused: %s',
  async (query) => {
    const [made] = await create(app, 'Ticket', [{ data: { text: 'x'.repeat(2_000_000) } }]);
    const key = made?.['__KEY'];
    const body = [
      { __KEY: key, __STAMP: 1, first: `huge${query}` },
      ...Array.from({ length: 60 }, () => ({
        __KEY: key,
        __STAMP: query === '&$refresh=true' ? 1 : 2,
      })),
    ];
    const { status, json } = await post('Ticket', body, query);
    expect(status).toBe(413);
    expect(json.__ERROR?.map(({ errCode }) => errCode)).toEqual([1834]);
    const now = await app.inject(`/rest/Ticket(${String(key)})`);
    expect(now.json()).toMatchObject({ __STAMP: 1, first: null });
  },
);
