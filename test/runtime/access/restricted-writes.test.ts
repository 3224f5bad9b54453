import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { codesOf } from '../../support/expect-served.js';
import { eventsOf, restrictedClient, restrictedServer } from '../../support/restricted-server.js';

interface Rows {
  new: (values: Readonly<Record<string, unknown>>) => { save(): Promise<void> };
}
interface Store {
  readonly Company: Rows;
  readonly Employee: Rows;
}
interface Answered {
  readonly __ERROR?: readonly { readonly errCode: number; readonly message: string }[];
  readonly __STATUS?: { readonly status?: number; readonly success: boolean };
}

const update = '/rest/Employee?$method=update';
const rowDenied = 1849;

describe.each([
  ['without events', false],
  ['with events', true],
] as const)('A server with restrict for writes, %s,', (_name, hasEvents) => {
  let app: FastifyInstance;
  let all: Client;
  let ann: Client;
  let poor: Client;
  const statements: string[] = [];
  const onStatement = (sql: string): void => {
    // The server also runs statements of its own.
    if (/^(?:savepoint|release) |"(?:Company|Employee)"/.test(sql)) statements.push(sql);
  };

  /** What is stored, as somebody reads it who sees all. */
  async function stored(): Promise<string> {
    const employees = await all.get(
      '/rest/Employee?$attributes=name,salary,employerID&$top=100&$orderby=ID',
    );
    return `${employees.body}${(await all.get('/rest/Company?$attributes=name')).body}`;
  }

  async function refused(client: Client, url: string, body: unknown): Promise<Answered> {
    const before = await stored();
    const response = await client.post(url, body);
    expect(response.statusCode, response.body).toBe(403);
    expect(response.body).toContain(`"errCode":${rowDenied}`);
    expect(await stored()).toBe(before);
    return response.json();
  }

  /** What names the entity of a key, as it is stored. */
  async function stamped(
    key: number,
  ): Promise<{ readonly __KEY: number; readonly __STAMP: number }> {
    const { __STAMP } = (await all.get(`/rest/Employee(${key})`)).json<{ __STAMP: number }>();
    return { __KEY: key, __STAMP };
  }

  beforeAll(async () => {
    app = await restrictedServer({ onStatement }, hasEvents, true);
    all = await restrictedClient(app, 'all', ['all']);
    ann = await restrictedClient(app, 'ann', ['north']);
    poor = await restrictedClient(app, 'poor', []);
    const { datastore } = app as unknown as { datastore: Store };
    await datastore.Company.new({ name: 'Acme', area: 'north' }).save();
    await datastore.Company.new({ name: 'Ltd', area: 'so\'uth"' }).save();
    for (const each of [
      { name: 'Ada', salary: 10, employer: 1 },
      { name: 'Bob', salary: 20, employer: 1, boss: 1 },
      { name: 'Cy', salary: 30, employer: 2 },
    ]) {
      await datastore.Employee.new(each).save();
    }
  });
  afterAll(() => app.close());

  it('stores what the session sees', async () => {
    const created = await ann.post(update, { name: 'new', employer: 1 });
    expect(created.json()).toMatchObject({ employerID: 1, __STAMP: 1 });
    const { ID } = created.json<{ readonly ID: number }>();
    const changed = await ann.post(update, { __KEY: ID, __STAMP: 1, salary: 7 });
    expect(changed.json()).toMatchObject({ salary: 7, __STAMP: 2 });
  });

  it('creates no entity that restrict hides', async () => {
    const { __ERROR } = await refused(ann, update, { name: 'new' });
    expect(__ERROR?.map(({ errCode }) => errCode)).toEqual([rowDenied, 1046, 1534]);
    expect(__ERROR?.[0]?.message).toBe(
      'The session\'s restriction of "Employee" does not allow the entity as it would be stored.',
    );
  });

  it('answers a guest with 401', async () => {
    const response = await new Client(app).post(update, { name: 'new' });
    expect(response.statusCode).toBe(401);
    expect(codesOf(response)).toEqual([rowDenied, 1046, 1534]);
  });

  it('moves no entity to where restrict hides it', async () => {
    await refused(ann, update, { __KEY: 1, __STAMP: 1, employer: null });
    await refused(ann, '/rest/Employee(1)', { __STAMP: 1, employerID: null });
    await refused(poor, update, { __KEY: 3, __STAMP: 1, salary: 100 });
  });

  it('does not tell a hidden entity from one that does not exist', async () => {
    for (const attribute of ['employer', 'employerID', 'boss']) {
      const answers = await Promise.all(
        [3, 2, 99].map((key) => ann.post(update, { name: 'new', [attribute]: key })),
      );
      const [hidden, another, missing] = answers.map(({ statusCode, body }) => [statusCode, body]);
      expect(attribute === 'boss' ? hidden : another).toEqual(missing);
    }
  });

  it('keeps the other entities of a list', async () => {
    const { __COUNT } = (await all.get('/rest/Employee')).json<{ readonly __COUNT: number }>();
    const response = await poor.post(update, [
      { name: 'a', salary: 1 },
      { name: 'b', salary: 999 },
      { __KEY: 1, __STAMP: 1, salary: 999 },
      { name: 'c', salary: 2 },
    ]);
    expect(response.statusCode).toBe(200);
    const { __ENTITIES } = response.json<{ readonly __ENTITIES: readonly Answered[] }>();
    expect(__ENTITIES.map(({ __STATUS }) => __STATUS?.status ?? __STATUS?.success)).toEqual([
      true,
      1,
      1,
      true,
    ]);
    expect(__ENTITIES[2]).toMatchObject({ __KEY: '1', __STAMP: 1, salary: 10 });
    expect(await stored()).not.toContain('"salary":999');
    expect((await all.get('/rest/Employee')).json()).toMatchObject({ __COUNT: __COUNT + 2 });
  });

  it('stores nothing of a list with $atomic', async () => {
    const list = [
      { name: 'a', salary: 1 },
      { name: 'b', salary: 999 },
    ];
    await refused(poor, `${update}&$atomic=true`, list);
  });

  it('stores nothing of an entity whose list contains one that restrict hides', async () => {
    const url = '/rest/Company?$method=update';
    const staff = [
      { name: 'a', salary: 1 },
      { name: 'b', salary: 999 },
    ];
    const { __ERROR } = await refused(poor, url, { name: 'New', staff });
    expect(__ERROR?.[0]?.message).toMatch(/^staff\[1\]: The session's restriction of "Employee"/);
    await refused(poor, url, {
      __KEY: 2,
      __STAMP: 1,
      staff: [{ __KEY: 1, __STAMP: 1, salary: 999 }],
    });
    // The company itself would be hidden.
    await refused(ann, url, { name: 'New', staff: [] });
    const moved = await poor.post(url, { __KEY: 1, __STAMP: 1, staff: [await stamped(3)] });
    expect(moved.statusCode, moved.body).toBe(200);
    expect((await all.get('/rest/Employee(3)')).json()).toMatchObject({ employerID: 1 });
  });

  it('says so when it only validates', async () => {
    const url = '/rest/Employee?$method=validate';
    const before = await stored();
    const bad = { name: 'b', salary: 999 };
    for (const body of [bad, [bad], [{ name: 'a', salary: 1 }, bad]]) {
      const { __ENTITIES } = (await poor.post(url, body)).json<{ __ENTITIES: Answered[] }>();
      const codes = __ENTITIES.map(({ __ERROR }) => __ERROR?.[0]?.errCode);
      expect(codes).toEqual([rowDenied]);
    }
    expect((await poor.post(url, { name: 'a', salary: 1 })).json()).toEqual({ ok: true });
    expect(await stored()).toBe(before);
  });

  it('refuses what class code saves for the session, and lets promoted code save it', async () => {
    await refused(poor, '/rest/Employee/make', ['new', 999]);
    const made = await poor.post('/rest/Employee/make', ['new', 9]);
    expect(made.json()).toEqual({ result: ['new', false] });
    const promoted = await ann.post('/rest/Employee/makeWider', ['wider', 1]);
    expect(promoted.json()).toEqual({ result: ['wider', false] });
    expect(await stored()).toContain('"name":"wider"');
  });

  it('runs one more statement for a session that does not see everything', async () => {
    const count = async (client: Client, salary: number): Promise<number> => {
      await client.post(update, { ...(await stamped(1)), salary: salary + 1 });
      const change = { ...(await stamped(1)), salary };
      statements.length = 0;
      await client.post(update, change);
      return statements.length;
    };
    const whole = await count(all, 50);
    // What afterSave may follow has a savepoint, too.
    const more = hasEvents ? 3 : 1;
    expect(await count(ann, 60)).toBe(whole + more);
    const created = async (client: Client): Promise<number> => {
      statements.length = 0;
      const list = ['x', 'y', 'z'].map((name) => ({ name, employer: 1 }));
      await client.post(update, list);
      return statements.length;
    };
    expect(await created(ann)).toBe((await created(all)) + 3 * more);
  });

  it.skipIf(!hasEvents)('checks what an event sets', async () => {
    eventsOf.length = 0;
    await refused(poor, update, { name: 'raised', salary: 1 });
    await refused(poor, update, { ...(await stamped(1)), name: 'raised' });
    expect(eventsOf.filter((each) => each.startsWith('afterSave'))).toHaveLength(2);
    await refused(poor, '/rest/Employee/make', ['raised', 1]);
  });

  it('lets a deletion change what refers to the deleted entity', async () => {
    const led = await restrictedClient(app, 'led', []);
    const ada = await all.post(update, { ...(await stamped(1)), boss: 3 });
    expect(ada.statusCode).toBe(200);
    expect((await led.post('/rest/Employee(1)?$method=delete')).statusCode).toBe(200);
    expect((await led.get('/rest/Employee(2)')).statusCode).toBe(404);
    expect((await all.get('/rest/Employee(2)')).json()).toMatchObject({ boss: null });
  });
});
