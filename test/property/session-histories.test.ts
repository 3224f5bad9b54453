import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Client } from '../support/cookies.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { sampled } from '../support/long.js';
import type { TestDatabase } from '../support/postgres.js';
import { modelOf, serverOf } from '../support/server.js';
import {
  awaitingFiles,
  functionFiles,
  functionModel,
  restrictedFiles,
  restrictedModel,
} from '../support/session-model.js';

const key = 'a secret of more than thirty-two characters';
/** The number of the server with functions, on which nothing is restricted. */
const withFunctions = 0;
/** The number of the server whose `restrict` hides what is called secret from those who only view. */
const hiding = 1;
/** The number of the server whose `restrict` reads the database, and refuses those who only view. */
const refusing = 2;
const models = [
  [functionModel, functionFiles],
  [restrictedModel, restrictedFiles],
  [restrictedModel, awaitingFiles],
] as const;
const cookies = 2;
/** The number of the client with a bearer token, whose session keeps its token when its privileges change. */
const bearer = cookies;

const server = fc.nat({ max: models.length - 1 });
const client = fc.nat({ max: cookies });

const step = fc.oneof(
  fc.record({ act: fc.constant('login' as const), client, server }),
  fc.record({ act: fc.constant('logout' as const), client, server }),
  fc.record({ act: fc.constant('expire' as const), client, server }),
  fc.record({
    act: fc.constant('become' as const),
    client,
    server,
    privilege: fc.constantFrom('view', 'edit'),
  }),
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constantFrom(
        ...(['read', 'page', 'missing', 'save', 'unchanged', 'twice', 'list', 'create'] as const),
        ...(['set', 'delete', 'function', 'stale', 'secret'] as const),
      ),
      client,
      server,
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** What a client may do: `guest` without a session, or with one that holds nothing. */
type Privilege = 'guest' | 'view' | 'edit';

/** The status of a read of something that is there. */
function statusOf(privilege: Privilege, place: number): number {
  if (privilege === 'guest') return 401;
  return privilege === 'view' && place === refusing ? 418 : 200;
}

/** Three servers, asked in a random order, and what their answers must be. */
class History {
  readonly #clients: readonly Client[][];
  readonly #privileges: Privilege[] = ['guest', 'guest', 'edit'];
  /** Cookies that open nothing any more. */
  readonly #ended: string[] = [];
  #item = { key: '', stamp: 1, name: '' };
  #names = 0;

  constructor(
    apps: readonly FastifyInstance[],
    private readonly token: string,
    /** Runs a statement on the tables of the state. */
    private readonly run: (sql: string) => Promise<unknown>,
  ) {
    this.#clients = Array.from({ length: cookies + 1 }, () => apps.map((app) => new Client(app)));
  }

  async play(steps: readonly Step[]): Promise<void> {
    // What is left of an earlier history.
    await this.run('delete from drs_state.session');
    const update = '/rest/Item?$method=update';
    await this.#post(bearer, 0, update, { name: 'secret' });
    await this.#post(bearer, 0, update, { name: 'taken' });
    const made = await this.#post(bearer, 0, update, { name: this.#name() });
    expect(made.statusCode, made.body).toBe(200);
    this.#stored(made);
    for (const each of steps) await this.#do(each);
    const { key: id, stamp, name } = this.#item;
    await this.#refreshed(bearer);
    const found = await this.#get(bearer, 0, `/rest/Item(${id})`);
    expect(found.json()).toMatchObject({ __STAMP: stamp, name });
  }

  #name(): string {
    this.#names += 1;
    return `name ${this.#names} of ${Math.random()}`;
  }

  #stored({ json }: { readonly json: () => unknown }): void {
    const {
      __KEY: id,
      __STAMP: stamp,
      name,
    } = json() as Record<'__KEY' | 'name', string> & {
      readonly __STAMP: number;
    };
    this.#item = { key: id, stamp, name };
  }

  /** A cookie that a server has sent is the client's at all servers. */
  async #send(
    at: number,
    place: number,
    ask: (client: Client, headers: Record<string, string>) => ReturnType<Client['get']>,
  ): ReturnType<Client['get']> {
    const all = this.#clients[at] as Client[];
    const asked = all[place] as Client;
    const before = asked.cookie;
    const answer = await ask(asked, at === bearer ? { authorization: `Bearer ${this.token}` } : {});
    if (asked.cookie !== before) {
      if (before !== undefined) this.#ended.push(before);
      for (const each of all) each.cookie = asked.cookie;
    }
    return answer;
  }

  #get(at: number, place: number, url: string): ReturnType<Client['get']> {
    return this.#send(at, place, (asked, headers) => asked.get(url, headers));
  }

  #post(at: number, place: number, url: string, body?: unknown): ReturnType<Client['get']> {
    return this.#send(at, place, (asked, headers) => asked.post(url, body, headers));
  }

  async #do({ act, client: at, server: place, ...rest }: Step): Promise<void> {
    switch (act) {
      case 'login':
        if (at === bearer) return;
        await this.#post(at, place, '/rest/$directory/login', [`user${at}`, 'right']);
        this.#privileges[at] = 'edit';
        return;
      case 'logout':
        await this.#get(at, place, '/rest/$directory/logout');
        this.#end(at);
        return;
      case 'expire':
        await this.run(
          `update drs_state.session set expires = 1 where user_name = '${at === bearer ? 'token' : `user${at}`}'`,
        );
        this.#end(at);
        return;
      case 'become': {
        const { privilege } = rest as { readonly privilege: 'view' | 'edit' };
        if (this.#privileges[at] === 'guest') return;
        await this.#post(at, withFunctions, '/rest/$catalog/become', [privilege]);
        this.#privileges[at] = privilege;
        return;
      }
      case 'stale':
        await this.#stale(place);
        return;
      default:
        await this.#ask(act, at, place);
    }
  }

  #end(at: number): void {
    const { cookie } = this.#clients[at]?.[0] as Client;
    if (cookie !== undefined) this.#ended.push(cookie);
    for (const each of this.#clients[at] ?? []) each.cookie = undefined;
    // A token that is valid logs its user in again.
    this.#privileges[at] = at === bearer ? 'edit' : 'guest';
  }

  async #refreshed(at: number): Promise<void> {
    await this.#get(at, 0, '/rest/$directory/logout');
    this.#end(at);
  }

  /** A request with a cookie of a session that has ended, or that has another cookie now. */
  async #stale(place: number): Promise<void> {
    for (const cookie of this.#ended) {
      const thief = this.#clients[0]?.[place] as Client;
      const { cookie: own } = thief;
      thief.cookie = cookie;
      const { key: id, stamp } = this.#item;
      expect((await thief.get(`/rest/Item(${id})`)).statusCode).toBe(401);
      const stolen = { __KEY: id, __STAMP: stamp, name: 'stolen' };
      expect((await thief.post('/rest/Item?$method=update', stolen)).statusCode).toBe(401);
      thief.cookie = own;
    }
  }

  async #ask(act: string, at: number, place: number): Promise<void> {
    const privilege = this.#privileges[at] as Privilege;
    const denied = privilege === 'guest' ? 401 : 403;
    const status = statusOf(privilege, place);
    const reads = status === 200;
    const edits = privilege === 'edit';
    const { key: id, stamp, name } = this.#item;
    const update = '/rest/Item?$method=update';
    switch (act) {
      case 'read': {
        const answer = await this.#get(at, place, `/rest/Item(${id})`);
        expect(answer.statusCode).toBe(status);
        if (reads) expect(answer.json()).toMatchObject({ __STAMP: stamp, name });
        return;
      }
      case 'page': {
        const answer = await this.#get(at, place, `/rest/Item?$filter="ID=${id}"&$top=3`);
        expect(answer.statusCode).toBe(status);
        if (reads) expect(answer.json()).toMatchObject({ __COUNT: 1, __ENTITIES: [{ name }] });
        return;
      }
      case 'missing': {
        const answer = await this.#get(at, place, '/rest/Item(1000000)');
        expect(answer.statusCode).toBe(reads ? 404 : status);
        return;
      }
      case 'secret': {
        const answer = await this.#get(at, place, '/rest/Item:name(secret)');
        expect(answer.statusCode).toBe(privilege === 'view' && place === hiding ? 404 : status);
        return;
      }
      case 'save':
      case 'unchanged': {
        const sent = act === 'save' ? this.#name() : name;
        const body = { __KEY: id, __STAMP: stamp, name: sent };
        const answer = await this.#post(at, place, update, body);
        expect(answer.statusCode).toBe(edits ? 200 : denied);
        if (edits) this.#stored(answer);
        return;
      }
      case 'twice': {
        // The database refuses the name of another item.
        const body = { __KEY: id, __STAMP: stamp, name: 'taken' };
        const answer = await this.#post(at, place, update, body);
        if (edits) expect(answer.json()).toMatchObject({ __STATUS: { success: false } });
        else expect(answer.statusCode).toBe(denied);
        return;
      }
      case 'list': {
        const own = this.#name();
        const body = [{ __KEY: id, __STAMP: stamp, name: own }, { name: this.#name() }];
        const answer = await this.#post(at, place, update, body);
        if (edits)
          this.#stored({ json: () => answer.json<{ __ENTITIES: unknown[] }>().__ENTITIES[0] });
        else expect(answer.statusCode).toBe(denied);
        return;
      }
      case 'create': {
        const created = await this.#post(at, place, update, [
          { name: this.#name() },
          { name: this.#name() },
        ]);
        expect(created.statusCode).toBe(edits ? 200 : denied);
        return;
      }
      case 'set': {
        const answer = await this.#get(at, place, '/rest/Item?$method=entityset');
        expect(answer.statusCode).toBe(status);
        return;
      }
      case 'delete': {
        const answer = await this.#post(at, place, `/rest/Item?$filter="ID<0"&$method=delete`);
        expect(answer.statusCode).toBe(edits ? 200 : denied);
        return;
      }
      default: {
        const held = { guest: [], view: ['view'], edit: ['edit', 'view'] }[privilege];
        const answer = await this.#post(at, withFunctions, '/rest/$catalog/holds');
        expect(answer.json()).toEqual({ result: held });
      }
    }
  }
}

describeDatabases('Three servers with one database', ({ driver, create, run }) => {
  let database: TestDatabase;
  let apps: FastifyInstance[];

  beforeEach(async () => {
    database = await create();
    apps = [];
    for (const [model, files] of models) {
      const environment = {
        STATE: 'database',
        DATABASE_POOL: '3',
        SESSION_TRUST: '0',
        TOKEN_KEY: key,
      };
      const options = { databaseUrl: database.url, environment };
      const app = await serverOf({ ...modelOf(model), databases: [driver] }, options, files);
      await app.ready();
      apps.push(app);
    }
  });
  afterEach(async () => {
    for (const each of apps) await each.close();
    await database.drop();
  });

  it('let no session do what it no longer may, in random histories', async () => {
    const signed = new SignJWT({ sub: 'mia' }).setProtectedHeader({ alg: 'HS256' });
    const token = await signed.setExpirationTime('1h').sign(new TextEncoder().encode(key));
    const runOnState = (sql: string): ReturnType<TestDatabases['run']> =>
      driver === 'sqlite'
        ? run(`${database.url}-state`, sql.replaceAll('drs_state.', ''))
        : run(database.url, sql);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), (steps) =>
        new History(apps, token, runOnState).play(steps),
      ),
      { numRuns: sampled(100) },
    );
  });
});
