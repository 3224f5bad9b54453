import { inspect } from 'node:util';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stateOf } from '../../../runtime/class/objects/entity-state.js';
import { SaveError, AttributeError } from '../../../runtime/class/objects/failure.js';
import { CompanyEntity, type DataStore } from '../../support/staff-classes.js';
import { type StaffServer, staffServer } from '../../support/staff-server.js';

let server: StaffServer;
let ds: DataStore;
let whenRun: (sql: string) => void = () => undefined;

beforeEach(async () => {
  whenRun = () => undefined;
  server = await staffServer('memory', {
    onStatement: (sql) => {
      whenRun(sql);
    },
  });
  ({ ds } = server);
});

afterEach(async () => {
  await server.close();
});

describe('An entity', () => {
  it('is created with the values that the database sets', async () => {
    const company = ds.Company.new({ name: 'Ärger', city: 'Berlin' });
    expect(company).toBeInstanceOf(CompanyEntity);
    expect(company.greeting).toBe('hello');
    expect([company.isNew, company.key, company.stamp, company.active]).toEqual([
      true,
      null,
      0,
      true,
    ]);
    await company.save();
    expect([company.isNew, company.key, company.stamp, company.ID]).toEqual([false, 1, 1, 1]);
    expect(company.label).toBe('Ärger, Berlin');
    expect(company.touched()).toBe(false);
    const answer = await server.app.inject('/rest/Company(1)');
    expect(answer.json()).toMatchObject({ __KEY: '1', __STAMP: 1, name: 'Ärger', active: true });
  });

  it('is loaded and changed', async () => {
    await ds.Company.new({ name: 'A', city: 'Rome' }).save();
    const company = await ds.Company.get(1);
    if (company === null) throw new Error('not found');
    company.city = 'Paris';
    expect(company.touched()).toBe(true);
    expect([company.touched('city'), company.touched('name')]).toEqual([true, false]);
    await company.save();
    expect([company.stamp, company.label]).toEqual([2, 'A, Paris']);
    await company.save();
    expect(company.stamp).toBe(2);
    expect(await ds.Company.get(2)).toBeNull();
  });

  it('has values in the types of class code', async () => {
    const hiredAt = new Date('2026-03-09T14:25:36.789Z');
    const extra = { tags: ['a', { deep: 1 }] };
    const company = ds.Company.new({
      name: 'Types',
      founded: '1990-05-04',
      revenue: 1.5,
      active: false,
      extra,
      embedding: [1, 0, 0.5],
      internalRating: 7,
    });
    await company.save();
    const person = ds.Employee.new({ lastName: 'Ångström', hiredAt, employer: company });
    await person.save();
    const read = await ds.Company.get(company.key ?? 0);
    expect(read?.toObject()).toStrictEqual({
      ID: 1,
      name: 'Types',
      city: null,
      founded: '1990-05-04',
      revenue: 1.5,
      active: false,
      extra,
      embedding: [1, 0, 0.5],
      internalRating: 7,
      manager_id: null,
      manager: null,
      label: null,
    });
    const found = await ds.Employee.get(person.key ?? '');
    expect(found?.hiredAt).toEqual(hiredAt);
    expect(found?.employerName).toBe('Types');
    expect(found?.employer.key).toBe(1);
    expect(found?.toObject().employer).toBe(1);
  });

  it('is printed in a log with its values', () => {
    const company = ds.Company.new({ name: 'A', extra: { x: 1 } });
    expect(inspect(company, { breakLength: Infinity })).toBe(
      "CompanyEntity { ID: null, name: 'A', city: null, founded: null, revenue: null, active: true, extra: { x: 1 }, embedding: null, internalRating: null, label: null, manager_id: null }",
    );
  });

  it('is loaded with others by their keys, in the order of the keys', async () => {
    for (const name of ['A', 'B', 'C']) await ds.Company.new({ name }).save();
    const { code } = stateOf(ds.Company.new());
    const some = await code.loadAll([3, 99, 1, 3]);
    expect(some.map((each) => each?.key)).toEqual([3, undefined, 1, 3]);
    expect(await code.loadAll([])).toEqual([]);
    const many = await code.loadAll(Array.from({ length: 25_000 }, (_, at) => at));
    expect([many.length, many.filter((each) => each !== undefined).length]).toEqual([25_000, 3]);
    expect((many[2] as CompanyEntity | undefined)?.name).toBe('B');
  });

  it('belongs to one server when several run the same classes', async () => {
    const other = await staffServer('memory');
    try {
      const company = other.ds.Company.new({ name: 'there' });
      await company.save();
      expect(company.ds).toBe(other.ds);
      const person = ds.Employee.new({ lastName: 'here' });
      expect(() => {
        person.employer.set(company);
      }).toThrow('another datastore');
      expect(await ds.Company.get(1)).toBeNull();
    } finally {
      await other.close();
    }
  });

  it('accepts a key in any form of the protocol', async () => {
    const person = ds.Employee.new({ lastName: 'X' });
    await person.save();
    const { key } = person;
    expect((await ds.Employee.get(String(key).toLowerCase()))?.key).toBe(key);
    expect(await ds.Employee.get('no uuid')).toBeNull();
    expect(await ds.Company.get(1.5)).toBeNull();
  });
});

describe('touched()', () => {
  it('is false for an attribute that is set to its current value', async () => {
    const extra = { b: 1, a: [2] };
    await ds.Company.new({ name: 'A', extra, embedding: [1, 2, 3], active: true }).save();
    const company = await ds.Company.get(1);
    if (company === null) throw new Error('not found');
    company.name = 'A';
    company.extra = { b: 1, a: [2] };
    company.embedding = [1, 2, 3];
    company.active = true;
    company.manager.set(null);
    company.logo.set(null);
    expect(company.touched()).toBe(false);
    company.name = 'B';
    company.name = 'A';
    expect(company.touched()).toBe(false);
    company.extra = { b: 1, a: [3] };
    expect(company.touched('extra')).toBe(true);
    // @ts-expect-error There is no value of the entity itself.
    expect(() => company.touched('staff')).toThrow(AttributeError);
    expect(company.touched('manager')).toBe(false);
  });

  it('is true for another JSON value, not for another notation of the same one', async () => {
    await ds.Company.new({ name: 'A' }).save();
    await ds.kysely
      .updateTable('Company')
      .set({ extra: ' { "x" : 1 } ' } as never)
      .execute();
    const company = await ds.Company.get(1);
    if (company === null) throw new Error('not found');
    company.extra = { x: 1 };
    expect(company.touched()).toBe(false);
  });
});

describe('An object', () => {
  it('is returned frozen, and is a copy of the value that was set', async () => {
    const extra = { list: [1] };
    const company = ds.Company.new({ name: 'A', extra });
    extra.list.push(2);
    expect(company.extra).toEqual({ list: [1] });
    expect(() => {
      (company.extra as { list: number[] }).list.push(3);
    }).toThrow(TypeError);
    expect(company.extra).toBe(company.extra);
    await company.save();
    expect(company.extra).toEqual({ list: [1] });
  });
});

describe('A value that an attribute cannot have', () => {
  it.each([
    ['name', 1, 'must be a text'],
    ['name', undefined, 'must be a text'],
    ['revenue', 'much', 'must be a number'],
    ['revenue', Infinity, 'must be a number'],
    ['active', 1, 'must be true or false'],
    ['founded', new Date(), 'must be a date such as'],
    ['extra', 'text', 'must be a JSON object or array'],
    ['embedding', [1, 2], 'must be an array of 3 numbers'],
  ])('%s is not %s', (name, value, text) => {
    const company = ds.Company.new();
    const set = (): void => {
      (company as unknown as Record<string, unknown>)[name] = value;
    };
    expect(set).toThrow(AttributeError);
    expect(set).toThrow(text);
    expect(company.touched()).toBe(false);
  });

  it('is refused for a computed attribute', () => {
    const company = ds.Company.new();
    expect(() => company.fromObject({ label: 'x' } as never)).toThrow('computed by the database');
    expect(() => company.fromObject({ nothing: 1 } as never)).toThrow('does not exist');
    expect(() => company.fromObject({ staff: [] } as never)).toThrow('relation to many');
    expect(() => {
      (company as { label: string }).label = 'x';
    }).toThrow(TypeError);
  });

  it('includes an invalid date', () => {
    expect(() => ds.Employee.new({ hiredAt: new Date(NaN) })).toThrow('must be a date such as');
  });
});

describe('A to-one relation', () => {
  it('is set to an entity, a key or null', async () => {
    const [a, b] = [ds.Company.new({ name: 'A' }), ds.Company.new({ name: 'B' })];
    await a.save();
    await b.save();
    const person = ds.Employee.new({ lastName: 'X' });
    person.employer.set(a);
    expect(await person.employer.get()).toBe(a);
    await a.hire(person);
    expect([person.employer.key, person.employerName]).toEqual([1, 'A']);
    person.employer.set(2);
    expect((await person.employer.get())?.name).toBe('B');
    expect(await person.employer.get()).toBe(await person.employer.get());
    person.employer.set(null);
    expect([person.employer.key, await person.employer.get()]).toEqual([null, null]);
    expect(person.touched('employer')).toBe(true);
    await person.save();
    expect(person.employerID).toBeNull();
  });

  it('cannot lead to an unsaved entity, or to one of another dataclass', async () => {
    const person = ds.Employee.new({ lastName: 'X' });
    expect(() => {
      person.employer.set(ds.Company.new({ ID: 3 }));
    }).toThrow(
      'Employee.employer cannot lead to an entity of Company that is not saved: save it first.',
    );
    await person.save();
    expect(() => {
      person.employer.set(person as never);
    }).toThrow('leads to entities of Company');
    expect(() => {
      person.employer.set('x' as never);
    }).toThrow('its key or null');
    expect(() => {
      person.employer.set({} as never);
    }).toThrow(AttributeError);
    person.employer.set(99);
    await expect(person.save()).rejects.toThrow('names an entity that cannot be found');
  });
});

describe('save()', () => {
  it('refuses an entity that breaks rules, with all errors', async () => {
    const company = ds.Company.new({ revenue: -1, name: null });
    const error = await company.save().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(SaveError);
    const { status, httpStatus, errors } = error as SaveError;
    expect([status, httpStatus]).toEqual([8, 422]);
    expect(errors.map(({ errCode }) => errCode)).toEqual([1569, 1569, 1570, 1534]);
    expect([company.isNew, company.revenue]).toEqual([true, -1]);
    company.fromObject({ revenue: 1, name: 'ok' });
    await company.save();
    expect(company.isNew).toBe(false);
  });

  it('refuses an entity that was changed or deleted in the meantime', async () => {
    await ds.Company.new({ name: 'A' }).save();
    const [one, two] = [await ds.Company.get(1), await ds.Company.get(1)];
    if (one === null || two === null) throw new Error('not found');
    one.city = 'Rome';
    await one.save();
    two.city = 'Paris';
    await expect(two.save()).rejects.toMatchObject({ status: 2, httpStatus: 409 });
    await expect(two.drop()).rejects.toMatchObject({ status: 2, httpStatus: 409 });
    expect(two.city).toBe('Paris');
    await two.reload();
    expect([two.city, two.stamp, two.touched()]).toEqual(['Rome', 2, false]);
    await two.drop();
    await expect(one.reload()).rejects.toMatchObject({ status: 5 });
    one.city = 'x';
    await expect(one.save()).rejects.toMatchObject({ status: 5 });
    await expect(one.drop()).rejects.toMatchObject({ status: 5 });
    expect(await ds.Company.get(1)).toBeNull();
    const unsaved = ds.Company.new({ ID: 9, name: 'new' });
    await expect(unsaved.drop()).rejects.toBeInstanceOf(SaveError);
    await expect(unsaved.drop()).rejects.toThrow('Company that is not saved cannot be dropped.');
    await expect(unsaved.reload()).rejects.toThrow('Company that is not saved cannot be reloaded.');
  });

  it('stores what was set before it runs, and keeps what is set while it runs', async () => {
    const company = ds.Company.new({ name: 'A', city: 'Rome' });
    whenRun = (sql) => {
      if (sql.startsWith('insert into "Company"')) company.city = 'Oslo';
    };
    const saving = company.save();
    company.revenue = 1;
    await saving;
    const stored = await server.app.inject('/rest/Company(1)');
    expect(stored.json()).toMatchObject({ city: 'Rome', revenue: 1 });
    expect([company.city, company.touched('city'), company.touched('name')]).toEqual([
      'Oslo',
      true,
      false,
    ]);
    await company.save();
    expect((await ds.Company.get(1))?.city).toBe('Oslo');
  });

  it('can be called twice at the same time', async () => {
    const company = ds.Company.new({ name: 'A' });
    await Promise.all([company.save(), company.save()]);
    expect([company.key, company.stamp, await ds.Company.all().count()]).toEqual([1, 1, 1]);
  });

  it('stores what was set last, if it is called twice at the same time', async () => {
    const company = ds.Company.new({ name: 'A' });
    await company.save();
    company.city = 'X';
    const first = company.save();
    company.city = 'Y';
    await Promise.all([first, company.save()]);
    expect((await ds.Company.get(1))?.city).toBe('Y');
    company.city = 'Z';
    await Promise.all([company.save(), company.drop()]);
    expect(await ds.Company.all().count()).toBe(0);
  });

  it('waits for a transaction that saves the same object, and for nothing that waits for it', async () => {
    const company = ds.Company.new({ name: 'A' });
    let outside: Promise<void> | undefined;
    const saved = new Promise<void>((resolve, reject) => {
      const transaction = ds.transaction(async () => {
        await company.save();
        resolve();
        await setTimeout(5);
        company.city = 'X';
        await company.save();
        throw new Error('undone');
      });
      transaction.catch(reject);
      outside = transaction.catch(() => undefined).then(() => undefined);
    });
    await saved;
    await Promise.all([company.save(), outside]);
    expect(await ds.Company.all().count()).toBe(1);
    expect((await ds.Company.all().first())?.city).toBe('X');
  });

  it('raises the global stamp, once for each change', async () => {
    const stamp = async (): Promise<number> =>
      (await server.app.inject('/rest/Company')).json<{ __GlobalStamp: number }>().__GlobalStamp;
    const before = await stamp();
    const company = ds.Company.new({ name: 'A' });
    await company.save();
    await company.save();
    company.city = 'X';
    await company.save();
    await company.drop();
    expect(await stamp()).toBe(before + 3);
  });

  it('is followed by a drop() that reports a forbidden deletion', async () => {
    const company = ds.Company.new({ name: 'A' });
    await company.save();
    await ds.Employee.new({ lastName: 'X', employer: company }).save();
    await expect(company.drop()).rejects.toMatchObject({ status: 4, httpStatus: 409 });
    expect(await ds.Company.get(1)).not.toBeNull();
  });
});

describe('An image or BLOB', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

  it('has the bytes of the moment when it was set', async () => {
    const [first, second] = [Buffer.from('first'), Buffer.from('second')];
    const person = ds.Employee.new({ lastName: 'X', cv: first });
    first.fill(0);
    expect(Buffer.from((await person.cv.read()) ?? []).toString()).toBe('first');
    person.cv.set(second);
    second.fill(0);
    (await person.cv.read())?.fill(0);
    await person.save();
    expect(Buffer.from((await person.cv.read()) ?? []).toString()).toBe('second');
  });

  it('is read on demand', async () => {
    const person = ds.Employee.new({ lastName: 'X', cv: Buffer.from('cv') });
    expect([person.photo.size, await person.photo.read(), await person.photo.contentType]).toEqual([
      null,
      null,
      null,
    ]);
    person.photo.set(png, 'image/png');
    expect([person.photo.size, person.touched('photo')]).toEqual([16, true]);
    await person.save();
    expect(person.touched()).toBe(false);
    const found = await ds.Employee.get(person.key ?? '');
    expect([found?.photo.size, found?.cv.size]).toEqual([16, 2]);
    expect(await found?.photo.contentType).toBe('image/png');
    expect(await found?.cv.contentType).toBe('application/octet-stream');
    expect(Buffer.from((await found?.photo.read()) ?? []).equals(png)).toBe(true);
    found?.photo.set(null);
    await found?.save();
    expect(found?.photo.size).toBeNull();
    expect([person.photo.size, await person.photo.read()]).toEqual([16, null]);
    await found?.drop();
    await expect(person.photo.read()).rejects.toThrow('the entity was deleted');
  });

  it('must have bytes of the right format', () => {
    const { photo } = ds.Employee.new();
    expect(() => {
      photo.set(Buffer.from('text'));
    }).toThrow('must be an image');
    expect(() => {
      photo.set(png, 'image/jpeg');
    }).toThrow('is said to be image/jpeg');
    expect(() => {
      photo.set('text' as never);
    }).toThrow('must be bytes');
    expect(photo.size).toBeNull();
  });
});

describe('To-many relations, locks and the session', () => {
  it('are available', async () => {
    const company = ds.Company.new({ name: 'A' });
    expect(await company.staff.count()).toBe(0);
    await company.save();
    await ds.Employee.new({ lastName: 'X', employer: company }).save();
    expect(await company.staff.count()).toBe(1);
    expect(await company.lock()).toBe(true);
    expect(await company.unlock()).toBe(true);
    await expect(ds.Company.new().lock()).rejects.toThrow('not saved');
    expect(ds.whoAmI()).toBe('system');
    expect(company.ds).toBe(ds);
    expect(ds.Company.ds).toBe(ds);
  });
});
