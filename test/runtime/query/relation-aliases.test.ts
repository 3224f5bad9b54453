import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeClient } from '../../support/built-client.js';
import { Client } from '../../support/cookies.js';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { create, modelOf, serverOf } from '../../support/server.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: shop
database: [sqlite, postgres]
dataclasses:
  Customer:
    attributes:
      ID: { type: integer, key: true }
      name: string
      country: { to: Country }
      friend: { to: Customer, onDelete: none }
      invoices: { to: Invoice, many: true, inverse: customer }
      products: { alias: invoices.lines.product }
      suppliers: { alias: products.supplier }
      continent: { alias: country.continent }
      continentName: { alias: continent.name }
      buyers: { alias: products.lines.invoice.customer }
      hiddenProducts: { alias: products, exposed: false }
      guarded: { alias: invoices.lines.product }
      notes: { alias: invoices.notes }
      friendCountry: { alias: friend.country }
      again: { alias: continent }
      secret: { to: Secret }
      secretCountry: { alias: secret.country }
    functions:
      dataclass:
        tell: { exposed: true, params: { key: integer }, returns: any }
        handle: { exposed: true, params: { key: integer }, returns: any }
        first: { exposed: true, params: { key: integer }, returns: Customer }
        make: { exposed: true, returns: Customer }
        through: { exposed: true, params: { path: string }, returns: any }
        change: { exposed: true, params: { key: integer, name: string } }
  Country:
    attributes:
      ID: { type: integer, key: true }
      name: string
      continent: { to: Continent, foreignKey: continentCode, references: code }
      continentCode: { type: string, exposed: false }
      customers: { to: Customer, many: true, inverse: country }
  Continent:
    attributes:
      ID: { type: integer, key: true }
      code: { type: string, unique: true }
      name: string
  Invoice:
    attributes:
      ID: { type: string, key: true }
      total: number
      customer: { to: Customer, inverse: invoices }
      lines: { to: Line, many: true, inverse: invoice }
      notes: { to: Note, many: true, inverse: invoice }
      continent: { alias: customer.continent }
    restrict: true
  Secret:
    attributes:
      ID: { type: integer, key: true }
      country: { to: Country }
  Note:
    attributes:
      ID: { type: integer, key: true }
      invoice: { to: Invoice, inverse: notes }
  Line:
    attributes:
      ID: { type: integer, key: true }
      invoice: { to: Invoice, inverse: lines }
      product: { to: Product, inverse: lines }
  Product:
    attributes:
      ID: { type: integer, key: true }
      name: string
      price: number
      supplier: { to: Supplier }
      lines: { to: Line, many: true, inverse: product }
  Supplier:
    attributes:
      ID: { type: integer, key: true }
      name: string
roles:
  restrictedByDefault: false
  privileges: [{ privilege: all }, { privilege: audit }]
  permissions:
    allowed:
      - { applyTo: Note, type: dataclass, read: [audit] }
      - { applyTo: Secret, type: dataclass, read: [audit] }
      - { applyTo: Customer.guarded, type: attribute, read: [audit] }
`;

const invoiceClass = `
import { InvoiceBase, type Restriction, type Session } from '../generated/api.js';
export class Invoice extends InvoiceBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('all') ? null : { filter: 'total < :1', values: [100] };
  }
}
`;

const customerClass = `
import { CustomerBase, type CustomerEntity } from '../generated/api.js';
export class Customer extends CustomerBase {
  async tell(key: number): Promise<unknown> {
    const customer = await this.get(key);
    if (customer === null) return null;
    const names = async (list: { toArray(): Promise<readonly { name: string | null }[]> }) =>
      (await list.toArray()).map(({ name }) => name);
    return {
      products: await names(customer.products),
      dear: await names(customer.products.query('price > 5')),
      suppliers: await names(customer.products.supplier),
      all: await names(this.all().products),
      continents: await names(this.query('ID = :1', key).continent),
      key: customer.continent.key,
      continent: (await customer.continent.get())?.name ?? null,
      object: customer.toObject(),
      unsaved: await this.new({ name: 'x' }).products.count(),
      unsavedOne: this.new({ name: 'x' }).continent.key,
    };
  }
  async handle(key: number): Promise<unknown> {
    return (await this.get(key))?.continent;
  }
  async first(key: number): Promise<CustomerEntity | null> {
    const customer = await this.get(key);
    if (customer !== null) customer.name = 'changed';
    return customer;
  }
  async through(path: string): Promise<unknown> {
    const all = this.all();
    return await (path === 'alias' ? all.secretCountry : all.secret.country).count();
  }
  make(): CustomerEntity {
    return this.new({ ID: 99, name: 'made' });
  }
  async change(key: number, name: string): Promise<void> {
    (await this.get(key))?.fromObject({ [name]: 1 });
  }
}
`;

/** What a client needs of the datastore here. */
interface ClientStore {
  readonly Customer: {
    get(key: number): Promise<{
      readonly continent: {
        readonly key: number | null;
        get(): Promise<{ readonly name: string } | null>;
        set(key: number): void;
      };
      readonly products: {
        query(filter: string): { toArray(): Promise<readonly { readonly name: string }[]> };
        count(): Promise<number>;
      };
    }>;
    query(filter: string): {
      select(...paths: readonly string[]): { toArray(): Promise<readonly unknown[]> };
    };
  };
}

interface Collection {
  readonly __COUNT: number;
  readonly __ENTITIES: readonly Readonly<Record<string, unknown>>[];
}

const deepPath = Array.from({ length: 5 }, () => 'parts.whole').join('.');
const deepModel = `
drs: 1
name: deep
database: [sqlite, postgres]
limits: { pageSize: 2 }
dataclasses:
  Part:
    attributes:
      ID: { type: integer, key: true }
      whole: { to: Part, inverse: parts }
      parts: { to: Part, many: true, inverse: whole }
      itself: { alias: ${deepPath} }
      below: { alias: ${Array.from({ length: 10 }, () => 'parts').join('.')} }
`;

describeDatabases('Aliases over ten relations', (databases) => {
  it('can be expanded within each other as deep as relations', async () => {
    const database = await databases.create();
    const app = await serverOf(deepModel, { databaseUrl: database.url });
    const chain = Array.from({ length: 13 }, (_, index) => ({ ID: index + 1 }));
    await create(
      app,
      'Part',
      chain.map(({ ID }) => (ID === 1 ? { ID } : { ID, whole: ID - 1 })),
    );
    const read = async (address: string): Promise<unknown> => {
      const response = await app.inject(`/rest/${encodeURI(address)}`);
      expect(response.statusCode, response.body).toBe(200);
      return response.json();
    };
    const path = (name: string): string => Array<string>(5).fill(name).join('.');
    const itself = await read(`Part(1)?$attributes=${path('itself')}.ID`);
    const within = (inner: object): object => ({ itself: { __ENTITIES: [inner] } });
    expect(itself).toMatchObject(within(within(within(within(within({ ID: 1 }))))));
    expect(await read(`Part(1)?$attributes=${path('below')}.ID`)).toMatchObject({
      below: { __COUNT: 1, __ENTITIES: [{ below: { __COUNT: 0 } }] },
    });
    expect(await read('Part?$filter=below.ID > 0&$top=0')).toMatchObject({ __COUNT: 3 });
    expect(await read('Part(3)/below?$expand=below')).toMatchObject({ __ENTITIES: [{ ID: 13 }] });
    await app.close();
    await database.drop();
  });
});

describeDatabases('An alias that ends in a relation', (databases) => {
  let app: FastifyInstance;
  let database: TestDatabase;
  let all: Client;

  beforeAll(async () => {
    database = await databases.create();
    const classes = {
      'src/classes/Invoice.ts': invoiceClass,
      'src/classes/Customer.ts': customerClass,
    };
    app = await rolesServerOf(model, { databaseUrl: database.url }, classes);
    all = await loggedIn(app, { privileges: ['all'] });
    const entities: Readonly<Record<string, readonly object[]>> = {
      Continent: [
        { ID: 1, code: 'eu', name: 'Europe' },
        { ID: 2, code: 'as', name: 'Asia' },
      ],
      Country: [
        { ID: 1, name: 'Malta', continent: 1 },
        { ID: 2, name: 'Japan', continent: 2 },
        { ID: 3, name: 'Nowhere' },
      ],
      Secret: [{ ID: 1, country: 2 }],
      Customer: [
        { ID: 1, name: 'Ada', country: 1, friend: 2, secret: 1 },
        { ID: 2, name: 'Bob', country: 2, friend: 77 },
        { ID: 3, name: 'Cy', country: 3 },
        { ID: 4, name: 'Di' },
      ],
      Supplier: [
        { ID: 1, name: 'North' },
        { ID: 2, name: 'South' },
      ],
      Product: [
        { ID: 1, name: 'apple', price: 1, supplier: 1 },
        { ID: 2, name: 'pear', price: 6, supplier: 1 },
        { ID: 3, name: 'plum', price: 9, supplier: 2 },
        { ID: 4, name: 'fig', price: 20 },
      ],
      Invoice: [
        { ID: 'A', total: 10, customer: 1 },
        { ID: 'B', total: 500, customer: 1 },
        { ID: 'C', total: 50, customer: 2 },
        { ID: 'D', total: 60 },
      ],
      Line: [
        { ID: 1, invoice: 'A', product: 1 },
        { ID: 2, invoice: 'A', product: 2 },
        { ID: 3, invoice: 'B', product: 2 },
        { ID: 4, invoice: 'B', product: 3 },
        { ID: 5, invoice: 'C', product: 2 },
        { ID: 6, invoice: 'D', product: 4 },
        { ID: 7, invoice: 'C' },
      ],
      Note: [{ ID: 1, invoice: 'A' }],
    };
    const writer = await loggedIn(app, { privileges: ['all', 'audit'] });
    for (const [dataclass, list] of Object.entries(entities)) {
      const response = await writer.post(`/rest/${dataclass}?$method=update`, list);
      expect(response.statusCode, response.body).toBe(200);
    }
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  async function read<T = Record<string, unknown>>(address: string, client = all): Promise<T> {
    const response = await client.get(`/rest/${encodeURI(address)}`);
    expect(response.statusCode, response.body).toBe(200);
    return response.json();
  }

  async function refused(address: string, client = all): Promise<readonly [number, string]> {
    const response = await client.get(`/rest/${encodeURI(address)}`);
    return [response.statusCode, response.body];
  }

  async function names(address: string, client = all): Promise<readonly unknown[]> {
    const { __ENTITIES } = await read<Collection>(address, client);
    return __ENTITIES.map(({ name, ID }) => name ?? ID);
  }

  it('is sent like a relation that is not expanded, with an address that works', async () => {
    const ada = await read('Customer(1)');
    expect(ada).toMatchObject({
      products: { __deferred: { uri: '/rest/Customer(1)/products?$expand=products' } },
      continent: { __deferred: { uri: '/rest/Continent(1)', __KEY: '1' } },
      again: { __deferred: { uri: '/rest/Continent(1)', __KEY: '1' } },
      friendCountry: { __deferred: { uri: '/rest/Country(2)', __KEY: '2' } },
      continentName: 'Europe',
    });
    expect(ada).not.toHaveProperty('hiddenProducts');
    expect(await names('Customer(1)/products?$expand=products')).toEqual(['apple', 'pear', 'plum']);
    expect(await read('Customer(3)')).toMatchObject({ continent: null, friendCountry: null });
    expect(await read('Customer(2)')).toMatchObject({ friendCountry: null });
    expect(await read('Customer(4)')).toMatchObject({ continent: null, continentName: null });
  });

  it('leads to each entity once, which can be filtered, sorted, paged and counted', async () => {
    const base = 'Customer(1)/products?$expand=products';
    expect(await names(`${base}&$orderby=name desc`)).toEqual(['plum', 'pear', 'apple']);
    expect(await names(`${base}&$filter="price > 5"`)).toEqual(['pear', 'plum']);
    const page = await read<Collection>(`${base}&$top=1&$skip=1`);
    expect(page).toMatchObject({ __COUNT: 3, __ENTITIES: [{ name: 'pear' }] });
    expect(await names('Customer(1)/suppliers?$expand=suppliers')).toEqual(['North', 'South']);
    expect(await names('Customer(2)/buyers?$expand=buyers')).toEqual(['Ada', 'Bob']);
    expect(await names('Customer(4)/products?$expand=products')).toEqual([]);
    expect((await refused('Customer(5)/products?$expand=products'))[0]).toBe(404);
    expect(await read('Customer(1)/products.price?$compute=sum')).toBe(16);
    expect(await read('Customer(1)/products.supplier.name?$distinct=true')).toEqual([
      'North',
      'South',
    ]);
    // As behind its path, a product counts for each line.
    expect(await read('Customer/products.price?$compute=count')).toBe(5);
  });

  it('can be expanded, and its attributes can be listed', async () => {
    const [ada] = (
      await read<Collection>('Customer?$attributes=name,products.name,continent.name&$top=1')
    ).__ENTITIES;
    expect(ada).toMatchObject({
      name: 'Ada',
      continent: { __KEY: '1', name: 'Europe' },
      products: {
        __ENTITYSET: '/rest/Customer(1)/products?$expand=products',
        __COUNT: 3,
        __ENTITIES: [{ name: 'apple' }, { name: 'pear' }, { name: 'plum' }],
      },
    });
    const deep = await read('Invoice(A)?$expand=continent,customer.products.supplier');
    expect(deep).toMatchObject({
      continent: { code: 'eu' },
      customer: { products: { __COUNT: 3, __ENTITIES: [{ supplier: { name: 'North' } }, {}, {}] } },
    });
    expect(await read('Customer(4)?$expand=continent,products')).toMatchObject({
      continent: null,
      products: { __COUNT: 0, __ENTITIES: [] },
    });
    expect(await read('Customer?$asArray=true&$attributes=products,continent&$top=1')).toEqual([
      expect.objectContaining({ products: { __COUNT: 3 }, continent: { __KEY: { ID: 1 } } }),
    ]);
  });

  it.each([
    ['products.name = pear', 'invoices.lines.product.name = pear'],
    ['products.name != pear', 'invoices.lines.product.name != pear'],
    [
      'products.name = pear and products.price > 6',
      'invoices.lines.product{1}.name = pear and invoices.lines.product.price > 6',
    ],
    [
      'products.name = apple and products{2}.price > 6',
      'invoices.lines.product.name = apple and invoices{2}.lines{2}.product{2}.price > 6',
    ],
    [
      'products.name = apple and invoices.total > 100',
      'invoices.lines.product.name = apple and invoices.total > 100',
    ],
    ['products = 3', 'invoices.lines.product = 3'],
    ['products = null', 'invoices.lines.product = null'],
    ['suppliers.name = South', 'invoices.lines.product.supplier.name = South'],
    [
      'suppliers = 1 or not(products.supplier = 2)',
      'invoices.lines.product.supplier = 1 or not(invoices.lines.product.supplier = 2)',
    ],
    ['continent.name = Asia', 'country.continent.name = Asia'],
    ['continent = 1', 'country.continent = 1'],
    ['continent = null', 'country.continent = null'],
    ['continentName != Asia', 'country.continent.name != Asia'],
    ['again.code in [eu, as]', 'country.continent.code in [eu, as]'],
    ['friend.continent.name = Asia', 'friend.country.continent.name = Asia'],
    ['friend.products.price > 5', 'friend.invoices.lines.product.price > 5'],
    ['buyers.name = Bob', 'invoices.lines.product.lines.invoice.customer.name = Bob'],
  ])('means its path in a filter: %s', async (alias, path) => {
    expect(await names(`Customer?$filter=${alias}`)).toEqual(
      await names(`Customer?$filter=${path}`),
    );
  });

  it('finds something by the filters above, and not everything', async () => {
    expect(await names('Customer?$filter=products.name = apple')).toEqual(['Ada']);
    expect(await names('Customer?$filter=products.name != apple')).toEqual(['Bob', 'Cy', 'Di']);
    expect(await names('Customer?$filter=continent.name = Asia')).toEqual(['Bob']);
    expect(await names('Customer?$filter=products = 3')).toEqual(['Ada']);
  });

  it('gives an order if it leads to one entity, and is refused as an order otherwise', async () => {
    const order = 'Customer?$filter=continent != null&$orderby=';
    expect(await names(`${order}continent.name`)).toEqual(['Bob', 'Ada']);
    expect(await names(`${order}continent desc`)).toEqual(['Bob', 'Ada']);
    const [status, body] = await refused('Customer?$orderby=products.name');
    expect(status).toBe(400);
    expect(body).toContain('leads over a to-many relation');
    const [compared, message] = await refused('Customer?$filter=notes = 1');
    expect([compared, message]).toEqual([400, expect.stringContaining('1500')]);
  });

  it('is described by the catalog', async () => {
    const { attributes } = await read<{ readonly attributes: readonly object[] }>(
      '$catalog/Customer',
    );
    expect(attributes).toContainEqual({
      name: 'products',
      kind: 'alias',
      scope: 'public',
      exposed: true,
      behavior: 'relatedEntities',
      type: 'ProductSelection',
      path: 'invoices.lines.product',
      readOnly: true,
    });
    expect(attributes).toContainEqual({
      name: 'continent',
      kind: 'alias',
      scope: 'public',
      exposed: true,
      behavior: 'relatedEntity',
      type: 'Continent',
      path: 'country.continent',
      readOnly: true,
    });
  });

  it('is passed over by a save, as it was read', async () => {
    for (const expand of ['', '?$expand=products,continent', '?$expand=continent&$count=false']) {
      const found = await read(`Customer(1)${expand}`);
      const response = await all.post('/rest/Customer?$method=update', { ...found, name: 'Ada' });
      expect(response.statusCode, response.body).toBe(200);
      expect(response.json()).toMatchObject({ continent: { __deferred: { __KEY: '1' } } });
    }
  });

  it.each([
    ['a list in a to-many alias', { products: [1, { __KEY: '2' }] }, 'products'],
    ['an empty list in a to-many alias', { products: [] }, 'products'],
    ['a key in a to-one alias', { continent: 2 }, 'continent'],
    ['a key of an entity in a to-one alias', { continent: { __KEY: '2' } }, 'continent'],
    ['an entity in a to-one alias', { continent: { name: 'Asia' } }, 'continent'],
  ])('refuses %s, in changes, in creations and beside lists', async (_what, values, attribute) => {
    const { __STAMP } = (await all.get('/rest/Customer(4)')).json<{ __STAMP: number }>();
    const changed = { __KEY: '4', __STAMP, name: 'Eve', ...values };
    const nested = { ID: 5, invoices: [{ ID: 'Z' }], ...values };
    for (const body of [changed, { ID: 6, ...values }, nested]) {
      const response = await all.post('/rest/Customer?$method=update', body);
      expect(response.statusCode).toBe(422);
      expect(response.json()).toMatchObject({
        __ERROR: [
          {
            errCode: 1569,
            attribute,
            message: `${attribute} is an alias, which is read-only.`,
          },
          {},
          {},
        ],
      });
    }
    expect((await all.get('/rest/Customer(4)/name')).json()).toMatchObject({ name: 'Di' });
    expect((await all.get('/rest/Customer?$top=0')).json()).toMatchObject({ __COUNT: 4 });
  });

  it('makes an entity set, which is made again by its definition', async () => {
    const made = await read<{ readonly __ENTITYSET: string }>(
      'Customer(1)/products?$method=subentityset&$expand=products&$subOrderby=name desc&$savedfilter=true&$savedorderby=true',
    );
    const address = made.__ENTITYSET.replace('/rest/', '');
    expect(await names(address)).toEqual(['plum', 'pear', 'apple']);
    await read(`${address}?$method=release`);
    expect(await names(address)).toEqual(['plum', 'pear', 'apple']);
  });

  it('is a selection or an entity in class code', async () => {
    const response = await all.post('/rest/Customer/tell', [1]);
    expect(response.json<{ result: unknown }>().result).toEqual({
      products: ['apple', 'pear', 'plum'],
      dear: ['pear', 'plum'],
      suppliers: ['North', 'South'],
      all: ['apple', 'pear', 'plum'],
      continents: ['Europe'],
      key: 1,
      continent: 'Europe',
      object: expect.objectContaining({ name: 'Ada', continent: 1, country: 1 }) as unknown,
      unsaved: 0,
      unsavedOne: null,
    });
    const none = await all.post('/rest/Customer/tell', [3]);
    expect(none.json()).toMatchObject({ result: { key: null, continent: null, products: [] } });
    const handle = await all.post('/rest/Customer/handle', [1]);
    expect(handle.statusCode).toBe(500);
    const set = await all.post('/rest/Customer/change', [1, 'continent']);
    expect(set.body).not.toContain('"result":null');
  });

  it('is a selection or an entity in a typed client', async () => {
    const folder = await writeClient(modelOf(model));
    const { href } = pathToFileURL(join(folder, 'client.js'));
    const { connect } = (await import(href)) as { connect: (url: string) => ClientStore };
    const ds = connect(await app.listen({ port: 0, host: '127.0.0.1' }));
    const ada = await ds.Customer.get(1);
    expect(ada.continent.key).toBe(1);
    expect((await ada.continent.get())?.name).toBe('Europe');
    expect(() => {
      ada.continent.set(2);
    }).toThrow('Customer.continent cannot be set.');
    expect(await ada.products.count()).toBe(2);
    expect((await ada.products.query('price > 5').toArray()).map(({ name }) => name)).toEqual([
      'pear',
    ]);
    const rows = ds.Customer.query('products.name = apple').select('name', 'continent.name');
    expect(await rows.toArray()).toMatchObject([{ name: 'Ada', continent: { name: 'Europe' } }]);
  });

  it('is in the entities that functions return, changed and new ones included', async () => {
    const changed = await all.post('/rest/Customer/first', [1]);
    expect(changed.json()).toMatchObject({
      name: 'changed',
      continent: { __deferred: { uri: '/rest/Continent(1)', __KEY: '1' } },
      products: { __deferred: { uri: '/rest/Customer(1)/products?$expand=products' } },
    });
    const made = await all.post('/rest/Customer/make', []);
    expect(made.json()).toMatchObject({ name: 'made', continent: null, products: null });
  });

  it('does not follow what restrict hides on its way, as the path does not', async () => {
    const some = new Client(app);
    expect(await names('Customer(1)/products?$expand=products', some)).toEqual(['apple', 'pear']);
    expect(await names('Customer?$filter=products.name = plum', some)).toEqual([]);
    expect(await read('Customer(1)?$expand=products', some)).toMatchObject({
      products: { __COUNT: 2 },
    });
    const [status] = await refused('Invoice(B)?$expand=continent', some);
    expect(status).toBe(404);
    const response = await some.post('/rest/Customer/tell', [1]);
    expect(response.json()).toMatchObject({ result: { products: ['apple', 'pear'] } });
  });

  it('needs its own privilege, and the right to read what it leads to', async () => {
    const audit = await loggedIn(app, { privileges: ['audit', 'all'] });
    for (const name of ['guarded', 'notes']) {
      expect(await read('Customer(1)')).not.toHaveProperty(name);
      expect((await refused(`Customer(1)/${name}?$expand=${name}`))[0]).toBe(404);
      expect((await refused(`Customer?$filter=${name}.ID = 1`))[0]).toBe(400);
      expect((await refused(`Customer?$attributes=${name}.ID`))[0]).toBe(400);
      expect((await read<Collection>(`Customer(1)/${name}?$expand=${name}`, audit)).__COUNT).toBe(
        name === 'notes' ? 1 : 3,
      );
    }
    const hidden = 'Customer(1)/hiddenProducts?$expand=hiddenProducts';
    expect((await refused(hidden, audit))[0]).toBe(404);
    expect((await refused('Customer?$filter=hiddenProducts.ID = 1', audit))[0]).toBe(400);
  });

  it('does not need the privileges of its path, which the path itself needs', async () => {
    const ada = await read('Customer(1)?$expand=secretCountry');
    expect(ada).toMatchObject({ secretCountry: { name: 'Japan' } });
    expect(ada).not.toHaveProperty('secret');
    expect(await names('Customer?$filter=secretCountry.name = Japan')).toEqual(['Ada']);
    expect((await refused('Customer?$filter=secret.country.name = Japan'))[0]).toBe(400);
    const statuses: unknown[] = [];
    for (const path of ['alias', 'path', 'alias']) {
      const response = await all.post('/rest/Customer/through', [path]);
      statuses.push(response.statusCode === 200 ? response.json() : response.statusCode);
    }
    expect(statuses).toEqual([{ result: 1 }, 403, { result: 1 }]);
    const { attributes } = await read<{ attributes: readonly { name: string }[] }>(
      '$catalog/Customer',
    );
    expect(attributes.find(({ name }) => name === 'secretCountry')).not.toHaveProperty('path');
    const plan = await refused(
      'Customer?$filter=secretCountry.name = Japan&$queryplan=true&$querypath=true',
    );
    expect(plan).toEqual([200, expect.not.stringContaining('Secret')]);
  });
});
