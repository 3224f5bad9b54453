import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { create, serverOf } from '../../support/server.js';

interface Entity {
  readonly __KEY: string;
  readonly __STAMP: number;
  readonly [name: string]: unknown;
}

let app: FastifyInstance;
let database: TestDatabase;

async function read(address: string): Promise<Entity & { __ENTITIES: readonly Entity[] }> {
  const response = await app.inject(`/rest/${encodeURI(address)}`);
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
}

/** The names of the entities that a request finds, in their order. */
async function names(address: string): Promise<readonly unknown[]> {
  const { __ENTITIES } = await read(address);
  return __ENTITIES.map(({ name }) => name);
}

function save(dataclass: string, body: unknown): Promise<Response> {
  const url = `/rest/${dataclass}?$method=update`;
  return app.inject({ method: 'POST', url, payload: JSON.stringify(body) });
}

async function saved(dataclass: string, body: unknown): Promise<Entity> {
  const response = await save(dataclass, body);
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
}

async function remove(address: string): Promise<Response> {
  return app.inject({ method: 'POST', url: `/rest/${encodeURI(address)}?$method=delete` });
}

const deferred = (dataclass: string, key: string): object => ({
  __deferred: { uri: `/rest/${dataclass}(${key})`, __KEY: key },
});

const legacy = `
drs: 1
name: legacy
database: [sqlite, postgres]
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true }
      name: string
      staff: { to: Person, many: true, inverse: employer }
  Person:
    attributes:
      ID: { type: integer, key: true }
      name: string
      employerID: integer
      employer: { to: Company, foreignKey: employerID, inverse: staff, onDelete: none }
      companyName: { alias: employer.name }
      mentor: { to: Person, onDelete: none }
      town: { to: Town, onDelete: none }
  Town:
    attributes:
      code: { type: string, key: true }
`;

/** What class code needs of the datastore here. */
interface LegacyStore {
  readonly Company: {
    all(): { readonly staff: { count(): Promise<number> } };
  };
  readonly Person: {
    get(key: number): Promise<{
      readonly employer: { readonly key: number | null; get(): Promise<object | null> };
    }>;
  };
}

describeDatabases('A relation with onDelete: none', (databases) => {
  beforeEach(async () => {
    database = await databases.create();
    app = await serverOf(legacy, { databaseUrl: database.url });
    await create(app, 'Company', [
      { ID: 1, name: 'one' },
      { ID: 2, name: 'two' },
    ]);
    await create(app, 'Person', [
      { ID: 1, name: 'a', employer: 1 },
      { ID: 2, name: 'b', employerID: 99 },
      { ID: 3, name: 'c', employer: { __KEY: '98' } },
      { ID: 4, name: 'd' },
    ]);
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  it('is null if no entity has the key, which is kept', async () => {
    const { __ENTITIES } = await read('Person?$orderby=name');
    expect(__ENTITIES).toMatchObject([
      { employerID: 1, employer: deferred('Company', '1'), companyName: 'one' },
      { employerID: 99, employer: null, companyName: null },
      { employerID: 98, employer: null, companyName: null },
      { employerID: null, employer: null, companyName: null },
    ]);
    const expanded = await read('Person?$orderby=name&$expand=employer');
    expect(expanded.__ENTITIES.map(({ employer }) => employer)).toMatchObject([
      { name: 'one', __KEY: '1' },
      null,
      null,
      null,
    ]);
  });

  it.each([
    ['employer = null', ['b', 'c', 'd']],
    ['employer != null', ['a']],
    ['employer = 1', ['a']],
    ['employer = 99', []],
    ['employer IN [1, 98]', ['a']],
    ['employer.name = null', ['b', 'c', 'd']],
    ['employer.staff.name = a', ['a']],
    ['companyName = null', ['b', 'c', 'd']],
    ['employerID = 99', ['b']],
  ])('is filtered as it is read: %s', async (filter, found) => {
    expect(await names(`Person?$orderby=name&$filter="${filter}"`)).toEqual(found);
  });

  it('is ordered as it is read', async () => {
    expect(await names('Person?$orderby=employer desc, name')).toEqual(['a', 'b', 'c', 'd']);
    expect(await names('Company?$filter="staff.ID > 0"')).toEqual(['one']);
    expect(await names('Company(1)/staff?$expand=staff')).toEqual(['a']);
  });

  it('leads somewhere as soon as an entity gets the key', async () => {
    await create(app, 'Company', [{ ID: 99, name: 'late' }]);
    expect(await read('Person(2)')).toMatchObject({ employer: deferred('Company', '99') });
    expect(await names('Company(99)/staff?$expand=staff')).toEqual(['b']);
  });

  it('keeps its foreign key when the entity is sent back as it was read', async () => {
    const { name, ...read1 } = await read('Person(2)');
    expect(name).toBe('b');
    await saved('Person', { ...read1, name: 'new' });
    expect(await read('Person(2)')).toMatchObject({ name: 'new', employerID: 99 });
    const { __KEY, __STAMP } = await read('Person(2)');
    await saved('Person', { __KEY, __STAMP, mentor: 50 });
    const { mentor, ...read2 } = await read('Person(2)');
    expect(mentor).toBeNull();
    await saved('Person', { ...read2, mentor, name: 'newer' });
    await create(app, 'Person', [{ ID: 50, name: 'e' }]);
    expect(await read('Person(2)')).toMatchObject({ mentor: deferred('Person', '50') });
  });

  it('becomes null if it leads somewhere and null is sent, and by its foreign key', async () => {
    const one = await read('Person(1)');
    await saved('Person', { __KEY: one.__KEY, __STAMP: one.__STAMP, employer: null });
    expect(await read('Person(1)')).toMatchObject({ employerID: null });
    const two = await read('Person(2)');
    await saved('Person', { __KEY: two.__KEY, __STAMP: two.__STAMP, employerID: null });
    expect(await read('Person(2)')).toMatchObject({ employerID: null });
  });

  it('stays as it is when the related entity is deleted', async () => {
    const before = await read('Person(1)');
    expect((await remove('Company(1)')).statusCode).toBe(200);
    expect(await read('Person(1)')).toEqual({ ...before, employer: null, companyName: null });
  });

  it('gets a text key as it is stored, and keeps one that no entity has', async () => {
    await create(app, 'Town', [{ code: 'Ulm' }]);
    await create(app, 'Person', [
      { ID: 10, name: 'x', town: 'ULM' },
      { ID: 11, name: 'y', town: 'Rom' },
    ]);
    expect(await names('Person?$filter="town = ulm"')).toEqual(['x']);
    await create(app, 'Town', [{ code: 'Rom' }]);
    expect(await names('Person?$filter="town = rom"')).toEqual(['y']);
  });

  it('may lead to a later entity of the same list', async () => {
    await create(app, 'Person', [
      { ID: 20, name: 'x', mentor: 21 },
      { ID: 21, name: 'y' },
    ]);
    expect(await read('Person(20)')).toMatchObject({ mentor: deferred('Person', '21') });
  });

  it('is null in class code, except for its key', async () => {
    const ds = app.datastore as LegacyStore;
    expect(await ds.Company.all().staff.count()).toBe(1);
    const { employer } = await ds.Person.get(2);
    expect(employer.key).toBe(99);
    expect(await employer.get()).toBeNull();
  });
});
