import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { create, isOnPostgres, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: creating
dataclasses:
  Ticket:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      number: { type: integer, generated: sequence, unique: true }
  Full:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      number: { type: integer, generated: sequence, unique: true }
  Node:
    attributes:
      code: { type: string, key: true }
      referrer: { to: Node }
      ticket: { to: Ticket }
  Counted:
    attributes:
      ID: { type: integer, key: true }
      parent: { to: Counted }
      ticket: { to: Ticket }
  Fixed:
    attributes:
      ID: { type: uuid, key: true, generated: uuid, readOnly: true }
      name: string
      ticketID: { type: integer, readOnly: true }
      ticket: { to: Ticket, foreignKey: ticketID }
  Drawn:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      name: { type: string, unique: true }
      upper: { computed: string, expression: 'upper(name)' }
  Last:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true, minLength: 2, maxLength: 6 }
      extra: object
      ticket: { to: Ticket }
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

async function post(dataclass: string, body: unknown): Promise<{ status: number; json: Answer }> {
  const response = await app.inject({
    method: 'POST',
    url: `/rest/${dataclass}?$method=update`,
    payload: JSON.stringify(body),
  });
  return { status: response.statusCode, json: response.json() };
}

describe('A sequence that is not the key', () => {
  it('continues after the numbers that clients set', async () => {
    const made = await create(app, 'Ticket', [
      { number: 2 },
      {},
      {},
      { number: 1 },
      { number: -7 },
      {},
      { number: 40 },
      {},
    ]);
    expect(made.map((each) => each['number'])).toEqual([2, 3, 4, 1, -7, 5, 40, 41]);
  });

  it('is not advanced by a refused entity', async () => {
    const last = (await create(app, 'Ticket', [{}]))[0]?.['number'];
    const { json } = await post('Ticket', [{ ID: 1, number: 1000 }, {}]);
    expect(json.__ENTITIES?.[0]).toHaveProperty('__ERROR');
    expect(json.__ENTITIES?.[1]).toMatchObject({ number: Number(last) + 1 });
  });

  it('ends at 2^53 - 1', async () => {
    await create(app, 'Full', [{ number: 2 ** 53 - 2 }, {}]);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const { status, json } = await post('Full', {});
      expect(status).toBe(422);
      expect(json).toMatchObject({ __STATUS: { status: 4, success: false } });
      expect(json.__ERROR?.[0]).toMatchObject({
        errCode: 1569,
        message:
          'number must be given: its sequence has reached 2^53 - 1 and has no further number.',
      });
    }
    const [given] = await create(app, 'Full', [{ number: 7 }]);
    expect(given).toMatchObject({ number: 7 });
  });
});

describe('An entity that is related to itself', () => {
  it.each([
    ['Self1', 'Self1'],
    ['Self2', 'self2'],
    ['\u00e9tude', 'E\u0301TUDE'],
  ])('can be created: %s by the key %s', async (code, referrer) => {
    const [made] = await create(app, 'Node', [{ code, referrer }]);
    expect(made).toMatchObject({ code, referrer: { __deferred: { __KEY: code } } });
    const found = await app.inject(`/rest/Node(${encodeURIComponent(code)})/referrer`);
    expect(found.statusCode).toBe(200);
  });

  it.each([
    ['Node', { code: 'a', referrer: 'A', ticket: 999 }],
    ['Counted', { ID: 5, parent: 5, ticket: 999 }],
  ])('is not reported as missing together with one that is: %s', async (dataclass, body) => {
    const { status, json } = await post(dataclass, body);
    expect(status).toBe(422);
    const messages = json.__ERROR?.filter((each) => each.errCode === 1542);
    expect(messages?.map((each) => each.message)).toEqual([
      'ticket names an entity that cannot be found in the "Ticket" dataclass.',
    ]);
  });
});

describe('A read-only attribute', () => {
  const uuid = '0123456789ABCDEF0123456789ABCDEF';

  it.each([
    ['ID', uuid],
    ['__KEY', uuid],
    ['ticketID', 1],
    ['ticket', 1],
    ['ticket', { __KEY: 1 }],
  ])('cannot be set, given as %s: %j', async (name, value) => {
    const { status, json } = await post('Fixed', { name: 'x', [name]: value });
    expect(status).toBe(422);
    expect(json.__ERROR?.[0]).toMatchObject({ errCode: 1569, message: `${name} is read-only.` });
  });

  it('can be null or left out', async () => {
    await create(app, 'Fixed', [{ ID: null, __KEY: null, ticketID: null, ticket: null }, {}]);
  });
});

describe('A key that the database generates', () => {
  it('is reported as required when the sequence is exhausted, with all other errors', async () => {
    await create(app, 'Last', [{ __KEY: Number.MAX_SAFE_INTEGER, name: 'last' }]);
    const none = await post('Last', { name: 'next' });
    expect(none.status).toBe(422);
    expect(none.json.__ERROR?.[0]?.message).toBe(
      'ID must be given: its sequence has reached 2^53 - 1 and has no further number.',
    );
    const taken = await post('Last', { name: 'last' });
    expect(taken.status).toBe(409);
    expect(await post('Last', { __KEY: 7, name: 'seven' })).toMatchObject({ status: 200 });
  });
});

it('The body of a save is decoded once, however many statements check and store it', async () => {
  expect(await post('Drawn', { name: 'taken' })).toMatchObject({ status: 200 });
  // Decoding draws the key.
  const drawn = vi.spyOn(crypto, 'randomUUID');
  syncBuiltinESMExports();
  try {
    const send = async (name: string, method: string): Promise<number> => {
      drawn.mockClear();
      const payload = JSON.stringify({ name });
      // A request without an ID gets a random one.
      const headers = { 'x-request-id': 'r1' };
      await app.inject({ method: 'POST', url: `/rest/Drawn?$method=${method}`, headers, payload });
      return drawn.mock.calls.length;
    };
    expect(await send('free', 'validate')).toBe(1);
    expect(await send('taken', 'validate')).toBe(1);
    expect(await send('taken', 'update')).toBe(1);
    expect(await send('free', 'update')).toBe(1);
  } finally {
    drawn.mockRestore();
    syncBuiltinESMExports();
  }
});

describe('Values that a database could store differently', () => {
  // PostgreSQL stores none.
  it.skipIf(isOnPostgres)(
    'include texts with U+0000, whose following characters count',
    async () => {
      const stored = await post('Last', { __KEY: 20, name: 'a\0bcd' });
      expect(stored).toMatchObject({ status: 200, json: { name: 'a\0bcd' } });
      const long = await post('Last', { __KEY: 21, name: 'a\0bcdefg' });
      expect(long.status).toBe(422);
    },
  );

  it('are refused if they are integers that would be rounded, and stored if they are exact', async () => {
    const url = '/rest/Last?$method=update';
    let key = 30;
    const send = async (extra: string): Promise<number> =>
      (await app.inject({ method: 'POST', url, payload: `{"__KEY":"${++key}","extra":${extra}}` }))
        .statusCode;
    expect(await send('{"a":[12345678901234567890]}')).toBe(400);
    expect(await send('{"9007199254740993":{"b":-9007199254740993}}')).toBe(400);
    const exact = '{"a":-9007199254740992,"b":1e300,"c":0.12345678901234567,"d":10000000000000000}';
    expect(await send(exact)).toBe(200);
    expect(await send('{"a":"12345678901234567890 \\" 12345678901234567890"}')).toBe(200);
  });

  it('are reported with the form of a relation', async () => {
    const { status, json } = await post('Last', { ticket: { name: 'x' } });
    expect(status).toBe(422);
    expect(json.__ERROR?.[0]?.message).toBe('ticket must be a key, {"__KEY": key} or null.');
  });
});
