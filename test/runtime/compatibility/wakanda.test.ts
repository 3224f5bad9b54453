import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../support/cookies.js';
import { clientOf } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { create, serverOf } from '../../support/server.js';
import { classes, model, people } from './shop.js';

let app: FastifyInstance;
let guest: Client;
let staff: Client;

beforeAll(async () => {
  app = await rolesServerOf(model, {}, classes);
  await create(app, 'Company', [{ name: 'Acme' }, { name: 'Bolt' }]);
  await create(app, 'Employee', people.slice(0, 6));
  guest = clientOf(app);
  staff = await loggedIn(app, { privileges: ['HR'] });
});

afterAll(() => app.close());

type Answer = Awaited<ReturnType<Client['get']>>;

interface Body {
  readonly __ERROR?: readonly { readonly errCode: number; readonly message: string }[];
}

function codesOf(answer: Answer): readonly number[] {
  const { __ERROR: errors = [] } = answer.json<Body>();
  return [answer.statusCode, ...errors.map(({ errCode }) => errCode)];
}

const related = 'staff?$expand=staff&$method=subentityset';

describe('The catalog for clients of Wakanda', () => {
  it('has one dataclass in the envelope, and calls entity selections collections', async () => {
    const { dataClasses } = (await guest.get('/rest/$catalog/Company')).json<{
      dataClasses: readonly {
        name: string;
        methods: readonly { name: string; applyTo: string }[];
      }[];
    }>();
    expect(dataClasses.map(({ name }) => name)).toEqual(['Company']);
    const levels = dataClasses[0]?.methods.map(({ name, applyTo }) => [name, applyTo]);
    expect(Object.fromEntries(levels ?? [])).toMatchObject({
      named: 'dataClass',
      titles: 'entityCollection',
      employees: 'entity',
    });
  });

  it.each([
    ['/rest/$catalog/SHOP/Company', 200],
    ['/rest/$catalog/shop/$all', 200],
    ['/rest/$catalog/shop/Secret', 404],
    ['/rest/$catalog/shop/Company?$format=looker', 400],
    ['/rest/$catalog/other/$all', 404],
  ])('is answered at %s with %i', async (address, status) => {
    expect((await guest.get(address)).statusCode).toBe(status);
  });
});

describe('A function that is called on related entities', () => {
  it.each([
    [`${related}&$emMethod=told`, ['x'], 'x 5: Ada, Ben, Cid, Dan, Eve'],
    [`${related}&$EMMETHOD="told"`, ['x'], 'x 5: Ada, Ben, Cid, Dan, Eve'],
    [`staff/?$method=subentityset&$emMethod=told`, ['y', 'more'], 'y 5: Ada, Ben, Cid, Dan, Eve'],
    [`${related}&$emMethod=told&$filter="salary>3000"`, [1], '1 2: Dan, Eve'],
    [`${related}&$emMethod=told&$filter="salary=:1"&$params=[3000]`, [1], '1 1: Cid'],
  ])('gets them: %s', async (path, args, result) => {
    const answer = await guest.post(`/rest/Company(1)/${path}`, args);
    expect(answer.json()).toEqual({ result });
  });

  it('answers entities that it returns as an ordinary call does', async () => {
    const oldest = `/rest/Company(1)/${related}&$emMethod=oldest`;
    expect((await guest.post(oldest)).json()).toMatchObject({ __KEY: '1', lastName: 'Ada' });
    const expanded = await guest.post(oldest.replace('staff&', 'staff,staff.employer&'));
    expect(expanded.json()).toMatchObject({ __KEY: '1', employer: { name: 'Acme' } });
    const set = await guest.post(`/rest/Company(1)/${related}&$emMethod=employers&$top=0`);
    expect(set.json()).toMatchObject({ __entityModel: 'Company', __COUNT: 1, __SENT: 0 });
  });

  it.each([
    ['no such function', `Company(1)/${related}&$emMethod=nothing`, [404, 1500, 1804]],
    ['one that is not exposed', `Company(1)/${related}&$emMethod=hidden`, [404, 1500, 1804]],
    ['one of another class', `Company(1)/${related}&$emMethod=greet`, [404, 1500, 1804]],
    ['no such relation', 'Company(1)/x?$method=subentityset&$emMethod=told', [404, 1500, 1804]],
    ['no such entity', `Company(9)/${related}&$emMethod=told`, [404, 1543]],
    ['no such key', `Company(x)/${related}&$emMethod=told`, [404, 1543]],
    ['without the method', 'Company(1)/staff?$emMethod=told', [400, 1806]],
    ['twice', `Company(1)/${related}&$emMethod=told&$emmethod=told`, [400, 1806]],
    [
      'on a to-one relation',
      'Employee(1)/employer?$method=subentityset&$emMethod=titles',
      [400, 1815],
    ],
    ['on all entities', 'Company?$method=subentityset&$emMethod=titles', [400, 1811]],
    ['without its privilege', `Company(1)/${related}&$emMethod=counted`, [401, 1561]],
    [
      'behind a relation that its caller may not see',
      'Company(1)/secrets?$method=subentityset&$emMethod=size',
      [404, 1500, 1804],
    ],
    [
      'with a wrong filter',
      `Company(1)/${related}&$emMethod=told&$filter=x%3D1`,
      [400, 1500, 1162],
    ],
  ])('is refused: %s', async (_what, path, codes) => {
    expect(codesOf(await guest.post(`/rest/${path}`, []))).toEqual(codes);
  });

  it('is called by those who have its privilege', async () => {
    const counted = await staff.post(`/rest/Company(1)/${related}&$emMethod=counted`);
    expect(counted.json()).toEqual({ result: 5 });
    const size = '/rest/Company(1)/secrets?$method=subentityset&$emMethod=size';
    expect((await staff.post(size)).json()).toEqual({ result: 0 });
  });

  it('is not called by GET, nor from another site', async () => {
    const address = `/rest/Company(1)/${related}&$emMethod=told`;
    expect(codesOf(await guest.get(address))).toEqual([400, 1811]);
    const foreign = await guest.post(address, [], { 'sec-fetch-site': 'cross-site' });
    expect(foreign.statusCode).toBe(403);
  });
});

describe('The arguments of a function for clients of Wakanda', () => {
  it('are those that were sent, and checked where the model declares a type', async () => {
    const sent = async (args: unknown): Promise<unknown> =>
      (await guest.post('/rest/Company/sent', args)).json();
    expect(await sent([null, 1, null, { a: [1] }])).toEqual({
      result: { count: 4, args: [null, 1, null, { a: [1] }] },
    });
    expect(codesOf(await guest.post('/rest/Company/named', [7]))).toEqual([400, 1843]);
    expect(codesOf(await guest.post('/rest/Company/named', []))).toEqual([400, 1843]);
    expect(codesOf(await guest.post('/rest/Company/sent', ['\ud800', 1, '\ud800']))).toEqual([
      400, 1843,
    ]);
  });
});

describe('A selection as the result of a function for clients of Wakanda', () => {
  const products = Array.from({ length: 110 }, (_, index) => ({ name: `p${index}` }));
  it('is sent as a whole, or as the request says', async () => {
    await create(app, 'Product', products);
    const sent = async (query = ''): Promise<unknown> => {
      const answer = await guest.post(`/rest/Company/everything${query}`);
      return answer.json<{ __SENT: number }>().__SENT;
    };
    expect(await sent()).toBe(110);
    expect(await sent('?$top=5')).toBe(5);
    expect(await sent('?$attributes=name')).toBe(100);
    expect(await sent('?$method=entityset')).toBe(100);
  });

  it('is sent as far as maxPageSize allows', async () => {
    const environment = { MAX_PAGE_SIZE: '50' };
    const limited = await rolesServerOf(model, { environment }, classes);
    await create(limited, 'Product', products);
    const answer = await clientOf(limited).post('/rest/Company/everything');
    expect(answer.json()).toMatchObject({ __COUNT: 110, __SENT: 50 });
    await limited.close();
  });
});

describe('$refresh=true for clients of Wakanda', () => {
  const refresh = (body: unknown, client = guest, path = 'Product'): Promise<Answer> =>
    client.post(`/rest/${path}?$method=update&$refresh=true`, body);

  it('computes new and stored entities in memory, and saves nothing', async () => {
    expect((await refresh({ price: 5 })).json()).toMatchObject({
      __entityModel: 'Product',
      __KEY: null,
      __STAMP: 0,
      name: 'Unnamed',
      inStock: true,
      code: 'c',
      gross: 6,
    });
    const [saved] = await create(app, 'Product', [{ name: 'Drill', price: 1 }]);
    const { __KEY } = saved ?? {};
    const body = { __KEY, __STAMP: 1, name: null, price: 2 };
    const expected = { __KEY, __STAMP: 1, name: 'Unnamed', price: 2, gross: 2.4, inStock: true };
    expect((await refresh(body)).json()).toMatchObject(expected);
    expect(
      (
        await refresh({ __STAMP: 1, name: null, price: 2 }, guest, `Product(${String(__KEY)})`)
      ).json(),
    ).toMatchObject(expected);
    expect((await guest.get(`/rest/Product(${String(__KEY)})`)).json()).toMatchObject({
      __STAMP: 1,
      name: 'Drill',
    });
    expect(codesOf(await refresh({ ...body, __STAMP: 7 }))).toEqual([409, 1263]);
  });

  it.each<[string, unknown, readonly number[], string?]>([
    ['an unknown attribute', { nme: 1 }, [400, 1500]],
    ['a value of another type', { price: 'much' }, [422, 1569]],
    ['a read-only attribute', { code: 'mine' }, [422, 1569]],
    ['an unknown key', { __KEY: 9999, __STAMP: 1 }, [404, 1542]],
    ['what the event throws', { name: 'refused' }, [418, 7]],
    ['another key than that of the address', { __KEY: 5, __STAMP: 1 }, [400, 1806], 'Product(1)'],
    ['a key that is none', { __KEY: { a: 1 }, __STAMP: 1 }, [404, 1542]],
    ['no entity', 'text', [400, 1833]],
  ])('is refused: %s', async (_what, body, codes, path = 'Product') => {
    expect(codesOf(await refresh(body, guest, path))).toEqual(codes);
  });

  it('runs no events for a list, which is computed as without the compatibility', async () => {
    const answer = await refresh([{ name: 'a', price: 5, kind: 'toy' }]);
    expect(answer.json()).toMatchObject({ __ENTITIES: [{ name: 'a', inStock: null, gross: 6 }] });
  });
});

describe('The event init', () => {
  it('runs for saves and validations of clients, before the values that were sent', async () => {
    const save = (body: unknown, query = ''): Promise<Answer> =>
      staff.post(`/rest/Product?$method=update${query}`, body);
    expect((await save({ name: 'a' })).json()).toMatchObject({
      inStock: true,
      code: 'cmia',
      kind: 'tool',
    });
    expect((await save({ name: 'a', inStock: false })).json()).toMatchObject({ inStock: false });
    const list = await save([{ name: 'a' }, { name: 'b', inStock: null }], '&$atomic=true');
    expect(list.json()).toMatchObject({ __ENTITIES: [{ inStock: true }, { inStock: null }] });
    expect((await save({ price: 1 })).statusCode).toBe(422);
    const valid = await staff.post('/rest/Product?$method=validate', { name: 'a' });
    expect(valid.json()).toEqual({ ok: true });
  });
});

const small = `
drs: 1
name: small
protocol: { compatibility: wakanda }
dataclasses:
  Note:
    events: [init]
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: { type: string, mandatory: true }
      made: string
    functions:
      dataclass:
        make: { exposed: true, returns: Note }
        take: { exposed: true, params: { note: Note }, returns: any }
`;

function notes(init: string): Readonly<Record<string, string>> {
  return {
    'src/classes/NoteEntity.ts': `import { NoteEntityBase, RestError } from '../generated/api.js';
export class NoteEntity extends NoteEntityBase { ${init} }`,
    'src/classes/Note.ts': `import { NoteBase } from '../generated/api.js';
export class Note extends NoteBase {
  make() { return this.ds.Note.new({ text: 'x' }); }
  take(note) { return note.made; }
}`,
  };
}

describe('The event init of class code', () => {
  const entity = { __DATACLASS: 'Note', __ENTITY: true, text: 'x' };
  it('runs for new() and for arguments of functions', async () => {
    const server = await serverOf(small, {}, notes(`init() { this.made = this.made + '!'; }`));
    const client = clientOf(server);
    expect((await client.post('/rest/Note/make')).json()).toMatchObject({
      made: 'null!',
      text: 'x',
    });
    expect((await client.post('/rest/Note/take', [entity])).json()).toEqual({ result: 'null!' });
    await server.close();
  });

  it.each([
    ['throws something', `init() { throw new TypeError('leaked'); }`, 500],
    ['refuses', `init() { throw new RestError(418, 7, 'no'); }`, 418],
    ['is async', `async init() { await null; throw new Error('leaked'); }`, 500],
    ['returns something', `init() { return { error: 1 }; }`, 500],
  ])('ends the request if it %s', async (_what, init, status) => {
    const server = await serverOf(small, {}, notes(init));
    const client = clientOf(server);
    const answers = [
      await client.post('/rest/Note?$method=update', { text: 'x' }),
      await client.post('/rest/Note?$method=update&$refresh=true', { text: 'x' }),
      await client.post('/rest/Note/make'),
      await client.post('/rest/Note/take', [entity]),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => status));
    expect(answers.map(({ body }) => body).join()).not.toContain('leaked');
    expect((await client.get('/rest/Note')).json()).toMatchObject({ __COUNT: 0 });
    await server.close();
  });
});

describe('A server with the compatibility and without class code', () => {
  it('understands the clients as far as it needs no class code', async () => {
    const plain = small
      .slice(0, small.indexOf('    functions:'))
      .replace('    events: [init]\n', '');
    const server = await serverOf(plain);
    const client = clientOf(server);
    const refreshed = await client.post('/rest/Note?$method=update&$refresh=true', { text: 'x' });
    expect(refreshed.json()).toMatchObject({ text: 'x' });
    expect(codesOf(await client.post('/rest/Note?$method=update&$refresh=true', {}))[0]).toBe(422);
    expect((await client.get('/rest/$catalog/Note')).json()).toHaveProperty('dataClasses');
    const unknown = await client.post('/rest/Note(1)/x?$method=subentityset&$emMethod=y');
    expect(codesOf(unknown)).toEqual([404, 1500, 1804]);
    await server.close();
  });
});

describe('A server without the compatibility', () => {
  it('answers none of it', async () => {
    const events = '    events: [init, clientRefresh]\n';
    const ordinary = model
      .replace('protocol: { compatibility: wakanda }\n', '')
      .replace(events, '');
    const own = Object.fromEntries(
      Object.entries(classes).filter(([path]) => !path.includes('ProductEntity')),
    );
    const without = ordinary.replace('      gross: { computed: number, accessors: [get] }\n', '');
    const server = await rolesServerOf(without, {}, own);
    const client = clientOf(server);
    await create(server, 'Company', [{ name: 'Acme' }]);
    await create(server, 'Employee', [{ lastName: 'Ada', employer: 1, hiringDate: '2020-12-31' }]);
    expect((await client.get('/rest/$catalog/Company')).json()).toHaveProperty('name', 'Company');
    expect((await client.get('/rest/$catalog/shop/$all')).statusCode).toBe(404);
    const call = await client.post(`/rest/Company(1)/${related}&$emMethod=told`, []);
    expect(codesOf(call)).toEqual([400, 1811]);
    expect(codesOf(await client.post('/rest/Company/sent', [1, 2, 3]))).toEqual([400, 1843]);
    expect(codesOf(await client.post('/rest/Employee(1)/cv', 'x'))).toEqual([404, 1500, 1804]);
    const read = await client.get('/rest/Employee(1)');
    expect(read.json()).toMatchObject({ hiringDate: '2020-12-31' });
    await server.close();
  });
});
