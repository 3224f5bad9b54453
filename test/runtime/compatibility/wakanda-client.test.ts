import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import { rolesServerOf } from '../../support/roles-server.js';
import { create, modelOf } from '../../support/server.js';
import { png } from '../../support/media-samples.js';
import { classes, model, people } from './shop.js';

/** What this test uses of the package, whose own types do not compile today. */
interface Entity {
  readonly _key: string;
  readonly _stamp: number;
  readonly _deferred: boolean;
  save(): Promise<Entity>;
  delete(): Promise<void>;
  fetch(options?: Options): Promise<Entity>;
  recompute(): Promise<Entity>;
  [attribute: string]: unknown;
}

interface Collection {
  readonly _count: number;
  readonly _first: number;
  readonly _sent: number;
  readonly _deferred: boolean;
  readonly entities: readonly Entity[];
  fetch(options?: Options): Promise<Collection>;
  nextPage(): Promise<Collection>;
  prevPage(): Promise<Collection>;
  more(): Promise<Collection>;
  [method: string]: unknown;
}

interface Options {
  readonly select?: string;
  readonly filter?: string;
  readonly params?: readonly unknown[];
  readonly pageSize?: number;
  readonly start?: number;
  readonly orderBy?: string;
}

interface DataClass {
  readonly name: string;
  readonly attributes: readonly { readonly name: string; readonly kind: string }[];
  readonly methods: Readonly<Record<'entity' | 'collection' | 'dataClass', readonly string[]>>;
  find(key: number | string, options?: Options): Promise<Entity>;
  query(options?: Options): Promise<Collection>;
  create(values?: object): Entity;
  [method: string]: unknown;
}

type Catalog = Readonly<Record<'Company' | 'Employee' | 'Product', DataClass>>;

interface OldClient {
  getCatalog(names?: readonly string[]): Promise<Catalog>;
  readonly directory: {
    login(user: string, password: string, seconds?: number): Promise<boolean>;
    logout(): Promise<boolean>;
    getCurrentUser(): Promise<unknown>;
    getCurrentUserBelongsTo(group: string): Promise<boolean>;
  };
  readonly helper: {
    isEntity(value: unknown): boolean;
    isCollection(value: unknown): boolean;
  };
}

const { WakandaClient } = createRequire(import.meta.url)('wakanda-client') as {
  readonly WakandaClient: new (options: {
    readonly host: string;
    readonly catalog?: string;
  }) => OldClient;
};

/** Calls a method that the client has made of the catalog. */
async function call(
  target: Entity | Collection | DataClass,
  name: string,
  ...args: readonly unknown[]
): Promise<unknown> {
  const method = target[name] as (...args: readonly unknown[]) => Promise<unknown>;
  return method.apply(target, [...args]);
}

function firstOf({ entities }: Collection): Entity {
  const [first] = entities;
  if (first === undefined) throw new Error('The collection is empty.');
  return first;
}

function namesOf({ entities }: Collection): readonly unknown[] {
  return entities.map((each) => each['lastName'] ?? each['name']);
}

describeDatabases('The npm package wakanda-client', ({ driver, create: createDatabase }) => {
  let app: FastifyInstance;
  let drop: () => Promise<void>;
  let host: string;
  let client: OldClient;
  let ds: Catalog;

  beforeAll(async () => {
    const database = await createDatabase();
    drop = database.drop;
    const options = { databaseUrl: database.url };
    app = await rolesServerOf({ ...modelOf(model), databases: [driver] }, options, classes);
    await create(app, 'Company', [{ name: 'Acme' }, { name: 'Bolt' }, { name: 'Core' }]);
    await create(app, 'Employee', people);
    await app.listen({ port: 0, host: '127.0.0.1' });
    host = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    client = new WakandaClient({ host });
    ds = await client.getCatalog();
  });

  afterAll(async () => {
    await app.close();
    await drop();
  });

  describe('reads the catalog:', () => {
    it('all dataclasses with their functions', () => {
      expect(Object.keys(ds).sort()).toEqual(['Company', 'Employee', 'Product']);
      expect(ds.Company.methods).toEqual({
        entity: ['employees'],
        collection: ['titles'],
        dataClass: ['sent', 'named', 'everything'],
      });
      const kinds = ds.Employee.attributes.map(({ name, kind }) => [name, kind]);
      expect(Object.fromEntries(kinds)).toMatchObject({
        lastName: 'storage',
        fullName: 'calculated',
        employerName: 'alias',
        colleagues: 'relatedEntities',
        employer: 'relatedEntity',
      });
    });

    it('one dataclass, some, and those of a named model', async () => {
      expect(Object.keys(await client.getCatalog(['Product']))).toEqual(['Product']);
      const some = await client.getCatalog(['Employee', 'Company']);
      expect(Object.keys(some).sort()).toEqual(['Company', 'Employee']);
      const named = new WakandaClient({ host, catalog: 'Shop' });
      expect(Object.keys(await named.getCatalog())).toHaveLength(3);
      expect(Object.keys(await named.getCatalog(['Product']))).toEqual(['Product']);
    });

    it('refuses dataclasses and models that do not exist', async () => {
      await expect(client.getCatalog(['Nothing'])).rejects.toMatchObject({
        body: expect.any(String) as string,
      });
      const other = new WakandaClient({ host, catalog: 'other' });
      await expect(other.getCatalog()).rejects.toMatchObject({
        body: expect.any(String) as string,
      });
    });
  });

  describe('reads entities:', () => {
    it('with filter, parameters, order and page', async () => {
      const found = await ds.Employee.query({
        filter: 'salary >= :1 and employer.name = :2',
        params: [2000, 'Acme'],
        orderBy: 'lastName desc',
        pageSize: 2,
        start: 1,
      });
      expect(found).toMatchObject({ _count: 4, _first: 1, _sent: 2 });
      expect(namesOf(found)).toEqual(['Dan', 'Cid']);
    });

    it('with the wildcard of old filters', async () => {
      const found = await ds.Employee.query({ filter: 'lastName = "f*"' });
      expect(namesOf(found)).toEqual(['Fay']);
    });

    it('by key, with related entities', async () => {
      const deferred = await ds.Employee.find(1);
      expect(deferred['employer']).toMatchObject({ _key: '1', _deferred: true });
      const employee = await ds.Employee.find(1, { select: 'employer,employer.staff' });
      const employer = employee['employer'] as Entity;
      expect(employer['name']).toBe('Acme');
      expect((employer['staff'] as Collection)._count).toBe(5);
      const withColleagues = await ds.Employee.find(1, { select: 'colleagues' });
      expect((withColleagues['colleagues'] as Collection)._count).toBe(5);
      expect(employee['birthDate']).toEqual(new Date('1990-01-02T03:04:05.000Z'));
      expect(employee['hiringDate']).toEqual(new Date('2020-12-31T00:00:00.000Z'));
      expect(employee['employerName']).toBe('Acme');
      await expect(ds.Employee.find(999)).rejects.toHaveProperty('statusMessage', 'Not Found');
    });

    it('page by page', async () => {
      const pages = await ds.Employee.query({ pageSize: 3, orderBy: 'lastName' });
      expect(namesOf(pages)).toEqual(['Ada', 'Ben', 'Cid']);
      expect(namesOf(await pages.nextPage())).toEqual(['Dan', 'Eve', 'Fay']);
      expect(namesOf(await pages.nextPage())).toEqual(['Gus']);
      expect(namesOf(await pages.prevPage())).toEqual(['Dan', 'Eve', 'Fay']);
      expect(namesOf(await pages.more())).toEqual(['Dan', 'Eve', 'Fay', 'Gus']);
      expect(pages).toMatchObject({ _count: 7, _first: 3 });
      expect(namesOf(await pages.fetch({ pageSize: 2 }))).toEqual(['Ada', 'Ben']);
    });

    it('of a relation, page by page', async () => {
      const staff = firstOf(await ds.Company.query({ pageSize: 1 }))['staff'] as Collection;
      expect(staff._deferred).toBe(true);
      expect(namesOf(await staff.fetch({ pageSize: 2, orderBy: 'lastName' }))).toEqual([
        'Ada',
        'Ben',
      ]);
      expect(staff).toMatchObject({ _deferred: false, _count: 5 });
      expect(namesOf(await staff.fetch({ start: 3 }))).toEqual(['Dan', 'Eve']);
    });
  });

  describe('saves entities:', () => {
    it('new ones, with related entities, objects and dates', async () => {
      const employer = await ds.Company.find(2);
      const employee = ds.Employee.create({
        lastName: 'Hal',
        salary: 0,
        active: false,
        extra: { tags: ['a', "it's (new)!"] },
        birthDate: new Date('1985-09-16T07:04:11.192Z'),
        employer,
      });
      // create() accepts no day as a Date.
      employee['hiringDate'] = new Date('2001-02-03T00:00:00.000Z');
      expect(await employee.save()).toBe(employee);
      expect(employee).toMatchObject({ _key: expect.any(String) as string, _stamp: 1 });
      const stored = await ds.Employee.find(employee._key);
      expect(stored).toMatchObject({
        lastName: 'Hal',
        salary: 0,
        active: false,
        extra: { tags: ['a', "it's (new)!"] },
        birthDate: new Date('1985-09-16T07:04:11.192Z'),
        hiringDate: new Date('2001-02-03T00:00:00.000Z'),
        employerName: 'Bolt',
      });
      await stored.delete();
      await expect(ds.Employee.find(employee._key)).rejects.toHaveProperty(
        'statusMessage',
        'Not Found',
      );
    });

    it('changed ones, and only what has changed', async () => {
      const employee = await ds.Employee.find(7);
      await employee.save();
      expect(employee._stamp).toBe(1);
      employee['fullName'] = 'Gloria Gus';
      employee['employer'] = null;
      await employee.save();
      expect(employee).toMatchObject({ _stamp: 2, firstName: 'Gloria', employer: null });
    });

    it('keeps related entities expanded in the answer', async () => {
      const employee = await ds.Employee.find(6, { select: 'employer' });
      employee['salary'] = 6500;
      await employee.save();
      expect(employee).toMatchObject({
        salary: 6500,
        employer: { _deferred: false, name: 'Bolt' },
      });
    });

    it('reports a stale stamp and broken rules', async () => {
      const [one, other] = [await ds.Company.find(3), await ds.Company.find(3)];
      one['name'] = 'Cores';
      await one.save();
      other['name'] = 'Kernel';
      await expect(other.save()).rejects.toMatchObject({ statusMessage: 'Conflict' });
      one['name'] = null;
      await expect(one.save()).rejects.toMatchObject({ statusMessage: 'Unprocessable Entity' });
    });
  });

  describe('calls functions:', () => {
    it('with exactly the arguments that it was given', async () => {
      const sent = async (...args: readonly unknown[]): Promise<unknown> =>
        call(ds.Company, 'sent', ...args);
      expect(await sent()).toEqual({ count: 0, args: [] });
      expect(await sent('a', null)).toEqual({ count: 2, args: ['a', null] });
      const many = [1, [2], { three: 3 }, null, '5'];
      expect(await sent(...many)).toEqual({ count: 5, args: many });
    });

    it('of a dataclass and an entity, which return entities', async () => {
      const company = (await call(ds.Company, 'named', 'Acme')) as Entity;
      expect(client.helper.isEntity(company)).toBe(true);
      expect(company).toMatchObject({ _key: '1', name: 'Acme' });
      expect(await call(await ds.Employee.find(1), 'greet', 'Hi')).toBe('Hi, Ada of Acme');
    });

    it('of a collection, however it was read', async () => {
      const root = await ds.Employee.query({ filter: 'salary > 3000', orderBy: 'lastName' });
      expect(await call(root, 'told', 'of')).toBe('of 4: Dan, Eve, Fay, Gus');
      const expanded = firstOf(await ds.Company.query({ pageSize: 1, select: 'staff' }));
      const staff = expanded['staff'] as Collection;
      expect(await call(staff, 'told', 'all')).toBe('all 5: Ada, Ben, Cid, Dan, Eve');
      const fetched = firstOf(await ds.Company.query({ pageSize: 1 }))['staff'] as Collection;
      await fetched.fetch();
      const lead = (await call(fetched, 'oldest')) as Entity;
      expect(client.helper.isEntity(lead)).toBe(true);
      expect(lead['lastName']).toBe('Ada');
      const companies = (await call(fetched, 'employers')) as Collection;
      expect(client.helper.isCollection(companies)).toBe(true);
      expect(namesOf(companies)).toEqual(['Acme']);
    });

    it('and gets a whole collection as their result', async () => {
      const products = Array.from({ length: 120 }, (_, index) => ({ name: `p${index}` }));
      await create(app, 'Product', products);
      const all = (await call(ds.Company, 'everything')) as Collection;
      expect(all).toMatchObject({ _count: 120, _sent: 120, _first: 0 });
      expect(all.entities).toHaveLength(120);
    });
  });

  describe('uploads and deletes', () => {
    it.each([
      ['an image', 'photo', 'image/png'],
      ['a BLOB', 'cv', 'application/pdf'],
    ])('%s', async (_what, attribute, type) => {
      const employee = await ds.Employee.find(2);
      const media = employee[attribute] as {
        readonly uri: string | null;
        upload(file: Buffer): Promise<Entity>;
        delete(): Promise<Entity>;
      };
      expect(media.uri).toBeNull();
      await media.upload(Object.assign(Buffer.from(png), { type }));
      const bytes = await fetch(host + String(media.uri));
      expect(Buffer.from(await bytes.arrayBuffer()).equals(png)).toBe(true);
      await media.delete();
      expect((await ds.Employee.find(2))[attribute]).toMatchObject({ uri: null });
    });
  });

  it('logs in and out', async () => {
    const { directory } = new WakandaClient({ host });
    expect(await directory.getCurrentUser()).toBeNull();
    expect(await directory.login('mia', 'wrong')).toBe(false);
    expect(await directory.login('mia', '{"privileges":["HR"]}', 600)).toBe(true);
    expect(await directory.getCurrentUser()).toEqual({
      ID: 'mia',
      userName: 'mia',
      fullName: 'mia',
    });
    expect(await directory.getCurrentUserBelongsTo('HR')).toBe(true);
    expect(await directory.getCurrentUserBelongsTo('Sales')).toBe(false);
    expect(await directory.logout()).toBe(true);
    expect(await directory.getCurrentUser()).toBeNull();
  });

  describe('recomputes entities:', () => {
    it('new ones, by init and clientRefresh, without the rules of the model', async () => {
      const product = ds.Product.create({ price: 10 });
      expect(await product.recompute()).toBe(product);
      expect(product).toMatchObject({ inStock: true, name: 'Unnamed', price: 10, gross: 12 });
      product['inStock'] = false;
      product['name'] = 'Hammer';
      await product.save();
      expect(product).toMatchObject({ _stamp: 1, inStock: false, name: 'Hammer', gross: 12 });
    });

    it('stored ones, which can be saved afterwards', async () => {
      const product = await ds.Product.create({ name: 'Saw', price: 20 }).save();
      expect(product).toMatchObject({ inStock: true });
      product['name'] = null;
      product['price'] = 30;
      await product.recompute();
      expect(product).toMatchObject({ _stamp: 1, name: 'Unnamed', price: 30, gross: 36 });
      expect(await ds.Product.find(product._key)).toMatchObject({ name: 'Saw', price: 20 });
      await product.save();
      expect(product).toMatchObject({ _stamp: 2, name: 'Unnamed', price: 30 });
    });
  });
});
