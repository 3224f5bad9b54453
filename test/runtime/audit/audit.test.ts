import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeClient } from '../../support/built-client.js';
import { describeDatabases } from '../../support/databases.js';
import type { Client } from '../../support/cookies.js';
import { expectDescribed } from '../../support/described-answers.js';
import { isLong, itOnOne } from '../../support/long.js';
import type { TestDatabase } from '../../support/postgres.js';
import { Random } from '../../support/random-model/random.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { modelOf } from '../../support/server.js';

const modelFor = (driver: string): string => `
drs: 1
name: audited
database: ${driver}
dataclasses:
  Product:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      price: { type: decimal, scale: 2 }
      secret: string
      hidden: { type: string, exposed: false }
      flag: boolean
      day: { type: date, dateOnly: true }
      size: number
      props: object
      picture: image
      owner: { to: Owner, inverse: products, onDelete: setNull }
      parts: { to: Part, many: true, inverse: product }
    audit: true
    restrict: true
  Part:
    attributes:
      code: { type: string, key: true }
      note: string
      product: { to: Product, inverse: parts, onDelete: cascade }
    audit: [note]
  Owner:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      products: { to: Product, many: true, inverse: owner }
  Level:
    attributes:
      height: { type: number, key: true }
      name: string
    audit: true
    restrict: true
  Plain:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
datastore:
  functions:
    act: { exposed: true, params: { what: string } }
    together: { exposed: true, params: { name: string } }
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: view }
    - { privilege: edit, includes: [view] }
    - { privilege: secrets }
  roles: []
  permissions:
    allowed:
      - { applyTo: ds, type: datastore, read: [view], create: [edit], update: [edit], drop: [edit], execute: [edit] }
      - { applyTo: Product.secret, type: attribute, read: [secrets] }
`;

const classes = {
  'src/classes/Level.ts': `
import { LevelBase, type Restriction, type Session } from '../generated/api.js';

export class Level extends LevelBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('edit') ? null : 'name = seen';
  }
}
`,
  'src/classes/Product.ts': `
import { ProductBase, type Restriction, type Session } from '../generated/api.js';

export class Product extends ProductBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('edit') ? null : 'price < 100';
  }
}
`,
  'src/classes/DataStore.ts': `
import { sql } from 'kysely';
import { DataStoreBase } from '../generated/api.js';

let waiting: (() => void)[] = [];

export class DataStore extends DataStoreBase {
  async act(what: string): Promise<void> {
    if (what === 'sql') await sql\`update "Product" set "name" = 'by SQL' where "ID" = 1\`.execute(this.kysely);
    if (what === 'undone') {
      await this.transaction(async () => {
        await this.Product.new({ name: 'undone' }).save();
        throw new Error('undone');
      }).catch(() => undefined);
    }
    if (what === 'part') {
      await this.transaction(async () => {
        await this.Product.new({ name: 'kept' }).save();
        await this.transaction(async () => {
          await this.Product.new({ name: 'undone' }).save();
          throw new Error('undone');
        }).catch(() => undefined);
      });
    }
  }

  /** Two calls each open a transaction before either of them saves, where the database allows it. */
  async together(name: string): Promise<void> {
    await this.transaction(async () => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        setTimeout(resolve, 200);
        if (waiting.length === 2) for (const each of waiting) each();
      });
      await this.Plain.new({ name }).save();
      await this.Product.new({ name }).save();
    });
    waiting = [];
  }
}
`,
};

interface Entry {
  readonly position: number;
  readonly time: string;
  readonly key: string;
  readonly kind: string;
  readonly user: string | null;
  readonly request: string | null;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly __COUNT: number;
  readonly __SENT: number;
  readonly __FIRST: number;
  readonly __ENTITIES: readonly Entry[];
}

/** What the emitted types of a client say. */
interface ClientStore {
  readonly session: { login: (user: string, password: string) => Promise<boolean> };
  readonly Product: {
    history: (options: object) => Promise<readonly (Omit<Entry, 'time'> & { time: Date })[]>;
  };
  readonly Plain: object;
}

describeDatabases('The audit of a dataclass', (databases) => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let editor: Client;

  beforeEach(async () => {
    database = await databases.create();
    const options = { databaseUrl: database.url };
    app = await rolesServerOf(modelFor(databases.driver), options, classes);
    editor = await loggedIn(app, { privileges: ['edit'] });
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  const save = async (
    path: string,
    body: object,
    client = editor,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    const answer = await client.post(path, body, headers);
    expect(answer.statusCode, answer.body).toBe(200);
  };
  const read = async (path: string, client = editor): Promise<Answer> => {
    const answer = await client.get(path);
    expect(answer.statusCode, answer.body).toBe(200);
    const headers = { cookie: client.cookie ?? '' };
    await expectDescribed(app, { method: 'GET', url: path, headers }, answer);
    return answer.json<Answer>();
  };
  const history = async (path: string, client = editor): Promise<readonly Entry[]> =>
    (await read(path, client)).__ENTITIES;
  const rows = (sql: string): Promise<readonly (readonly unknown[])[]> =>
    databases.run(database.url, sql);
  /** The entries of the table: table, key, kind and user. */
  const written = (): Promise<readonly (readonly unknown[])[]> =>
    rows('select "table", "key", "kind", "user" from "__audit" order by "position"');

  it.runIf(databases.driver === 'postgres')(
    'cannot be written by triggers of other roles',
    async () => {
      const may = `select has_function_privilege('public', 'drs_audit()', 'execute')`;
      expect(await rows(may)).toEqual([[false]]);
    },
  );

  it('records what a request creates, changes and deletes, with its user, privileges and ID', async () => {
    await save('/rest/Owner?$method=update', { name: 'one' });
    const values = { name: 'Chair', price: '1234567890123456.78', flag: true, day: '2026-01-31' };
    const more = { size: 5.5, props: { a: [1, 'ü"'] }, owner: { __KEY: '1' } };
    await save('/rest/Product?$method=update', { ...values, ...more }, editor, {
      'x-request-id': 'first-one',
    });
    await save('/rest/Product(1)', { __STAMP: 1, price: '75.00', flag: true, owner: null });
    await save('/rest/Product(1)?$method=delete', {});
    const all = await read('/rest/Product(1)/$history');
    expect(all).toMatchObject({ __COUNT: 3, __SENT: 3, __FIRST: 0 });
    const [deleted, changed, created] = all.__ENTITIES;
    expect(created).toEqual({
      position: expect.any(Number),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      key: '1',
      kind: 'created',
      user: 'mia',
      request: 'first-one',
      after: { ...values, ...more },
    });
    expect(changed).toMatchObject({ kind: 'changed', user: 'mia' });
    expect(changed?.before).toEqual({ price: values.price, owner: { __KEY: '1' } });
    expect(changed?.after).toEqual({ price: '75.00', owner: null });
    expect(deleted).toMatchObject({ kind: 'deleted', before: { name: 'Chair', price: '75.00' } });
    expect(deleted).not.toHaveProperty('after');
    expect(changed?.request).not.toBe(deleted?.request);
    expect(
      await rows(`select distinct "privileges" from "__audit" where "table" = 'Product'`),
    ).toEqual([['["edit","view"]']]);
  });

  itOnOne(databases)('has no entry of a save that changes nothing that is recorded', async () => {
    await save('/rest/Product?$method=update', { name: 'Chair', price: '5.00', props: { a: 1 } });
    await save('/rest/Product(1)', { __STAMP: 1, name: 'Chair', props: { a: 1 } });
    await save('/rest/Part?$method=update', { __KEY: 'p', note: 'x' });
    await save('/rest/Part(p)', { __STAMP: 1, product: { __KEY: '1' } });
    await save('/rest/Owner?$method=update', { name: 'one' });
    expect(await written()).toEqual([
      ['Product', '1', 'created', 'mia'],
      ['Part', 'p', 'created', 'mia'],
    ]);
  });

  it('records each row of a list, of nested lists, of changes by filter, and what relations do', async () => {
    await save('/rest/Product?$method=update', [
      { name: 'a', parts: [{ code: 'p1', note: 'x' }, { code: 'p2' }] },
      { name: 'b' },
    ]);
    const url = `/rest/Product?$method=update&$filter=${encodeURIComponent('"ID > 0"')}`;
    await save(url, { size: 3 });
    await save('/rest/Product(1)?$method=delete', {});
    expect([...(await written())].sort()).toEqual(
      [
        ['Product', '1', 'created', 'mia'],
        ['Product', '2', 'created', 'mia'],
        ['Part', 'p1', 'created', 'mia'],
        ['Part', 'p2', 'created', 'mia'],
        ['Product', '1', 'changed', 'mia'],
        ['Product', '2', 'changed', 'mia'],
        ['Part', 'p1', 'deleted', 'mia'],
        ['Part', 'p2', 'deleted', 'mia'],
        ['Product', '1', 'deleted', 'mia'],
      ].sort(),
    );
    const [deleted] = await history('/rest/Part(p1)/$history');
    expect(deleted?.before).toEqual({ note: 'x' });
  });

  it('records SQL of class code with the user of the request, and nothing that is rolled back', async () => {
    await save('/rest/Product?$method=update', { name: 'a' });
    for (const what of ['sql', 'undone', 'part']) await save('/rest/$catalog/act', [what]);
    expect(await written()).toEqual([
      ['Product', '1', 'created', 'mia'],
      ['Product', '1', 'changed', 'mia'],
      ['Product', expect.any(String), 'created', 'mia'],
    ]);
    const names = (await history('/rest/Product/$history')).map(({ after }) => after?.['name']);
    expect(names).toEqual(['kept', 'by SQL', 'a']);
  });

  it('records what other programs change, and code of the server, without a user', async () => {
    await save('/rest/Product?$method=update', { name: 'a' });
    await rows(`update "Product" set "name" = 'foreign', "hidden" = 'x' where "ID" = 1`);
    await rows(`update "Product" set "hidden" = 'y' where "ID" = 1`);
    const { Part } = app.datastore as {
      readonly Part: { new: (values: object) => { save: () => Promise<void> } };
    };
    await Part.new({ code: 'job' }).save();
    await rows(`delete from "Product"`);
    expect(await written()).toEqual([
      ['Product', '1', 'created', 'mia'],
      ['Product', '1', 'changed', null],
      ['Part', 'job', 'created', null],
      ['Product', '1', 'deleted', null],
    ]);
    const [, changed] = await history('/rest/Product/$history');
    expect(changed).toMatchObject({ user: null, request: null });
    expect(changed?.after).toEqual({ name: 'foreign' });
  });

  it('gives each of several transactions at a time its own user', async () => {
    const clients = await Promise.all(
      ['anna', 'ben'].map(async (user) => {
        const client = await loggedIn(app, { privileges: ['edit'] });
        const credentials = [user, JSON.stringify({ privileges: ['edit'] }), 3600];
        await client.post('/rest/$directory/login', credentials);
        return { user, client };
      }),
    );
    const saved = clients.flatMap(({ user, client }) => [
      save('/rest/$catalog/together', [`${user} by code`], client),
      save('/rest/Product?$method=update', { name: `${user} alone` }, client),
      save('/rest/Product?$method=update', [{ name: `${user} 1` }, { name: `${user} 2` }], client),
    ]);
    await Promise.all(saved);
    const entries = await history('/rest/Product/$history');
    expect(entries).toHaveLength(8);
    for (const { user, after } of entries) {
      expect(String(after?.['name']).split(' ')[0]).toBe(user);
    }
    expect(new Set(entries.map(({ request }) => request)).size).toBe(6);
  });

  it('keeps no user of a transaction for another program', async () => {
    await save('/rest/Product?$method=update', { name: 'a' });
    await save('/rest/Product?$method=update', [{ name: 'b' }, { name: 'b' }]);
    await rows(`update "Product" set "name" = 'c' where "ID" = 1`);
    const entries = await history('/rest/Product(1)/$history');
    expect(entries.map(({ user }) => user)).toEqual([null, 'mia']);
    if (databases.driver === 'sqlite') expect(await rows('select * from "__auditor"')).toEqual([]);
  });

  it('leaves entries that lead from nothing to what is stored, whoever made the changes', async () => {
    const random = new Random(7);
    let last = 0;
    const key = (): number => random.int(1, Math.max(1, last));
    const value = (): object => ({
      name: `n${random.int(0, 999_999)}`,
      size: random.int(0, 2) / 2,
      flag: random.chance(50),
    });
    const acts: readonly (() => Promise<unknown>)[] = [
      () => editor.post('/rest/Product?$method=update', value()),
      () => editor.post('/rest/Product?$method=update', [value(), value()]),
      () => editor.post(`/rest/Product?$method=update&$filter="ID = ${key()}"`, value()),
      () => editor.post(`/rest/Product?$method=update&$filter="ID < ${key()}"`, { size: 1 }),
      () => editor.post(`/rest/Product(${key()})?$method=delete`, {}),
      () => rows(`update "Product" set "size" = 2 where "ID" <= ${key()}`),
      () => rows(`update "Product" set "flag" = null where "ID" = ${key()}`),
      () => rows(`delete from "Product" where "ID" = ${key()}`),
    ];
    for (let step = 0; step < (isLong ? 60 : 25); step += 1) {
      await random.pick(acts)();
      last = Number((await rows('select coalesce(max("ID"), 0) from "Product"'))[0]?.[0]);
    }
    const stored = new Map<string, Readonly<Record<string, unknown>>>();
    const entries = await history('/rest/Product/$history?$top=1000');
    expect(entries.length).toBeGreaterThan(10);
    for (const { key: of, kind, before, after } of [...entries].reverse()) {
      expect(stored.get(of) ?? {}).toMatchObject(before ?? {});
      expect(stored.has(of)).toBe(kind !== 'created');
      if (kind === 'deleted') stored.delete(of);
      else stored.set(of, { ...stored.get(of), ...after });
    }
    const url = '/rest/Product?$top=1000&$attributes=name,size,flag';
    const present = await editor.get(url);
    const { __ENTITIES } = present.json<{ __ENTITIES: readonly { readonly __KEY: string }[] }>();
    expect(stored.size).toBe(__ENTITIES.length);
    for (const { __KEY, ...values } of __ENTITIES) {
      const { name, size, flag } = stored.get(__KEY) ?? {};
      expect(values).toMatchObject({ name, size, flag });
    }
  });

  itOnOne(databases)('filters entries, and answers them in pages', async () => {
    await save('/rest/Product?$method=update', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    await rows(`update "Product" set "size" = 3 where "ID" = 2`);
    const filtered = async (filter: string, more = ''): Promise<readonly unknown[]> => {
      const url = `/rest/Product/$history?$filter=${encodeURIComponent(`"${filter}"`)}${more}`;
      return (await history(url)).map(({ key, kind }) => `${kind} ${key}`);
    };
    expect(await filtered('user = MIA')).toEqual(['created 3', 'created 2', 'created 1']);
    expect(await filtered('user = null')).toEqual(['changed 2']);
    expect(await filtered('kind = changed or key = 3')).toEqual(['changed 2', 'created 3']);
    expect(await filtered('time > :1 and key = 2', '&$params=["2020-01-01"]')).toHaveLength(2);
    expect(await filtered('time < 2020-01-01')).toEqual([]);
    const page = await read('/rest/Product/$history?$top=1&$skip=1');
    expect(page).toMatchObject({ __COUNT: 4, __SENT: 1, __FIRST: 1 });
    expect(page.__ENTITIES[0]?.key).toBe('3');
    expect(await read('/rest/Product/$history?$count=false')).not.toHaveProperty('__COUNT');
    expect((await read('/rest/Product(77)/$history')).__COUNT).toBe(0);
  });

  it.each([
    '$filter="after.secret = x"',
    '$filter="position > 0 order by time"',
    '$filter="nothing = 1"',
    '$orderby=time',
    '$expand=owner',
    '$asArray=true',
    '$method=entityset',
  ])('refuses a request with %s', async (query) => {
    const answer = await editor.get(`/rest/Product/$history?${encodeURI(query)}`);
    expect(answer.statusCode, answer.body).toBe(400);
  });

  itOnOne(databases)('is read by typed clients', async () => {
    await save('/rest/Product?$method=update', [{ name: 'a' }, { name: 'b' }]);
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const folder = await writeClient(modelOf(modelFor(databases.driver)));
    const { connect } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as {
      readonly connect: (url: string) => ClientStore;
    };
    const ds = connect(url);
    expect(await ds.session.login('ann', JSON.stringify({ privileges: ['edit'] }))).toBe(true);
    const filter = { filter: 'user = :1 and time < :2', values: ['mia', new Date('2100-01-01')] };
    const [entry, ...others] = await ds.Product.history({ key: 2, ...filter });
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ key: '2', kind: 'created', after: { name: 'b' } });
    expect(entry?.time).toBeInstanceOf(Date);
    expect(await ds.Product.history({ top: 1, skip: 1 })).toMatchObject([{ key: '1' }]);
    expect('history' in ds.Plain).toBe(false);
  });

  itOnOne(databases)('answers nothing at addresses of dataclasses without audit', async () => {
    expect((await editor.get('/rest/Plain/$history')).statusCode).not.toBe(200);
    expect((await editor.get('/rest/Plain(1)/$history')).statusCode).not.toBe(200);
  });

  it('shows what its reader may read: neither secrets, nor entities that restrict hides', async () => {
    await save('/rest/Product?$method=update', [
      { name: 'cheap', price: '5.00' },
      { name: 'dear', price: '500.00' },
      { name: 'gone', price: '5.00' },
    ]);
    await rows(`update "Product" set "secret" = 'x' where "ID" = 1`);
    await rows(`update "Product" set "secret" = 'y', "size" = 1 where "ID" = 1`);
    await save('/rest/Product(3)?$method=delete', {});
    const shown = async (client: Client): Promise<readonly unknown[]> => {
      const { __COUNT, __ENTITIES } = await read('/rest/Product/$history', client);
      return [__COUNT, ...__ENTITIES.map(({ key, kind, after }) => [kind, key, after?.['secret']])];
    };
    const secretary = await loggedIn(app, { privileges: ['edit', 'secrets'] });
    const viewer = await loggedIn(app, { privileges: ['view'] });
    expect(await shown(secretary)).toEqual([
      6,
      ['deleted', '3', undefined],
      ['changed', '1', 'y'],
      ['changed', '1', 'x'],
      ['created', '3', null],
      ['created', '2', null],
      ['created', '1', null],
    ]);
    expect(await shown(editor)).toEqual([
      5,
      ['deleted', '3', undefined],
      ['changed', '1', undefined],
      ['created', '3', undefined],
      ['created', '2', undefined],
      ['created', '1', undefined],
    ]);
    expect(await shown(viewer)).toEqual([
      2,
      ['changed', '1', undefined],
      ['created', '1', undefined],
    ]);
    for (const key of ['2', '3']) {
      expect(await read(`/rest/Product(${key})/$history`, viewer)).toMatchObject({ __COUNT: 0 });
    }
    const nobody = await loggedIn(app, { privileges: ['secrets'] });
    expect((await nobody.get('/rest/Product/$history')).statusCode).toBe(403);
    expect((await app.inject('/rest/Product(1)/$history')).statusCode).toBe(401);
  });

  it('hides the entries of a deleted entity from readers of another one with its key', async () => {
    await rows(`insert into "Product" ("ID", "__TIMESTAMP", "price") values (9, '', 500)`);
    await rows(`delete from "Product" where "ID" = 9`);
    await rows(`insert into "Product" ("ID", "__TIMESTAMP", "price") values (9, '', 5)`);
    const viewer = await loggedIn(app, { privileges: ['view'] });
    const kinds = (await history('/rest/Product(9)/$history', viewer)).map(({ kind }) => kind);
    expect(kinds).toEqual(['created']);
    expect(await history('/rest/Product(9)/$history')).toHaveLength(3);
  });

  it('is answered where entries have keys of another type, which an earlier table of this name had', async () => {
    await save('/rest/Product?$method=update', { name: 'a', price: '5.00' });
    const other = ['chair', '-', '1.5', '1e400', '99999999999999999999', '9'.repeat(400)];
    for (const key of other)
      await rows(`insert into "__audit" ("time", "table", "key", "kind", "before")
        values ('2026-01-01T00:00:00.000Z', 'Product', '${key}', 'changed', '{"name":"x"}')`);
    const viewer = await loggedIn(app, { privileges: ['view'] });
    expect((await history('/rest/Product/$history', viewer)).map(({ key }) => key)).toEqual(['1']);
    expect(await history('/rest/Product(1)/$history', viewer)).toHaveLength(1);
  });

  it('finds entities whose keys are any numbers', async () => {
    const heights = [0, -1, 2.5, -0.000001, 123456.789, 1e21, 1e-7, 1.5e300, 5e-324];
    const levels = heights.map((height) => ({ height, name: 'seen' }));
    await save('/rest/Level?$method=update', [...levels, { height: 7, name: 'hidden' }]);
    const viewer = await loggedIn(app, { privileges: ['view'] });
    for (const height of heights) {
      const found = await history(`/rest/Level(${String(height)})/$history`, viewer);
      expect([height, found.map(({ kind }) => kind)]).toEqual([height, ['created']]);
    }
    expect(await history('/rest/Level/$history', viewer)).toHaveLength(heights.length);
    expect(await history('/rest/Level(7)/$history', viewer)).toEqual([]);
    expect(await history('/rest/Level(7)/$history')).toHaveLength(1);
  });
});
