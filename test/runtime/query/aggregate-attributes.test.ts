import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeClient } from '../../support/built-client.js';
import { Client } from '../../support/cookies.js';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: shop
database: [sqlite, postgres]
dataclasses:
  Customer:
    attributes:
      code: { type: string, key: true }
      name: string
      invoices: { to: Invoice, many: true, inverse: customer }
      bought: { alias: invoices.lines.product }
      revenue: { aggregate: sum(invoices.lines.amount) }
      unpaid: { aggregate: count(invoices), filter: "paid = false and total >= 5" }
      products: { aggregate: count(bought) }
      dearest: { aggregate: max(bought.price), filter: "product.name begin 'p' or product.name IN ['Fig', 'it\\\\u0027s']" }
      secret: { aggregate: count(invoices), exposed: false }
      guarded: { aggregate: count(invoices) }
      notes: { aggregate: count(invoices.notes) }
    functions:
      dataclass:
        tell: { exposed: true, params: { code: string }, returns: any }
  Invoice:
    attributes:
      ID: { type: integer, key: true }
      date: { type: date, dateOnly: true }
      paid: { type: boolean, default: false }
      total: number
      customer: { to: Customer, inverse: invoices }
      lines: { to: Line, many: true, inverse: invoice }
      notes: { to: Note, many: true, inverse: invoice }
      sum: { aggregate: sum(lines.amount) }
      mean: { aggregate: average(lines.amount) }
      least: { aggregate: min(lines.amount) }
      pieces: { aggregate: sum(lines.pieces) }
      middle: { aggregate: average(lines.pieces) }
      longest: { aggregate: max(lines.took), restName: longest line }
      shipped: { aggregate: max(lines.shippedAt) }
      priced: { aggregate: sum(lines.product.price) }
      others: { aggregate: count(customer.invoices) }
    restrict: true
  Line:
    attributes:
      ID: { type: integer, key: true }
      amount: { type: decimal, precision: 18, scale: 2 }
      pieces: integer
      took: duration
      shippedAt: date
      invoice: { to: Invoice, inverse: lines, onDelete: cascade }
      product: { to: Product, inverse: lines }
  Product:
    attributes:
      ID: { type: integer, key: true }
      name: string
      price: number
      lines: { to: Line, many: true, inverse: product }
  Note:
    attributes:
      ID: { type: integer, key: true }
      invoice: { to: Invoice, inverse: notes }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: all }, { privilege: audit }]
  permissions:
    allowed:
      - { applyTo: Note, type: dataclass, read: [audit] }
      - { applyTo: Customer.guarded, type: attribute, read: [audit] }
      - { applyTo: Customer.notes, type: attribute, read: [guest] }
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
import { CustomerBase } from '../generated/api.js';
export class Customer extends CustomerBase {
  async tell(code: string): Promise<unknown> {
    const customer = await this.get(code);
    if (customer === null) return null;
    const revenue: string | null = customer.revenue;
    const invoices = await customer.invoices.orderBy('sum desc').toArray();
    return {
      revenue,
      sums: invoices.map((each) => [each.sum, each.pieces, each.middle, each.longest]),
      rich: await this.query('revenue > 20').count(),
      most: await this.all().max('unpaid'),
      unsaved: this.new({ code: 'x' }).unpaid,
      shown: customer.toObject(),
    };
  }
}
`;

interface Collection {
  readonly __COUNT: number;
  readonly __ENTITIES: readonly Readonly<Record<string, unknown>>[];
}

describeDatabases('An aggregate', (databases) => {
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
    const writer = await loggedIn(app, { privileges: ['all', 'audit'] });
    const entities: Readonly<Record<string, readonly object[]>> = {
      Customer: [
        { code: 'Ada', name: 'Ada' },
        { code: 'Bob', name: 'Bob' },
        { code: 'Cy', name: 'Cy' },
      ],
      Product: [
        { ID: 1, name: 'Plum', price: 2.5 },
        { ID: 2, name: 'Fig', price: 9 },
        { ID: 3, name: 'Nut', price: 100 },
      ],
      Invoice: [
        { ID: 1, customer: 'ADA', total: 10, date: '2026-01-01' },
        { ID: 2, customer: 'Ada', total: 500 },
        { ID: 3, customer: 'Bob', total: 4 },
        { ID: 4, customer: 'Bob', total: 50, paid: true },
        { ID: 5 },
      ],
      Line: [
        { ID: 1, invoice: 1, amount: '0.10', pieces: 2, took: 60_000, product: 1 },
        { ID: 2, invoice: 1, amount: '0.20', pieces: 3, took: 5000, product: 1 },
        { ID: 3, invoice: 1, amount: '0.20', shippedAt: '2026-02-03T04:05:06.000Z', product: 3 },
        { ID: 4, invoice: 2, amount: '9999999999999999.99', product: 2 },
        { ID: 5, invoice: 2, amount: '9999999999999999.99' },
        { ID: 6, invoice: 4, amount: '-20.50', pieces: 1, product: 2 },
      ],
      Note: [{ ID: 1, invoice: 1 }],
    };
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

  async function keys(address: string, client = all): Promise<readonly unknown[]> {
    const { __ENTITIES } = await read<Collection>(address, client);
    return __ENTITIES.map(({ __KEY }) => __KEY);
  }

  it('is computed by the database for each read, exactly for decimals', async () => {
    expect(await read('Invoice(1)')).toMatchObject({
      sum: '0.50',
      mean: '0.166667',
      least: '0.10',
      pieces: 5,
      middle: 2.5,
      'longest line': 60_000,
      shipped: '2026-02-03T04:05:06.000Z',
      priced: 105,
      others: 2,
    });
    // More than SQLite's integers hold.
    expect(await read('Invoice(2)')).toMatchObject({ sum: '19999999999999999.98' });
    expect(await read('Invoice(3)')).toMatchObject({
      sum: '0.00',
      mean: null,
      least: null,
      pieces: 0,
      middle: null,
      shipped: null,
    });
    expect(await read('Invoice(5)')).toMatchObject({ others: 0 });
  });

  it('may lead over several relations and aliases, and counts each related entity once', async () => {
    expect(await read("Customer('ada')")).toMatchObject({
      revenue: '20000000000000000.48',
      unpaid: 2,
      products: 4,
      dearest: 9,
    });
    expect(await read("Customer('Bob')")).toMatchObject({ revenue: '-20.50', unpaid: 0 });
    expect(await read("Customer('Cy')")).toMatchObject({ revenue: '0.00', dearest: null });
  });

  it('is filtered, sorted, computed with and listed like any other attribute', async () => {
    expect(await keys('Invoice?$filter=sum = 0.5 and pieces > 4')).toEqual(['1']);
    expect(await keys('Invoice?$filter=mean is null&$orderby=ID desc')).toEqual(['5', '3']);
    expect(await keys('Invoice?$filter="[longest line] >= 60000"')).toEqual(['1']);
    expect(await keys('Invoice?$filter=customer.unpaid = 2')).toEqual(['1', '2']);
    expect(await keys('Customer?$filter=invoices.sum < 0')).toEqual(['Bob']);
    expect(await keys('Customer?$orderby=revenue desc')).toEqual(['Ada', 'Cy', 'Bob']);
    // Without a customer it is null, which comes first, although the sum of nothing is 0.
    const order = '$orderby=customer.revenue, ID desc&$top=3';
    expect(await keys(`Invoice?${order}`)).toEqual(['5', '4', '3']);
    expect(await keys('Invoice?$filter=customer.unpaid = 0')).toEqual(['3', '4']);
    expect(await read('Invoice/sum?$compute=sum&$filter=ID != 2')).toBe('-20.00');
    expect(await read('Invoice/pieces?$distinct=true')).toEqual([0, 1, 5]);
    const page = await read<Collection>('Customer?$attributes=revenue,invoices.sum');
    expect(page.__ENTITIES[1]).toMatchObject({
      revenue: '-20.50',
      invoices: { __ENTITIES: [{ sum: '0.00' }, { sum: '-20.50' }] },
    });
    const array = await read<readonly object[]>('Customer/revenue?$asArray=true');
    expect(array[1]).toMatchObject({ revenue: '-20.50' });
    const report = await read<object>('Invoice/sum,shipped?$format=looker&$filter=ID = 1');
    expect(report).toMatchObject({ rows: [{ values: [0.5, '2026-02-03T04:05:06.000Z'] }] });
  });

  it('has its present value in counts, sets and the answers of saves', async () => {
    const count = async (): Promise<unknown> =>
      (await read<Collection>('Customer?$filter=unpaid = 2&$top=0')).__COUNT;
    expect(await count()).toBe(1);
    const set = await read<{ readonly __ENTITYSET: string }>(
      'Customer?$filter=unpaid = 2&$method=entityset',
    );
    const invoice = { ID: 9, customer: 'Bob', total: 7, lines: [{ ID: 90, amount: 1 }] };
    const saved = await all.post('/rest/Invoice?$method=update', invoice);
    expect(saved.json()).toMatchObject({ sum: '1.00' });
    const another = { ID: 10, customer: 'Bob', total: 8, sum: '77' };
    const ignored = await all.post('/rest/Invoice?$method=update', another);
    expect(ignored.json()).toMatchObject({ sum: '0.00', others: 4 });
    expect(await count()).toBe(2);
    expect(await keys(set.__ENTITYSET.replace('/rest/', ''))).toEqual(['Ada']);
    const dropped = await all.get('/rest/Invoice/?$method=delete');
    expect(dropped.statusCode).toBe(405);
    for (const ID of [9, 10]) await all.post(`/rest/Invoice(${ID})?$method=delete`, undefined);
    expect(await count()).toBe(1);
  });

  it('counts only what the session sees, and needs its own privileges only', async () => {
    const guest = new Client(app);
    expect(await read("Customer('Ada')", guest)).toMatchObject({ revenue: '0.50', unpaid: 1 });
    expect(await read("Customer('Ada')", guest)).toMatchObject({ products: 3, notes: 1 });
    expect(await keys('Customer?$filter=unpaid = 1', guest)).toEqual(['Ada']);
    const audit = await loggedIn(app, { privileges: ['audit', 'all'] });
    expect(await read("Customer('Ada')", audit)).toMatchObject({ guarded: 2 });
    for (const name of ['secret', 'guarded', 'nothing']) {
      expect(await read("Customer('Ada')")).not.toHaveProperty(name);
      const [status, body] = await refused(`Customer?$filter=${name} > 0`);
      expect([status, body.replaceAll(name, 'it')]).toEqual([
        400,
        (await refused('Customer?$filter=it > 0'))[1],
      ]);
      expect((await refused(`Customer?$orderby=${name}`))[0]).toBe(400);
    }
  });

  it('is an attribute of class code, with the values of the reads', async () => {
    const response = await all.post('/rest/Customer/tell', ['Bob']);
    expect(response.statusCode, response.body).toBe(200);
    expect(response.json()).toMatchObject({
      result: {
        revenue: '-20.50',
        sums: [
          ['0.00', 0, null, null],
          ['-20.50', 1, 1, null],
        ],
        rich: 1,
        most: 2,
        unsaved: null,
        shown: { revenue: '-20.50', unpaid: 0 },
      },
    });
  });

  it('is read-only in the catalog, and an attribute of the typed client', async () => {
    const catalog = await read<{ readonly dataClasses: readonly CatalogClass[] }>('$catalog/$all');
    const customer = catalog.dataClasses.find(({ name }) => name === 'Customer');
    const found = customer?.attributes.find(({ name }) => name === 'revenue');
    expect(found).toMatchObject({ kind: 'calculated', type: 'string', readOnly: true });
    const folder = await writeClient(modelOf(model));
    const { href } = pathToFileURL(join(folder, 'client.js'));
    const { connect } = (await import(href)) as { connect: (url: string) => ClientStore };
    const ds = connect(await app.listen({ port: 0, host: '127.0.0.1' }));
    expect((await ds.Customer.get('Ada')).revenue).toBe('0.50');
  });
});

interface CatalogClass {
  readonly name: string;
  readonly attributes: readonly { readonly name: string }[];
}

/** What a client needs of the datastore here. */
interface ClientStore {
  readonly Customer: { get(code: string): Promise<{ readonly revenue: string }> };
}

it('A server does not start if the filter of an aggregate compares with a value of another type', async () => {
  const wrong = `
drs: 1
name: shop
dataclasses:
  A:
    attributes:
      ID: { type: integer, key: true }
      x: integer
      a: { to: A, inverse: all }
      all: { to: A, many: true, inverse: a }
      some: { aggregate: count(all), filter: "x = 'many'" }
`;
  await expect(serverOf(wrong)).rejects.toThrow(
    'The filter of A.some cannot be used: Character 5 of $filter: expected a number such as 42, found "many".',
  );
});
