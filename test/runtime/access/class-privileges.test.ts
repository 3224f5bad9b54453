import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Act,
  actClass,
  actFunctions,
  type ActingDatastore,
  actNamed,
} from '../../support/acts.js';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: guarded
dataclasses:
  Firm:
    attributes:
      ID: { type: integer, key: true }
      name: string
      people: { to: Person, many: true, inverse: firm }
  Person:
    attributes:
      ID: { type: integer, key: true }
      name: string
      pay: number
      photo: image
      memo: { type: string, exposed: false }
      firm: { to: Firm, foreignKey: firmID, inverse: people }
      firmID: integer
    functions:
      dataclass: { given: { exposed: true, params: { person: Person }, returns: any } }
  Log:
    exposed: false
    attributes: { ID: { type: integer, key: true, generated: sequence }, text: string }
${actFunctions}
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: edit, includes: [view] }, { privilege: pay }, { privilege: firms }, { privilege: audit }]
  permissions:
    allowed:
      - { applyTo: Person, type: dataclass, read: [view], create: [edit], update: [edit], drop: [edit] }
      - { applyTo: Person.pay, type: attribute, read: [pay], update: [pay], create: [pay] }
      - { applyTo: Person.photo, type: attribute, read: [pay] }
      - { applyTo: Person.memo, type: attribute, update: [pay] }
      - { applyTo: Firm, type: dataclass, read: [firms] }
      - { applyTo: Log, type: dataclass, read: [audit], create: [audit] }
`;

const personClass = `
import { PersonBase } from '../generated/api.js';
import type { PersonEntity } from '../generated/api.js';
export class Person extends PersonBase {
  given(person: PersonEntity): unknown { return person.firmID; }
}`;

/** The part of the server's classes that the tests use. */
interface Person {
  name: string | null;
  pay: number | null;
  memo: string | null;
  readonly photo: { readonly size: number | null; read(): Promise<unknown> };
  readonly firm: { readonly key: number | null; get(): Promise<object | null> };
  save(): Promise<void>;
  drop(): Promise<void>;
  reload(): Promise<void>;
  lock(): Promise<boolean>;
  toObject(): Record<string, unknown>;
}
interface People {
  readonly firm: { count(): Promise<number> };
  query(filter: string): People;
  orderBy(order: string): People;
  count(): Promise<number>;
  sum(path: string): Promise<number>;
  distinct(path: string): Promise<unknown[]>;
  first(): Promise<Person>;
  toArray(): Promise<Person[]>;
  drop(): Promise<number>;
}
interface Dataclasses extends ActingDatastore {
  readonly Person: People & {
    all(): People;
    get(key: number): Promise<Person>;
    readonly new: (values: object) => Person;
  };
  readonly Firm: {
    all(): { people: People; count(): Promise<number> };
    get(key: number): Promise<object | null>;
    readonly new: (values: object) => Person;
  };
  readonly Log: {
    readonly new: (values: object) => { save(): Promise<void>; text: string };
    all(): { count(): Promise<number> };
  };
}

let app: FastifyInstance;
let guest: Client;
let viewer: Client;
let editor: Client;
let boss: Client;

beforeAll(async () => {
  app = await rolesServerOf(model, {}, { ...actClass, 'src/classes/Person.ts': personClass });
  guest = new Client(app);
  viewer = await loggedIn(app, { privileges: ['view'] });
  editor = await loggedIn(app, { privileges: ['edit'] });
  boss = await loggedIn(app, { privileges: ['edit', 'pay', 'firms', 'audit'] });
  const { datastore } = app as unknown as { datastore: Dataclasses };
  // Outside of requests code is the server's own.
  const firm = datastore.Firm.new({
    ID: 1,
    name: 'Acme',
  });
  await firm.save();
  await datastore.Person.new({ ID: 1, name: 'Ada', pay: 100, memo: 'kept', firm: 1 }).save();
  await datastore.Person.new({ ID: 2, name: 'Bob', pay: 50, firm: 1 }).save();
});
afterAll(() => app.close());

async function done(client: Client, work: (ds: Dataclasses) => unknown): Promise<unknown> {
  const answer = await client.post('/rest/$catalog/act', [actNamed(work as unknown as Act)]);
  const json = answer.json<{ __ERROR?: { errCode: number }[]; result?: unknown }>();
  expect(answer.body).not.toMatch(/pay|memo|Log|Firm/);
  const codes = json.__ERROR?.map(({ errCode }) => errCode);
  return codes === undefined ? json.result : [answer.statusCode, ...codes];
}

/** The error that class code gets. */
async function told(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    const told = error as { name: string; status?: number; httpStatus?: number; errCode?: number };
    const { name, status, httpStatus = status, errCode } = told;
    return [name, httpStatus, errCode].filter((each) => each !== undefined).join(' ');
  }
  return 'done';
}

async function* payOf(ds: Dataclasses): AsyncGenerator<string> {
  yield String((await ds.Person.get(1)).pay);
}

async function laterOf(ds: Dataclasses): Promise<() => unknown> {
  const person = await ds.Person.get(1);
  return () => person.pay;
}

describe('Class code reads', () => {
  const reads: Readonly<Record<string, (ds: Dataclasses) => unknown>> = {
    property: async (ds) => (await ds.Person.get(1)).pay,
    filter: (ds) => ds.Person.all().query('pay > 60').count(),
    order: (ds) => ds.Person.all().orderBy('pay').first(),
    sum: (ds) => ds.Person.all().sum('pay'),
    distinct: (ds) => ds.Person.all().distinct('pay'),
    bytes: async (ds) => (await ds.Person.get(1)).photo.read(),
    size: async (ds) => (await ds.Person.get(1)).photo.size,
    'related key': async (ds) => (await ds.Person.get(1)).firm.key,
    'related entity': async (ds) => (await ds.Person.get(1)).firm.get(),
    'related path': (ds) => ds.Person.all().query('firm.name = x').count(),
    'related selection': (ds) => ds.Person.all().firm.count(),
    dataclass: (ds) => ds.Firm.all().count(),
    'related back': (ds) => ds.Firm.all().people.count(),
    key: (ds) => ds.Firm.get(1),
    'unexposed dataclass': (ds) => ds.Log.all().count(),
  };
  it.each(Object.keys(reads))('%s', async (name) => {
    const read = reads[name] as (ds: Dataclasses) => unknown;
    expect(await done(viewer, read), name).toEqual([403, 1556]);
    expect(await done(guest, read), name).toEqual([401, 1556]);
    expect(await done(boss, async (ds) => ((await read(ds)) === undefined ? 0 : 1))).toBe(1);
    const inside = (ds: Dataclasses): unknown =>
      ds.session.promote('pay, view, firms, audit', async () => {
        await read(ds);
        return 1;
      });
    expect(await done(viewer, inside)).toBe(1);
    expect(await done(guest, inside)).toBe(1);
    // The error for class code names the denied part, the error for the client does not.
    expect(await done(viewer, (ds) => told(() => read(ds)))).toBe('PermissionError 403 1556');
  });

  it('what it returns without reading it', async () => {
    const unread: readonly ((ds: Dataclasses) => unknown)[] = [
      (ds) => ds.Person.all().query('pay > 60'),
      (ds) => ds.Person.all().orderBy('pay'),
      (ds) => ds.session.promote('pay', () => ds.Person.all().query('pay > 60')),
      async (ds) => (await ds.Person.get(1)).photo,
      async (ds) => ({ list: [{ toJSON: await laterOf(ds) }] }),
    ];
    for (const [index, work] of unread.entries()) {
      expect(await done(viewer, work), `${index}`).toEqual([403, 1556]);
    }
    expect(await done(guest, (ds) => ds.Person.all())).toEqual([401, 1556]);
    const answer = await viewer.post('/rest/$catalog/send', [
      actNamed(((ds: Dataclasses) => Readable.from(payOf(ds))) as unknown as Act),
    ]);
    expect([answer.statusCode, answer.body.includes('pay')]).toEqual([403, false]);
  });

  it('attributes that are not exposed if they have no privilege; toObject() leaves out the rest', async () => {
    expect(await done(viewer, async (ds) => (await ds.Person.get(1)).memo)).toBe('kept');
    expect(await done(viewer, (ds) => ds.Person.all().query('memo = kept').count())).toBe(1);
    const keys = (ds: Dataclasses): unknown =>
      ds.Person.get(1).then((each) => Object.keys(each.toObject()).sort().join());
    expect(await done(viewer, async (ds) => (await keys(ds)) === 'ID,firmID,memo,name')).toBe(true);
    expect(await done(boss, async (ds) => String(await keys(ds)).includes('pay'))).toBe(true);
  });

  it('an entity with the privileges of the code that reads the property', async () => {
    const work = async (ds: Dataclasses): Promise<unknown> => {
      const early = await ds.Person.get(1);
      const inside = await ds.session.promote('PAY', () => early.pay);
      const late = await ds.session.promote(['pay'], () => ds.Person.get(2));
      early.pay = 7;
      return [inside, early.pay, await told(() => late.pay), late.name];
    };
    expect(await done(viewer, work)).toEqual([100, 7, 'PermissionError 403 1556', 'Bob']);
  });
});

describe('Class code that has lost its async context', () => {
  const uses: Readonly<Record<string, (ds: Dataclasses, person: Person) => unknown>> = {
    'reads a dataclass': (ds) => ds.Person.all().count(),
    'reads an entity': (ds) => ds.Person.get(1),
    'reads a property': (_ds, person) => person.pay,
    'follows a relation': (_ds, person) => person.firm.get(),
    'makes an object': (_ds, person) => person.toObject(),
    'reloads an entity': (_ds, person) => person.reload(),
    'saves an entity': (_ds, person) => {
      person.name = 'Eve';
      return person.save();
    },
    'creates an entity': (ds) => ds.Log.new({ text: 'x' }).save(),
    'deletes an entity': (_ds, person) => person.drop(),
    'deletes a selection': (ds) => ds.Person.all().drop(),
    'begins a transaction': (ds) => ds.transaction(() => Promise.resolve()),
    'asks for the session': (ds) => ds.session.userName,
  };
  it.each(Object.keys(uses))('is refused: it %s', async (name) => {
    const lost: (() => void)[] = [];
    const answer = done(boss, async (ds) => {
      const person = await ds.Person.get(2);
      return new Promise((resolve, reject) => {
        lost.push(() => {
          Promise.resolve()
            .then(() => uses[name]?.(ds, person))
            .then(resolve, (error: unknown) => {
              if (error instanceof Error && error.message.includes('request is unknown'))
                resolve('refused');
              else reject(error as Error);
            });
        });
      });
    });
    await expect.poll(() => lost.length).toBe(1);
    for (const each of lost) each();
    expect(await answer).toBe('refused');
  });
});

it('An argument reveals nothing about entities that its caller may not read', async () => {
  for (const firmID of [1, 99]) {
    const person = { __DATACLASS: 'Person', __ENTITY: true, __KEY: 2, firmID };
    const given = await editor.post('/rest/Person/given', [person]);
    expect(given.json(), given.body).toEqual({ result: firmID });
  }
});

describe('Class code writes', () => {
  it.each([
    [
      'update',
      async (ds: Dataclasses) => Object.assign(await ds.Person.get(2), { name: 'B' }).save(),
      1558,
    ],
    ['create', (ds: Dataclasses) => ds.Person.new({ ID: 9, name: 'x' }).save(), 1557],
    ['drop', async (ds: Dataclasses) => (await ds.Person.get(2)).drop(), 1559],
    ['drop all', (ds: Dataclasses) => ds.Person.all().drop(), 1559],
    [
      'update a closed one',
      async (ds: Dataclasses) => Object.assign(await ds.Person.get(2), { memo: 'B' }).save(),
      1558,
    ],
    [
      'update a hidden one',
      async (ds: Dataclasses) => Object.assign(await ds.Person.get(2), { pay: 1 }).save(),
      1558,
    ],
    [
      'create with a closed one',
      (ds: Dataclasses) => ds.Person.new({ ID: 9, pay: 1 }).save(),
      1557,
    ],
  ] as const)('%s', async (name, write, code) => {
    expect(await done(viewer, write)).toEqual([403, code]);
    expect(await done(viewer, (ds) => told(() => write(ds)))).toBe('SaveError 403');
    const isOfAttribute = name.includes('one');
    const undone = async (ds: Dataclasses): Promise<unknown> =>
      told(() =>
        ds.transaction(async () => {
          await write(ds);
          throw new RangeError('undone');
        }),
      );
    expect(await done(editor, undone)).toBe(isOfAttribute ? 'SaveError 403' : 'RangeError');
    expect(await done(boss, undone)).toBe('RangeError');
    expect(await done(viewer, (ds) => ds.session.promote('edit,pay', () => undone(ds)))).toBe(
      'RangeError',
    );
  });

  it('what promoted code has set, and nothing more', async () => {
    const set =
      (after: string | undefined) =>
      async (ds: Dataclasses): Promise<unknown> => {
        const person = await ds.Person.get(2);
        await ds.session.promote('pay', () => {
          person.memo = 'promoted';
        });
        if (after !== undefined) person.memo = after;
        return told(() => person.save());
      };
    expect(await done(editor, set('own'))).toBe('SaveError 403');
    expect(await done(viewer, set(undefined))).toBe('SaveError 403');
    expect(await done(editor, set(undefined))).toBe('done');
  });

  it('nothing else of an entity that it may not read', async () => {
    const work = async (ds: Dataclasses): Promise<unknown> => {
      const person = await ds.session.promote('view', () => ds.Person.get(2));
      return [await told(() => person.reload()), await told(() => person.lock())];
    };
    const denied = 'PermissionError 401 1556';
    expect(await done(guest, work)).toEqual([denied, denied]);
  });

  it('a log that its caller may not write, if it is promoted', async () => {
    const log = (ds: Dataclasses): Promise<void> => ds.Log.new({ text: 'x' }).save();
    expect(await done(guest, log)).toEqual([401, 1557]);
    expect(await done(guest, (ds) => ds.session.promote('audit', () => log(ds)))).toBe(null);
    // An entity that it created is as unreadable as any other.
    const made = async (ds: Dataclasses): Promise<unknown> => {
      const entry = ds.Log.new({ text: 'mine' });
      const before = entry.text;
      await ds.session.promote('audit', () => entry.save());
      return [before, await told(() => entry.text)];
    };
    expect(await done(guest, made)).toEqual(['mine', 'PermissionError 401 1556']);
  });
});
