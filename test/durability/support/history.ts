import fc from 'fast-check';
import { expect } from 'vitest';
import { type Answer, Client } from '../../support/processes/several.js';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
);

const clients = 3;
const items = 3;

const client = fc.nat({ max: clients - 1 });
const item = fc.nat({ max: items - 1 });
const name = fc.constantFrom('a', 'b', '__proto__');

/** What one of the clients asks for; items, sets, uploads and cookies by their numbers in the history. */
export const step = fc.oneof(
  fc.record({ act: fc.constant('login' as const), client, user: fc.constantFrom('mia', 'bob') }),
  fc.record({ act: fc.constant('logout' as const), client }),
  fc.record({ act: fc.constant('who' as const), client }),
  fc.record({ act: fc.constant('stale' as const), number: fc.nat() }),
  fc.record({ act: fc.constant('lock' as const), client, item, isWanted: fc.boolean() }),
  fc.record({ act: fc.constant('lock' as const), client, item, isWanted: fc.constant(true) }),
  fc.record({ act: fc.constant('save' as const), client, item }),
  fc.record({ act: fc.constant('save' as const), client, item }),
  fc.record({ act: fc.constant('remember' as const), client, name }),
  fc.record({ act: fc.constant('recall' as const), client, name }),
  fc.record({
    act: fc.constant('set' as const),
    client,
    count: fc.integer({ min: 1, max: items }),
  }),
  fc.record({ act: fc.constant('page' as const), client, number: fc.nat() }),
  fc.record({ act: fc.constant('release' as const), client, number: fc.nat() }),
  fc.record({ act: fc.constant('upload' as const), client }),
  fc.record({ act: fc.constant('attach' as const), client, item, number: fc.nat() }),
);

export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A session as it should be, on all servers. */
interface Session {
  /** `undefined` for a guest. */
  user: string | undefined;
  readonly values: Map<string, readonly string[]>;
  isOpen: boolean;
}

interface Item {
  readonly key: string;
  stamp: number;
  name: string;
  holder: Session | undefined;
}

/** Sends the steps of a history to the servers, and compares each answer with a model of all of them. */
export class History {
  readonly #clients: readonly Client[];
  readonly #sessions: (Session | undefined)[];
  readonly #items: Item[] = [];
  readonly #ended: string[] = [];
  readonly #sets: { path: string; count: number; owner: Session; isThere: boolean }[] = [];
  readonly #uploads: { id: string; owner: Session }[] = [];
  #saves = 0;

  constructor(origin: string) {
    this.#clients = Array.from({ length: clients }, () => new Client(origin));
    this.#sessions = this.#clients.map(() => undefined);
  }

  async run(steps: readonly Step[]): Promise<void> {
    try {
      await this.#createItems();
      for (const each of steps) await this.#do(each);
      await this.#compareItems();
    } finally {
      for (const each of this.#clients) {
        await each.get('/$directory/logout');
        each.close();
      }
    }
  }

  async #createItems(): Promise<void> {
    const sent = Array.from({ length: items }, () => ({ name: 'new' }));
    const { json } = await this.#client(0).post('/Item?$method=update', sent);
    const made = (json as { readonly __ENTITIES: readonly { readonly __KEY: string }[] })
      .__ENTITIES;
    for (const { __KEY: key } of made) {
      this.#items.push({ key, stamp: 1, name: 'new', holder: undefined });
    }
  }

  #client(at: number): Client {
    return this.#clients[at] as Client;
  }

  #item(at: number): Item {
    return this.#items[at] as Item;
  }

  async #do(each: Step): Promise<void> {
    switch (each.act) {
      case 'login':
        return this.#login(each.client, each.user);
      case 'logout':
        return this.#logout(each.client);
      case 'who':
        return this.#who(each.client);
      case 'stale':
        return this.#stale(each.number);
      case 'lock':
        return this.#lock(each.client, this.#item(each.item), each.isWanted);
      case 'save':
        return this.#save(each.client, this.#item(each.item));
      case 'remember':
        return this.#remember(each.client, each.name);
      case 'recall':
        return this.#recall(each.client, each.name);
      case 'set':
        return this.#makeSet(each.client, each.count);
      case 'page':
        return this.#page(each.client, each.number);
      case 'release':
        return this.#release(each.client, each.number);
      case 'upload':
        return this.#upload(each.client);
      case 'attach':
        return this.#attach(each.client, this.#item(each.item), each.number);
    }
  }

  async #login(at: number, user: string): Promise<void> {
    const session = this.#sessions[at];
    if (session?.user !== undefined) return;
    const client = this.#client(at);
    const before = client.cookie;
    expect((await client.post('/$directory/login', [user, 'right'])).status).toBe(200);
    expect(client.cookie).not.toBe(before);
    if (before !== undefined) this.#ended.push(before);
    if (session === undefined) this.#sessions[at] = { user, values: new Map(), isOpen: true };
    else session.user = user;
  }

  async #logout(at: number): Promise<void> {
    const client = this.#client(at);
    const { cookie } = client;
    expect((await client.get('/$directory/logout')).status).toBe(200);
    expect(client.cookie).toBeUndefined();
    this.#end(at, cookie);
  }

  #end(at: number, cookie: string | undefined): void {
    const session = this.#sessions[at];
    this.#sessions[at] = undefined;
    if (session === undefined) return;
    if (cookie !== undefined) this.#ended.push(cookie);
    session.isOpen = false;
    for (const each of this.#items) if (each.holder === session) each.holder = undefined;
  }

  async #who(at: number): Promise<void> {
    expect(userOf(await this.#client(at).get('/$directory/currentUser'))).toBe(
      this.#sessions[at]?.user,
    );
  }

  /** The cookie of a session that has ended opens nothing, whichever server gets it. */
  async #stale(number: number): Promise<void> {
    const cookie = this.#ended[number % this.#ended.length];
    if (cookie === undefined) return;
    const thief = new Client(this.#client(0).origin, cookie);
    try {
      expect(userOf(await thief.get('/$directory/currentUser'))).toBeUndefined();
      thief.cookie = cookie;
      const { key, stamp } = this.#item(0);
      const body = [{ __KEY: key, __STAMP: stamp, name: 'stolen' }];
      expect((await thief.post('/Item?$method=update', body)).text).toContain('__ERROR');
    } finally {
      thief.close();
    }
  }

  async #lock(at: number, each: Item, isWanted: boolean): Promise<void> {
    const session = this.#sessions[at];
    if (session?.user === undefined) return;
    const { json } = await this.#client(at).get(`/Item(${each.key})?$lock=${isWanted}`);
    const isFree = each.holder === undefined || each.holder === session;
    expect(json).toMatchObject({ result: isFree });
    if (isFree) each.holder = isWanted ? session : undefined;
  }

  async #save(at: number, each: Item): Promise<void> {
    const session = this.#sessions[at];
    if (session?.user === undefined) return;
    this.#saves += 1;
    const name = `${session.user} ${this.#saves}`;
    const body = [{ __KEY: each.key, __STAMP: each.stamp, name }];
    const answer = await this.#client(at).post('/Item?$method=update', body);
    if (each.holder !== undefined && each.holder !== session) {
      expect(answer.text).toContain('"status":3');
      return;
    }
    expect(answer.json).toMatchObject({ __ENTITIES: [{ __STAMP: each.stamp + 1, name }] });
    each.stamp += 1;
    each.name = name;
  }

  async #remember(at: number, name: string): Promise<void> {
    const session: Session = (this.#sessions[at] ??= {
      user: undefined,
      values: new Map<string, readonly string[]>(),
      isOpen: true,
    });
    const client = this.#client(at);
    this.#saves += 1;
    const text = String(this.#saves);
    expect((await client.post('/$catalog/remember', [name, text])).status).toBe(200);
    expect(client.cookie).toBeDefined();
    const before: readonly string[] = session.values.get(name) ?? [];
    session.values.set(name, [...before, text]);
  }

  async #recall(at: number, name: string): Promise<void> {
    const { json } = await this.#client(at).post('/$catalog/recall', [name]);
    expect(json).toEqual({ result: this.#sessions[at]?.values.get(name) ?? [] });
  }

  async #makeSet(at: number, count: number): Promise<void> {
    const owner = this.#sessions[at];
    if (owner?.user === undefined) return;
    const keys = this.#items.slice(0, count).map(({ key }) => `ID=${key}`);
    const filter = encodeURIComponent(`"${keys.join(' or ')}"`);
    const { json } = await this.#client(at).get(`/Item?$filter=${filter}&$method=entityset`);
    const { __ENTITYSET: path } = json as { readonly __ENTITYSET: string };
    this.#sets.push({ path: path.slice('/rest'.length), count, owner, isThere: true });
  }

  async #page(at: number, number: number): Promise<void> {
    const set = this.#sets[number % this.#sets.length];
    if (set === undefined) return;
    const { path, count, owner, isThere } = set;
    const answer = await this.#client(at).get(path);
    if (isThere && owner.isOpen && owner === this.#sessions[at]) {
      expect(answer.json).toMatchObject({ __COUNT: count });
    } else expect(answer.status).toBe(404);
  }

  async #release(at: number, number: number): Promise<void> {
    const set = this.#sets[number % this.#sets.length];
    if (set === undefined) return;
    const isOwn = set.isThere && set.owner.isOpen && set.owner === this.#sessions[at];
    const { status } = await this.#client(at).get(`${set.path}?$method=release`);
    expect(status).toBe(isOwn ? 200 : 404);
    if (isOwn) set.isThere = false;
  }

  async #upload(at: number): Promise<void> {
    const owner = this.#sessions[at];
    if (owner?.user === undefined) return;
    const { json } = await this.#client(at).post('/$upload?$rawPict=true', png);
    this.#uploads.push({ id: (json as { readonly ID: string }).ID, owner });
  }

  async #attach(at: number, each: Item, number: number): Promise<void> {
    const upload = this.#uploads[number % this.#uploads.length];
    const session = this.#sessions[at];
    if (upload === undefined || session?.user === undefined) return;
    if (each.holder !== undefined && each.holder !== session) return;
    const body = [{ __KEY: each.key, __STAMP: each.stamp, photo: { ID: upload.id } }];
    const answer = await this.#client(at).post('/Item?$method=update', body);
    if (upload.owner !== session) {
      expect(answer.text).toContain('__ERROR');
      return;
    }
    // The same photo again is no change.
    const {
      __ENTITIES: [saved],
    } = answer.json as {
      readonly __ENTITIES: readonly [{ readonly __STAMP: number }];
    };
    expect(answer.text).not.toContain('__ERROR');
    expect([each.stamp, each.stamp + 1]).toContain(saved.__STAMP);
    each.stamp = saved.__STAMP;
  }

  async #compareItems(): Promise<void> {
    for (const { key, stamp, name } of this.#items) {
      const { json } = await this.#client(0).get(`/Item(${key})`);
      expect(json).toMatchObject({ __STAMP: stamp, name });
    }
  }
}

function userOf({ status, json }: Answer): unknown {
  expect(status).toBe(200);
  return (json as { readonly result: { readonly userName: string } | null }).result?.userName;
}
