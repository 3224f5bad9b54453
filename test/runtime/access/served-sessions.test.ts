import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { create, serverOf } from '../../support/server.js';

const dataclasses = `
dataclasses:
  Note:
    attributes:
      code: { type: string, key: true }
      text: string
      file: blob
      parent: { to: Note, onDelete: cascade }
      children: { to: Note, many: true, inverse: parent }
`;
const open = `drs: 1\nname: notes\n${dataclasses}`;
const withRoles = `drs: 1
name: notes
limits: { maxEntitySetsPerSession: 2 }
${dataclasses}
roles:
  restrictedByDefault: false
  forceLogin: true
  privileges:
    - { privilege: write, includes: [] }
  permissions:
    allowed:
      - { applyTo: Note, type: dataclass, read: [write], create: [write], update: [write], drop: [write] }
`;

let app: FastifyInstance;
let one: Client;
let two: Client;

afterEach(() => app.close());

interface Answer {
  readonly __ENTITYSET: string;
  readonly ID: string;
  readonly __ERROR: readonly { readonly errCode: number }[];
  readonly result: boolean;
}

function outcome(response: Awaited<ReturnType<Client['get']>>): readonly unknown[] {
  const { __ERROR }: Partial<Answer> = response.json();
  return [response.statusCode, ...(__ERROR ?? []).map(({ errCode }) => errCode)];
}

describe('A server without roles', () => {
  beforeEach(async () => {
    app = await serverOf(open);
    one = new Client(app);
    two = new Client(app);
    await create(app, 'Note', [
      { code: 'A' },
      { code: 'b', parent: 'A' },
      { code: 'c', parent: 'b' },
    ]);
  });

  async function lock(by: Client, key: string, wanted = true): Promise<unknown> {
    const response = await by.get(`/rest/Note("${key}")?$lock=${wanted}`);
    return response.json<Answer>().result;
  }

  it('keeps others from what a session has locked, whatever the case of its key', async () => {
    expect(await lock(one, 'a')).toBe(true);
    expect(await lock(one, 'A')).toBe(true);
    expect(await lock(two, 'A')).toBe(false);
    expect(two.cookie).toBeUndefined();
    const change = { __KEY: 'A', __STAMP: 1, text: 'x' };
    const update = '/rest/Note?$method=update';
    expect((await two.post(update, change)).statusCode).toBe(423);
    expect((await two.post(`${update}&$atomic=true`, [change])).statusCode).not.toBe(200);
    expect((await two.post('/rest/Note("A")?$method=delete')).statusCode).toBe(423);
    expect((await two.post(`/rest/Note?$method=delete&$filter="code='a'"`)).statusCode).toBe(423);
    expect((await two.get('/rest/Note("A")')).json()).toMatchObject({ __STAMP: 1 });
    expect((await one.post(update, change)).statusCode).toBe(200);
  });

  it('protects a locked entity that a cascade would reach', async () => {
    await lock(one, 'c');
    expect((await two.post('/rest/Note("A")?$method=delete')).statusCode).toBe(423);
    expect((await two.get('/rest/Note?$top=0')).json()).toMatchObject({ __COUNT: 3 });
    expect((await one.post('/rest/Note("A")?$method=delete')).statusCode).toBe(200);
  });

  it('ends a lock with its entity, with its session, or by a request', async () => {
    await lock(one, 'c');
    expect(await lock(two, 'c', false)).toBe(false);
    expect(await lock(one, 'c', false)).toBe(true);
    expect(await lock(two, 'c')).toBe(true);
    await two.get('/rest/$directory/logout');
    expect(await lock(one, 'C')).toBe(true);
    expect((await one.post('/rest/Note("c")?$method=delete')).statusCode).toBe(200);
    await create(app, 'Note', [{ code: 'c' }]);
    expect(await lock(two, 'c')).toBe(true);
  });

  it('accepts a lock only as a request of its own', async () => {
    for (const method of ['update', 'delete', 'validate']) {
      const refused = await one.post(`/rest/Note("A")?$lock=true&$method=${method}`, {});
      expect(refused.statusCode).toBe(400);
      expect(refused.json()).toMatchObject({ __ERROR: [{ errCode: 1813 }] });
    }
    expect((await two.post('/rest/Note("A")?$method=delete')).statusCode).toBe(200);
  });

  it('limits the locks of a session', async () => {
    await app.close();
    app = await serverOf(open, { environment: { MAX_LOCKS_PER_SESSION: '1' } });
    one = new Client(app);
    await create(app, 'Note', [{ code: 'a' }, { code: 'b' }]);
    expect(await lock(one, 'a')).toBe(true);
    const refused = await one.get('/rest/Note("b")?$lock=true');
    expect(outcome(refused)).toEqual([429, 1844]);
  });

  it('gives an upload to the session that sent it, and removes it with the session', async () => {
    const send = (by: Client): ReturnType<Client['send']> =>
      by.send({ method: 'POST', url: '/rest/$upload?$binary=true', payload: 'bytes' });
    const { ID } = (await send(one)).json<Answer>();
    expect(one.cookie).toMatch(/^DRSID_notes=/);
    const save = (by: Client, code: string): ReturnType<Client['post']> =>
      by.post('/rest/Note?$method=update', { code, file: { ID } });
    expect(outcome(await save(two, 'x'))).toEqual([400, 1826, 1570, 1534]);
    await send(two);
    expect(outcome(await save(two, 'x'))).toEqual([400, 1826, 1570, 1534]);
    expect((await save(one, 'x')).statusCode).toBe(200);
    await one.get('/rest/$directory/logout');
    expect(outcome(await save(one, 'y'))).toEqual([400, 1826, 1570, 1534]);
  });

  it('opens the sets of guests to everybody, and counts them for their session if there is a limit', async () => {
    await app.close();
    app = await serverOf(open, { environment: { MAX_ENTITY_SETS_PER_SESSION: '1' } });
    one = new Client(app);
    two = new Client(app);
    const make = '/rest/Note?$method=entityset';
    const { __ENTITYSET: set } = (await one.get(make)).json<Answer>();
    expect((await two.get(set)).statusCode).toBe(200);
    const refused = await one.get(make);
    expect(outcome(refused)).toEqual([429, 1844]);
    expect(refused.headers['retry-after']).toBe('');
    const unknown = `/rest/Note/$entityset/${'A'.repeat(32)}?$savedfilter="code='a'"`;
    expect(outcome(await one.get(unknown))).toEqual([429, 1844]);
    expect((await one.get('/rest/Note')).statusCode).toBe(200);
    expect((await two.get(make)).statusCode).toBe(200);
    await one.get(`${set}?$method=release`);
    expect((await one.get(make)).statusCode).toBe(200);
    expect((await one.get('/rest/$info')).json()).toMatchObject({
      entitySetCount: 1,
      entitySet: [{ dataClass: 'Note', tableName: 'Note', selectionSize: 0, sorted: false }],
      sessionInfo: [{ userName: '', lifeTime: 3600 }],
    });
  });
});

describe('A server with roles', () => {
  beforeEach(async () => {
    app = await rolesServerOf(withRoles);
    one = await loggedIn(app, { privileges: ['write'] });
    two = await loggedIn(app, { privileges: ['write'] });
  });

  it('requires guests to log in, for everything except the catalog and the directory', async () => {
    const guest = new Client(app);
    for (const url of [
      '/rest/Note',
      '/rest/Nothing',
      '/rest/$info',
      '/rest/Note("a")',
      '/rest/x/y',
    ]) {
      expect(outcome(await guest.get(url))).toEqual([401, 1845]);
    }
    for (const url of ['/rest/Note?$method=update', '/rest/$upload', '/rest/$entityset/$release']) {
      expect(outcome(await guest.post(url, []))).toEqual([401, 1845]);
    }
    for (const url of [
      '/rest/$catalog',
      '/rest/$catalog/$all',
      '/rest/$directory/currentUser',
      '/health',
    ]) {
      expect(outcome(await guest.get(url))).toEqual([200]);
    }
    expect(guest.cookie).toBeUndefined();
    await one.get('/rest/$directory/logout');
    expect(outcome(await one.get('/rest/Note'))).toEqual([401, 1845]);
  });

  it('hides the sets of a user from others, however they name them', async () => {
    const { __ENTITYSET: set } = (await one.get('/rest/Note?$method=entityset')).json<Answer>();
    const { __ENTITYSET: own } = (await two.get('/rest/Note?$method=entityset')).json<Answer>();
    const id = set.slice(-32);
    expect(outcome(await one.get(set))).toEqual([200]);
    expect(outcome(await two.get(set))).toEqual([404, 1802]);
    expect(outcome(await two.get(`${set}?$method=release`))).toEqual([404, 1802]);
    expect(outcome(await two.post(`${set}?$method=delete`))).toEqual([404, 1802]);
    const combined = `${own}?$logicOperator=AND&$otherCollection=${id}`;
    expect(outcome(await two.get(combined))).toEqual([404, 1820]);
    expect(outcome(await two.get(`${set}?$savedfilter="code='a'"`))).toEqual([404, 1802]);
    await two.post('/rest/$entityset/$release', [id]);
    expect((await two.get(set)).body).toBe(
      (await two.get(set.slice(0, -32) + 'B'.repeat(32))).body.replaceAll('B'.repeat(32), id),
    );
    expect(outcome(await one.get(set))).toEqual([200]);
    expect((await two.get('/rest/$info')).body).not.toContain(id);
    expect((await one.get('/rest/$info')).body).toContain(id);
  });

  it('keeps a set when the cookie of its session is renewed, and drops it with the session', async () => {
    const { __ENTITYSET: set } = (await one.get('/rest/Note?$method=entityset')).json<Answer>();
    const { cookie } = one;
    await one.post('/rest/$directory/login', ['mia', '{"privileges":["write"]}']);
    expect(one.cookie).not.toBe(cookie);
    expect(outcome(await one.get(set))).toEqual([200]);
    await one.get('/rest/$directory/logout');
    const again = await loggedIn(app, { privileges: ['write'] });
    expect(outcome(await again.get(set))).toEqual([404, 1802]);
  });

  it('opens a set with a saved definition in every session of its user only, before a restart and after it', async () => {
    await app.close();
    const folder = mkdtempSync(join(tmpdir(), 'kept-sets-'));
    const options = { databaseUrl: `sqlite:${join(folder, 'data.sqlite')}` };
    const asUser = async (user: string): Promise<Client> => {
      const client = new Client(app);
      const grant = JSON.stringify({
        privileges: ['write'],
        ...(user === '' ? { userName: '' } : {}),
      });
      await client.post('/rest/$directory/login', [user || 'nameless', grant]);
      return client;
    };
    try {
      app = await rolesServerOf(withRoles, options);
      const make = '/rest/Note?$method=entityset&$filter=text=null&$savedfilter=true';
      const client = await asUser('ada');
      const { __ENTITYSET: set } = (await client.get(make)).json<Answer>();
      const nameless = await asUser('');
      const { __ENTITYSET: ofNameless } = (await nameless.get(make)).json<Answer>();
      await nameless.get(`${ofNameless}?$method=release`);
      expect(outcome(await nameless.get(ofNameless))).toEqual([200]);
      const foreign = async (): Promise<void> => {
        for (const other of ['bob', 'Ada', 'user:ada', '']) {
          expect(outcome(await (await asUser(other)).get(set))).toEqual([404, 1802]);
        }
        expect(outcome(await new Client(app).get(set))).toEqual([401, 1845]);
      };
      await foreign();
      // The set exists, and belongs to the first session: each other one gets one of its own.
      const second = await asUser('ada');
      expect(outcome(await second.get(set))).toEqual([200]);
      expect(outcome(await second.get(`${set}?$method=release`))).toEqual([200]);
      expect((await client.get('/rest/$info')).body).toContain(set.slice(-32));
      expect((await second.get('/rest/$info')).body).not.toContain(set.slice(-32));
      expect(outcome(await client.get(set))).toEqual([200]);
      await foreign();
      await app.close();
      app = await rolesServerOf(withRoles, options);
      await foreign();
      expect(outcome(await (await asUser('')).get(ofNameless))).toEqual([404, 1802]);
      const again = await asUser('ada');
      for (const client of [again, await asUser('ada'), again]) {
        expect(outcome(await client.get(set))).toEqual([200]);
      }
      await foreign();
      await again.get('/rest/$directory/logout');
      expect(outcome(await (await asUser('ada')).get(set))).toEqual([200]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('keeps the locks, uploads and limit of sets of a guest who logs in', async () => {
    await app.close();
    const guests = withRoles.replace('forceLogin: true', 'forceLogin: false');
    app = await rolesServerOf(guests.replaceAll('[write]', '[guest]'));
    one = new Client(app);
    await create(app, 'Note', [{ code: 'a' }]);
    await one.get('/rest/Note("a")?$lock=true');
    const send = { method: 'POST', url: '/rest/$upload?$binary=true', payload: 'bytes' } as const;
    const { ID } = (await one.send(send)).json<Answer>();
    const make = '/rest/Note?$method=entityset';
    expect(outcome(await one.get(make))).toEqual([200]);
    const planted = new Client(app);
    planted.cookie = one.cookie;
    await one.post('/rest/$directory/login', ['mia', '{"privileges":["write"]}']);

    const change = { __KEY: 'a', __STAMP: 1, file: { ID } };
    const update = '/rest/Note?$method=update';
    expect(outcome(await planted.post(update, { __KEY: 'a', __STAMP: 1, text: 'x' }))[0]).toBe(423);
    expect(outcome(await planted.post(update, { code: 'b', file: { ID } }))[0]).toBe(400);
    expect(outcome(await one.post(update, change))).toEqual([200]);
    expect(outcome(await one.get(make))).toEqual([200]);
    expect(outcome(await one.get(make))).toEqual([429, 1844]);
    await one.get('/rest/$directory/logout');
    expect(outcome(await planted.post(update, { __KEY: 'a', __STAMP: 2, text: 'x' }))).toEqual([
      200,
    ]);
  });

  it('limits the sets of a session', async () => {
    const make = '/rest/Note?$method=entityset';
    const found = [];
    for (let i = 0; i < 3; i += 1) found.push(outcome(await one.get(make)));
    expect(found).toEqual([[200], [200], [429, 1844]]);
    expect(outcome(await two.get(make))).toEqual([200]);
  });
});
