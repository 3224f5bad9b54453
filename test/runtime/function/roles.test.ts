import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: guarded
dataclasses:
  Book:
    attributes:
      ID: { type: integer, key: true }
      title: string
      price: number
    functions:
      dataclass:
        first: { exposed: true, returns: Book }
        take: { exposed: true, params: { book: Book }, returns: string }
        closed: { exposed: true, returns: string }
      selection:
        prices: { exposed: true, returns: any }
        counted: { exposed: true, returns: integer }
      entity:
        shown: { exposed: true, returns: string }
  Diary:
    attributes: { ID: { type: integer, key: true }, text: string }
    functions:
      dataclass: { fill: { exposed: true, returns: 'Diary[]' } }
      selection: { size: { exposed: true, returns: integer } }
      entity: { text2: { exposed: true, returns: string } }
singletons:
  Safe: { scope: shared, functions: { open: { exposed: true, returns: boolean } } }
datastore:
  functions: { privileged: { exposed: true, returns: boolean } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: staff }, { privilege: writer }, { privilege: keeper }]
  permissions:
    allowed:
      - { applyTo: Book, type: dataclass, update: [writer], create: [writer] }
      - { applyTo: Book.price, type: attribute, read: [staff], update: [staff], create: [staff] }
      - { applyTo: Book.closed, type: method, execute: [staff] }
      - { applyTo: Diary, type: dataclass, read: [keeper], create: [keeper] }
      - { applyTo: Diary.size, type: method, promote: [keeper] }
      - { applyTo: Safe.open, type: singletonMethod, execute: [staff] }
      - { applyTo: ds.privileged, type: method, promote: [keeper] }
`;

const written = {
  'src/classes/Book.ts': `
import { BookBase } from '../generated/api.js';
import type { BookEntity } from '../generated/api.js';
export class Book extends BookBase {
  first(): Promise<BookEntity | null> { return this.all().first(); }
  take(book: BookEntity): string { return String(book.price); }
  closed(): string { return 'open'; }
}`,
  'src/classes/BookSelection.ts': `
import { BookSelectionBase } from '../generated/api.js';
export class BookSelection extends BookSelectionBase {
  async prices(): Promise<unknown> { return (await this.toArray()).map((each) => each.price); }
  counted(): Promise<number> { return this.count(); }
}`,
  'src/classes/BookEntity.ts': `
import { BookEntityBase } from '../generated/api.js';
export class BookEntity extends BookEntityBase {
  shown(): string { return String(this.title); }
}`,
  'src/classes/Diary.ts': `
import { DiaryBase } from '../generated/api.js';
import type { DiaryEntity } from '../generated/api.js';
export class Diary extends DiaryBase {
  async fill(): Promise<readonly DiaryEntity[]> {
    const diary = this.new({ ID: 1, text: 'secret' });
    if ((await this.get(1)) === null) await diary.save();
    return [diary];
  }
}`,
  'src/classes/DiarySelection.ts': `
import { DiarySelectionBase } from '../generated/api.js';
export class DiarySelection extends DiarySelectionBase {
  size(): Promise<number> { return this.count(); }
}`,
  'src/classes/DiaryEntity.ts': `
import { DiaryEntityBase } from '../generated/api.js';
export class DiaryEntity extends DiaryEntityBase {
  text2(): string { return String(this.text); }
}`,
  'src/classes/Safe.ts': `
import { SafeBase } from '../generated/api.js';
export class Safe extends SafeBase { open(): boolean { return true; } }`,
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';
export class DataStore extends DataStoreBase {
  privileged(): boolean { return this.session.hasPrivilege('keeper'); }
}`,
};

let app: FastifyInstance;
let guest: Client;
let staff: Client;
let writer: Client;

beforeAll(async () => {
  app = await rolesServerOf(model, {}, written);
  guest = new Client(app);
  staff = await loggedIn(app, { privileges: ['staff', 'writer', 'keeper'] });
  writer = await loggedIn(app, { privileges: ['writer'] });
  const made = await staff.post('/rest/Book?$method=update', [{ ID: 1, title: 'One', price: 5 }]);
  if (made.statusCode !== 200) throw new Error(made.body);
});
afterAll(() => app.close());

async function call(client: Client, path: string, body: unknown = []): Promise<unknown> {
  const answer = await client.post(`/rest/${path}`, body);
  const json = answer.json<{ __ERROR?: { errCode: number }[]; result?: unknown }>();
  const codes = json.__ERROR?.map((each) => each.errCode);
  return codes === undefined ? json : [answer.statusCode, ...codes];
}

describe('A function', () => {
  it('needs its privilege: 401 for a guest, 403 for others, before anything is read', async () => {
    for (const path of ['Book/closed', '$singleton/Safe/open']) {
      expect(await call(guest, path, 'no list'), path).toEqual([401, 1561]);
      expect(await call(writer, path), path).toEqual([403, 1561]);
      expect((await staff.post(`/rest/${path}`, [])).statusCode, path).toBe(200);
    }
  });

  it('answers only what the session may read', async () => {
    expect(await call(staff, 'Book/first')).toMatchObject({ title: 'One', price: 5 });
    const shown = await call(guest, 'Book/first');
    expect(shown).toMatchObject({ title: 'One' });
    expect(shown).not.toHaveProperty('price');
    expect(await call(guest, 'Diary/fill')).toEqual([401, 1556]);
    expect(await call(staff, 'Diary/fill')).toMatchObject({ result: [{ text: 'secret' }] });
  });

  it('gets the entities of a filter, which may name only what the session may read', async () => {
    expect(await call(staff, 'Book/prices?$filter=price=5')).toEqual({ result: [5] });
    expect(await call(guest, 'Book/prices?$filter=price=5')).toEqual([400, 1500, 1162]);
    expect(await call(guest, 'Book/prices?$orderby=price')).toMatchObject({ 0: 400 });
  });

  it('accepts no attribute that the session may not write', async () => {
    const mark = { __DATACLASS: 'Book', __ENTITY: true };
    expect(await call(staff, 'Book/take', [{ ...mark, price: 3 }])).toEqual({ result: '3' });
    expect(await call(writer, 'Book/take', [{ ...mark, title: 'x' }])).toEqual({ result: 'null' });
    expect(await call(guest, 'Book/take', [{ ...mark, title: 'x' }])).toEqual([401, 1557]);
    const changed = [{ ...mark, __KEY: 1, title: 'Two' }];
    expect(await call(guest, 'Book/take', changed)).toEqual([401, 1558]);
    const unchanged = [{ ...mark, __KEY: 1, title: 'One' }];
    expect(await call(staff, 'Book/take', unchanged)).toEqual({ result: '5' });
    expect(await call(guest, 'Book/take', unchanged)).toEqual([401, 1556]);
    const [status] = (await call(writer, 'Book/take', [{ ...mark, __KEY: 1, price: 9 }])) as [
      number,
    ];
    expect([400, 403]).toContain(status);
  });

  it('is promoted without promoting its caller', async () => {
    expect(await call(guest, 'Diary/size')).toMatchObject({ result: 1 });
    expect(await call(guest, 'Diary/size?$filter=text=secret')).toEqual([401, 1556]);
    expect(await call(guest, 'Diary(1)/text2')).toEqual([401, 1556]);
    expect(await call(guest, '$catalog/privileged')).toEqual({ result: true });
  });
});
