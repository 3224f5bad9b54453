import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EventedClient, type Json } from '../../support/evented-requests.js';
import { type EventedServer, eventedServer } from '../../support/evented-server.js';
import { Gate, isSettled } from '../../support/gate.js';
import { create, isOnPostgres, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: locked
dataclasses:
  Team:
    attributes:
      ID: { type: string, key: true }
      name: string
      members: { to: Member, many: true, inverse: team }
  Member:
    attributes:
      ID: { type: integer, key: true }
      name: string
      team: { to: Team, onDelete: cascade }
      mentor: { to: Member, onDelete: setNull }
  Hidden:
    exposed: false
    attributes:
      ID: { type: integer, key: true }
`;

interface Answer {
  readonly status: number;
  readonly json: Json;
}

let app: FastifyInstance;
beforeEach(async () => {
  app = await serverOf(model);
  await create(app, 'Team', [{ ID: 'Red', name: 'red' }, { ID: 'Blue' }]);
  await create(app, 'Member', [{ ID: 1, team: 'Red' }]);
  await create(app, 'Member', [{ ID: 2, mentor: 1 }]);
});
afterEach(() => app.close());

async function post(url: string, body?: unknown, cookie?: string): Promise<Answer> {
  const response = await app.inject({
    method: 'POST',
    url: `/rest/${url}`,
    ...(cookie === undefined ? {} : { headers: { cookie } }),
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  return { status: response.statusCode, json: response.json() };
}

/** Locks an entity in a session of its own. */
async function lock(address: string, server: FastifyInstance = app): Promise<string> {
  const response = await server.inject({
    url: `/rest/${address}?$lock=true`,
    headers: { 'user-agent': 'tester' },
  });
  expect(response.json()).toMatchObject({ result: true });
  return String(response.headers['set-cookie']).split(';')[0] as string;
}

const decoration = {
  __STATUS: {
    status: 3,
    statusText: 'Already locked',
    success: false,
    lockKindText: 'Locked By Session',
    lockInfo: { userAgent: 'tester', IPAddr: '127.0.0.1' },
  },
  __ERROR: [{ errCode: 1846 }, { errCode: 1046 }, { errCode: 1517 }],
};

describe('An entity that another session has locked', () => {
  it('is not changed: 423 with the owner of the lock, before the stamp is checked', async () => {
    const cookie = await lock("Team('rED')");
    for (const __STAMP of [1, 9, undefined]) {
      const answer = await post('Team?$method=update', { __KEY: 'RED', __STAMP, name: 'x' });
      expect(answer).toMatchObject({ status: 423, json: { ...decoration, name: 'red' } });
    }
    const body = { __KEY: 'Red', __STAMP: 1, name: 'x' };
    expect(await post('Team?$method=update', body, cookie)).toMatchObject({ status: 200 });
  });

  it('is the only refused one in a list, and makes an atomic list fail', async () => {
    await lock("Team('rED')");
    const bodies = [
      { __KEY: 'Red', __STAMP: 1, name: 'x' },
      { __KEY: 'Blue', __STAMP: 1, name: 'y' },
    ];
    const atomic = await post('Team?$method=update&$atomic=true', bodies);
    expect(atomic).toMatchObject({
      status: 422,
      json: { __ENTITIES: [decoration, { __STAMP: 1 }] },
    });
    const each = await post('Team?$method=update', bodies);
    expect(each).toMatchObject({ status: 200, json: { __ENTITIES: [decoration, { name: 'y' }] } });
  });

  it('is reported by a validation, and can be used in computations', async () => {
    await lock("Team('rED')");
    const body = { __KEY: 'Red', __STAMP: 1, name: 'x' };
    expect(await post('Team?$method=validate', body)).toMatchObject({
      json: { __ENTITIES: [{ __ERROR: [{ errCode: 1846 }, {}, {}] }] },
    });
    expect(await post('Team?$method=update&$refresh=true', body)).toMatchObject({ status: 200 });
  });

  it.each([
    ['Team', "Team('RED')?$method=delete"],
    ['Team', 'Team?$method=delete&$filter="ID != null"'],
    ['Member', "Team('Red')?$method=delete"],
  ])('is not deleted: %s, by %s', async (dataclass, address) => {
    await lock(dataclass === 'Team' ? "Team('rED')" : 'Member(1)');
    const { status, json } = await post(address);
    expect(status).toBe(423);
    const name = dataclass === 'Team' ? '"Red" of "Team"' : '"1" of "Member"';
    expect(json).toEqual({
      ok: false,
      __ERROR: [
        {
          errCode: 1846,
          componentSignature: 'dbmg',
          message: `Nothing was deleted: the entity ${name} is locked by another session.`,
        },
      ],
    });
    expect((await app.inject('/rest/Team?$top=0')).json()).toMatchObject({ __COUNT: 2 });
  });

  it('is not changed by the deletion of what it refers to', async () => {
    const cookie = await lock('Member(2)');
    expect(await post('Member(1)?$method=delete')).toMatchObject({ status: 423 });
    expect(await post('Member(1)?$method=delete', undefined, cookie)).toMatchObject({
      status: 200,
    });
    // The entity still exists, and so does its lock.
    const body = { __KEY: 2, __STAMP: 2, name: 'x' };
    expect(await post('Member?$method=update', body)).toMatchObject({ status: 423 });
  });
});

it('The lock of an entity ends when its own session deletes the entity', async () => {
  const cookie = await lock("Team('rED')");
  const deleted = await post("Team('RED')?$method=delete", undefined, cookie);
  expect(deleted).toMatchObject({ status: 200 });
  await create(app, 'Team', [{ ID: 'red' }]);
  const body = { __KEY: 'red', __STAMP: 1, name: 'x' };
  expect(await post('Team?$method=update', body)).toMatchObject({ status: 200 });
});

it('The lock of an entity stays when its deletion is refused', async () => {
  const cookie = await lock("Team('rED')");
  await lock('Member(1)');
  const refused = await post("Team('red')?$method=delete", undefined, cookie);
  expect(refused).toMatchObject({ status: 423 });
  const body = { __KEY: 'red', __STAMP: 1, name: 'x' };
  expect(await post('Team?$method=update', body)).toMatchObject({ status: 423 });
});

describe('A lock, with events,', () => {
  let server: EventedServer;
  let client: EventedClient;
  beforeAll(async () => {
    server = await eventedServer();
    client = new EventedClient(server);
  });
  afterAll(() => server.close());

  it('is checked after validateSave and validateDrop, and before saving and dropping', async () => {
    const [made] = await client.create('Company', [{ name: 'a' }]);
    const key = Number(made?.['__KEY']);
    await lock(`Company(${key})`, server.app);
    const kinds: string[] = [];
    const note = (_: unknown, { kind }: { readonly kind: string }): void => void kinds.push(kind);
    server.handlers.Company = {
      validateSave: note,
      saving: note,
      validateDrop: note,
      dropping: note,
      afterDrop: note,
    };
    const body = { __KEY: key, __STAMP: 1, name: 'b' };
    expect(await client.post('Company?$method=update', body)).toMatchObject({ status: 423 });
    expect(await client.post(`Company(${key})?$method=delete`)).toMatchObject({ status: 423 });
    expect(kinds).toEqual(['validateSave', 'validateDrop']);
    const entity = await server.ds.Company.get(key);
    entity?.fromObject({ name: 'c' });
    await expect(entity?.save()).rejects.toMatchObject({ status: 3, httpStatus: 423 });
    await expect(entity?.drop()).rejects.toMatchObject({ status: 3, httpStatus: 423 });
    expect(await client.stored('Company')).toMatchObject([{ name: 'a', __STAMP: 1 }]);
  });

  it.each<[string, (key: number) => Promise<unknown>]>([
    ['$lock', (key) => lock(`Company(${key})`, server.app)],
    ['lock()', async (key) => (await server.ds.Company.get(key))?.lock()],
  ])('that %s takes is given when a running change of the entity has ended', async (_, take) => {
    const [made] = await client.create('Company', [{ name: 'a' }]);
    const key = Number(made?.['__KEY']);
    const gate = new Gate();
    server.handlers.Company = { afterSave: () => gate.pass() };
    const change = client.post('Company?$method=update', { __KEY: key, __STAMP: 1, name: 'b' });
    await gate.reached;
    const taken = take(key);
    expect(await isSettled(taken)).toBe(false);
    gate.open();
    expect(await change).toMatchObject({ status: 200 });
    await taken;
  });

  // PostgreSQL has several writers.
  it.skipIf(isOnPostgres)(
    'stays with its session if a second $lock has to be refused',
    async () => {
      const [made] = await client.create('Company', [{ name: 'a' }]);
      const key = Number(made?.['__KEY']);
      const cookie = await lock(`Company(${key})`, server.app);
      const gate = new Gate();
      server.handlers.Company = { afterSave: () => gate.pass() };
      const changes = Array.from({ length: 1001 }, () =>
        client.post('Company?$method=update', { name: 'b' }),
      );
      await gate.reached;
      await isSettled(changes[1000] as Promise<unknown>);
      expect(await client.post(`Company(${key})?$lock=true`, undefined, cookie)).toMatchObject({
        status: 503,
      });
      gate.open();
      await Promise.all(changes);
      const body = { __KEY: key, __STAMP: 1, name: 'c' };
      expect(await client.post('Company?$method=update', body)).toMatchObject({ status: 423 });
    },
  );

  it('is undone with the transaction of the class code that took it', async () => {
    const held: unknown[] = [];
    server.handlers.Company = {
      afterSave: async (entity) => {
        held.push(entity.key, await entity.lock());
        throw new Error('undone');
      },
    };
    expect(await client.post('Company?$method=update', { name: 'undone' })).toMatchObject({
      status: 500,
    });
    server.handlers.Company = {};
    const [key, isLocked] = held;
    expect(isLocked).toBe(true);
    await client.create('Company', [{ ID: key, name: 'next' }]);
    const body = { __KEY: key, __STAMP: 1, name: 'changed' };
    expect(await client.post('Company?$method=update', body)).toMatchObject({ status: 200 });
  });
});
