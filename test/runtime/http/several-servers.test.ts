import { renameSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { severalClasses, severalModel } from '../../support/processes/several.js';
import { Client } from '../../support/cookies.js';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { modelOf, serverOf } from '../../support/server.js';
import { png } from '../../support/media-samples.js';

const change = (name: string, stamp = 1): readonly object[] => [
  { __KEY: '1', __STAMP: stamp, name },
];
const login = '/rest/$directory/login';
const logout = '/rest/$directory/logout';

describeDatabases('Two servers with one database', ({ driver, create, run }) => {
  let database: TestDatabase;
  let servers: FastifyInstance[];

  beforeEach(async () => {
    database = await create();
    servers = [];
  });
  afterEach(async () => {
    for (const each of servers) await each.close();
    await database.drop();
  });

  async function open(
    environment: Readonly<Record<string, string>> = {},
  ): Promise<FastifyInstance> {
    const app = await serverOf(
      { ...modelOf(severalModel), databases: [driver] },
      {
        databaseUrl: database.url,
        environment: { STATE: 'database', DATABASE_POOL: '4', ...environment },
      },
      severalClasses,
    );
    await app.ready();
    servers.push(app);
    return app;
  }

  /** Clients of two servers, which have one cookie when {@link share} is called. */
  async function both(
    environment: Readonly<Record<string, string>> = {},
  ): Promise<readonly [Client, Client]> {
    const one = new Client(await open(environment));
    const other = new Client(await open(environment));
    await one.post('/rest/Item?$method=update', [{ name: 'first' }, { name: 'second' }]);
    return [one, other];
  }
  const userOf = async (client: Client): Promise<unknown> => {
    const answer = await client.get('/rest/$directory/currentUser');
    expect(answer.statusCode).toBe(200);
    return answer.json<{ result: { userName: string } | null }>().result?.userName;
  };
  const lock = async (client: Client, wanted = true): Promise<unknown> =>
    (await client.get(`/rest/Item(1)?$lock=${wanted}`)).json<{ result: boolean }>().result;

  it('know the sessions, sets, locks and uploads of either, until one of them ends the session', async () => {
    const [one, other] = await both({ SESSION_TRUST: '0' });
    expect((await one.post(login, ['mia', 'right'])).statusCode).toBe(200);
    other.cookie = one.cookie;
    expect(await userOf(other)).toBe('mia');
    const made = await one.get('/rest/Item?$filter="ID>1"&$method=entityset');
    const set = made.json<{ __ENTITYSET: string }>().__ENTITYSET;
    expect((await other.get(set)).json()).toMatchObject({ __COUNT: 1 });
    const bob = new Client(servers[1] as FastifyInstance);
    expect((await bob.post(login, ['bob', 'right'])).statusCode).toBe(200);
    expect((await bob.get(set)).statusCode).toBe(404);
    expect([await lock(one), await lock(other), await lock(bob)]).toEqual([true, true, false]);
    const refused = await bob.post('/rest/Item?$method=update', change('bob'));
    expect(refused.body).toContain('"status":3');
    expect((await bob.post('/rest/Item(1)?$method=delete')).body).toContain('"ok":false');
    const uploaded = await one.send({
      method: 'POST',
      url: '/rest/$upload?$rawPict=true',
      payload: png,
    });
    const { ID } = uploaded.json<{ ID: string }>();
    const photo = [{ __KEY: '1', __STAMP: 1, photo: { ID } }];
    const stored = await other.post('/rest/Item?$method=update', photo);
    expect(stored.json()).toMatchObject({ __ENTITIES: [{ __STAMP: 2 }] });
    const { cookie } = one;
    expect((await other.get(logout)).json()).toEqual({ result: true });
    expect(await userOf(one)).toBeUndefined();
    one.cookie = cookie;
    expect((await one.get(set)).statusCode).toBe(404);
    const allowed = await bob.post('/rest/Item?$method=update', change('bob', 2));
    expect(allowed.json()).toMatchObject({ __ENTITIES: [{ name: 'bob' }] });
  });

  it.each(['1', '9999'])(
    'trust a session for SESSION_TRUST=%s seconds after it has ended at another one',
    async (SESSION_TRUST) => {
      const [one, other] = await both({ SESSION_TRUST });
      await one.post(login, ['mia', 'right']);
      const { cookie } = one;
      const isKnown = async (client: Client): Promise<boolean> => {
        client.cookie = cookie;
        return (await userOf(client)) === 'mia';
      };
      expect(await isKnown(other)).toBe(true);
      await one.get(logout);
      expect(await isKnown(one)).toBe(false);
      if (SESSION_TRUST === '9999') expect(await isKnown(other)).toBe(true);
      else await expect.poll(() => isKnown(other), { timeout: 10_000 }).toBe(false);
    },
  );

  it.each(['-1', '1.5', 'x', '10000'])('refuse SESSION_TRUST=%s', async (SESSION_TRUST) => {
    await expect(open({ SESSION_TRUST })).rejects.toThrow(
      `SESSION_TRUST is "${SESSION_TRUST}"; it must be a whole number of seconds`,
    );
  });

  it('answer a save that is stored, also if they cannot note what it used of an upload', async () => {
    const [one] = await both();
    await one.post(login, ['mia', 'right']);
    const url = '/rest/$upload?$rawPict=true';
    const { ID } = (await one.send({ method: 'POST', url, payload: png })).json<{ ID: string }>();
    if (driver === 'sqlite') {
      const refuse = "begin select raise(abort, 'refused'); end";
      await run(
        `${database.url}-state`,
        `create trigger refused before update on upload ${refuse}`,
      );
    } else {
      await run(database.url, 'alter table drs_state.upload add check (written = 0)');
    }
    const photo = [{ __KEY: '1', __STAMP: 1, photo: { ID } }];
    const stored = await one.post('/rest/Item?$method=update', photo);
    expect(stored.statusCode, stored.body).toBe(200);
    expect(stored.json()).toMatchObject({ __ENTITIES: [{ __STAMP: 2 }] });
  });

  it('keep what class code stores and limits, of a guest who becomes a user as well', async () => {
    const [one, other] = await both();
    await one.post('/rest/$catalog/remember', ['list', 'a']);
    other.cookie = one.cookie;
    await other.post('/rest/$catalog/remember', ['list', 'b']);
    const guest = one.cookie;
    await other.post(login, ['mia', 'right']);
    expect(other.cookie).not.toBe(guest);
    one.cookie = other.cookie;
    expect((await one.post('/rest/$catalog/recall', ['list'])).json()).toEqual({
      result: ['a', 'b'],
    });
    await one.post('/rest/$catalog/become', ['edit']);
    expect(await userOf(other)).toBeUndefined();
    other.cookie = one.cookie;
    // Each server counts for itself.
    await one.post('/rest/$catalog/limit', [2]);
    const statuses: number[] = [];
    for (const client of [one, other, one, other, one, other]) {
      statuses.push((await client.get('/rest/Item')).statusCode);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  });

  it('share the limit of sessions; a refused client gets no cookie', async () => {
    const [one, other] = await both({ MAX_SESSIONS: '1', MAX_GUEST_SESSIONS: '1' });
    expect((await one.post(login, ['mia', 'right'])).statusCode).toBe(200);
    const refused = await other.post(login, ['bob', 'right']);
    expect([refused.statusCode, refused.headers['set-cookie'], other.cookie]).toEqual([
      402,
      undefined,
      undefined,
    ]);
    expect(refused.body).toContain('1823');
    expect((await other.post('/rest/$catalog/remember', ['a', 'b'])).statusCode).toBe(200);
    const guest = new Client(servers[0] as FastifyInstance);
    const second = await guest.post('/rest/$catalog/remember', ['a', 'b']);
    expect([second.statusCode, second.headers['set-cookie']]).toEqual([402, undefined]);
    await one.get(logout);
    expect((await other.post(login, ['bob', 'right'])).statusCode).toBe(200);
    expect((await other.post('/rest/$catalog/recall', ['a'])).json()).toEqual({ result: ['b'] });
  });

  it('know who was logged in when they start again', async () => {
    const [one, other] = await both();
    await one.post(login, ['mia', 'right']);
    expect(await lock(one)).toBe(true);
    for (const each of servers.splice(0)) await each.close();
    const again = new Client(await open());
    again.cookie = one.cookie;
    expect(await userOf(again)).toBe('mia');
    other.cookie = undefined;
    const bob = new Client(servers[0] as FastifyInstance);
    await bob.post(login, ['bob', 'right']);
    expect(await lock(bob)).toBe(false);
  });

  it('change nothing that another session has locked, even with requests at the same moment', async () => {
    await both();
    const logged = async (user: string, at: number): Promise<Client> => {
      const client = new Client(servers[at] as FastifyInstance);
      expect((await client.post(login, [user, 'right'])).statusCode).toBe(200);
      return client;
    };
    const stampOf = async (client: Client): Promise<number> =>
      (await client.get('/rest/Item(1)')).json<{ __STAMP: number }>().__STAMP;
    let isOver = false;
    const writers = ['eve', 'joe', 'tom'].map(async (user, at) => {
      const client = await logged(user, at % 2);
      let written = 0;
      while (!isOver) {
        const stamp = await stampOf(client);
        const answer = await client.post(
          '/rest/Item?$method=update',
          change(`${user} ${written}`, stamp),
        );
        expect(answer.statusCode).toBe(200);
        if (!answer.body.includes('__ERROR')) written += 1;
      }
      return written;
    });
    const lockers = ['mia', 'bob'].map(async (user, at) => {
      const client = await logged(user, at);
      let locked = 0;
      for (let attempt = 0; attempt < 200 && locked < 8; attempt += 1) {
        await setTimeout(2);
        if ((await lock(client)) !== true) continue;
        locked += 1;
        const stamp = await stampOf(client);
        await setTimeout(3);
        expect(await stampOf(client)).toBe(stamp);
        expect(await lock(client, false)).toBe(true);
      }
      return locked;
    });
    let locked: readonly number[] = [];
    try {
      locked = await Promise.all(lockers);
    } finally {
      isOver = true;
      await Promise.allSettled(writers);
    }
    expect(locked.every((each) => each > 0)).toBe(true);
    const written = await Promise.all(writers);
    expect(written.some((each) => each > 0)).toBe(true);
  });

  it('answer 503 while the database cannot be reached, and treat no user as a guest', async () => {
    const [one] = await both();
    await one.post(login, ['mia', 'right']);
    if (driver === 'sqlite') {
      const file = `${database.url.slice('sqlite:'.length)}-state`;
      renameSync(file, `${file}-moved`);
      // A server looks for its files ten times a second.
      await setTimeout(150);
    } else await database.drop();
    const answer = await one.get('/rest/$directory/currentUser');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '1']);
    expect((await one.get('/health/live')).statusCode).toBe(200);
    const ready = await one.get('/health/ready');
    const isStateAlone = driver === 'sqlite';
    expect([ready.statusCode, ready.body]).toEqual(
      isStateAlone ? [200, '{"ok":true}'] : [503, '{"ok":false}'],
    );
    if (driver !== 'sqlite') database = await create();
  });
});

describe('STATE', () => {
  it.each([
    [{ STATE: 'redis' }, 'STATE is "redis"; it must be memory or database.'],
    [{ STATE: 'database' }, 'STATE is database, and DATABASE_URL names a database in memory'],
  ])('%j is refused with a database in memory', async (environment, message) => {
    const model = { ...modelOf(severalModel), databases: ['sqlite'] } as const;
    const options = { databaseUrl: 'sqlite::memory:', environment };
    await expect(serverOf(model, options, severalClasses)).rejects.toThrow(message);
  });
});
