import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf } from '../../support/expect-served.js';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: staff
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      salary: number
    functions:
      dataclass:
        everybody: { exposed: true, onHTTPGet: true, returns: Person.selection }
        closed: { exposed: true, returns: string }
      selection:
        total: { exposed: true, onHTTPGet: true, returns: number }
      entity:
        raise: { exposed: true, returns: Person }
        tell: { exposed: true, returns: string }
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
    functions:
      entity: { touch: { exposed: true, returns: string } }
      dataclass: { takes: { exposed: true, params: { note: Note }, returns: string } }
datastore:
  functions:
    whoami: { exposed: true, onHTTPGet: true, returns: any }
    authentify: { exposed: true, params: { role: string }, returns: any }
singletons:
  Clock: { functions: { now: { exposed: true, returns: string }, stop: { exposed: true, returns: string } } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: pay, includes: [view] }, { privilege: boss }]
  roles: [{ role: HR, privileges: [pay] }]
  permissions:
    allowed:
      - { applyTo: ds, type: datastore, execute: [boss] }
      - { applyTo: Person, type: dataclass, read: [view], execute: [view] }
      - { applyTo: Person.salary, type: attribute, read: [pay] }
      - { applyTo: Person.raise, type: method, execute: [pay] }
      - { applyTo: Person.tell, type: method, execute: [guest], promote: [pay] }
      - { applyTo: Person.closed, type: method, execute: [none] }
      - { applyTo: Note, type: dataclass, create: [pay], read: [view], execute: [guest] }
      - { applyTo: ds.whoami, type: method, execute: [guest] }
      - { applyTo: ds.authentify, type: method, execute: [guest] }
      - { applyTo: Clock, type: singleton, execute: [guest] }
      - { applyTo: Clock.stop, type: singletonMethod, execute: [boss] }
`;

const classes = {
  'src/classes/Person.ts': `
import { PersonBase } from '../generated/api.js';
import type { PersonSelection } from '../generated/api.js';
export class Person extends PersonBase {
  everybody(): PersonSelection { return this.all(); }
  closed(): string { return 'never'; }
}`,
  'src/classes/PersonSelection.ts': `
import { PersonSelectionBase } from '../generated/api.js';
export class PersonSelection extends PersonSelectionBase {
  async total(): Promise<number> { return (await this.sum('salary')) ?? 0; }
}`,
  'src/classes/PersonEntity.ts': `
import { PersonEntityBase } from '../generated/api.js';
export class PersonEntity extends PersonEntityBase {
  async raise(): Promise<this> { this.salary = (this.salary ?? 0) + 1; await this.save(); return this; }
  tell(): string { return [this.name, this.session.hasPrivilege('VIEW'), this.session.hasPrivilege('boss')].join(); }
}`,
  'src/classes/Note.ts': `
import { NoteBase } from '../generated/api.js';
import type { NoteEntity } from '../generated/api.js';
export class Note extends NoteBase { takes(note: NoteEntity): string { return note.isNew ? 'new' : 'stored'; } }`,
  'src/classes/NoteEntity.ts': `
import { NoteEntityBase } from '../generated/api.js';
export class NoteEntity extends NoteEntityBase { touch(): string { return 'touched'; } }`,
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';
export class DataStore extends DataStoreBase {
  whoami(): unknown { return [...this.session.privileges]; }
  authentify(role: string): unknown { this.session.setPrivileges({ roles: role }); return this.session.hasPrivilege('pay'); }
}`,
  'src/classes/Clock.ts': `
import { ClockBase } from '../generated/api.js';
export class Clock extends ClockBase { now(): string { return 'now'; } stop(): string { return 'stopped'; } }`,
};

let app: FastifyInstance;
let guest: Client;
let viewer: Client;
let payer: Client;

beforeAll(async () => {
  app = await rolesServerOf(model, {}, classes);
  guest = new Client(app);
  viewer = await loggedIn(app, { privileges: ['view'] });
  payer = await loggedIn(app, { privileges: ['pay'] });
  const people = [
    { name: 'Ada', salary: 100 },
    { name: 'Bob', salary: 50 },
  ];
  expect((await payer.post('/rest/Person?$method=update', people)).statusCode).toBe(200);
  await payer.post('/rest/Note?$method=update', [{}]);
});
afterAll(() => app.close());

describe('Calls of functions', () => {
  it('need a privilege: 401 for a guest, 403 for a user, 1561', async () => {
    const asGuest = await guest.get('/rest/Person/everybody');
    expect(asGuest.statusCode).toBe(401);
    expect(codesOf(asGuest)).toEqual([1561]);
    const asViewer = await viewer.post('/rest/Person(1)/raise', []);
    expect(asViewer.statusCode).toBe(403);
    expect(codesOf(asViewer)).toEqual([1561]);
    expect((await payer.get('/rest/Person/total')).json()).toEqual({ result: 150 });
    // Its code runs with the read privileges of the caller.
    const closed = await viewer.get('/rest/Person/total');
    expect(closed.statusCode).toBe(403);
    expect(codesOf(closed)).toEqual([1556]);
    expect(closed.body).not.toContain('salary');
    expect((await guest.post('/rest/$singleton/Clock/now', [])).json()).toEqual({ result: 'now' });
    expect((await viewer.post('/rest/$singleton/Clock/stop', [])).statusCode).toBe(403);
  });

  it('accept a new entity only from callers who may create one, with values or without', async () => {
    const note = { __DATACLASS: 'Note', __ENTITY: true };
    const refused = await viewer.post('/rest/Note/takes', [note]);
    expect(refused.statusCode).toBe(403);
    expect(codesOf(refused)).toEqual([1557]);
    expect((await payer.post('/rest/Note/takes', [note])).json()).toEqual({ result: 'new' });
    const stored = { ...note, __KEY: 1 };
    expect((await viewer.post('/rest/Note/takes', [stored])).json()).toEqual({ result: 'stored' });
  });

  it('show only the parts of their results that the caller may read', async () => {
    const seen = await viewer.get('/rest/Person/everybody');
    expect(seen.body).toContain('Ada');
    expect(seen.body).not.toContain('salary');
    expect((await payer.get('/rest/Person/everybody')).body).toContain('"salary":100');
    const closed = await viewer.get('/rest/Person/everybody?$attributes=salary');
    const unknown = await viewer.get('/rest/Person/everybody?$attributes=salari');
    expect(closed.statusCode).toBe(400);
    expect(closed.body).toBe(unknown.body.replaceAll('salari', 'salary'));
    expect((await viewer.get('/rest/Person/total?$filter=salary>60')).statusCode).toBe(400);
    expect((await payer.get('/rest/Person/total?$filter=salary>60')).json()).toEqual({
      result: 100,
    });
  });

  it('of unreadable entities need a promotion, which gives its privileges to their code', async () => {
    const refused = await guest.post('/rest/Note(1)/touch', []);
    expect(refused.statusCode).toBe(401);
    expect(codesOf(refused)).toEqual([1556]);
    expect((await viewer.post('/rest/Note(1)/touch', [])).json()).toEqual({ result: 'touched' });
    const told = await guest.post('/rest/Person(1)/tell', []);
    expect(told.json()).toEqual({ result: 'Ada,true,false' });
    // The promotion ends with the call.
    expect((await guest.get('/rest/Person(1)')).statusCode).toBe(401);
    expect((await guest.get('/rest/$catalog/whoami')).json()).toEqual({ result: [] });
  });

  it('that nobody may make are answered as if the function did not exist', async () => {
    const closed = await payer.post('/rest/Person/closed', []);
    const unknown = await payer.post('/rest/Person/clozed', []);
    expect(closed.statusCode).toBe(404);
    expect(closed.body).toBe(unknown.body.replaceAll('clozed', 'closed'));
  });

  it('are listed in the catalog for those who may make them', async () => {
    const methods = async (client: Client): Promise<unknown> => {
      const answer = await client.get('/rest/$catalog/$all');
      const catalog: {
        methods: { name: string }[];
        singletons?: { methods: { name: string }[] }[];
        dataClasses: { name: string; methods: { name: string }[] }[];
      } = answer.json();
      const names = (list: readonly { name: string }[] = []): string[] =>
        list.map((each) => each.name).sort();
      return {
        ds: names(catalog.methods),
        clock: names(catalog.singletons?.[0]?.methods),
        ...Object.fromEntries(catalog.dataClasses.map((each) => [each.name, names(each.methods)])),
      };
    };
    expect(await methods(guest)).toEqual({
      ds: ['authentify', 'whoami'],
      clock: ['now'],
      Note: ['takes', 'touch'],
      Person: ['tell'],
    });
    const { attributes, key }: Record<string, unknown> = (
      await guest.get('/rest/$catalog/Person')
    ).json();
    expect([attributes, key]).toEqual([[], []]);
    expect(await methods(viewer)).toEqual({
      ds: ['authentify', 'whoami'],
      clock: ['now'],
      Note: ['takes', 'touch'],
      Person: ['everybody', 'tell', 'total'],
    });
  });

  it('may log the session in, and the next request sees more', async () => {
    const client = new Client(app);
    expect((await client.get('/rest/Person')).statusCode).toBe(401);
    expect((await client.post('/rest/$catalog/authentify', ['hr'])).json()).toEqual({
      result: true,
    });
    expect((await client.get('/rest/Person(1)')).body).toContain('"salary":');
  });
});

describe('What no permission names', () => {
  const closing = `
drs: 1
name: closed
dataclasses:
  Post:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      draft: { to: Draft }
    functions:
      dataclass: { count: { exposed: true, onHTTPGet: true, returns: number } }
      selection: { total: { exposed: true, onHTTPGet: true, returns: number } }
      entity: { like: { exposed: true, returns: number } }
  Draft:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
    functions: { dataclass: { count: { exposed: true, onHTTPGet: true, returns: number } } }
datastore: { functions: { now: { exposed: true, onHTTPGet: true, returns: number } } }
singletons: { Clock: { functions: { now: { exposed: true, onHTTPGet: true, returns: number } } } }
roles:
  privileges: [{ privilege: write }]
  permissions:
    allowed: [{ applyTo: Post, type: dataclass, read: [guest] }]
`;
  interface Stored {
    readonly all: () => { readonly count: () => Promise<number> };
    readonly new: (values: object) => { readonly save: () => Promise<void> };
  }
  type Closed = Readonly<Record<'Post' | 'Draft', Stored>>;
  let closed: FastifyInstance;
  beforeAll(async () => {
    closed = await rolesServerOf(closing);
    const { Post, Draft } = closed.datastore as Closed;
    for (const each of [Post, Draft]) {
      await each.new({ text: 'kept' }).save();
    }
  });
  afterAll(() => closed.close());

  // What nobody may use has no address.
  const hidden = [404, 404];
  const refused = [401, 403];

  it.each([
    ['GET', '/rest/Draft', hidden],
    ['GET', '/rest/Draft(1)', hidden],
    ['GET', '/rest/Draft/count', hidden],
    ['POST', '/rest/Draft?$method=update', hidden],
    ['POST', '/rest/Draft(1)?$method=update', hidden],
    ['POST', '/rest/Draft(1)?$method=delete', hidden],
    ['POST', '/rest/Draft?$method=delete', hidden],
    ['POST', '/rest/Draft/count', hidden],
    ['GET', '/rest/Post?$expand=draft', [400, 400]],
    ['POST', '/rest/Post?$method=update', refused, { text: 'new' }],
    ['POST', '/rest/Post?$method=update', refused, { __KEY: '1', __STAMP: 1, text: 'new' }],
    ['POST', '/rest/Post(1)?$method=delete', refused],
    ['POST', '/rest/Post?$method=delete', refused],
    ['GET', '/rest/Post/count', hidden],
    ['POST', '/rest/Post/count', hidden, []],
    ['POST', '/rest/Post/total', hidden, []],
    ['POST', '/rest/Post(1)/like', hidden, []],
    ['GET', '/rest/$catalog/now', hidden],
    ['POST', '/rest/$catalog/now', hidden, []],
    ['GET', '/rest/$singleton/Clock/now', hidden],
    ['POST', '/rest/$singleton/Clock/now', hidden, []],
  ] as [string, string, number[], unknown?][])(
    'is closed to guests and users: %s %s',
    async (method, url, expected, body = {}) => {
      const clients = [new Client(closed), await loggedIn(closed, { privileges: ['write'] })];
      const found = [];
      for (const client of clients) {
        const { statusCode } =
          method === 'GET' ? await client.get(url) : await client.post(url, body);
        found.push(statusCode);
      }
      expect(found).toEqual(expected);
      const [{ text }] = (await new Client(closed).get('/rest/Post')).json().__ENTITIES;
      expect(text).toBe('kept');
    },
  );

  it('is open to the code of the server, and what guest may read to everybody', async () => {
    const { Post, Draft } = closed.datastore as Closed;
    const counts = [Post, Draft].map((each) => each.all().count());
    expect(await Promise.all(counts)).toEqual([1, 1]);
    expect((await new Client(closed).get('/rest/Post')).json()).toMatchObject({ __COUNT: 1 });
  });
});
