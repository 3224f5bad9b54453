import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDatabases } from '../support/databases.js';
import { modelOf } from '../support/server.js';
import type { TestDatabase } from '../support/postgres.js';
import { compiledProgram } from '../support/processes/program.js';
import { kill, type ServerProcess, start } from '../support/processes/server-process.js';
import { Client } from '../support/processes/several.js';

const model = `
drs: 1
name: turns
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      number: integer
datastore:
  functions:
    raise: { exposed: true }
    tryRaise: { exposed: true, returns: string }
    hold: { exposed: true, params: { name: string } }
    holdTwice: { exposed: true }
    holdInTransaction: { exposed: true }
    enter: { exposed: true }
singletons:
  Basket:
    scope: session
    functions:
      add: { exposed: true, params: { item: string }, returns: integer }
      fail: { exposed: true, params: { item: string } }
      keep: { exposed: true }
      never: { exposed: true }
roles:
  restrictedByDefault: false
  permissions:
    allowed:
      - { applyTo: ds, type: datastore, read: [guest], create: [guest], update: [guest], execute: [guest] }
`;

const classes = {
  'src/classes/DataStore.ts': `
import { setTimeout } from 'node:timers/promises';
import { DataStoreBase } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  async #raised(): Promise<void> {
    const item = (await this.Item.get(1)) ?? this.Item.new({ ID: 1, number: 0 });
    const { number } = item;
    await setTimeout(5);
    item.number = (number ?? 0) + 1;
    await item.save();
  }
  async raise(): Promise<void> {
    await this.exclusive('raise', () => this.#raised());
  }
  async tryRaise(): Promise<string> {
    const done = await this.exclusive('raise', { ifFree: true }, async () => {
      await this.#raised();
      return 'done';
    });
    return done ?? 'taken';
  }
  async hold(name: string): Promise<void> {
    await this.exclusive(name, async () => {
      await setTimeout(600_000);
    });
  }
  async holdTwice(): Promise<void> {
    await this.exclusive('raise', () => this.exclusive('raise', () => Promise.resolve()));
  }
  async holdInTransaction(): Promise<void> {
    await this.transaction(() => this.exclusive('raise', () => Promise.resolve()));
  }
  enter(): void {
    this.session.setPrivileges({ userName: 'mia' });
  }
}
`,
  'src/classes/Basket.ts': `
import { setTimeout } from 'node:timers/promises';
import { BasketBase } from '../generated/api.js';

export class Basket extends BasketBase {
  items: string[] = [];
  last: unknown = undefined;

  async add(item: string): Promise<number> {
    const items = [...this.items];
    await setTimeout(5);
    this.items = [...items, item];
    return this.items.length;
  }
  async fail(item: string): Promise<void> {
    await this.add(item);
    throw new Error('failed on purpose');
  }
  keep(): void {
    this.last = new Map();
  }
  async never(): Promise<void> {
    await setTimeout(600_000);
  }
}
`,
};

describeDatabases('Two servers with one database', ({ driver, create, run }) => {
  let database: TestDatabase;
  let folder: string;
  let servers: readonly ServerProcess[];

  beforeAll(async () => {
    database = await create();
    folder = mkdtempSync(join(tmpdir(), 'drs-turns-'));
    const program = compiledProgram({ ...modelOf(model), databases: [driver] }, classes);
    const environment = { DATABASE_URL: database.url, STATE: 'database', DATABASE_POOL: '4' };
    servers = [
      await start(program, { folder, environment }),
      await start(program, { folder, environment }),
    ];
  });
  afterAll(async () => {
    for (const each of servers) await kill(each);
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  function clients(): readonly [Client, Client] {
    const [one, other] = servers.map(({ origin }) => new Client(origin));
    if (one === undefined || other === undefined) throw new Error('There are not two servers.');
    return [one, other];
  }
  const call = async (client: Client, name: string, ...args: string[]): Promise<unknown> => {
    const { status, json } = await client.post(`/$catalog/${name}`, args);
    expect(status).toBe(200);
    return (json as { readonly result?: unknown }).result;
  };
  const add = async (client: Client, item: string): Promise<unknown> => {
    const { status, text } = await client.post('/$singleton/Basket/add', [item]);
    expect([status, text]).toEqual([200, expect.stringContaining('result')]);
    return (JSON.parse(text) as { readonly result: unknown }).result;
  };
  const number = async (client: Client): Promise<unknown> =>
    ((await client.get('/Item(1)')).json as { readonly number: unknown }).number;
  const clientsOf = (one: Client, other: Client, count: number): readonly Client[] =>
    Array.from(
      { length: count },
      (_, at) => new Client((at % 2 === 0 ? one : other).origin, one.cookie),
    );

  it('run one function at a time under a name of ds.exclusive', async () => {
    const [one, other] = clients();
    await Promise.all(clientsOf(one, other, 12).map((each) => call(each, 'raise')));
    expect(await number(one)).toBe(12);
    expect(await call(other, 'tryRaise')).toBe('done');
    expect(await number(one)).toBe(13);
  });

  it('refuse a call of ds.exclusive that would wait for its own caller', async () => {
    const [one] = clients();
    for (const name of ['holdTwice', 'holdInTransaction']) {
      expect((await one.post(`/$catalog/${name}`, [])).status).toBe(500);
    }
    expect(await call(one, 'tryRaise')).toBe('done');
  });

  it('run the calls of one session of a singleton one after the other, with the fields of the last one', async () => {
    const [one, other] = clients();
    expect(await add(one, 'first')).toBe(1);
    const counts = await Promise.all(
      clientsOf(one, other, 10).map((each, at) => add(each, `item ${at}`)),
    );
    expect([...counts].sort((a, b) => Number(a) - Number(b))).toEqual([
      2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    other.cookie = one.cookie;
    expect((await other.post('/$singleton/Basket/fail', ['failed'])).status).toBe(500);
    expect(await add(one, 'after a failure')).toBe(13);
    const refused = await other.post('/$singleton/Basket/keep', []);
    expect(refused.status).toBe(500);
    expect(await add(one, 'after a field that is not stored')).toBe(14);
    await call(other, 'enter');
    expect(other.cookie).not.toBe(one.cookie);
    expect(await add(new Client(one.origin, other.cookie), 'of a user')).toBe(15);
    expect(await add(one, 'of another session')).toBe(1);
  });

  it('continue when a server dies that runs such work', async () => {
    const [one, other] = clients();
    expect(await add(one, 'first')).toBe(1);
    other.cookie = one.cookie;
    const died = [
      call(new Client(one.origin), 'hold', 'raise'),
      new Client(one.origin, one.cookie).post('/$singleton/Basket/never', []),
    ].map((each) => each.catch(() => 'died'));
    const table = driver === 'sqlite' ? 'singleton' : 'drs_state.singleton';
    const state = driver === 'sqlite' ? `${database.url}-state` : database.url;
    const begun = async (): Promise<boolean> =>
      (await run(state, `select 1 from ${table} where holder is not null`)).length > 0 &&
      (await call(other, 'tryRaise')) === 'taken';
    await expect.poll(begun, { timeout: 30_000 }).toBe(true);
    const waiting = call(new Client(other.origin), 'raise');
    const [first] = servers;
    if (first !== undefined) await kill(first);
    expect(await Promise.all(died)).toEqual(['died', 'died']);
    await waiting;
    // As if the time had gone by in which a server may renew its turn.
    await run(state, `update ${table} set until = 0`);
    expect(await add(other, 'second')).toBe(2);
  });
});
