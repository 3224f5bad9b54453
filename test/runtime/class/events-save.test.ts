import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RestError } from '../../../runtime/protocol/errors.js';
import { isOnPostgres } from '../../support/server.js';
import { type EventedServer, eventedServer, type Row } from '../../support/evented-server.js';

type Json = Readonly<Record<string, unknown>>;

let server: EventedServer;
beforeAll(async () => {
  server = await eventedServer();
});
afterAll(() => server.close());

beforeEach(() => empty());

async function empty(): Promise<void> {
  server.handlers.Company = {};
  server.handlers.Person = {};
  for (const name of ['Person', 'Company', 'Log']) {
    const { statusCode } = await server.app.inject({
      method: 'POST',
      url: `/rest/${name}?$method=delete&$filter=${encodeURIComponent(name === 'Person' ? 'ID != null' : 'ID > -1')}`,
    });
    expect(statusCode).toBe(200);
  }
  server.logged.length = 0;
}

async function post(url: string, body?: unknown): Promise<{ status: number; json: Json }> {
  const response = await server.app.inject({
    method: 'POST',
    url: `/rest/${url}`,
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  return { status: response.statusCode, json: response.json() };
}

function save(body: unknown, query = ''): Promise<{ status: number; json: Json }> {
  return post(`Company?$method=update${query}`, body);
}

async function stored(dataclass: string): Promise<readonly Json[]> {
  const response = await server.app.inject(`/rest/${dataclass}?$top=100`);
  return response.json<{ readonly __ENTITIES: readonly Json[] }>().__ENTITIES;
}

async function globalStamp(): Promise<number> {
  const response = await server.app.inject('/rest/Log?$top=0');
  return response.json<{ readonly __GlobalStamp: number }>().__GlobalStamp;
}

async function made(values: Json): Promise<Json> {
  const { status, json } = await save(values);
  expect(status).toBe(200);
  return json;
}

function identity({ __KEY, __STAMP }: Json): Json {
  return { __KEY, __STAMP };
}

async function log(entity: Row, text: string): Promise<void> {
  await entity.ds.Log.new({ text }).save();
}

describe('The order of the events of a save', () => {
  it('is validateSave, saving, the save, afterSave; each sees the entity with what was sent', async () => {
    const seen: unknown[] = [];
    server.handlers.Company = {
      validateSave: ({ name, stamp }, event) => void seen.push([name, stamp, event]),
      saving: ({ name, stamp }, event) => void seen.push([name, stamp, event]),
      afterSave: ({ name, stamp, key, isNew }, event) =>
        void seen.push([name, stamp, key, isNew, event]),
    };
    const company = await made({ name: 'a', size: 3 });
    const event = { dataClassName: 'Company', isNew: true, old: null };
    const touched = ['name', 'size'];
    expect(seen).toEqual([
      ['a', 0, { ...event, kind: 'validateSave', touched }],
      ['a', 0, { ...event, kind: 'saving', touched }],
      [
        'a',
        1,
        Number(company['__KEY']),
        false,
        {
          ...event,
          kind: 'afterSave',
          touched,
          savedAttributes: ['ID', 'name', 'size', 'fixed'],
          saveStatus: 'success',
        },
      ],
    ]);
  });

  it('includes the values before a change', async () => {
    const company = await made({ name: 'a', size: 3, founded: '2001-02-03' });
    const seen: unknown[] = [];
    server.handlers.Company = {
      validateSave: (entity, { isNew, touched, old }) =>
        void seen.push([entity['size'], isNew, touched, old?.['size'], old?.['founded']]),
      afterSave: (entity, { isNew, old, savedAttributes }) =>
        void seen.push([entity['size'], isNew, old?.['size'], savedAttributes]),
    };
    await made({ ...identity(company), size: 5, name: 'a' });
    expect(seen).toEqual([
      [5, false, ['size'], 3, '2001-02-03'],
      [5, false, 3, ['size']],
    ]);
  });

  it('has no afterSave if nothing changed, and keeps the stamp', async () => {
    const company = await made({ name: 'a' });
    const kinds: string[] = [];
    const note = (_: Row, { kind }: { kind: string }): void => void kinds.push(kind);
    server.handlers.Company = { validateSave: note, saving: note, afterSave: note };
    const { __STAMP } = await made({ ...identity(company), name: 'a' });
    expect(kinds).toEqual(['validateSave', 'saving']);
    expect(__STAMP).toBe(1);
  });

  it('has frozen event objects', async () => {
    server.handlers.Company = {
      validateSave: (_, event) => {
        (event as { kind: string }).kind = 'other';
      },
    };
    expect(await save({ name: 'a' })).toMatchObject({ status: 500 });
  });
});

describe('An event may change the entity:', () => {
  it('it can set a mandatory attribute that was not sent, and one that no client can write', async () => {
    server.handlers.Company = {
      validateSave: (entity) => void (entity['name'] = 'given'),
      saving: (entity) => void Object.assign(entity, { hidden: 'h', fixed: 'changed', size: 7 }),
    };
    const company = await made({ code: 'x' });
    expect(company).toMatchObject({ name: 'given', size: 7, fixed: 'changed', __STAMP: 1 });
    const [row] = await server.ds.Company.query('name = :1', 'given').toArray();
    expect(row?.['hidden']).toBe('h');
  });

  it('a change of its key, which would name another entity, is refused', async () => {
    const [one, other] = [await made({ name: 'one' }), await made({ name: 'other' })];
    server.handlers.Company = {
      saving: (entity) => {
        entity['ID'] = Number(other['__KEY']);
      },
    };
    const { status, json } = await save({ ...identity(one), name: 'changed' });
    expect([status, JSON.stringify(json['__ERROR'])]).toEqual([
      422,
      expect.stringContaining('ID is the key of the entity'),
    ]);
    server.handlers.Company = {};
    const text = (await post('Log?$method=update', [{ text: 'one' }, { text: 'other' }])).json;
    const [first, second] = text['__ENTITIES'] as readonly Json[];
    const log = await server.ds.Log.get(Number(first?.['__KEY']));
    Object.assign(log as Row, { ID: Number(second?.['__KEY']), text: 'changed' });
    await expect(log?.save()).rejects.toMatchObject({ httpStatus: 422 });
    expect((await stored('Company')).map(({ name }) => name)).toEqual(['one', 'other']);
    expect((await stored('Log')).map((each) => each['text'])).toEqual(['one', 'other']);
  });

  it('the rules are checked on the final values', async () => {
    server.handlers.Company = { saving: (entity) => void (entity['size'] = -1) };
    const { status, json } = await save({ name: 'a', size: 5 });
    expect(status).toBe(422);
    expect(json).toMatchObject({ __STATUS: { status: 8 } });
    expect(JSON.stringify(json['__ERROR'])).toContain('size');
    server.handlers.Company = { validateSave: (entity) => void (entity['size'] = 1) };
    expect(await save({ name: 'a', size: -5 })).toMatchObject({ status: 200 });
  });

  it('an invalid value refuses the entity before any event', async () => {
    let runs = 0;
    server.handlers.Company = { validateSave: () => void (runs += 1) };
    const { status, json } = await save({ name: 'a', size: 'x', nothing: 1 });
    expect(status).toBe(400);
    expect(json['__ERROR']).toMatchObject([{ errCode: 1569 }, { errCode: 1500 }, {}, {}]);
    expect(runs).toBe(0);
  });

  it('a changed read-only value refuses the entity before any event', async () => {
    const company = await made({ name: 'a' });
    let runs = 0;
    server.handlers.Company = { validateSave: () => void (runs += 1) };
    expect(await save({ ...identity(company), fixed: 'g' })).toMatchObject({ status: 422 });
    expect(runs).toBe(0);
    expect(await save({ ...identity(company), fixed: 'f', size: 2 })).toMatchObject({
      status: 200,
    });
    expect(runs).toBe(1);
  });

  it('uploads are available when events run', async () => {
    const upload = await server.app.inject({
      method: 'POST',
      url: '/rest/$upload?$binary=true',
      payload: Buffer.from('abc'),
      headers: { 'content-type': 'application/octet-stream' },
    });
    const cookie = String(upload.headers['set-cookie']).split(';')[0] as string;
    const sizes: unknown[] = [];
    server.handlers.Company = {
      validateSave: async (entity) => {
        const raw = entity['raw'] as { size: number; read(): Promise<Uint8Array> };
        sizes.push(raw.size, Buffer.from(await raw.read()).toString());
      },
    };
    const { ID } = upload.json<{ ID: string }>();
    const response = await server.app.inject({
      method: 'POST',
      url: '/rest/Company?$method=update',
      headers: { cookie },
      payload: JSON.stringify({ name: 'a', raw: { ID } }),
    });
    expect(response.statusCode).toBe(200);
    expect(sizes).toEqual([3, 'abc']);
  });
});

const refusals = [
  ['validateSave', { seriousError: true }, 8, 'Serious Validation Error'],
  ['validateSave', {}, 7, 'Mild Validation Error'],
  ['saving', { seriousError: false }, 4, 'Other error'],
] as const;

describe.each(refusals)('%s refuses with %j', (kind, extra, status, statusText) => {
  const error = { errCode: 77, message: 'not so', ...extra };
  const refuse = async (entity: Row): Promise<object | undefined> => {
    await log(entity, `tried ${String(entity['name'])}`);
    return entity['name'] === 'bad' ? error : undefined;
  };
  const told = { message: 'not so', componentSignature: 'DBEV', errCode: 77 };
  const decoration = {
    __STATUS: { status, statusText, success: false },
    __ERROR: [told],
  };

  it('for a new entity', async () => {
    server.handlers.Company = { [kind]: refuse };
    const before = await globalStamp();
    expect(await save({ name: 'bad' })).toEqual({ status: 422, json: decoration });
    expect(await stored('Company')).toEqual([]);
    expect(await stored('Log')).toEqual([]);
    expect(await globalStamp()).toBe(before);
  });

  it('for a changed entity, which is answered as it is stored', async () => {
    const company = await made({ name: 'good' });
    server.handlers.Company = { [kind]: refuse };
    const { status: http, json } = await save({ ...identity(company), name: 'bad' });
    expect(http).toBe(422);
    expect(json).toMatchObject({ ...decoration, name: 'good', __STAMP: 1 });
    expect(await stored('Log')).toEqual([]);
  });

  it('before the stamp is checked', async () => {
    const company = await made({ name: 'good' });
    server.handlers.Company = { [kind]: refuse };
    const { status: http, json } = await save({ __KEY: company['__KEY'], __STAMP: 9, name: 'bad' });
    const isStamp = kind === 'saving';
    expect(http).toBe(isStamp ? 409 : 422);
    expect(json).toMatchObject({ __STATUS: { status: isStamp ? 2 : status } });
    expect(await stored('Log')).toEqual([]);
  });

  it('for one of a list; others are saved, with the changes of their events', async () => {
    server.handlers.Company = { [kind]: refuse };
    const { status: http, json } = await save([{ name: 'a' }, { name: 'bad' }, { name: 'c' }]);
    expect(http).toBe(200);
    expect(json['__ENTITIES']).toMatchObject([{ name: 'a' }, decoration, { name: 'c' }]);
    expect((await stored('Company')).map(({ name }) => name)).toEqual(['a', 'c']);
    expect((await stored('Log')).map(({ text }) => text)).toEqual(['tried a', 'tried c']);
  });

  it('for a whole atomic list', async () => {
    server.handlers.Company = { [kind]: refuse };
    const before = await globalStamp();
    const bodies = [{ name: 'a' }, { name: 'bad' }, { name: 'c' }];
    const { status: http, json } = await save(bodies, '&$atomic=true');
    expect(http).toBe(422);
    expect(json['__ENTITIES']).toEqual([{ name: 'a' }, decoration, { name: 'c' }]);
    expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
    expect(await globalStamp()).toBe(before);
  });

  it('for a validation, if the event belongs to it', async () => {
    server.handlers.Company = { [kind]: refuse };
    const bodies = [{ name: 'a' }, { name: 'bad' }];
    const { status: http, json } = await post('Company?$method=validate', bodies);
    expect(http).toBe(200);
    expect(json).toEqual(
      kind === 'saving' ? { ok: true } : { __ENTITIES: [{ name: 'bad', __ERROR: [told] }] },
    );
    expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
  });

  it('for an entity that class code saves', async () => {
    server.handlers.Company = { [kind]: refuse };
    const entity = server.ds.Company.new({ name: 'bad' });
    await expect(entity.save()).rejects.toMatchObject({ status, httpStatus: 422, errors: [told] });
    expect([entity.isNew, entity.stamp]).toEqual([true, 0]);
    expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
    entity['name'] = 'good';
    await entity.save();
    expect(await stored('Company')).toMatchObject([{ name: 'good', __STAMP: 1 }]);
  });
});

describe.each(['validateSave', 'saving', 'afterSave'] as const)('%s throws', (kind) => {
  const thrown = new Error('a secret');
  const failing = async (entity: Row): Promise<void> => {
    await log(entity, 'tried');
    if (entity['name'] === 'bad') throw thrown;
    if (entity['name'] === 'rest') throw new RestError(418, 99, 'a teapot');
  };

  it('any error: 500 without its message, which is logged', async () => {
    server.handlers.Company = { [kind]: failing };
    const { status, json } = await save({ name: 'bad' });
    expect(status).toBe(500);
    expect(JSON.stringify(json)).not.toContain('secret');
    expect(server.logged).toEqual([expect.stringContaining('a secret')]);
    expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
  });

  it('a RestError: its own status and message', async () => {
    server.handlers.Company = { [kind]: failing };
    const { status, json } = await save({ name: 'rest' });
    expect(status).toBe(418);
    expect(json).toMatchObject({ __ERROR: [{ errCode: 99, message: 'a teapot' }] });
    expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
  });

  it('in a list: its entity gets the error, others are saved', async () => {
    server.handlers.Company = { [kind]: failing };
    const bodies = [{ name: 'a' }, { name: 'bad' }, { name: 'rest' }];
    const { status, json } = await save(bodies);
    expect(status).toBe(200);
    expect(json['__ENTITIES']).toMatchObject([
      { name: 'a' },
      { __STATUS: { status: 4, success: false }, __ERROR: [{ errCode: 1837 }] },
      { __STATUS: { status: 4, success: false }, __ERROR: [{ errCode: 99, message: 'a teapot' }] },
    ]);
    expect(JSON.stringify(json)).not.toContain('secret');
    expect(server.logged).toEqual([expect.stringContaining('a secret')]);
    expect((await stored('Company')).length).toBe(1);
    expect((await stored('Log')).length).toBe(1);
  });

  it('in an atomic list: nothing is saved', async () => {
    server.handlers.Company = { [kind]: failing };
    const { status, json } = await save([{ name: 'a' }, { name: 'bad' }], '&$atomic=true');
    expect(status).toBe(422);
    expect(json['__ENTITIES']).toMatchObject([{ name: 'a' }, { __ERROR: [{ errCode: 1837 }] }]);
    expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
  });

  it('with class code as the caller: the caller gets the same error; the object is unchanged', async () => {
    server.handlers.Company = { [kind]: failing };
    const entity = server.ds.Company.new({ name: 'bad' });
    await expect(entity.save()).rejects.toBe(thrown);
    expect([entity.isNew, entity.stamp, entity.touched('name')]).toEqual([true, 0, true]);
    expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
  });

  it('a value that is not an error', async () => {
    server.handlers.Company = {
      [kind]: () => {
        throw 'a secret text';
      },
    };
    const { status, json } = await save({ name: 'a' });
    expect(status).toBe(500);
    expect(JSON.stringify(json)).not.toContain('secret');
  });
});

it.each([true, 'no', 7, {}, { message: 'x' }, { errCode: 1.5, message: 'x' }, { errCode: 1 }])(
  'An event that returns something undefined is a mistake of the code: %j',
  async (answer) => {
    server.handlers.Company = { validateSave: () => answer };
    expect(await save({ name: 'a' })).toMatchObject({ status: 500 });
    expect(await stored('Company')).toEqual([]);
    server.handlers.Company = { afterSave: () => answer };
    expect(await save({ name: 'a' })).toMatchObject({ status: 200 });
  },
);

it('The extraDescription of an error is sent to the client if it is JSON', async () => {
  const extraDescription = { field: 'name', list: [1] };
  const error = { errCode: 1, message: 'm', extraDescription };
  server.handlers.Company = { validateSave: () => error };
  const { json } = await save({ name: 'a' });
  expect(json['__ERROR']).toEqual([
    { message: 'm', componentSignature: 'DBEV', errCode: 1, extraDescription },
  ]);
  const circle: Record<string, unknown> = {};
  circle['circle'] = circle;
  server.handlers.Company = { validateSave: () => ({ ...error, extraDescription: circle }) };
  expect(await save([{ name: 'a' }])).toMatchObject({
    status: 200,
    json: { __ENTITIES: [{ __ERROR: [{ errCode: 1837 }] }] },
  });
});

describe('A save that the database refuses after saving', () => {
  it('is reported to afterSave, and stores nothing', async () => {
    await made({ name: 'a', code: 'taken' });
    const seen: unknown[] = [];
    server.handlers.Company = {
      saving: (entity) => log(entity, 'saving'),
      afterSave: async (entity, { saveStatus, savedAttributes }) => {
        seen.push([entity.isNew, saveStatus, savedAttributes]);
        await log(entity, 'after');
      },
    };
    expect(await save({ name: 'b', code: 'TAKEN' })).toMatchObject({ status: 409 });
    expect(seen).toEqual([[true, 'failed', []]]);
    expect(await stored('Log')).toEqual([]);
  });
});

describe('$refresh', () => {
  it('runs no events, because it saves nothing', async () => {
    let runs = 0;
    server.handlers.Company = {
      validateSave: () => void (runs += 1),
      saving: () => void (runs += 1),
    };
    expect(await save({ name: 'a' }, '&$refresh=true')).toMatchObject({ status: 200 });
    expect(runs).toBe(0);
  });
});

describe('Entities that events save', () => {
  it('run their own events, within the transaction', async () => {
    server.handlers.Company = {
      afterSave: async (entity) => {
        const person = entity.ds.Person.new({ ID: 'p', name: 'first', employer: entity });
        await person.save();
      },
    };
    server.handlers.Person = { saving: (entity) => void (entity['name'] = 'by its own event') };
    const before = await globalStamp();
    await made({ name: 'a' });
    expect(await stored('Person')).toMatchObject([
      { ID: 'p', name: 'by its own event', __STAMP: 1 },
    ]);
    expect(await globalStamp()).toBe(before + 2);
  });

  it('are undone with the entity; a refusal that no code catches refuses the entity too', async () => {
    server.handlers.Company = {
      saving: async (entity) => {
        await log(entity, 'before');
        await entity.ds.Person.new({ ID: 'p' }).save();
      },
    };
    server.handlers.Person = { validateSave: () => ({ errCode: 5, message: 'no person' }) };
    const { status, json } = await save({ name: 'a' });
    expect(status).toBe(422);
    expect(json['__ERROR']).toMatchObject([{ errCode: 5, message: 'no person' }]);
    expect(await stored('Log')).toEqual([]);
  });

  it('may be refused without the entity, if the event continues', async () => {
    server.handlers.Company = {
      saving: async (entity) => {
        await log(entity, 'before');
        await entity.ds.Person.new({ ID: 'p' })
          .save()
          .catch(() => undefined);
      },
    };
    server.handlers.Person = {
      validateSave: async (entity) => {
        await log(entity, 'of the person');
        return { errCode: 5, message: 'no person' };
      },
    };
    await made({ name: 'a' });
    expect((await stored('Log')).map(({ text }) => text)).toEqual(['before']);
  });

  it('cannot save each other for ever', async () => {
    let runs = 0;
    server.handlers.Company = {
      afterSave: async (entity) => {
        runs += 1;
        await entity.ds.Company.new({ name: 'again' }).save();
      },
    };
    expect(await save({ name: 'a' })).toMatchObject({ status: 500 });
    expect(runs).toBe(100);
    expect(server.logged).toEqual([expect.stringContaining('more than 100 saves')]);
    expect(await stored('Company')).toEqual([]);
  });

  it('cannot save each other for ever, even if each event tries repeatedly', async () => {
    let runs = 0;
    server.handlers.Company = {
      saving: async (entity) => {
        runs += 1;
        for (let tries = 0; tries < 3; tries += 1) {
          await entity.ds.Company.new({ name: 'again' })
            .save()
            .catch(() => undefined);
        }
      },
    };
    expect(await save([{ name: 'a' }])).toMatchObject({
      json: { __ENTITIES: [{ __ERROR: [{ errCode: 1837 }] }] },
    });
    expect(runs).toBe(100);
    expect(await stored('Company')).toEqual([]);
  });

  it('are saved one after the other, even if they start at the same time', async () => {
    server.handlers.Company = {
      afterSave: async (entity) => {
        const people = ['x', 'y', 'z'].map((ID) => entity.ds.Person.new({ ID, employer: entity }));
        await Promise.all(people.map((each) => each.save()));
      },
    };
    server.handlers.Person = {
      saving: async (entity) => {
        await log(entity, `from ${String(entity['ID'])}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      },
    };
    await made({ name: 'a' });
    expect((await stored('Person')).map(({ ID }) => ID)).toEqual(['x', 'y', 'z']);
    expect((await stored('Log')).length).toBe(3);
  });

  it('may delete the outer entity once it is stored, which its stamp shows', async () => {
    server.handlers.Company = {
      afterSave: async (entity) => {
        await log(entity, String(entity['name']));
        if (entity['name'] === 'gone') await entity.drop();
      },
    };
    const gone = { __entityModel: 'Company', __STATUS: { success: true }, __STAMP: 0 };
    const { status, json } = await save({ name: 'gone' });
    expect(status).toBe(200);
    expect(json).toEqual({ ...gone, __KEY: expect.any(String) as string });
    const list = await save([{ name: 'stays' }, { name: 'gone' }]);
    expect(list.status).toBe(200);
    expect(list.json).toMatchObject({ __ENTITIES: [{ name: 'stays', __STAMP: 1 }, gone] });
    expect((await stored('Company')).map(({ name }) => name)).toEqual(['stays']);
    expect((await stored('Log')).map(({ text }) => text)).toEqual(['gone', 'stays', 'gone']);
  });

  it('are refused by their stamp if another object of the same entity was saved before', async () => {
    const company = await made({ name: 'a' });
    let depth = 0;
    server.handlers.Company = {
      validateSave: async (entity) => {
        depth += 1;
        if (depth > 1) return;
        const other = await entity.ds.Company.get(Number(company['__KEY']));
        if (other === null) throw new Error('missing');
        other['size'] = 50;
        await other.save();
      },
    };
    const { status, json } = await save({ ...identity(company), name: 'b' });
    expect(status).toBe(409);
    expect(json).toMatchObject({ __STATUS: { status: 2 }, size: 1, name: 'a', __STAMP: 1 });
  });
});

describe('Entities in the list of a to-many relation', () => {
  const staff = [
    { ID: 'a', name: 'a' },
    { ID: 'b', name: 'b' },
  ];

  it('run their events one after the other, after those of the entity that contains them', async () => {
    const seen: unknown[] = [];
    server.handlers.Company = { afterSave: ({ name }) => void seen.push(name) };
    server.handlers.Person = {
      saving: async (person) => {
        const employer = await (person['employer'] as { get(): Promise<Row> }).get();
        seen.push([person['name'], employer['name']]);
      },
    };
    await made({ name: 'c', staff });
    expect(seen).toEqual(['c', ['a', 'c'], ['b', 'c']]);
  });

  it('are undone with the entity, and with what events have stored, if one is refused', async () => {
    server.handlers.Company = { afterSave: (company) => log(company, 'company') };
    server.handlers.Person = {
      saving: async (person) => {
        await log(person, String(person['name']));
        return person['name'] === 'b'
          ? { errCode: 4, message: 'no', attribute: 'name' }
          : undefined;
      },
    };
    const before = await globalStamp();
    const { status, json } = await save({ name: 'c', staff });
    expect(status).toBe(422);
    expect(json).toMatchObject({
      __STATUS: { status: 4 },
      __ERROR: [{ errCode: 4, attribute: 'staff[1].name', message: 'staff[1]: no' }, {}, {}],
    });
    expect(await globalStamp()).toBe(before);
    const list = await save([
      { name: 'c', staff },
      { name: 'd', staff: [{ ID: 'd', name: 'd' }] },
    ]);
    expect(list.json).toMatchObject({
      __ENTITIES: [{ __STATUS: { status: 4 } }, { __STATUS: { success: true } }],
    });
    expect(await stored('Company')).toMatchObject([{ name: 'd' }]);
    expect(await stored('Person')).toMatchObject([{ ID: 'd' }]);
    expect(await stored('Log')).toMatchObject([{ text: 'company' }, { text: 'd' }]);
  });

  it('end the request if an event throws, with the place of the entity', async () => {
    server.handlers.Person = {
      saving: () => {
        throw new RestError(418, 15, 'a teapot', { attribute: 'name' });
      },
    };
    const { status, json } = await save({ name: 'c', staff });
    expect(status).toBe(418);
    expect(json).toMatchObject({
      __ERROR: [{ message: 'staff[0]: a teapot', attribute: 'staff[0].name' }],
    });
    expect(await stored('Company')).toEqual([]);
  });
});

it('Reads of other requests do not see what an event has stored so far', async () => {
  let open: (() => void) | undefined;
  const reached = new Promise<void>((resolve) => {
    server.handlers.Company = {
      afterSave: async (entity) => {
        await log(entity, 'inside');
        resolve();
        await new Promise<void>((go) => {
          open = go;
        });
      },
    };
  });
  const saving = save({ name: 'a' });
  await reached;
  expect([await stored('Company'), await stored('Log')]).toEqual([[], []]);
  open?.();
  expect(await saving).toMatchObject({ status: 200 });
  expect((await stored('Log')).length).toBe(1);
});

describe('the statements of a save with events', () => {
  /** The statements of some work, each by its first word. */
  async function statements(work: () => Promise<unknown>): Promise<readonly string[]> {
    server.sql.length = 0;
    await work();
    return server.sql.map((text) => (/^[a-z]+/i.exec(text)?.[0] ?? '').toLowerCase());
  }

  const events = {
    validateSave: () => undefined,
    saving: () => undefined,
    afterSave: () => undefined,
  };
  /** A save of class code reads the lock before the event `saving`, if other servers may give some. */
  const lock = isOnPostgres ? ['select'] : [];

  it('of one entity: are those of the save, and a read before and behind it', async () => {
    const { __KEY } = await made({ name: 'first' });
    server.handlers.Company = events;
    await save({ __KEY, __STAMP: 1, name: 'warm' });
    expect(await statements(() => save({ __KEY, __STAMP: 2, name: 'second' }))).toEqual([
      'select',
      'update',
      'select',
      'select',
    ]);
    expect(await statements(() => save({ name: 'third' }))).toEqual(['insert', 'select', 'select']);
  });

  it('of a list: have a savepoint for each entity', async () => {
    const { __KEY } = await made({ name: 'first' });
    server.handlers.Company = events;
    const list = [{ __KEY, __STAMP: 1, name: 'second' }, { name: 'third' }];
    expect(await statements(() => save(list))).toEqual([
      ...['savepoint', 'select', 'update', 'select', 'release', 'select'],
      ...['savepoint', 'insert', 'select', 'release', 'select'],
    ]);
  });

  it('of class code: have a savepoint where the transaction is older', async () => {
    server.handlers.Company = events;
    const company = server.ds.Company.new({ name: 'first' });
    expect(await statements(() => company.save())).toEqual(['insert', 'select']);
    company['name'] = 'second';
    expect(await statements(() => company.save())).toEqual([
      ...['select', ...lock, 'update', 'select'],
    ]);
    company['name'] = 'third';
    expect(await statements(() => server.ds.transaction(() => company.save()))).toEqual([
      ...['savepoint', 'select', ...lock, 'update', 'select', 'release'],
    ]);
  });

  it('of one entity without events: are the change and the answer', async () => {
    const { __KEY } = (await post('Log?$method=update', { text: 'first' })).json;
    const body = { __KEY, __STAMP: 1, text: 'second' };
    expect(await statements(() => post('Log?$method=update', body))).toEqual(['update', 'select']);
  });
});
