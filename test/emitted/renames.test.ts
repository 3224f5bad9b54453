import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDatabases } from '../support/databases.js';
import type { TestDatabase } from '../support/postgres.js';
import { create, serverOf } from '../support/server.js';

const older = (driver: string): string => `
drs: 1
name: renamed
database: ${driver}
roles: { restrictedByDefault: false }
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      staff: { to: Employee, many: true, inverse: employer }
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      firstName: { type: string, indexed: true, maxLength: 20 }
      fax: { type: string, mandatory: true }
      extra: object
      employer: { to: Company, inverse: staff }
      shout: { computed: string, expression: upper(firstName) }
      loud: { computed: string, expression: "shout || '!'" }
      companyName: { alias: employer.name }
    indexes: [[firstName, fax]]
`;

const newer = (driver: string): string => `
drs: 1
name: renamed
database: ${driver}
roles: { restrictedByDefault: false }
dataclasses:
  Firm:
    renamedFrom: [Business, Company]
    table: Company
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      title: { type: string, unique: true, renamedFrom: name }
      people: { to: Person, many: true, inverse: firm, renamedFrom: staff }
  Person:
    renamedFrom: Employee
    attributes:
      number: { type: integer, key: true, generated: sequence, renamedFrom: ID }
      givenName: { type: string, indexed: true, maxLength: 20, renamedFrom: firstName }
      telefax: { type: string, mandatory: true, renamedFrom: fax }
      extra: object
      firm: { to: Firm, inverse: people, renamedFrom: employer }
      cry: { computed: string, expression: upper(firstName), renamedFrom: shout }
      loud: { computed: string, expression: "shout || '!'" }
      firmTitle: { alias: firm.title, renamedFrom: companyName }
    indexes: [[givenName, telefax]]
`;

interface Page {
  readonly __COUNT: number;
  readonly __ENTITIES: readonly Record<string, unknown>[];
}

describeDatabases('A model with renamed parts', (databases) => {
  let database: TestDatabase;
  let app: FastifyInstance;
  /** Sets that were kept before the rename. */
  let kept: Readonly<Record<'all' | 'order' | 'param' | 'related', string>>;

  const get = async (path: string): Promise<Page> => {
    const response = await app.inject(`/rest/${path}`);
    expect([path, response.statusCode, response.body]).toEqual([path, 200, response.body]);
    return response.json();
  };
  const names = async (path: string): Promise<unknown[]> =>
    (await get(path)).__ENTITIES.map((each) => each['givenName'] ?? each['firstName']);
  const keep = async (path: string): Promise<string> => {
    const { __ENTITYSET } = (await get(path)) as unknown as { readonly __ENTITYSET: string };
    return __ENTITYSET.slice(__ENTITYSET.lastIndexOf('/') + 1);
  };

  beforeAll(async () => {
    database = await databases.create();
    const server = { databaseUrl: database.url };
    app = await serverOf(older(databases.driver), server);
    await create(app, 'Company', [{ name: 'Acme' }, { name: 'Zeta' }]);
    await create(app, 'Employee', [
      { firstName: 'Ann', fax: '1', employer: '1', extra: { firstName: 'x' } },
      { firstName: 'Bob', fax: '2', employer: '2' },
      { firstName: 'Cid', fax: '3', employer: '1' },
    ]);
    const set = '$method=entityset&$savedfilter=true';
    kept = {
      all: await keep(
        `Employee?$filter="(firstName > 'A' and not(fax = '2')) or companyName = 'none' order by companyName, firstName desc"&${set}`,
      ),
      order: await keep(
        `Employee?$filter="employer.name = 'Acme' and extra.firstName is not 'y'"&$orderby="employer.name,fax desc"&${set}&$savedorderby=true`,
      ),
      param: await keep(
        `Employee?$filter=":path = :value"&$params=${encodeURIComponent('{"path":"employer.name","value":"Zeta"}')}&${set}`,
      ),
      related: await keep(`Company(1)/staff?$filter="firstName begin 'C'"&${set}`),
    };
    await app.close();
    app = await serverOf(newer(databases.driver), server);
  });

  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  it('has all values under the new names', async () => {
    const { __ENTITIES } = await get('Person?$orderby=number&$expand=firm');
    expect(__ENTITIES).toMatchObject([
      { number: 1, givenName: 'Ann', telefax: '1', cry: 'ANN', loud: 'ANN!', firmTitle: 'Acme' },
      { number: 2, givenName: 'Bob', telefax: '2', firm: { title: 'Zeta' } },
      { number: 3, givenName: 'Cid', telefax: '3', firm: { title: 'Acme' } },
    ]);
    expect(await names('Firm(1)/people?$expand=people&$orderby=givenName')).toEqual(['Ann', 'Cid']);
  });

  it('filters and orders by the new names, and accepts no earlier ones', async () => {
    expect(
      await names(`Person?$filter="cry = 'BOB' or firm.title = 'Acme'"&$orderby=telefax desc`),
    ).toEqual(['Cid', 'Bob', 'Ann']);
    for (const path of [
      'Employee',
      'Company',
      `Person?$filter="firstName = 'Ann'"`,
      'Person?$orderby=fax',
      'Person/firstName',
      'Person(1)/employer',
    ]) {
      expect([path, (await app.inject(`/rest/${path}`)).statusCode >= 400]).toEqual([path, true]);
    }
    const catalog = await app.inject('/rest/$catalog/$all');
    expect(catalog.body).not.toMatch(/Employee|Company|firstName|"fax"|renamedFrom/);
  });

  it('recreates stored entity sets', async () => {
    const member = async (id: string): Promise<unknown[]> => names(`Person/$entityset/${id}`);
    expect(await member(kept.all)).toEqual(['Cid', 'Ann']);
    expect(await member(kept.order)).toEqual(['Cid', 'Ann']);
    expect(await member(kept.param)).toEqual(['Bob']);
    expect(await member(kept.related)).toEqual(['Cid']);
    const regular = await app.inject(`/rest/Person?$filter="employer.name = 'Acme'"`);
    expect(regular.statusCode).toBe(400);
  });

  it('writes values into the existing columns', async () => {
    await create(app, 'Person', [{ givenName: 'Dan', telefax: '4', firm: '2' }]);
    const changed = await app.inject({
      method: 'POST',
      url: '/rest/Person?$method=update',
      payload: JSON.stringify([{ __KEY: '1', __STAMP: 1, telefax: '9' }]),
    });
    expect(changed.statusCode).toBe(200);
    expect(await names(`Person?$filter="telefax in ['4','9']"&$orderby=number`)).toEqual([
      'Ann',
      'Dan',
    ]);
    await app.close();
    const url = { databaseUrl: database.url };
    app = await serverOf(newer(databases.driver), url);
    expect((await get('Person')).__COUNT).toBe(4);
  });
});
