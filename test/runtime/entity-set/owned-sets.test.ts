import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { rolesServerOf } from '../../support/roles-server.js';

const model = `drs: 1
name: notes
dataclasses:
  Note:
    attributes:
      code: { type: string, key: true }
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: edit, includes: [] }
  permissions:
    allowed:
      - { applyTo: Note, type: dataclass, read: [guest], create: [edit], update: [edit], drop: [edit] }
`;

let folder: string;
let file: string;
let app: FastifyInstance;
let ada: Client;
let guest: Client;

async function start(): Promise<void> {
  app = await rolesServerOf(model, { databaseUrl: `sqlite:${file}` });
  ada = await loggedInAs('ada');
  guest = new Client(app);
}

async function loggedInAs(user: string): Promise<Client> {
  const client = new Client(app);
  await client.post('/rest/$directory/login', [user, '{"privileges":["edit"]}']);
  return client;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'owned-sets-'));
  file = join(folder, 'data.sqlite');
  await start();
  const notes = ['a', 'b', 'c'].map((code) => ({ code }));
  expect((await ada.post('/rest/Note?$method=update', notes)).statusCode).toBe(200);
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

async function made(client: Client, query: string): Promise<string> {
  const response = await client.get(`/rest/Note?$method=entityset&${query}`);
  return response.json<{ readonly __ENTITYSET: string }>().__ENTITYSET;
}

/** Its keys, or the status that refuses it. */
async function read(client: Client, url: string): Promise<readonly string[] | number> {
  const response = await client.get(url);
  if (response.statusCode !== 200) return response.statusCode;
  const body = response.json<{ readonly __ENTITIES: readonly { readonly __KEY: string }[] }>();
  return body.__ENTITIES.map((each) => each.__KEY);
}

const kept = `$filter="code = 'a'"&$savedfilter=true`;
const others = `$savedfilter="code != 'a'"`;

describe('The ID of a stored definition', () => {
  it('cannot be taken by others with an expression, neither during the life of its set nor later, nor after a restart', async () => {
    const uri = await made(ada, kept);
    const takeOvers = async (): Promise<void> => {
      const bob = await loggedInAs('bob');
      for (const client of [guest, bob]) {
        expect(await read(client, `${uri}?${others}`)).toBe(404);
        expect(await read(client, uri)).toBe(404);
      }
      expect((await bob.post(`${uri}?$method=delete`)).statusCode).toBe(404);
    };
    await takeOvers();
    expect(await read(ada, uri)).toEqual(['a']);
    await ada.get(`${uri}?$method=release`);
    await takeOvers();
    expect(await read(ada, uri)).toEqual(['a']);
    await app.close();
    await start();
    await takeOvers();
    expect(await read(ada, uri)).toEqual(['a']);
  });

  it('cannot be taken by a user while a guest has it', async () => {
    const uri = await made(guest, kept);
    await guest.get(`${uri}?$method=release`);
    expect(await read(ada, `${uri}?${others}`)).toBe(404);
    expect(await read(new Client(app), `${uri}?${others}`)).toEqual(['a']);
  });
});

describe('The ID of an expired set without a definition', () => {
  it('means in each session, and for guests, the definition that this session sends again', async () => {
    const uri = await made(ada, `$filter="code = 'a'"`);
    await ada.get(`${uri}?$method=release`);
    expect(await read(guest, `${uri}?${others}`)).toEqual(['b', 'c']);
    const bob = await loggedInAs('bob');
    expect(await read(bob, `${uri}?$savedfilter="code = 'b'"`)).toEqual(['b']);
    expect(await read(ada, uri)).toBe(404);
    expect(await read(ada, `${uri}?$savedfilter="code = 'a'"`)).toEqual(['a']);
    expect(await read(ada, uri)).toEqual(['a']);
    expect(await read(guest, uri)).toEqual(['b', 'c']);
    expect(await read(bob, uri)).toEqual(['b']);
    expect((await ada.post(`${uri}?$method=delete`)).json()).toEqual({ ok: true });
    expect(await read(guest, '/rest/Note')).toEqual(['b', 'c']);
    expect((await ada.get(`${uri}?$method=release`)).json()).toEqual({ ok: true });
    expect(await read(ada, uri)).toBe(404);
    expect(await read(bob, uri)).toEqual(['b']);
  });
});

describe('Stored definitions', () => {
  /** Writes definitions into the database of a server that has stopped. */
  function fill(owner: string | null, count: number): void {
    const database = new Database(file);
    const insert = database.prepare(
      `insert into "__entityset" ("id", "dataclass", "owner", "definition") values (?, 'Note', ?, '{}')`,
    );
    database.transaction(() => {
      for (let at = 0; at < count; at += 1) insert.run(`${owner ?? 'guest'} ${at}`, owner);
    })();
    database.close();
  }

  function countOf(owner: string | null): unknown {
    const database = new Database(file, { readonly: true });
    try {
      const text = 'select count(*) from "__entityset" where "owner" is ?';
      return database.prepare(text).pluck().get(owner);
    } finally {
      database.close();
    }
  }

  it('of users stay, however many guests create', async () => {
    const uri = await made(ada, kept);
    await app.close();
    fill(null, 10_000);
    await start();
    for (let count = 0; count < 200; count += 1) await made(guest, kept);
    await ada.get(`${uri}?$method=release`);
    expect(await read(ada, uri)).toEqual(['a']);
    expect(countOf(null)).toBeLessThanOrEqual(10_100);
  });

  it('of one user stay, however many another user creates', async () => {
    const uri = await made(ada, kept);
    await app.close();
    fill('user:bob', 10_000);
    await start();
    const bob = await loggedInAs('bob');
    let last = '';
    for (let count = 0; count < 200; count += 1) last = await made(bob, kept);
    expect(await read(ada, uri)).toEqual(['a']);
    await bob.get(`${last}?$method=release`);
    expect(await read(bob, last)).toEqual(['a']);
    expect(countOf('user:bob')).toBeLessThanOrEqual(10_100);
    expect(countOf('user:ada')).toBe(1);
  });
});
