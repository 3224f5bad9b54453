import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../support/cookies.js';
import { describeDatabases } from '../support/databases.js';
import { EventStream, type ListedRow, ReplicaOfSet } from '../support/event-stream.js';
import { sampled } from '../support/long.js';
import type { TestDatabase } from '../support/postgres.js';
import { modelOf, serverOf } from '../support/server.js';

const model = `
drs: 1
name: live-sets
dataclasses:
  Item:
    live: true
    restrict: true
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      rank: integer
      isSecret: boolean
datastore:
  functions:
    become: { exposed: true, params: { privileges: string } }
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: view, includes: [] }
    - { privilege: edit, includes: [view] }
  permissions:
    allowed:
      - { applyTo: Item, type: dataclass, read: [view], create: [view], update: [view], drop: [view] }
      - { applyTo: ds.become, type: method, execute: [view] }
`;

const files = {
  'src/login.ts': `
import type { Login } from '#runtime/access';

export function login(user: string): Login {
  return { userName: user, privileges: ['edit'] };
}
`,
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  become(privileges: string): void {
    this.session.setPrivileges(privileges);
  }
}
`,
  'src/classes/Item.ts': `
import { ItemBase, type Restriction, type Session } from '../generated/api.js';

export class Item extends ItemBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('edit') ? null : 'isSecret = false';
  }
}
`,
};

const servers = 3;
const followers = 8;
const server = fc.nat({ max: servers - 1 });
const follower = fc.nat({ max: followers - 1 });
const place = fc.nat({ max: 11 });

const step = fc.oneof(
  fc.record({
    act: fc.constant('create' as const),
    server,
    rank: fc.nat({ max: 9 }),
    isSecret: fc.boolean(),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('change' as const),
      server,
      place,
      rank: fc.nat({ max: 9 }),
      isSecret: fc.boolean(),
    }),
  },
  fc.record({ act: fc.constant('delete' as const), server, place }),
  fc.record({ act: fc.constant('sql' as const), rank: fc.nat({ max: 9 }) }),
  fc.record({ act: fc.constant('cut' as const), follower }),
  fc.record({ act: fc.constant('open' as const), follower, server }),
  fc.record({
    act: fc.constant('become' as const),
    follower,
    server,
    privilege: fc.constantFrom('view', 'edit'),
  }),
  fc.record({ act: fc.constant('wait' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** The selections that are followed. */
const selections = [
  '$filter="rank < 5"&$orderby=rank desc, name',
  '$filter="rank >= 5"',
  '$orderby=name desc',
  '$filter="isSecret = false order by rank"',
];

/** A session that follows a set, and may miss as much as it likes. */
class Follower {
  readonly replica = new ReplicaOfSet();
  readonly clients: readonly Client[];
  #set = '';
  #stream: EventStream | undefined;
  #last: string | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(
    apps: readonly FastifyInstance[],
    private readonly bases: readonly string[],
    private readonly selection: string,
  ) {
    this.clients = apps.map((app) => new Client(app));
  }

  async begin(at: number): Promise<void> {
    await this.send(at, (client) => client.post('/rest/$directory/login', ['user', 'right']));
    const made = await this.send(at, (client) =>
      client.get(`/rest/Item?${this.selection}&$method=entityset`),
    );
    this.#set = made.json<{ __ENTITYSET: string }>().__ENTITYSET;
  }

  /** The cookie of one server is that of all. */
  async send(
    at: number,
    ask: (client: Client) => ReturnType<Client['get']>,
  ): ReturnType<Client['get']> {
    const client = this.clients[at] as Client;
    const answer = await ask(client);
    expect(answer.statusCode, answer.body).toBe(200);
    for (const each of this.clients) each.cookie = client.cookie;
    return answer;
  }

  async open(at: number): Promise<void> {
    if (this.#stream?.isClosed === false) return;
    await this.#reading;
    const { cookie = '' } = this.clients[at] as Client;
    const stream = await EventStream.open(
      `${this.bases[at] ?? ''}${this.#set}/$changes?$interval=100&$attributes=name,rank`,
      { cookie, ...(this.#last === undefined ? {} : { 'last-event-id': this.#last }) },
    );
    expect(stream.status, stream.rest).toBe(200);
    this.#stream = stream;
    this.#reading = this.#read(stream);
  }

  async #read(stream: EventStream): Promise<void> {
    for (;;) {
      const message = await stream.next(60_000);
      if (message === undefined) return;
      this.replica.take(message);
      this.#last = stream.last;
      expect(message.__COUNT).toBe(this.replica.rows.length);
    }
  }

  cut(): void {
    this.#stream?.cut();
  }

  /** Waits until the replica is what a fresh read answers. */
  async settle(at: number): Promise<void> {
    // Where nothing else changes, a stream looks at its session after 15 seconds.
    const end = performance.now() + 20_000;
    for (;;) {
      await this.open(at);
      const { __ENTITIES: fresh } = (
        await this.send(at, (client) =>
          client.get(`/rest/Item?${this.selection}&$attributes=name,rank&$top=1000`),
        )
      ).json<{ __ENTITIES: readonly ListedRow[] }>();
      const shown = JSON.stringify(this.replica.rows.map(valuesOf));
      if (shown === JSON.stringify(fresh.map(valuesOf))) return;
      if (performance.now() > end)
        expect(this.replica.rows.map(valuesOf)).toEqual(fresh.map(valuesOf));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function valuesOf({ __KEY, __STAMP, name, rank }: ListedRow): readonly unknown[] {
  return [__KEY, __STAMP, name, rank];
}

describeDatabases('Live sets of three servers', ({ driver, create, run }) => {
  let database: TestDatabase;
  const apps: FastifyInstance[] = [];
  const bases: string[] = [];

  beforeAll(async () => {
    database = await create();
    for (let count = 0; count < servers; count += 1) {
      const environment = { STATE: 'database', DATABASE_POOL: '3' };
      const app = await serverOf(
        { ...modelOf(model), databases: [driver] },
        { databaseUrl: database.url, environment },
        files,
      );
      bases.push(await app.listen({ port: 0, host: '127.0.0.1' }));
      apps.push(app);
    }
  });
  afterAll(async () => {
    for (const each of apps) await each.close();
    await database.drop();
  });

  it('equal a fresh read after each reconnection, whoever writes and whatever is cut', async () => {
    let names = 0;
    const play = async (steps: readonly Step[]): Promise<void> => {
      const all = Array.from(
        { length: followers },
        (_, index) => new Follower(apps, bases, selections[index % selections.length] ?? ''),
      );
      for (const [index, each] of all.entries()) await each.begin(index % servers);
      const writer = new Follower(apps, bases, '');
      await writer.begin(0);
      const keys: string[] = [];
      const save = async (at: number, body: object): Promise<string> => {
        const answer = await writer.send(at, (client) =>
          client.post('/rest/Item?$method=update', body),
        );
        return answer.json<{ __KEY: string }>().__KEY;
      };
      for (const each of steps) {
        switch (each.act) {
          case 'create': {
            names += 1;
            const { rank, isSecret } = each;
            keys.push(await save(each.server, { name: `name ${names}`, rank, isSecret }));
            break;
          }
          case 'change': {
            const key = keys[each.place];
            if (key === undefined) break;
            const { rank, isSecret } = each;
            const read = await writer.send(each.server, (client) =>
              client.get(`/rest/Item(${key})`),
            );
            const { __STAMP } = read.json<{ __STAMP: number }>();
            await save(each.server, { __KEY: key, __STAMP, rank, isSecret });
            break;
          }
          case 'delete': {
            const [gone] = keys.splice(each.place, 1);
            if (gone === undefined) break;
            await writer.send(each.server, (client) =>
              client.post(`/rest/Item(${gone})?$method=delete`),
            );
            break;
          }
          case 'sql':
            await run(
              database.url,
              `update "Item" set "rank" = ${each.rank}, "__STAMP" = "__STAMP" + 1 where "rank" = ${9 - each.rank}`,
            );
            break;
          case 'cut':
            all[each.follower]?.cut();
            break;
          case 'open':
            await all[each.follower]?.open(each.server);
            break;
          case 'become':
            await all[each.follower]?.send(each.server, (client) =>
              client.post('/rest/$catalog/become', [each.privilege]),
            );
            break;
          case 'wait':
            await new Promise((resolve) => setTimeout(resolve, 150));
        }
      }
      await Promise.all(all.map((each, index) => each.settle(index % servers)));
      for (const each of all) each.cut();
      await writer.send(0, (client) => client.post('/rest/Item?$filter="ID > 0"&$method=delete'));
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), play),
      { numRuns: Number(process.env['PROPERTY_RUNS'] ?? sampled(50)), endOnFailure: true },
    );
  });
});
