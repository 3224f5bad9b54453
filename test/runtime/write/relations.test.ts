import Sqlite from 'better-sqlite3';
import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeDatabases, type TestDatabases } from '../../support/databases.js';
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

function validate(dataclass: string, body: unknown): Promise<Response> {
  const url = `/rest/${dataclass}?$method=validate`;
  return app.inject({ method: 'POST', url, payload: JSON.stringify(body) });
}

async function remove(address: string): Promise<Response> {
  return app.inject({ method: 'POST', url: `/rest/${encodeURI(address)}?$method=delete` });
}

interface Refused {
  readonly __ERROR: readonly { readonly message: string }[];
}

/** @param status 200 for a validation */
function expectMessage(response: Response, status: number, message: string): void {
  expect(response.statusCode, response.body).toBe(status);
  const body = response.json<Refused & { readonly __ENTITIES?: readonly Refused[] }>();
  const { __ERROR } = body.__ENTITIES?.[0] ?? body;
  expect(__ERROR[0]?.message).toBe(message);
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
      birthCode: string
      birthTown: { to: Town, foreignKey: birthCode, inverse: born, onDelete: none }
    functions:
      dataclass:
        keep: { exposed: true, params: { person: Person } }
  Town:
    attributes:
      code: { type: string, key: true }
      born: { to: Person, many: true, inverse: birthTown }
  Contract:
    attributes:
      ID: { type: integer, key: true }
      name: string
      company: { to: Company, mandatory: true, onDelete: none }
`;

const personClass = `
import { PersonBase, type PersonEntity } from '../generated/classes/Person.js';

export class Person extends PersonBase {
  async keep(person: PersonEntity): Promise<void> {
    await person.save();
  }
}
`;

interface Counted {
  count(): Promise<number>;
}

/** What class code needs of the datastore here. */
interface LegacyStore {
  readonly Company: {
    all(): { readonly staff: { count(): Promise<number> } };
  };
  readonly Person: {
    get(key: number): Promise<{
      readonly employer: { readonly key: number | null; get(): Promise<object | null> };
    }>;
    query(filter: string): { readonly birthTown: Counted };
  };
  readonly Town: {
    all(): { readonly born: Counted };
    query(filter: string): { readonly born: Counted };
  };
}

const statements: string[] = [];

/** What the database says of how it runs the reads among statements; without scans, where it can. */
async function plansOf(
  { driver }: TestDatabases,
  reads: readonly string[],
): Promise<readonly string[]> {
  const selects = reads.filter((each) => /^(?:select|with)/i.test(each));
  if (driver === 'sqlite') {
    const file = new Sqlite(database.url.slice('sqlite:'.length));
    for (const name of ['drs_fold', 'drs_uri', 'drs_number']) {
      file.function(name, { varargs: true, deterministic: true }, (value: unknown) => value);
    }
    const plans = selects.flatMap((each) => {
      const count = each.replaceAll(/'[^']*'|"[^"]*"/g, '').split('?').length - 1;
      const rows = file.prepare(`explain query plan ${each}`).all(Array(count).fill(null));
      return (rows as { readonly detail: string }[]).map(({ detail }) => detail);
    });
    file.close();
    return plans;
  }
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('set enable_seqscan = off');
    const plans: string[] = [];
    for (const each of selects) {
      const text = `explain (generic_plan) ${each}`;
      const { rows } = await client.query<string[]>({ text, rowMode: 'array' });
      plans.push(...rows.flat());
    }
    return plans;
  } finally {
    await client.end();
  }
}

async function serveLegacy(databases: TestDatabases): Promise<void> {
  database = await databases.create();
  const onStatement = (sql: string): void => {
    statements.push(sql);
  };
  const options = { databaseUrl: database.url, onStatement };
  app = await serverOf(legacy, options, { 'src/classes/Person.ts': personClass });
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
}

async function close(): Promise<void> {
  await app.close();
  await database.drop();
}

describeDatabases('A relation with onDelete: none, when it is read', (databases) => {
  beforeAll(() => serveLegacy(databases));
  afterAll(close);

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

  it('is null in class code, except for its key', async () => {
    const ds = app.datastore as LegacyStore;
    expect(await ds.Company.all().staff.count()).toBe(1);
    const { employer } = await ds.Person.get(2);
    expect(employer.key).toBe(99);
    expect(await employer.get()).toBeNull();
  });
});

describeDatabases('A relation with onDelete: none, when entities change', (databases) => {
  beforeEach(() => serveLegacy(databases));
  afterEach(close);

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

  it('leads to a key that is stored in another case, and keeps its text', async () => {
    await create(app, 'Person', [{ ID: 10, name: 'x', town: 'ULM', birthCode: 'ULM' }]);
    await create(app, 'Town', [{ code: 'Ulm' }]);
    const before = await read('Person(10)');
    const town = deferred('Town', 'Ulm');
    expect(before).toMatchObject({ town, birthCode: 'ULM', birthTown: town });
    // It changes nothing to send it back.
    expect(await saved('Person', before)).toMatchObject(before);
    await saved('Person', { ...before, name: 'y' });
    expect(await read('Person(10)')).toMatchObject({ name: 'y', birthCode: 'ULM' });
    for (const filter of ['town = ulm', 'town.code = ulm', 'birthTown.code begin U']) {
      expect(await names(`Person?$filter="${filter}"`), filter).toEqual(['y']);
    }
    expect((await read('Town?$filter="born.name = y"')).__ENTITIES).toHaveLength(1);
    expect((await read('Town?$filter="born.birthTown.born.name = y"')).__ENTITIES).toHaveLength(1);
    expect(await names("Town('Ulm')/born?$expand=born")).toEqual(['y']);
    const [expanded] = (await read('Town?$expand=born')).__ENTITIES;
    expect(expanded).toMatchObject({ born: { __COUNT: 1, __ENTITIES: [{ name: 'y' }] } });
    const values = await app.inject('/rest/Town/born.name?$distinct=true');
    expect(values.json()).toEqual(['y']);
    const ds = app.datastore as LegacyStore;
    expect(await ds.Town.all().born.count()).toBe(1);
    expect(await ds.Town.query('code = ulm').born.count()).toBe(1);
    expect(await ds.Person.query('ID = 10').birthTown.count()).toBe(1);
    expect((await remove("Town('Ulm')")).statusCode).toBe(200);
    expect(await read('Person(10)')).toMatchObject({ town: null, birthTown: null });
  });

  it.each([
    ["Town('Ulm')/born?$expand=born", 'Person.birthCode', '__folded_birthCode'],
    ['Town?$filter="code = ulm and born.name = y"', 'Person.birthCode', '__folded_birthCode'],
    ['Town?$expand=born', 'Person.birthCode', '__folded_birthCode'],
    ['Person(10)?$expand=birthTown', 'Town.code', '__folded_code'],
    ['Person?$filter="ID = 10 and birthTown.code = ulm"', 'Town.code', '__folded_code'],
  ])('finds a text key by an index: %s', async (path, index, column) => {
    await create(app, 'Town', [{ code: 'Ulm' }]);
    await create(app, 'Person', [{ ID: 10, name: 'x', birthCode: 'ULM' }]);
    statements.length = 0;
    await read(path);
    const plans = await plansOf(databases, statements);
    const found =
      databases.driver === 'sqlite'
        ? `INDEX __${index} (${column}=?)`
        : new RegExp(`Index.* "?__${index}"? [^]*Index Cond: .*"?${column}"? =`);
    expect(plans.join('\n')).toEqual(
      typeof found === 'string' ? expect.stringContaining(found) : expect.stringMatching(found),
    );
  });

  it('keeps its foreign key if it is mandatory and leads nowhere', async () => {
    await create(app, 'Contract', [{ ID: 1, name: 'a', company: 1 }]);
    const mandatory = 'company must not be null.';
    const shown = await read('Contract(1)');
    expectMessage(await save('Contract', { ...shown, company: null }), 422, mandatory);
    expectMessage(await validate('Contract', { ...shown, company: null }), 200, mandatory);
    expectMessage(await save('Contract', { ID: 2, name: 'b', company: null }), 422, mandatory);
    expect((await remove('Company(1)')).statusCode).toBe(200);
    const before = await read('Contract(1)');
    expect(before).toMatchObject({ company: null });
    expect((await validate('Contract', { ...before, name: 'b' })).json()).toEqual({ ok: true });
    expect(await saved('Contract', { ...before, name: 'b' })).toMatchObject({ name: 'b' });
    await create(app, 'Company', [{ ID: 1, name: 'again' }]);
    expect(await read('Contract(1)')).toMatchObject({ company: deferred('Company', '1') });
  });

  it('keeps its foreign key in an entity that a function gets as it was read', async () => {
    const keep = async (person: object): Promise<void> => {
      const payload = JSON.stringify([{ ...person, __DATACLASS: 'Person', __ENTITY: true }]);
      const response = await app.inject({ method: 'POST', url: '/rest/Person/keep', payload });
      expect(response.statusCode, response.body).toBe(200);
    };
    await create(app, 'Town', [{ code: 'Bonn' }]);
    await create(app, 'Person', [{ ID: 10, name: 'x', mentor: 50, town: 'Bonn' }]);
    await keep({ ...(await read('Person(10)')), name: 'y' });
    expect(await read('Person(10)')).toMatchObject({ name: 'y', town: deferred('Town', 'Bonn') });
    await keep({ ...(await read('Person(10)')), town: null });
    await create(app, 'Person', [{ ID: 50, name: 'z' }]);
    const mentor = deferred('Person', '50');
    expect(await read('Person(10)')).toMatchObject({ mentor, town: null });
  });

  it('may lead to a later entity of the same list', async () => {
    await create(app, 'Person', [
      { ID: 20, name: 'x', mentor: 21 },
      { ID: 21, name: 'y' },
    ]);
    expect(await read('Person(20)')).toMatchObject({ mentor: deferred('Person', '21') });
  });
});

const byValue = `
drs: 1
name: by-value
database: [sqlite, postgres]
dataclasses:
  Customer:
    attributes:
      ID: { type: integer, key: true }
      name: string
      code: { type: string, unique: true }
      number: { type: integer, unique: true }
      orders: { to: Order, many: true, inverse: customer }
  Order:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      customerCode: string
      customer: { to: Customer, foreignKey: customerCode, references: code, inverse: orders }
      second: { to: Customer, references: code }
      customerName: { alias: customer.name }
    functions:
      dataclass:
        draft: { exposed: true, params: { order: Order }, returns: Order }
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      customer: { to: Customer, references: number, onDelete: cascade }
  Claim:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      customer: { to: Customer, references: number, onDelete: restrict }
  Loose:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: string
      customer: { to: Customer, foreignKey: code, references: code, onDelete: none }
  Person:
    attributes:
      ID: { type: integer, key: true }
      badge: { type: string, unique: true }
      boss: { to: Person, references: badge }
  Folder:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: string, unique: true }
      parentCode: string
      parent: { to: Folder, foreignKey: parentCode, references: code }
`;

const draftClass = `
import { OrderBase, type OrderEntity } from '../generated/classes/Order.js';

export class Order extends OrderBase {
  draft(order: OrderEntity): OrderEntity {
    return order;
  }
}
`;

interface ValueStore {
  readonly Customer: {
    all(): ValueSelection;
    query(filter: string): ValueSelection;
    get(key: number): Promise<{ readonly orders: { count(): Promise<number> } }>;
  };
  readonly Order: {
    all(): ValueSelection & { minus(other: object): ValueSelection };
    get(key: number): Promise<ValueOrder>;
  };
}

interface ValueSelection {
  readonly orders: ValueSelection;
  readonly customer: ValueSelection;
  count(): Promise<number>;
}

interface ValueOrder {
  readonly customer: {
    readonly key: string | null;
    get(): Promise<{ readonly name: string } | null>;
    set(value: object | string | null): void;
  };
  toObject(): Readonly<Record<string, unknown>>;
  save(): Promise<void>;
}

async function serveByValue(databases: TestDatabases): Promise<void> {
  database = await databases.create();
  const options = { databaseUrl: database.url };
  app = await serverOf(byValue, options, { 'src/classes/Order.ts': draftClass });
  await create(app, 'Customer', [
    { ID: 1, name: 'one', code: 'C-1', number: 11 },
    { ID: 2, name: 'two', code: 'C-2', number: 12 },
    { ID: 3, name: 'bare' },
  ]);
  await create(app, 'Order', [
    { name: 'a', customer: { __KEY: '1' } },
    { name: 'b', customer: 1 },
    { name: 'c', customerCode: 'c-2' },
    { name: 'd' },
  ]);
}

describeDatabases('A relation by another attribute, when it is read', (databases) => {
  beforeAll(() => serveByValue(databases));
  afterAll(close);

  it('shows the key of the related entity, and its value in the foreign key', async () => {
    const { __ENTITIES } = await read('Order?$orderby=name');
    expect(__ENTITIES).toMatchObject([
      { customer: deferred('Customer', '1'), customerCode: 'C-1', customerName: 'one' },
      { customer: deferred('Customer', '1'), customerCode: 'C-1' },
      { customer: deferred('Customer', '2'), customerCode: 'C-2', customerName: 'two' },
      { customer: null, customerCode: null, customerName: null },
    ]);
  });

  it.each([
    ['Order', 'customer = 1', ['a', 'b']],
    ['Order', 'customer IN [2, 3]', ['c']],
    ['Order', 'customer = null', ['d']],
    ['Order', 'customer != 1', ['c', 'd']],
    ['Order', 'customer.name = two', ['c']],
    ['Order', 'customer.orders.name = a', ['a', 'b']],
    ['Order', "customerCode = 'C-1'", ['a', 'b']],
    ['Customer', 'orders.name = b', ['one']],
    ['Customer', 'orders.customer = 2', ['two']],
    ['Customer', 'orders.ID != 3', ['bare', 'one']],
    ['Customer', 'not (orders.ID > 0)', ['bare']],
  ])('is filtered by keys: %s with %s', async (dataclass, filter, found) => {
    expect(await names(`${dataclass}?$orderby=name&$filter="${filter}"`)).toEqual(found);
  });

  it('is followed in both directions', async () => {
    expect(await names('Order?$orderby=customer desc, name')).toEqual(['c', 'a', 'b', 'd']);
    expect(await names('Customer(1)/orders?$expand=orders')).toEqual(['a', 'b']);
    expect(await names('Customer(3)/orders?$expand=orders')).toEqual([]);
    const { __ENTITIES } = await read('Customer?$orderby=ID&$expand=orders');
    const orders = __ENTITIES.map((each) => each['orders']) as {
      __COUNT: number;
      __ENTITIES: Entity[];
    }[];
    expect(orders.map(({ __COUNT }) => __COUNT)).toEqual([2, 1, 0]);
    expect(orders[0]?.__ENTITIES.map(({ name }) => name)).toEqual(['a', 'b']);
    const expanded = await read('Order?$orderby=name&$expand=customer');
    expect(expanded.__ENTITIES.map(({ customer }) => customer)).toMatchObject([
      { name: 'one' },
      { name: 'one' },
      { name: 'two' },
      null,
    ]);
    const values = await app.inject('/rest/Customer/orders.name?$distinct=true');
    expect(values.json()).toEqual(['a', 'b', 'c']);
  });

  it('is read and written by keys in entities that functions take and return', async () => {
    const draft = (customer: unknown): Promise<Response> =>
      app.inject({
        method: 'POST',
        url: '/rest/Order/draft',
        payload: JSON.stringify([{ __DATACLASS: 'Order', __ENTITY: true, name: 'x', customer }]),
      });
    const drafted = await draft({ __KEY: '2' });
    expect(drafted.json()).toMatchObject({
      name: 'x',
      customer: deferred('Customer', '2'),
      customerCode: 'C-2',
    });
    expect((await draft(9)).body).toContain('Cannot find entity with \\"9\\" key');
  });
});

describeDatabases('A relation by another attribute, when entities change', (databases) => {
  beforeEach(() => serveByValue(databases));
  afterEach(close);

  it('is refused if there is no such entity, or if it has no value', async () => {
    const message = 'customer names an entity that cannot be found in the "Customer" dataclass.';
    expectMessage(await save('Order', { customer: 9 }), 422, message);
    expectMessage(await save('Order', { customer: 'x' }), 422, message);
    expectMessage(await save('Order', { customerCode: 'C-9' }), 422, message);
    expectMessage(await save('Loose', { customer: 9 }), 422, message);
    const bare = 'customer names an entity without the value by which it is referred to.';
    expectMessage(await save('Order', { customer: 3 }), 422, bare);
    const both = 'customer contradicts another value of the same body.';
    expectMessage(await save('Order', { customerCode: 'C-2', customer: 1 }), 422, both);
  });

  it('is kept, changed and removed by saves', async () => {
    const order = await read('Order(1)');
    const unchanged = await saved('Order', order);
    expect(unchanged.__STAMP).toBe(order.__STAMP);
    const moved = await saved('Order', { __KEY: '1', __STAMP: order.__STAMP, customer: 2 });
    expect(moved).toMatchObject({ customer: deferred('Customer', '2'), customerCode: 'C-2' });
    const removed = await saved('Order', { __KEY: '1', __STAMP: moved.__STAMP, customer: null });
    expect(removed).toMatchObject({ customer: null, customerCode: null });
    const validated = await app.inject({
      method: 'POST',
      url: '/rest/Order?$method=validate',
      payload: JSON.stringify([{ customer: 1 }, { customer: 9 }]),
    });
    expect(validated.json()).toMatchObject({ __ENTITIES: [{ customer: 9 }] });
  });

  it('keeps the referenced value from changing', async () => {
    const { __KEY, __STAMP } = await read('Customer(1)');
    const message = 'code cannot change: other entities refer to its value.';
    expectMessage(await save('Customer', { __KEY, __STAMP, code: 'new' }), 409, message);
    expectMessage(await save('Customer', { __KEY, __STAMP, code: null }), 409, message);
    const validated = await app.inject({
      method: 'POST',
      url: '/rest/Customer?$method=validate',
      payload: JSON.stringify({ __KEY, __STAMP, code: 'new' }),
    });
    expect(validated.body).toContain(message);
    await saved('Customer', { __KEY, __STAMP, code: 'C-1', number: 99 });
    const bare = await read('Customer(3)');
    await saved('Customer', { __KEY: '3', __STAMP: bare.__STAMP, code: 'C-3' });
    await create(app, 'Loose', [{ code: 'C-3' }]);
    const loose = await read('Customer(3)');
    await saved('Customer', { __KEY: '3', __STAMP: loose.__STAMP, code: 'C-4' });
    expect(await read('Loose(1)')).toMatchObject({ code: 'C-3', customer: null });
  });

  it('becomes null when the related entity is deleted, other relations stay', async () => {
    const before = await read('Order(1)');
    await saved('Order', { __KEY: '1', __STAMP: before.__STAMP, second: 2 });
    expect((await remove('Customer(1)')).statusCode).toBe(200);
    expect(await read('Order(1)')).toMatchObject({
      __STAMP: before.__STAMP + 2,
      customer: null,
      customerCode: null,
      second: deferred('Customer', '2'),
    });
    expect(await names('Order?$orderby=name&$filter="customer != null"')).toEqual(['c']);
  });

  it('cascades and restricts deletions', async () => {
    await create(app, 'Note', [{ customer: 1 }, { customer: 2 }, {}]);
    expect((await remove('Customer(1)')).statusCode).toBe(200);
    expect((await read('Note')).__ENTITIES.map(({ __KEY }) => __KEY)).toEqual(['2', '3']);
    await create(app, 'Claim', [{ customer: 2 }]);
    const refused = await remove('Customer(2)');
    expect(refused.statusCode).toBe(409);
    expect(refused.body).toContain('1 entity of the \\"Claim\\" dataclass');
  });

  it('is validated in a list as the list is saved', async () => {
    await create(app, 'Folder', [{ code: 'A' }]);
    const renamed = { __KEY: '1', __STAMP: 1, code: 'B' };
    const child = { parentCode: 'A' };
    const missing = await validate('Folder', [renamed, child]);
    expect(missing.json()).toMatchObject({ __ENTITIES: [child] });
    const held = await validate('Folder', [child, renamed]);
    expect(held.json()).toMatchObject({ __ENTITIES: [{ code: 'B' }] });
    const right = await validate('Folder', [renamed, { parentCode: 'B' }]);
    expect(right.json()).toEqual({ ok: true });
  });

  it('leads within its own dataclass', async () => {
    await create(app, 'Person', [{ ID: 1, badge: 'B1' }]);
    await create(app, 'Person', [
      { ID: 2, badge: 'B2', boss: 1 },
      { ID: 3, badge: 'B3', boss: 2 },
    ]);
    expect(await read('Person(3)')).toMatchObject({ boss: deferred('Person', '2') });
    expect((await remove('Person(2)')).statusCode).toBe(200);
    expect(await read('Person(3)')).toMatchObject({ boss: null });
  });

  it('is the referenced value in class code', async () => {
    const ds = app.datastore as ValueStore;
    expect(await ds.Customer.all().orders.count()).toBe(3);
    expect(await ds.Customer.query('ID < 2').orders.count()).toBe(2);
    expect(await (await ds.Customer.get(1)).orders.count()).toBe(2);
    expect(await ds.Order.all().customer.count()).toBe(2);
    expect(await ds.Order.all().minus(ds.Customer.all().orders).count()).toBe(1);
    const order = await ds.Order.get(4);
    expect(order.customer.key).toBeNull();
    order.customer.set('c-2');
    await order.save();
    expect((await order.customer.get())?.name).toBe('two');
    expect(order.toObject()).toMatchObject({ customer: 'C-2', customerCode: 'C-2' });
    order.customer.set(await ds.Customer.get(1));
    expect(order.customer.key).toBe('C-1');
    await order.save();
    expect(await names('Customer?$filter="orders.ID = 4"')).toEqual(['one']);
    const bare = await ds.Customer.get(3);
    expect(() => {
      order.customer.set(bare);
    }).toThrow('without code');
  });
});
