import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client as DatabaseClient } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { installedPostgres } from '../support/postgres/binaries.js';
import { PostgresServer } from '../support/postgres/server.js';
import { describePostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { modelOf, packageRoot } from '../support/server.js';
import { Cluster, ready } from './support/cluster.js';
import { compiledProgram } from '../support/processes/program.js';
import { kill } from '../support/processes/server-process.js';
import { type Answer, Client, severalClasses, severalModel } from '../support/processes/several.js';
import { sampled } from '../support/long.js';

/** How often a server is killed: `DURABILITY_KILLS=500` for many. */
const kills = Number(process.env['DURABILITY_KILLS'] ?? sampled(2));

const model = { ...modelOf(severalModel), databases: ['postgres'] } as const;

let program: string;
let folder: string;

beforeAll(() => {
  program = compiledProgram(model, severalClasses);
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'servers-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function userOf({ status, json }: Answer): unknown {
  expect(status).toBe(200);
  return (json as { readonly result: { readonly userName: string } | null }).result?.userName;
}

/** A client that is logged in. */
async function loggedIn(origin: string, user: string): Promise<Client> {
  const client = new Client(origin);
  expect((await client.post('/$directory/login', [user, 'right'])).status).toBe(200);
  return client;
}

const who = (client: Client): Promise<Answer> => client.get('/$directory/currentUser');
const lock = async (client: Client, isWanted = true): Promise<unknown> =>
  ((await client.get(`/Item(1)?$lock=${isWanted}`)).json as { readonly result: boolean }).result;
const read = async (client: Client): Promise<{ readonly __STAMP: number; readonly name: string }> =>
  (await client.get('/Item(1)')).json as { readonly __STAMP: number; readonly name: string };
const save = (client: Client, name: string, stamp: number, key = '1'): Promise<Answer> =>
  client.post('/Item?$method=update', [{ __KEY: key, __STAMP: stamp, name }]);

/** Each request asks the database for its session. */
const environment = { SESSION_TRUST: '0' };

describePostgres('Three servers, of which one fails', () => {
  let database: TestDatabase;
  let cluster: Cluster;

  beforeEach(async () => {
    database = await postgresDatabase();
    cluster = await Cluster.start(program, 3, { folder, databaseUrl: database.url, environment });
    const client = new Client(cluster.origin);
    await client.post('/Item?$method=update', [{ name: '0' }, { name: 'other' }]);
    client.close();
  });
  afterEach(async () => {
    await cluster.close();
    await database.drop();
  });

  it('lose nothing that was answered when servers are killed, and give no lock twice', async () => {
    const users = ['mia', 'bob', 'eve', 'tom'];
    const clients = await Promise.all(users.map((user) => loggedIn(cluster.origin, user)));
    let isOver = false;
    let holder: string | undefined;
    let [acknowledged, unknown] = [0, 0];
    /** `undefined` if the server ended, or its connection to the proxy. */
    const asked = async (answer: Promise<Answer>): Promise<Answer | undefined> => {
      const { status, json, text, headers } = await answer;
      expect([200, 502], text).toContain(status);
      return status === 200 ? { status, json, text, headers } : undefined;
    };
    /** Adds one to the number in the name of the entity, under its lock. */
    const add = async (client: Client, user: string): Promise<void> => {
      const locked = await asked(client.get('/Item(1)?$lock=true'));
      if (locked === undefined) {
        // It may have the lock, or not.
        await repeated(() => asked(client.get('/Item(1)?$lock=false')));
        return;
      }
      if (!(locked.json as { readonly result: boolean }).result) return;
      expect(holder).toBeUndefined();
      holder = user;
      const { json } = await repeated(() => asked(client.get('/Item(1)')));
      const { name, __STAMP: stamp } = json as { readonly name: string; readonly __STAMP: number };
      const answer = await asked(save(client, String(Number(name) + 1), stamp));
      if (answer === undefined) unknown += 1;
      else {
        expect(answer.text).not.toContain('__ERROR');
        acknowledged += 1;
      }
      expect(userOf(await repeated(() => asked(who(client))))).toBe(user);
      holder = undefined;
      await repeated(() => asked(client.get('/Item(1)?$lock=false')));
    };
    const work = clients.map(async (client, at) => {
      while (!isOver) await add(client, users[at] as string);
    });
    try {
      for (let round = 1; round <= kills; round += 1) {
        while (acknowledged < round * 5) await Promise.race([setTimeout(5), Promise.all(work)]);
        const member = cluster.member(0);
        await kill(member);
        cluster.remove(member);
        await cluster.add(program);
      }
    } finally {
      isOver = true;
      await Promise.all(work);
    }
    const reader = clients[0] as Client;
    const added = Number((await read(reader)).name);
    expect(added).toBeGreaterThanOrEqual(acknowledged);
    expect(added).toBeLessThanOrEqual(acknowledged + unknown);
    for (const each of clients) each.close();
  });

  it('go on while one of them is stopped, which knows afterwards what has happened', async () => {
    const stopped = cluster.member(0);
    const mia = await loggedIn(stopped.origin, 'mia');
    expect(await lock(mia)).toBe(true);
    const { cookie } = mia;
    stopped.child.kill('SIGSTOP');
    const miaElsewhere = new Client(cluster.member(1).origin, cookie);
    const bob = await loggedIn(cluster.member(2).origin, 'bob');
    expect(userOf(await who(miaElsewhere))).toBe('mia');
    expect(await lock(bob)).toBe(false);
    expect((await save(bob, 'bob', 1)).text).toContain('"status":3');
    expect((await miaElsewhere.get('/$directory/logout')).status).toBe(200);
    expect(await lock(bob)).toBe(true);
    stopped.child.kill('SIGCONT');
    expect(userOf(await who(mia))).toBeUndefined();
    mia.cookie = cookie;
    expect((await save(mia, 'mia', 1)).text).toContain('__ERROR');
    const eve = await loggedIn(stopped.origin, 'eve');
    expect((await save(eve, 'eve', 1)).text).toContain('"status":3');
    expect(await lock(eve)).toBe(false);
    expect((await save(bob, 'bob', 1)).json).toMatchObject({ __ENTITIES: [{ name: 'bob' }] });
    for (const each of [mia, miaElsewhere, bob, eve]) each.close();
  });

  it.each(['SIGCONT', 'SIGKILL'] as const)(
    'wait for a transaction of a stopped one, until %s, for its entity alone',
    async (signal) => {
      const stopped = cluster.member(0);
      const mia = await loggedIn(stopped.origin, 'mia');
      const bob = await loggedIn(cluster.member(1).origin, 'bob');
      const eve = await loggedIn(cluster.member(2).origin, 'eve');
      const tom = await loggedIn(cluster.member(2).origin, 'tom');
      const file = join(folder, signal);
      const held = mia.post('/$catalog/hold', [1, 'mia', file]).then(
        ({ status }) => status,
        () => undefined,
      );
      await hasTransaction(database.url);
      stopped.child.kill('SIGSTOP');
      let isAnswered = false;
      const saved = save(bob, 'bob', 1).finally(() => {
        isAnswered = true;
      });
      const locked = lock(tom).finally(() => {
        isAnswered = true;
      });
      expect((await save(eve, 'eve', 1, '2')).json).toMatchObject({
        __ENTITIES: [{ name: 'eve' }],
      });
      expect(isAnswered).toBe(false);
      writeFileSync(file, '');
      stopped.child.kill(signal);
      expect(await held).toBe(signal === 'SIGCONT' ? 200 : undefined);
      expect(await locked).toBe(true);
      const { text } = await saved;
      const { name } = await read(eve);
      if (signal === 'SIGCONT') {
        expect(text).toContain('__ERROR');
        expect(name).toBe('mia');
      } else expect(name).toBe(text.includes('__ERROR') ? '0' : 'bob');
      for (const each of [mia, bob, eve, tom]) each.close();
    },
  );
});

/** Waits until a transaction of class code has changed something. */
async function hasTransaction(url: string): Promise<void> {
  const client = new DatabaseClient({ connectionString: url });
  await client.connect();
  const text = `select 1 from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction' and backend_xid is not null`;
  while ((await client.query(text)).rows.length === 0) await setTimeout(5);
  await client.end();
}

describePostgres('A rolling update to a new model', () => {
  const later = {
    ...modelOf(
      severalModel.replace(
        'photo: image',
        'photo: image\n      note: { type: string, default: none }\n      size: integer',
      ),
    ),
    databases: ['postgres'],
  } as const;

  it('fails no request, while servers of both models share sessions, locks, sets and data', async () => {
    const next = compiledProgram(later, severalClasses);
    const database = await postgresDatabase();
    const cluster = await Cluster.start(program, 3, {
      folder,
      databaseUrl: database.url,
      environment,
    });
    try {
      const users = ['mia', 'bob', 'eve'];
      const clients = await Promise.all(users.map((user) => loggedIn(cluster.origin, user)));
      const [mia] = clients as [Client];
      await mia.post('/Item?$method=update', [{ name: '0' }, ...users.map(() => ({ name: '0' }))]);
      expect(await lock(mia)).toBe(true);
      let isOver = false;
      let rounds = 0;
      const expectFine = ({ status, text }: Answer): void => {
        expect(status, text).toBe(200);
        expect(text).not.toContain('__ERROR');
      };
      const work = clients.map(async (client, at) => {
        const key = String(at + 2);
        for (let count = 1; !isOver; count += 1) {
          const made = await client.get('/Item?$filter="ID>0"&$method=entityset');
          expectFine(made);
          const { __ENTITYSET: set } = made.json as { readonly __ENTITYSET: string };
          expectFine(await save(client, String(count), count, key));
          expect((await client.get(`/Item(${key})`)).json).toMatchObject({
            __STAMP: count + 1,
            name: String(count),
          });
          expect((await client.get(set.slice('/rest'.length))).json).toMatchObject({ __COUNT: 4 });
          expect(await lock(client)).toBe(client === mia);
          expect(userOf(await who(client))).toBe(users[at]);
          rounds += 1;
        }
      });
      const someRounds = async (): Promise<void> => {
        const wanted = rounds + 6;
        while (rounds < wanted) await Promise.race([setTimeout(5), Promise.all(work)]);
      };
      try {
        for (const old of cluster.members) {
          await cluster.add(next);
          await someRounds();
          cluster.remove(old);
          old.child.kill('SIGTERM');
          expect(await old.ended).toMatchObject({ code: 0, signal: null });
          await someRounds();
        }
      } finally {
        isOver = true;
        await Promise.all(work);
      }
      expect((await mia.get('/Item(2)')).json).toMatchObject({ note: 'none', size: null });
      for (const each of clients) each.close();
    } finally {
      await cluster.close();
      await database.drop();
    }
  });
});

async function repeated<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
}

const installed = installedPostgres();

describe.skipIf(installed === undefined)('Three servers whose PostgreSQL fails', () => {
  let postgres: PostgresServer;
  let cluster: Cluster;
  let client: Client;

  beforeAll(async () => {
    postgres = await PostgresServer.create(installed as string, 60);
    const databaseUrl = postgres.url('postgres');
    cluster = await Cluster.start(program, 3, { folder, databaseUrl, environment });
    client = await loggedIn(cluster.origin, 'mia');
    await client.post('/Item?$method=update', [{ name: 'first' }]);
  });
  afterAll(async () => {
    client.close();
    await cluster.close();
    await postgres.remove();
  });

  /** While PostgreSQL is away; nothing that a client sees says that it is a guest. */
  async function expectUnavailable(): Promise<void> {
    const { cookie } = client;
    const paths = ['/$directory/currentUser', '/Item(1)', '/Item', '/Item(1)?$lock=true'];
    for (const path of [...paths, ...paths, ...paths]) {
      const answer = await client.get(path);
      expect([answer.status, answer.headers['retry-after']], path).toEqual([503, '1']);
      expect(answer.headers['set-cookie'], path).toBeUndefined();
    }
    const posts = [
      ['/$catalog/remember', ['a', 'b']],
      ['/$catalog/hold', [1, 'held', '.']],
      ['/$directory/login', ['bob', 'right']],
      ['/Item?$method=update', [{ __KEY: '1', __STAMP: 1, name: 'lost' }]],
      ['/$upload?$rawPict=true', Buffer.alloc(100)],
    ] as const;
    for (const [path, body] of [...posts, ...posts, ...posts]) {
      const answer = await client.post(path, body);
      expect([answer.status, answer.headers['retry-after']], `${path} ${answer.text}`).toEqual([
        503,
        '1',
      ]);
      expect(answer.headers['set-cookie'], path).toBeUndefined();
    }
    expect((await client.get('/$directory/logout')).status).toBe(503);
    expect(client.cookie).toBe(cookie);
    for (const each of cluster.members) {
      await ready(each, 503);
      expect((await fetch(`${each.origin}/health/live`)).status).toBe(200);
    }
  }

  async function setOf(): Promise<string> {
    const { json } = await client.get('/Item?$filter="ID>0"&$method=entityset');
    return (json as { readonly __ENTITYSET: string }).__ENTITYSET.slice('/rest'.length);
  }

  it.each([
    ['an orderly restart', (): Promise<void> => postgres.stop(), 200],
    // Tables that are not logged are empty then.
    ['a crash', (): Promise<void> => postgres.kill(), 404],
  ] as const)(
    'answer 503 during %s, and go on with all sessions and locks',
    async (_what, end, statusOfSet) => {
      await client.post('/$catalog/remember', ['name', 'kept']);
      expect(await lock(client)).toBe(true);
      const set = await setOf();
      await end();
      await expectUnavailable();
      await postgres.start();
      for (const each of cluster.members) await ready(each);
      const bob = await loggedIn(cluster.origin, 'bob');
      for (const each of cluster.members) {
        const own = new Client(each.origin, client.cookie);
        expect(userOf(await who(own))).toBe('mia');
        const { json } = await own.post('/$catalog/recall', ['name']);
        expect(json).toMatchObject({ result: expect.arrayContaining(['kept']) as unknown });
        expect((await own.get(set)).status).toBe(statusOfSet);
        own.close();
        expect(await lock(bob)).toBe(false);
      }
      const { name, __STAMP: stamp } = await read(client);
      expect(name).not.toBe('lost');
      expect((await save(client, 'saved', stamp)).json).toMatchObject({
        __ENTITIES: [{ name: 'saved' }],
      });
      await bob.get('/$directory/logout');
      bob.close();
    },
  );

  it('stop in an orderly way while it cannot be reached', async () => {
    const member = await cluster.add(program);
    cluster.remove(member);
    await postgres.stop();
    const ended = once(member.child, 'exit');
    member.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await postgres.start();
    for (const each of cluster.members) await ready(each);
  });
});
