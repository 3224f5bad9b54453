import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf } from '../../support/expect-served.js';
import { Client } from '../../support/cookies.js';
import { restrictedClient, restrictedServer, secret } from '../../support/restricted-server.js';

interface Rows {
  new: (values: Readonly<Record<string, unknown>>) => { save(): Promise<void> };
}
interface Store {
  readonly Company: Rows;
  readonly Employee: Rows;
  readonly Letter: Rows;
  readonly Seat: Rows;
}
interface Collection {
  readonly __COUNT: number;
  readonly __ENTITIES: readonly Readonly<Record<string, unknown>>[];
}
const q = encodeURIComponent;
async function names(client: Client, url: string): Promise<unknown[]> {
  const response = await client.get(url);
  expect(response.statusCode, response.body).toBe(200);
  const { __COUNT, __ENTITIES }: Collection = response.json();
  expect(__COUNT).toBe(__ENTITIES.length);
  return __ENTITIES.map(({ name = '-' }) => String(name).replace(`${secret} `, ''));
}

describe.each([
  ['without events', false],
  ['with events', true],
] as const)('A server with restrict, %s,', (_name, hasEvents) => {
  let app: FastifyInstance;
  let all: Client;
  let north: Client;
  let south: Client;
  const statements: string[] = [];

  beforeAll(async () => {
    app = await restrictedServer({ onStatement: (sql) => statements.push(sql) }, hasEvents);
    all = await restrictedClient(app, 'all', ['all']);
    north = await restrictedClient(app, 'ann', ['north']);
    south = await restrictedClient(app, 'sue', ['south']);
    const { datastore } = app as unknown as { datastore: Store };
    for (const [name, area] of [
      ['Acme', 'north'],
      [`${secret} Ltd`, 'so\'uth"'],
    ] as const) {
      await datastore.Company.new({ name, area }).save();
    }
    const staff = [
      { name: 'Ada', salary: 10, email: 'ada', employer: 1 },
      { name: 'Bob', salary: 200, email: 'bob', employer: 1, boss: 1 },
      { name: `${secret} Cy`, salary: 30, email: secret, employer: 2 },
      { name: `${secret} Di`, salary: 400, employer: 2, boss: 1 },
      { name: 'Eve', salary: 5, email: 'eve', employer: 1, boss: 3 },
    ];
    for (const each of staff) await datastore.Employee.new(each).save();
    for (const employee of [1, 3]) await datastore.Letter.new({ text: 't', employee }).save();
    await datastore.Seat.new({ ID: 'A', owner: 3 }).save();
    await datastore.Seat.new({ ID: 'B', owner: 2 }).save();
  });
  afterAll(() => app.close());

  describe('when a session reads,', () => {
    it('returns the entities that the session may see', async () => {
      expect(await names(all, '/rest/Employee')).toEqual(['Ada', 'Bob', 'Cy', 'Di', 'Eve']);
      expect(await names(north, '/rest/Employee')).toEqual(['Ada', 'Bob', 'Eve']);
      expect(await names(south, '/rest/Employee')).toEqual(['Cy', 'Di']);
      const poor = await restrictedClient(app, 'poor', []);
      expect(await names(poor, '/rest/Employee')).toEqual(['Ada', 'Cy', 'Eve']);
    });

    it('prepares a statement for each shape of the restriction, and binds the values of the session', async () => {
      await names(north, '/rest/Employee?$orderby=salary');
      const before = new Set(statements);
      await names(south, '/rest/Employee?$orderby=salary');
      const other = [...new Set(statements)].filter((each) => !before.has(each));
      expect(other).toEqual([]);
    });

    it('caches counts for each session separately', async () => {
      const url = '/rest/Employee?$filter=salary>0&$top=1';
      const count = async (client: Client): Promise<unknown> =>
        (await client.get(url)).json<Collection>().__COUNT;
      const poor = await restrictedClient(app, 'poor', []);
      const poorer = await restrictedClient(app, 'poorer', []);
      expect(await count(poor)).toBe(3);
      expect(await count(north)).toBe(3);
      expect(await count(south)).toBe(2);
      expect(await count(poorer)).toBe(3);
      expect(await count(all)).toBe(5);
    });

    it('finds no hidden entity by its key or by another value', async () => {
      for (const url of [
        '/rest/Employee(3)',
        `/rest/Employee:email(${secret})`,
        '/rest/Company(2)/staff?$expand=staff',
        '/rest/Employee(3)/letters?$expand=letters',
        '/rest/Employee(3)?$lock=true',
        '/rest/Employee(3)/photo?$imageformat=best&$expand=photo',
        '/rest/Employee(3)/raw?$binary=true&$expand=raw',
      ]) {
        const { statusCode, body } = await north.get(url);
        expect(statusCode, url).toBe(404);
        expect(body.replaceAll(url, '')).not.toContain(`${secret} `);
      }
    });

    it('follows relations only to visible entities', async () => {
      const eve = (await north.get('/rest/Employee(5)?$expand=boss')).json<object>();
      expect(eve).toMatchObject({ name: 'Eve', boss: null });
      expect((await north.get('/rest/Employee(5)')).json()).toMatchObject({ boss: null });
      expect((await north.get('/rest/Employee(2)')).json()).toMatchObject({
        boss: { __deferred: { __KEY: '1' } },
      });
      expect((await north.get('/rest/Seat?$asArray=true')).json()).toMatchObject([
        { owner: null },
        { owner: { __KEY: { ID: 2 } } },
      ]);
      const poor = await restrictedClient(app, 'poor', ['north']);
      const cy = (await poor.get('/rest/Employee(3)')).json<object>();
      expect(cy).toMatchObject({ employer: null, employerName: null });
      const { staff } = (await north.get('/rest/Company(1)?$expand=staff')).json<{
        staff: Collection;
      }>();
      expect(staff.__COUNT).toBe(3);
      expect(await names(north, `/rest/Company?$filter=${q('staff.salary > 300')}`)).toEqual([]);
      expect(await names(north, `/rest/Employee?$filter=${q('boss = null')}`)).toEqual([
        'Ada',
        'Eve',
      ]);
      expect(await names(north, `/rest/Employee?$filter=${q('boss = 3')}`)).toEqual([]);
      expect(await names(north, '/rest/Employee?$orderby=boss desc')).toEqual([
        'Bob',
        'Ada',
        'Eve',
      ]);
    });

    it('computes only with visible entities', async () => {
      const sum = (client: Client): Promise<string> =>
        client.get('/rest/Employee/salary?$compute=sum').then(({ body }) => body);
      expect([await sum(all), await sum(north), await sum(south)]).toEqual(['645', '215', '430']);
      expect((await north.get('/rest/Employee/name?$distinct=true')).body).toBe(
        '["Ada","Bob","Eve"]',
      );
      expect((await north.get('/rest/Seat/owner.name?$distinct=true')).body).toBe('["Bob"]');
      expect((await north.get('/rest/Seat/owner.salary?$compute=sum')).body).toBe('200');
      const report = await north.get('/rest/Seat?$format=looker&$attributes=ID,owner.name');
      expect(report.body).toContain('Bob');
      expect(report.body).not.toContain(secret);
    });
  });

  describe('whose restriction is wrong,', () => {
    it.each(['throws', 'wrong', 'empty', 'nothing', 'values'])('answers 500: %s', async (user) => {
      const client = await restrictedClient(app, user, []);
      for (const url of ['/rest/Employee', '/rest/Letter']) {
        const { statusCode, body } = await client.get(url);
        expect(statusCode, url).toBe(500);
        expect(body).not.toContain(secret);
      }
      const changed = await client.post('/rest/Employee(1)?$method=delete');
      expect(changed.statusCode).toBe(500);
    });

    it('passes a RestError on to the client', async () => {
      const client = await restrictedClient(app, 'rest', []);
      expect((await client.get('/rest/Employee')).statusCode).toBe(418);
    });

    it('binds hostile values', async () => {
      const client = await restrictedClient(app, 'hostile', []);
      expect(await names(client, '/rest/Employee')).toEqual([]);
    });
  });

  describe('with entity sets,', () => {
    it('answers members that a session may not see like deleted ones', async () => {
      const guest = new Client(app);
      const made = await guest.get('/rest/Employee?$orderby=salary desc&$method=entityset');
      const { __ENTITYSET: set, __COUNT } = made.json<{ __ENTITYSET: string; __COUNT: number }>();
      expect(__COUNT).toBe(2);
      const poor = await restrictedClient(app, 'poor', []);
      expect(await names(guest, set)).toEqual(['Di', 'Cy']);
      expect(await names(poor, set)).toEqual(['-', 'Cy']);
      expect(await names(north, set)).toEqual(['-', '-']);
      expect((await north.get(set)).json<Collection>().__ENTITIES).toEqual([
        { __STAMP: 0 },
        { __STAMP: 0 },
      ]);
      expect(await names(poor, `${set}?$orderby=name`)).toEqual(['Cy', '-']);
      expect(await names(poor, `${set}?$filter=${q('salary > 0')}`)).toEqual(['Cy']);
      expect(await names(poor, `${set}?$clean=true&$method=entityset`)).toEqual(['Cy']);
      const base = '/rest/Employee/salary/$entityset/';
      const id = set.split('/').at(-1) ?? '';
      expect((await poor.get(`${base}${id}?$compute=sum`)).body).toBe('30');
      expect((await poor.get(`${base}${id}?$distinct=true`)).body).toBe('[30]');
      const own = await poor.get('/rest/Employee?$method=entityset');
      const ownSet = own.json<{ __ENTITYSET: string }>().__ENTITYSET;
      const ownId = ownSet.split('/').at(-1) ?? '';
      const combined = (operator: string): string =>
        `${set}?$logicOperator=${operator}&$otherCollection=${ownId}`;
      expect(await names(poor, combined('AND'))).toEqual(['Cy']);
      expect(await names(poor, combined('OR'))).toEqual(['-', 'Cy', 'Ada', 'Eve']);
      expect(await names(poor, combined('EXCEPT'))).toEqual(['-']);
      const common = `${set}?$logicOperator=INTERSECT&$otherCollection=${id}&$clean=true`;
      expect((await north.get(common)).body).toBe('false');
      const deleted = await north.post(`${set}?$method=delete`);
      expect(deleted.statusCode, deleted.body).toBe(200);
      expect(await names(guest, set)).toEqual(['Di', 'Cy']);
    });

    it('reads a page with one statement, in which deleted members keep their places', async () => {
      const created = await all.post('/rest/Employee?$method=update', {
        name: 'Gil',
        salary: 7,
        employer: 1,
      });
      const { __KEY: key } = created.json<{ __KEY: string }>();
      const made = await north.get(`/rest/Employee?$filter=${q('salary < 20')}&$method=entityset`);
      const { __ENTITYSET: set } = made.json<{ __ENTITYSET: string }>();
      const deleted = await all.post(`/rest/Employee(${key})?$method=delete`);
      expect(deleted.statusCode, deleted.body).toBe(200);
      const url = `${set}?$attributes=name`;
      const read = (await north.get(url)).json<Collection>();
      expect(read.__ENTITIES.map((each) => each['name'] ?? each['__STAMP'])).toEqual([
        'Ada',
        'Eve',
        0,
      ]);
      expect(read.__COUNT).toBe(3);
      const before = statements.length;
      await north.get(url);
      expect(statements.slice(before)).toHaveLength(1);
    });

    it('recreates them with what is visible at that time', async () => {
      const guest = new Client(app);
      const url = '/rest/Employee?$savedfilter=true&$method=entityset&$filter=ID>0';
      const made = (await guest.get(url)).json<{ __ENTITYSET: string; __COUNT: number }>();
      expect(made.__COUNT).toBe(2);
      expect((await guest.get(`${made.__ENTITYSET}?$method=release`)).statusCode).toBe(200);
      expect(await names(guest, made.__ENTITYSET)).toEqual(['Cy', 'Di']);
    });
  });

  describe('when a session writes,', () => {
    it('changes no hidden entity', async () => {
      const url = '/rest/Employee?$method=update';
      const changed = await north.post(url, { __KEY: 3, __STAMP: 1, name: 'mine' });
      expect(changed.statusCode).toBe(404);
      const overwritten = await north.post(url, { __KEY: 3, name: 'mine' });
      expect(overwritten.statusCode).toBe(409);
      expect(overwritten.body).not.toContain(secret);
      expect((await north.post('/rest/Employee(3)?$method=delete')).statusCode).toBe(404);
      const matched = `/rest/Employee?$method=delete&$filter=${q('salary = 30')}`;
      expect((await north.post(matched)).statusCode).toBe(200);
      expect((await all.get('/rest/Employee(3)')).json()).toMatchObject({ __STAMP: 1 });
    });

    it('relates nothing to a hidden entity, and keeps existing relations', async () => {
      const url = '/rest/Employee?$method=update';
      const related = await north.post(url, { __KEY: 2, __STAMP: 1, boss: 3 });
      expect(related.statusCode, related.body).toBe(422);
      const made = await north.post(url, { name: 'New', boss: { __KEY: 4 } });
      expect(made.statusCode, made.body).toBe(422);
      const eve = (await north.get('/rest/Employee(5)')).json<object>();
      const saved = await north.post(url, { ...eve, name: 'Eve E.' });
      expect(saved.statusCode, saved.body).toBe(200);
      expect((await all.get('/rest/Employee(5)')).json()).toMatchObject({
        name: 'Eve E.',
        boss: { __deferred: { __KEY: '3' } },
      });
      const poor = await restrictedClient(app, 'poor', ['north']);
      const cy = (await poor.get('/rest/Employee(3)')).json<object>();
      const kept = await poor.post(url, { ...cy, salary: 31 });
      expect(kept.statusCode, kept.body).toBe(200);
      expect((await all.get('/rest/Employee(3)')).json()).toMatchObject({
        employerID: 2,
        salary: 31,
      });
      const restored = await all.post(url, { __KEY: 3, __STAMP: 2, salary: 30 });
      expect(restored.statusCode).toBe(200);
    });

    it('does not reveal which hidden entity has a unique value', async () => {
      const taken = await north.post('/rest/Employee?$method=update', { name: 'X', email: secret });
      expect(taken.statusCode).toBe(409);
      expect(taken.body).not.toContain(`${secret} Cy`);
    });

    it('returns the key of a created entity that may not be read', async () => {
      const made = await north.post('/rest/Employee?$method=update', { name: 'Out', salary: 1 });
      expect(made.statusCode, made.body).toBe(200);
      const { __KEY, uri, ...rest } = made.json<{ __KEY: string; uri: string }>();
      expect(rest).toEqual({ __STAMP: 1 });
      expect((await north.get(uri)).statusCode).toBe(404);
      expect((await all.post(`${uri}?$method=delete`)).statusCode).toBe(200);
      expect(__KEY).not.toBe('');
    });

    it('deletes hidden dependents, and does not reveal those that forbid the deletion', async () => {
      const { datastore } = app as unknown as { datastore: Store };
      await datastore.Company.new({ name: 'Three', area: 'north' }).save();
      await datastore.Employee.new({ name: `${secret} Fay`, salary: 900, employer: 3 }).save();
      await datastore.Letter.new({ text: 'l', employee: 1 }).save();
      const poor = await restrictedClient(app, 'poor', ['north']);
      expect((await poor.post('/rest/Company(3)?$method=delete')).statusCode).toBe(200);
      expect((await all.get(`/rest/Employee?$filter=${q('salary = 900')}`)).json()).toMatchObject({
        __COUNT: 0,
      });
      const held = await poor.post('/rest/Employee(1)?$method=delete');
      expect(held.statusCode).toBe(409);
    });
  });

  describe('in its messages,', () => {
    it('names no hidden entity that forbids a deletion, or is locked', async () => {
      const { datastore } = app as unknown as { datastore: Store };
      const bob = datastore.Employee.new({ name: 'Gus', salary: 1, email: 'gus', employer: 1 });
      await bob.save();
      const { ID } = bob as unknown as { ID: number };
      const held = datastore.Employee.new({ name: `${secret} Hal`, employer: 2, mentor: ID });
      await held.save();
      const hal = (held as unknown as { ID: number }).ID;
      const refused = await north.post(`/rest/Employee(${ID})?$method=delete`);
      expect(refused.statusCode).toBe(409);
      expect(refused.body).not.toContain(String(hal));
      expect(refused.body).not.toContain(secret);
      const told = await all.post(`/rest/Employee(${ID})?$method=delete`);
      expect(told.statusCode).toBe(409);
      expect(told.body).toContain(String(hal));
      expect((await all.post(`/rest/Employee(${hal})?$method=delete`)).statusCode).toBe(200);

      const company = datastore.Company.new({ name: 'Locked', area: 'north' });
      await company.save();
      const fay = datastore.Employee.new({
        name: `${secret} Fay`,
        salary: 900,
        employer: (company as unknown as { ID: number }).ID,
      });
      await fay.save();
      const fayKey = (fay as unknown as { ID: number }).ID;
      expect((await all.get(`/rest/Employee(${fayKey})?$lock=true`)).statusCode).toBe(200);
      const url = `/rest/Company(${(company as unknown as { ID: number }).ID})?$method=delete`;
      const poor = await restrictedClient(app, 'poor', ['north']);
      const locked = await poor.post(url);
      expect(locked.statusCode, locked.body).toBe(423);
      expect(locked.body).not.toContain(`"${fayKey}"`);
      expect(locked.body.replaceAll('\\"', "'")).not.toContain(`'${fayKey}'`);
      expect((await north.post(url)).body).toContain(String(fayKey));
      expect((await all.get(`/rest/Employee(${fayKey})?$lock=false`)).statusCode).toBe(200);
      expect((await poor.post(url)).statusCode).toBe(200);
      expect((await all.post(`/rest/Employee(${ID})?$method=delete`)).statusCode).toBe(200);
    });

    it('does not show the restriction in a query plan or the catalog', async () => {
      const plan = await north.get(
        `/rest/Employee?$filter=${q('salary > 1')}&$queryplan=true&$querypath=true`,
      );
      expect(plan.statusCode).toBe(200);
      expect(plan.body).not.toMatch(/area|north/);
      const catalog = (await north.get('/rest/$catalog/$all')).body;
      expect(catalog.replaceAll('"onDelete":"restrict"', '')).not.toMatch(/restrict|north/);
    });

    it('accepts no image for a hidden entity, and gives a function no unrestricted set', async () => {
      const image = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
      const sent = await north.send({
        method: 'POST',
        url: '/rest/Employee(3)/photo?$rawPict=true',
        payload: image,
        headers: { 'content-type': 'image/png' },
      });
      expect(sent.statusCode, sent.body).toBe(404);
      const guest = new Client(app);
      const made = await guest.get('/rest/Employee?$method=entityset');
      const set = made.json<{ __ENTITYSET: string }>().__ENTITYSET.split('/').at(-1);
      const given = [{ __DATASET: set, __ENTITIES: true }];
      const sum = async (client: Client): Promise<unknown> =>
        (await client.post('/rest/Employee/sum', given)).json<{ result: unknown }>().result;
      expect(await sum(guest)).toBe(2);
      expect(await sum(await restrictedClient(app, 'poor', []))).toBe(1);
      expect(await sum(north)).toBe(0);
    });
  });

  describe('when a function runs,', () => {
    const call = async (client: Client, url: string, body: unknown = []): Promise<unknown> => {
      const response = await client.post(url, body);
      return response.json<{ result?: unknown }>().result ?? codesOf(response);
    };

    it('shows it what its session may see', async () => {
      expect(await call(all, '/rest/Employee/count')).toBe(5);
      expect(await call(north, '/rest/Employee/count')).toBe(3);
      expect(await call(south, '/rest/Employee/count')).toBe(2);
      expect(await call(north, '/rest/Employee/make', ['Mo', 1])).toEqual(['Mo', true]);
      expect(
        (await all.post(`/rest/Employee?$method=delete&$filter=${q('name=Mo')}`)).statusCode,
      ).toBe(200);
      expect(await call(north, '/rest/Employee/wider')).toEqual([3, 5, 5, 3]);
      expect(await call(north, '/rest/Employee(1)/tell')).toBe('Ada');
      expect((await north.post('/rest/Employee(3)/tell', [])).statusCode).toBe(404);
      expect(await call(north, '/rest/Employee/rename', [3, 'mine'])).toBe('none');
      const given = [{ __DATACLASS: 'Employee', __ENTITY: true, __KEY: 3 }];
      const named = await north.post('/rest/Employee/nameOf', given);
      expect(named.statusCode).toBe(404);
      const everybody = await north.post('/rest/Employee/everybody', []);
      expect(everybody.body).not.toContain(secret);
      expect(everybody.json<Collection>().__COUNT).toBe(3);
    });

    it('answers without the hidden entities that its code has read', async () => {
      const hidden = `${secret} Cy`;
      const shown = await north.post('/rest/Employee/leak', ['Ada']);
      expect(shown.json()).toMatchObject({ name: 'Ada' });
      expect((await north.post('/rest/Employee/leak', [hidden])).json()).toEqual({ result: null });
      const { result } = (await north.post('/rest/Employee/leaks', [])).json<{
        readonly result: readonly ({ readonly name: string } | null)[];
      }>();
      expect(result.map((each) => each?.name)).toEqual([
        'Ada',
        'Bob',
        undefined,
        undefined,
        'Eve E.',
      ]);
    });

    it.each([
      ['new', 99],
      ['stored', 2],
    ])(
      'relates a %s entity that its code has not saved to visible entities only',
      async (_, key) => {
        const bossOf = async (boss: number): Promise<unknown> =>
          (await north.post('/rest/Employee/draft', [key, boss])).json<{ boss: unknown }>().boss;
        expect(await bossOf(5)).toMatchObject({ __deferred: { __KEY: '5' } });
        expect(await bossOf(3)).toBe(null);
      },
    );

    it('answers what the user may see whom it logs in', async () => {
      const rich = await restrictedClient(app, 'nobody', []);
      const found = await rich.post('/rest/Employee/become', ['poorer']);
      expect(found.json<Collection>().__ENTITIES.map((each) => each['ID'])).toEqual([1, 3, 5]);
    });
  });
});
