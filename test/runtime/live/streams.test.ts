import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { describeDatabases } from '../../support/databases.js';
import { EventStream, ReplicaOfSet } from '../../support/event-stream.js';
import type { TestDatabase } from '../../support/postgres.js';
import { serverOf } from '../../support/server.js';

const model = (driver: string): string => `
drs: 1
name: live
database: ${driver}
dataclasses:
  Task:
    live: true
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      title: string
      rank: integer
      person: { to: Person, inverse: tasks }
  Person:
    live: true
    restrict: true
    attributes:
      ID: { type: string, key: true }
      name: string
      salary: { type: integer }
      tasks: { to: Task, many: true, inverse: person }
  Plain:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: view, includes: [] }
    - { privilege: edit, includes: [view] }
  permissions:
    allowed:
      - { applyTo: Task, type: dataclass, read: [guest], create: [guest], update: [guest], drop: [guest] }
      - { applyTo: Person, type: dataclass, read: [view], create: [view], update: [view], drop: [view] }
      - { applyTo: Person.salary, type: attribute, read: [edit] }
      - { applyTo: ds.become, type: method, execute: [guest] }
datastore:
  functions:
    become: { exposed: true, params: { privileges: string } }
`;

const files = {
  'src/login.ts': `
import type { Login } from '#runtime/access';

export function login(user: string): Login {
  return { userName: user, privileges: ['edit'] };
}
`,
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  become(privileges: string): void {
    this.session.setPrivileges(privileges === '' ? [] : [privileges]);
  }
}
`,
  'src/classes/Person.ts': `
import { PersonBase, type Restriction, type Session } from '../generated/api.js';

export class Person extends PersonBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('edit') ? null : 'name != secret';
  }
}
`,
};

describeDatabases('A live set', (databases) => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let base: string;
  let guest: Client;
  const open: EventStream[] = [];

  beforeAll(async () => {
    database = await databases.create();
    const environment = { LIVE_MEMBERS: '30', LIVE_STREAMS_PER_SESSION: '3' };
    app = await serverOf(
      model(databases.driver),
      { databaseUrl: database.url, environment },
      files,
    );
    base = await app.listen({ port: 0, host: '127.0.0.1' });
    guest = new Client(app);
  });
  afterEach(async () => {
    for (const each of open.splice(0)) each.cut();
    const { datastore } = app as unknown as {
      datastore: Record<string, { all(): { drop(): Promise<void> } }>;
    };
    for (const name of ['Task', 'Person']) await datastore[name]?.all().drop();
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const save = async (
    dataclass: string,
    entity: object,
    client = guest,
  ): Promise<{ __KEY: string; __STAMP: number }> => {
    const answer = await client.post(`/rest/${dataclass}?$method=update`, entity);
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json();
  };
  const setOf = async (address: string, client = guest): Promise<string> => {
    const answer = await client.get(`/rest/${address}`);
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json<{ __ENTITYSET: string }>().__ENTITYSET;
  };
  const follow = async (set: string, client = guest, last?: string): Promise<EventStream> => {
    const [path = '', query = ''] = set.split('?');
    const url = `${base}${path}/$changes?$interval=100&${query}`;
    const stream = await EventStream.open(url, {
      ...(client.cookie === undefined ? {} : { cookie: client.cookie }),
      ...(last === undefined ? {} : { 'last-event-id': last }),
    });
    open.push(stream);
    return stream;
  };

  it('tells all entities, and then what joins, changes, moves and leaves, with values and places', async () => {
    const first = await save('Task', { title: 'paint', rank: 2 });
    await save('Task', { title: 'sand', rank: 1 });
    const set = await setOf('Task?$filter="rank < 9"&$orderby=rank&$method=entityset');
    const stream = await follow(`${set}?$attributes=title`);
    expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(await stream.next()).toMatchObject({
      __COUNT: 2,
      __ENTITIES: [
        { __STAMP: 1, title: 'sand' },
        { __KEY: first.__KEY, title: 'paint' },
      ],
    });
    const third = await save('Task', { title: 'tape', rank: 0 });
    expect(await stream.next()).toEqual({
      __COUNT: 3,
      __JOINED: [
        expect.objectContaining({ __KEY: third.__KEY, __STAMP: 1, __AT: 0, title: 'tape' }),
      ],
      __CHANGED: [],
      __LEFT: [],
    });
    await save('Task', { __KEY: first.__KEY, __STAMP: 1, rank: -1, title: 'prime' });
    expect(await stream.next()).toMatchObject({
      __COUNT: 3,
      __JOINED: [],
      __CHANGED: [{ __KEY: first.__KEY, __STAMP: 2, __AT: 0, title: 'prime' }],
      __LEFT: [],
    });
    await save('Task', { __KEY: third.__KEY, __STAMP: 1, rank: 9 });
    expect(await stream.next()).toMatchObject({
      __COUNT: 2,
      __JOINED: [],
      __CHANGED: [],
      __LEFT: [third.__KEY],
    });
    expect((await guest.post(`/rest/Task(${first.__KEY})?$method=delete`)).statusCode).toBe(200);
    expect(await stream.next()).toMatchObject({ __COUNT: 1, __LEFT: [first.__KEY] });
  });

  it('continues behind the last event that the client has', async () => {
    const first = await save('Task', { title: 'a', rank: 1 });
    const set = await setOf('Task?$method=entityset');
    const stream = await follow(set);
    expect(await stream.next()).toEqual({
      __COUNT: 1,
      __ENTITIES: [{ __KEY: first.__KEY, __STAMP: 1 }],
    });
    stream.cut();
    const again = await follow(set, guest, stream.last);
    expect(await again.next(300)).toBeUndefined();
    again.cut();
    const second = await save('Task', { title: 'b', rank: 2 });
    await save('Task', { __KEY: first.__KEY, __STAMP: 1, title: 'c' });
    const third = await follow(set, guest, stream.last);
    expect(await third.next()).toEqual({
      __COUNT: 2,
      __JOINED: [{ __KEY: second.__KEY, __STAMP: 1, __AT: 1 }],
      __CHANGED: [{ __KEY: first.__KEY, __STAMP: 2, __AT: 0 }],
      __LEFT: [],
    });
    const unknown = await follow(set, guest, `${'x'.repeat(12)}.1`);
    expect((await unknown.next())?.__ENTITIES).toHaveLength(2);
  });

  it('sees what others write to the database', async () => {
    const { __KEY: key } = await save('Task', { title: 'a', rank: 1 });
    const stream = await follow(await setOf('Task?$filter="rank = 1"&$method=entityset'));
    await stream.next();
    await databases.run(database.url, `update "Task" set "rank" = 2 where "ID" = ${key}`);
    expect(await stream.next()).toMatchObject({ __COUNT: 0, __LEFT: [key] });
  });

  it('follows the members of a set that is made of sets, and the entities of a relation', async () => {
    const admin = new Client(app);
    await admin.post('/rest/$directory/login', ['ada', 'right']);
    await save('Person', { ID: 'p', name: 'Pia' }, admin);
    const { __KEY: key } = await save(
      'Task',
      { title: 'a', rank: 1, person: { __KEY: 'p' } },
      admin,
    );
    const all = await setOf('Task?$method=entityset', admin);
    const id = all.split('/').at(-1) ?? '';
    const members = await setOf(
      `Task/$entityset/${id}?$logicOperator=AND&$otherCollection=${id}&$method=entityset`,
      admin,
    );
    const related = await setOf('Person(p)/tasks?$method=subentityset&$expand=tasks', admin);
    const ofMembers = await follow(members, admin);
    const ofRelation = await follow(related, admin);
    expect((await ofMembers.next())?.__COUNT).toBe(1);
    expect((await ofRelation.next())?.__COUNT).toBe(1);
    const other = await save('Task', { title: 'b', rank: 2, person: { __KEY: 'p' } }, admin);
    expect(await ofRelation.next()).toMatchObject({
      __COUNT: 2,
      __JOINED: [{ __KEY: other.__KEY, __AT: 1 }],
    });
    await save('Task', { __KEY: key, __STAMP: 1, person: null }, admin);
    expect(await ofRelation.next()).toMatchObject({ __COUNT: 1, __LEFT: [key] });
    expect(await ofMembers.next()).toMatchObject({
      __COUNT: 1,
      __CHANGED: [{ __KEY: key, __STAMP: 2, __AT: 0 }],
    });
  });

  it('refuses what it cannot follow', async () => {
    const set = await setOf('Task?$method=entityset');
    const refused = async (address: string): Promise<[number, string]> => {
      const stream = await EventStream.open(`${base}${address}`);
      return [stream.status, stream.rest];
    };
    const unknown = `/rest/Task/$entityset/${'A'.repeat(32)}/$changes`;
    expect(await refused(unknown)).toEqual([404, expect.stringContaining('1802')]);
    expect((await refused(`${set.replace('Task', 'Person')}/$changes`))[0]).toBe(401);
    const plain = await setOf('Plain?$method=entityset').catch(() => '/rest/Plain/$entityset/A');
    expect((await refused(`${plain}/$changes`))[0]).toBe(404);
    for (const query of [
      '$filter=rank=1',
      '$orderby=rank',
      '$top=1',
      '$clean=true',
      '$interval=x',
      '$attributes=nothing',
      '$asArray=true',
    ]) {
      expect((await refused(`${set}/$changes?${query}`))[0], query).toBe(400);
    }
    expect((await guest.post(`${set}/$changes`)).statusCode).toBe(404);
    const tasks = Array.from({ length: 31 }, (_, rank) => ({ title: 'many', rank }));
    await guest.post('/rest/Task?$method=update', tasks);
    expect(await refused(`${set}/$changes`)).toEqual([
      413,
      expect.stringContaining('LIVE_MEMBERS'),
    ]);
    const few = await setOf('Task?$filter="rank = 1"&$method=entityset');
    for (let count = 0; count < 3; count += 1) expect((await follow(few)).status).toBe(200);
    const fourth = await follow(few);
    expect([fourth.status, fourth.rest]).toEqual([429, expect.stringContaining('LIVE_STREAMS')]);
  });

  it('forgets streams that wait behind another one when their connection breaks', async () => {
    const set = await setOf('Task?$method=entityset');
    const { port } = new URL(base);
    const socket = connect(Number(port), '127.0.0.1');
    const answered = once(socket, 'data');
    const sent = `GET ${set}/$changes HTTP/1.1\r\nhost: x\r\n\r\n`;
    socket.write(sent.repeat(3));
    await answered;
    await sleep(300);
    expect((await follow(set)).status).toBe(429);
    socket.destroy();
    await sleep(300);
    for (let count = 0; count < 3; count += 1) expect((await follow(set)).status).toBe(200);
  });

  it('ends when the set is released, has too many members, or the session ends', async () => {
    const set = await setOf('Task?$method=entityset');
    const released = await follow(set);
    await released.next();
    await guest.get(`${set}?$method=release`);
    await save('Task', { title: 'a', rank: 1 });
    await released.closed();
    expect(released.end).toContain('1802');
    const growing = await follow(await setOf('Task?$method=entityset'));
    await growing.next();
    const tasks = Array.from({ length: 31 }, (_, rank) => ({ title: 'many', rank }));
    await guest.post('/rest/Task?$method=update', tasks);
    await growing.closed();
    expect(growing.end).toContain('LIVE_MEMBERS');
    const user = new Client(app);
    await user.post('/rest/$directory/login', ['ada', 'right']);
    const own = await follow(await setOf('Person?$method=entityset', user), user);
    await own.next();
    const other = new Client(app);
    await other.post('/rest/$directory/login', ['ida', 'right']);
    await user.get('/rest/$directory/logout');
    await save('Person', { ID: 'p', name: 'Pia' }, other);
    await own.closed();
    expect(own.end).toContain('1845');
    expect(await own.next()).toBeUndefined();
  });

  it('shows at each message what the session may see then', async () => {
    const admin = new Client(app);
    await admin.post('/rest/$directory/login', ['ada', 'right']);
    await save('Person', { ID: 'a', name: 'Ann', salary: 1 }, admin);
    await save('Person', { ID: 's', name: 'secret', salary: 2 }, admin);
    const user = new Client(app);
    await user.post('/rest/$directory/login', ['bob', 'right']);
    const set = await setOf('Person?$method=entityset', user);
    const stream = await follow(`${set}?$attributes=name,salary`, user);
    expect((await stream.next())?.__ENTITIES).toMatchObject([
      { name: 'Ann', salary: 1 },
      { name: 'secret', salary: 2 },
    ]);
    await user.post('/rest/$catalog/become', ['view']);
    await save('Person', { __KEY: 's', __STAMP: 1, salary: 3 }, admin);
    const refused = await stream.next();
    // A session with other privileges has another cookie.
    expect([refused, stream.isClosed]).toEqual([undefined, true]);
    const names = await follow(`${set}?$attributes=name`, user, stream.last);
    const replica = new ReplicaOfSet();
    const seen = await names.next();
    expect(seen?.__ENTITIES).toHaveLength(1);
    if (seen !== undefined) replica.take(seen);
    await save('Person', { __KEY: 's', __STAMP: 2, salary: 4 }, admin);
    expect(await names.next(500)).toBeUndefined();
    await save('Person', { __KEY: 's', __STAMP: 3, name: 'Sue' }, admin);
    const joined = await names.next();
    expect(joined).toMatchObject({ __COUNT: 2, __JOINED: [{ __KEY: 's', __AT: 1, name: 'Sue' }] });
    expect(JSON.stringify(joined)).not.toContain('salary');
    const denied = await follow(`${set}?$attributes=name,salary`, user);
    expect([denied.status, denied.rest]).toEqual([400, expect.stringContaining('1500')]);
  });
});
