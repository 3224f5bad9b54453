import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import { Client as PostgresClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { postgresDialect } from '../../runtime/dialect/postgres/dialect.js';
import { Slot } from '../../runtime/dialect/statement.js';
import type { Client } from '../support/cookies.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { isLong } from '../support/long.js';
import { Random } from '../support/random-model/random.js';
import { loggedIn, rolesServerOf } from '../support/roles-server.js';
import { modelOf } from '../support/server.js';

/** `TAGS_SEED=<seed>` runs one sequence again. */
const onlySeed = process.env['TAGS_SEED'];
/** A tenth of them are changes. */
const requests = isLong ? 100_000 : 600;

const model = `
drs: 1
name: tags
dataclasses:
  Group:
    attributes:
      ID: { type: integer, key: true }
      title: string
      items: { to: Item, many: true, inverse: group }
      total: { aggregate: sum(items.amount) }
  Item:
    attributes:
      ID: { type: integer, key: true }
      amount: { type: integer, indexed: true }
      price: { type: decimal, scale: 2 }
      secret: integer
      note: string
      group: { to: Group, inverse: items }
      groupTitle: { alias: group.title }
      double: { computed: number, expression: "amount * 2" }
    restrict: true
  Mark:
    attributes:
      ID: { type: integer, key: true }
      level: integer
  Clock:
    attributes:
      ID: { type: integer, key: true }
      tick: { computed: integer }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: all }, { privilege: some }, { privilege: secrets }]
  permissions:
    allowed:
      - { applyTo: Item.secret, type: attribute, read: [secrets] }
`;

/** What a session with \`some\` sees depends on another dataclass, and on what is stored when it asks. */
const classes = {
  'src/classes/Item.ts': `
import { ItemBase } from '../generated/api.js';
import type { Restriction, Session } from '../generated/api.js';
export class Item extends ItemBase {
  async restrict(session: Session): Promise<Restriction> {
    if (!session.hasPrivilege('some')) return null;
    const level = await this.ds.Mark.get(1);
    return { filter: 'group.title != :1 and amount < :2', values: ['b', level?.level ?? 5] };
  }
}
`,
  'src/classes/ClockEntity.ts': `
import { ClockEntityBase } from '../generated/api.js';
let ticks = 0;
export class ClockEntity extends ClockEntityBase {
  get tick(): number {
    ticks += 1;
    return ticks;
  }
}
`,
};

const addresses = [
  'Item',
  'Item?$top=3&$skip=1',
  'Item?$orderby=amount desc,ID&$top=5',
  'Item?$filter=amount>3',
  'Item?$filter=group.title=a&$orderby=price',
  'Item?$filter=group.total>20&$count=false',
  'Item?$filter=double>8&$attributes=ID,groupTitle,group.total',
  'Item?$expand=group',
  'Item?$asArray=true&$top=4',
  'Item?$format=looker&$attributes=ID,amount,group.title',
  'Item/amount?$compute=$all',
  'Item/price?$compute=sum',
  'Item/groupTitle?$distinct=true',
  'Item?$groupby=group.title&$compute=count,sum(amount)',
  'Item(1)',
  'Item(2)?$expand=group',
  'Item:amount(3)',
  'Group?$expand=items',
  'Group?$attributes=ID,total&$orderby=total',
  'Group(1)/items?$expand=items&$top=2',
  'Group(3)/items?$expand=items',
  'Group(9)/items?$expand=items',
  'Group(9)/items?$expand=items&$count=false',
  'Group(1)/items.amount?$compute=sum',
  'Group(2)',
  'Group(9)',
  'Mark',
  '$catalog',
  '$catalog/$all',
  '$catalog/Item',
];

/** An answer that a client keeps. */
interface Kept {
  readonly tag: string;
  readonly body: string;
}

describeDatabases('Entity tags', ({ driver, create: createDatabase, run }: TestDatabases) => {
  let url: string;
  let servers: readonly FastifyInstance[];
  /** For each server one that sees everything, one that is restricted, and one that sees the secrets, too. */
  let clients: readonly Client[];
  let close: () => Promise<void>;

  beforeAll(async () => {
    const database = await createDatabase();
    url = database.url;
    const served = { ...modelOf(model), databases: [driver] };
    const options = { databaseUrl: url, environment: { LIMIT_REQUESTS: 'off' } };
    servers = [
      await rolesServerOf(served, options, classes),
      await rolesServerOf(served, options, classes),
    ];
    clients = [];
    for (const app of servers) {
      for (const privileges of [['all'], ['some'], ['some', 'secrets']]) {
        clients = [...clients, await loggedIn(app, { privileges })];
      }
    }
    close = async () => {
      for (const app of servers) await app.close();
      await database.drop();
    };
  });
  afterAll(() => close());

  async function clear(): Promise<void> {
    const [app] = servers as [FastifyInstance];
    for (const table of ['Item', 'Group', 'Mark', 'Clock'])
      await run(url, `delete from "${table}"`);
    for (const title of ['a', 'b', 'c'])
      await save(app, 'Group', { ID: 'abc'.indexOf(title) + 1, title });
    await save(app, 'Mark', { ID: 1, level: 6 });
    await save(app, 'Clock', { ID: 1 });
  }

  async function save(app: FastifyInstance, dataclass: string, body: object): Promise<void> {
    const payload = JSON.stringify(body);
    const response = await app.inject({
      method: 'POST',
      url: `/rest/${dataclass}?$method=update`,
      payload,
    });
    expect(response.statusCode, response.body).toBe(200);
  }

  it('are never confirmed for an answer that has changed', { timeout: 3_600_000 }, async () => {
    const seed = onlySeed === undefined ? 1 + Math.floor(Math.random() * 1e6) : Number(onlySeed);
    const random = new Random(seed);
    const kept = new Map<string, Kept>();
    let confirmed = 0;
    let renewed = 0;
    await clear();
    for (let turn = 0; turn < requests; turn += 1) {
      if (random.chance(10)) await change(random);
      const client = random.int(0, clients.length - 1);
      const address = random.pick(addresses);
      const name = `${client} ${address}`;
      const known = kept.get(name);
      const others = random.chance(25) ? [...kept.values()].slice(0, 3) : [];
      const given = [...others.map(({ tag }) => tag), ...(known === undefined ? [] : [known.tag])];
      const headers = given.length === 0 ? {} : { 'if-none-match': given.join(', ') };
      const path = `/rest/${encodeURI(address)}`;
      const answer = await (clients[client] as Client).get(path, headers);
      const now = await (clients[client] as Client).get(path);
      const says = `seed ${seed}, turn ${turn}: ${name}`;
      if (answer.statusCode === 304) {
        confirmed += 1;
        expect(answer.body, says).toBe('');
        const holder = [...kept.values()].find(({ tag }) => tag === answer.headers['etag']);
        expect(holder?.body, says).toBe(now.body);
        continue;
      }
      expect(answer.body, says).toBe(now.body);
      expect(answer.statusCode, says).toBe(now.statusCode);
      const tag = answer.headers['etag'];
      if (answer.statusCode !== 200) {
        expect(tag, says).toBeUndefined();
        continue;
      }
      if (known !== undefined) renewed += 1;
      kept.set(name, { tag: String(tag), body: answer.body });
    }
    expect(confirmed).toBeGreaterThan(requests / 20);
    expect(renewed).toBeGreaterThan(requests / 20);
  });

  /** By a server, or in the database itself. */
  async function change(random: Random): Promise<void> {
    const app = random.pick(servers);
    const id = random.int(1, 8);
    const amount = random.int(0, 9);
    switch (random.int(0, 8)) {
      case 0:
        await run(
          url,
          `update "Item" set "amount" = ${amount}, "secret" = ${random.int(0, 9)} where "ID" = ${id}`,
        );
        break;
      case 1:
        await run(url, `delete from "Item" where "ID" = ${id}`);
        break;
      case 2:
        await run(
          url,
          `update "Group" set "title" = "title" || 'x' where "ID" = ${random.int(1, 3)}`,
        );
        break;
      case 3:
        await app.inject({ method: 'POST', url: `/rest/Item(${id})?$method=delete` });
        break;
      case 4:
        await save(app, 'Mark', {
          __KEY: '1',
          __STAMP: await stampOf(app, 'Mark(1)'),
          level: amount,
        });
        break;
      case 5: {
        const group = random.int(1, 3);
        const __STAMP = await stampOf(app, `Group(${group})`);
        await save(app, 'Group', {
          __KEY: `${group}`,
          __STAMP,
          title: random.pick(['a', 'b', 'c']),
        });
        break;
      }
      default: {
        const found = await app.inject(`/rest/Item(${id})`);
        const stored = found.json<{ readonly __STAMP?: number }>();
        const named =
          found.statusCode === 200 ? { __KEY: `${id}`, __STAMP: stored.__STAMP } : { ID: id };
        const values = {
          amount,
          price: `${amount}.25`,
          group: random.int(1, 2),
        };
        await save(app, 'Item', { ...named, ...values });
      }
    }
  }

  async function stampOf(app: FastifyInstance, entity: string): Promise<number> {
    const response = await app.inject(`/rest/${entity}`);
    return response.json<{ readonly __STAMP: number }>().__STAMP;
  }

  it('are not confirmed for less than what was stored before the request', async () => {
    await clear();
    const ids = [1, 2, 3, 4];
    const [one, other] = servers as [FastifyInstance, FastifyInstance];
    for (const id of ids) await save(one, 'Item', { ID: id, amount: 0, group: 1 });
    /** The last value that each writer knows to be stored. */
    const stored = new Map(ids.map((id) => [id, 0]));
    let isEnding = false;
    const write = async (id: number): Promise<void> => {
      for (let value = 1; !isEnding; value += 1) {
        const app = value % 2 === 0 ? one : other;
        if (value % 5 === 0)
          await run(url, `update "Item" set "amount" = ${value} where "ID" = ${id}`);
        else
          await save(app, 'Item', {
            __KEY: `${id}`,
            __STAMP: await stampOf(app, `Item(${id})`),
            amount: value,
          });
        stored.set(id, value);
        if (value % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    let confirmed = 0;
    const read = async (client: Client, address: string): Promise<void> => {
      let kept: (Kept & { readonly values: ReadonlyMap<number, number> }) | undefined;
      for (let turn = 0; turn < requests / 12; turn += 1) {
        const before = new Map(stored);
        const headers = kept === undefined ? {} : { 'if-none-match': kept.tag };
        const answer = await client.get(address, headers);
        if (answer.statusCode === 304) confirmed += 1;
        else {
          expect(answer.statusCode, answer.body).toBe(200);
          const found = answer.json<{ __ENTITIES: { ID: number; amount: number }[] }>();
          const values = new Map(found.__ENTITIES.map(({ ID, amount }) => [ID, amount]));
          kept = { tag: String(answer.headers['etag']), body: answer.body, values };
        }
        for (const [id, value] of before) {
          expect(kept?.values.get(id), `${answer.statusCode} ${id}`).toBeGreaterThanOrEqual(value);
        }
      }
    };
    const address = '/rest/Item?$attributes=ID,amount';
    const readers = [0, 3].flatMap((client) => [
      read(clients[client] as Client, address),
      read(clients[client] as Client, `${address}&$count=false`),
      read(clients[client] as Client, `${address}&$filter=ID>0`),
    ]);
    const writers = ids.map(write);
    await Promise.all(readers);
    isEnding = true;
    await Promise.all(writers);
    expect(confirmed).toBeGreaterThan(0);
  }, 3_600_000);

  it.runIf(driver === 'postgres')('are compared before the answer is read', async () => {
    const { tagged, compile } = postgresDialect((text) => text);
    const failing = tagged?.(sql`select 1 / (select 0)`, sql`${new Slot(0)}`, new Set(['Item']));
    const { sql: text } = compile(failing ?? sql``);
    const [, tags = ''] = /^(with .* as "version"\)) select/.exec(text) ?? [];
    const database = new PostgresClient({ connectionString: url });
    await database.connect();
    try {
      const { rows } = await database.query<{ version: string }>(
        `${tags} select "version" from "__tag"`,
      );
      const answer = await database.query(text, [rows[0]?.version]);
      expect(answer.rows).toEqual([{ '?column?': null, version: rows[0]?.version }]);
      await expect(database.query(text, ['other'])).rejects.toThrow('division by zero');
    } finally {
      await database.end();
    }
  });

  it('are not given where class code has a part in the answer', async () => {
    const [client] = clients as [Client];
    await clear();
    const answer = await client.get('/rest/Clock');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['etag']).toBeUndefined();
    expect(answer.headers['cache-control']).toBe('no-store');
    const other = await client.get('/rest/Clock', { 'if-none-match': '*' });
    expect(other.statusCode).toBe(200);
    expect(other.body).not.toBe(answer.body);
  });

  it('are not given for sets, cursors, plans, changes and errors', async () => {
    const [client] = clients as [Client];
    const headers = { 'if-none-match': '""' };
    for (const address of [
      'Item?$method=entityset',
      'Item?$cursor=true',
      'Item?$queryplan=true',
      'Item?$groupby=amount&$queryplan=true',
      'Item(77)',
      'Item?$filter=',
    ]) {
      const answer = await client.get(`/rest/${address}`, headers);
      expect(answer.headers['etag'], address).toBeUndefined();
      expect(answer.headers['cache-control'], address).toBe('no-store');
    }
    const saved = await client.post('/rest/Mark?$method=update', { ID: 5, level: 1 });
    expect(saved.headers['etag']).toBeUndefined();
  });

  it('say that a client may keep the answer, and must ask before it uses it', async () => {
    const [client] = clients as [Client];
    for (const address of ['Item', 'Mark(1)', 'Item/amount?$compute=sum', '$catalog']) {
      const first = await client.get(`/rest/${address}`);
      const tag = String(first.headers['etag']);
      expect(tag).toMatch(/^W\/"[\w.-]+"$/);
      expect(first.headers['cache-control']).toBe('private, no-cache');
      const again = await client.get(`/rest/${address}`, { 'if-none-match': `W/"x", ${tag}` });
      expect(again.statusCode, address).toBe(304);
      expect(again.headers['etag']).toBe(tag);
      expect(again.headers['cache-control']).toBe('private, no-cache');
      const head = {
        method: 'HEAD',
        url: `/rest/${address}`,
        headers: { 'if-none-match': tag },
      } as const;
      expect((await client.send(head)).statusCode, address).toBe(304);
    }
  });
});
