import type { FastifyInstance } from 'fastify';
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { DataStore } from '../../examples/web/client/client.js';
import { describeDatabases } from '../support/databases.js';
import { itOnOne } from '../support/long.js';
import { type StaffClient, staffClient, staffServer } from '../support/staff-example.js';

/** One pixel. */
const png = Uint8Array.from(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
);

let client: StaffClient;

beforeAll(async () => {
  client = await staffClient();
});

describeDatabases('A typed client', ({ create, driver }) => {
  // What the client does by itself is the same on both.
  const onOne = itOnOne({ driver });
  let app: FastifyInstance;
  let url: string;
  let drop: () => Promise<void>;
  /** Requests that the client has sent, without the address of the server. */
  let sent: string[];
  /** Logged in as a member of HR. */
  let ds: DataStore;
  /** How many requests are answered by a busy server, and its `Retry-After`. */
  let busy = { requests: 0, retryAfter: '0' };

  async function open(): Promise<void> {
    const database = await create();
    ({ drop } = database);
    ({ app, url } = await staffServer({ databaseUrl: database.url }, { driver }));
    sent = [];
    busy = { requests: 0, retryAfter: '0' };
    ds = connect();
    expect(await ds.session.login('mia', 'example')).toBe(true);
    await ds.atomic(
      ['Bolt', 'Acme', 'Nørre'].map((name, at) =>
        ds.Company.new({ name, city: at === 2 ? 'Oslo' : 'Paris', revenue: at + 1.5 }),
      ),
    );
    sent.length = 0;
  }

  function connect(options: Parameters<StaffClient['connect']>[1] = {}): DataStore {
    return client.connect(url, {
      ...options,
      fetch: (address, init) => {
        sent.push(`${init.method ?? 'GET'} ${decodeURIComponent(address.slice(url.length))}`);
        if (busy.requests === 0) return fetch(address, init);
        busy.requests -= 1;
        const headers = { 'retry-after': busy.retryAfter };
        const body = '{"__ERROR":[{"message":"busy","errCode":1822}]}';
        return Promise.resolve(new Response(body, { status: 503, headers }));
      },
    });
  }

  async function addStaff(count: number): Promise<void> {
    const acme = await ds.Company.query('name = Acme').first();
    const people = Array.from({ length: count }, (_, at) =>
      ds.Employee.new({ lastName: `Person ${String(at).padStart(4, '0')}`, employer: acme }),
    );
    await ds.atomic(people);
    sent.length = 0;
  }

  function openSets(): number {
    return sent.filter((each) => each.includes('$method=entityset')).length;
  }

  afterEach(async () => {
    await app.close();
    await drop();
  });

  it('reads, filters, orders and counts entities', async () => {
    await open();
    const paris = ds.Company.query('city = :1', 'Paris').orderBy('name desc');
    expect((await paris.toArray()).map(({ name }) => name)).toEqual(['Bolt', 'Acme']);
    expect(sent).toEqual([
      'GET /rest/Company?$filter="city = :1"&$params=["Paris"]&$orderby=name desc&$top=100',
    ]);
    expect(await paris.count()).toBe(2);
    expect((await paris.first())?.name).toBe('Bolt');
    expect((await paris.last())?.name).toBe('Acme');
    expect(await paris.at(2)).toBeNull();
    expect((await paris.slice(1, 5)).map(({ name }) => name)).toEqual(['Acme']);
    expect((await paris.query('revenue > 2').toArray()).map(({ name }) => name)).toEqual(['Acme']);
    const hostile = `x" or 1=1 --'`;
    expect(await ds.Company.query('name = :name', { name: hostile }).count()).toBe(0);
    expect(await ds.Company.query(`name = 'a"b'`).count()).toBe(0);
  });

  it('sends a filter in the body of a POST if its address would be long', async () => {
    await open();
    const names = ['Bolt', 'Acme', ...Array.from({ length: 3_000 }, (_, at) => `None ${at}`)];
    const listed = ds.Company.query('name in :1', names).orderBy('name');
    expect((await listed.toArray()).map(({ name }) => name)).toEqual(['Acme', 'Bolt']);
    expect(sent).toEqual(['POST /rest/Company?$orderby=name&$top=100']);
    expect(await listed.count()).toBe(2);
    expect(await listed.sum('revenue')).toBe(4);
    expect((await listed.slice(1, 2)).map(({ name }) => name)).toEqual(['Bolt']);
    expect(sent.every((each) => each.length < 200)).toBe(true);
  });

  onOne('gets an entity by its key, with the values of class code', async () => {
    await open();
    const made = ds.Company.new({
      name: "O'Hara (Ltd)",
      founded: '1990-02-03',
      extra: { tags: ['a'], nested: { x: 1 } },
      embedding: [0, 1, 0.5],
    });
    expect([made.key, made.isNew, made.touched('name'), made.touched('city')]).toEqual([
      null,
      true,
      true,
      false,
    ]);
    await made.save();
    expect([made.stamp, made.isNew, made.touched()]).toEqual([1, false, false]);
    const read = await ds.Company.get(made.key ?? 0);
    expect(read?.toObject()).toEqual({
      ID: made.key,
      name: "O'Hara (Ltd)",
      city: null,
      founded: '1990-02-03',
      revenue: null,
      active: true,
      extra: { tags: ['a'], nested: { x: 1 } },
      embedding: [0, 1, 0.5],
      label: null,
      manager: null,
    });
    expect(Object.isFrozen(read?.extra?.['nested'])).toBe(true);
    expect(await ds.Company.get(4711)).toBeNull();
    const person = ds.Employee.new({ fullName: 'Ada Lovelace', hiredAt: new Date(86_400_000) });
    await person.save();
    expect(person.lastName).toBe('Lovelace');
    const again = await ds.Employee.get(person.key ?? '');
    expect(again?.hiredAt).toEqual(new Date(86_400_000));
  });

  it('reads what does not fit on a page from an entity set, and releases it at the end', async () => {
    await open();
    await addStaff(250);
    const all = ds.Employee.all().orderBy('lastName desc');
    const names: string[] = [];
    for await (const { lastName } of all) names.push(lastName);
    expect(names).toHaveLength(250);
    expect(names).toEqual([...names].sort().reverse());
    expect(openSets()).toBe(1);
    expect(sent.at(-1)).toBe('POST /rest/$entityset/$release');
  });

  onOne('reads each entity without an entity set, while others create and delete', async () => {
    await open();
    await addStaff(250);
    const acme = await ds.Company.query('name = Acme').first();
    if (acme === null) throw new Error('no Acme');
    for (const all of [ds.Employee.query('lastName begin Person'), acme.staff]) {
      sent.length = 0;
      const names: string[] = [];
      for await (const { lastName } of all.orderBy('lastName').each()) {
        if (names.length === 120) {
          await ds.Employee.new({ lastName: 'Aaa', employer: acme }).save();
          await ds.Employee.query('lastName = :1', names[3]).drop();
        }
        names.push(lastName);
      }
      expect(names).toEqual([...new Set(names)].sort());
      expect(names.length).toBeGreaterThan(248);
      expect(openSets()).toBe(0);
    }
    const half = ds.Employee.all().and(ds.Employee.query('lastName = "Person 0007"')).each();
    expect((await half.next()).value).toMatchObject({ lastName: 'Person 0007' });
    await half.return(undefined);
  });

  onOne('releases the entity set of a loop that ends early or throws', async () => {
    await open();
    await addStaff(250);
    for await (const { lastName } of ds.Employee.all()) {
      expect(lastName).toMatch(/^Person/);
      break;
    }
    expect([openSets(), sent.at(-1)]).toEqual([1, 'POST /rest/$entityset/$release']);
    sent.length = 0;
    const failing = async (): Promise<void> => {
      for await (const { lastName } of ds.Employee.all()) throw new Error(lastName);
    };
    await expect(failing()).rejects.toThrow('Person');
    expect([openSets(), sent.at(-1)]).toEqual([1, 'POST /rest/$entityset/$release']);
  });

  onOne('reads selected values, also of more related entities than fit on a page', async () => {
    await open();
    await addStaff(130);
    const rows = await ds.Company.query('name = Acme')
      .select('name', 'staff.lastName', 'staff.employer.city', 'manager.lastName')
      .toArray();
    const [row] = rows;
    expect(row).toEqual({
      key: 2,
      stamp: 1,
      name: 'Acme',
      manager: null,
      staff: expect.any(Array) as object,
    });
    expect(row?.staff).toHaveLength(130);
    expect(row?.staff[129]).toEqual({
      key: expect.any(String) as string,
      stamp: 1,
      lastName: expect.stringMatching(/^Person/) as string,
      employer: { key: 2, stamp: 1, city: 'Paris' },
    });
    expect(new Set(row?.staff.map(({ lastName }) => lastName)).size).toBe(130);
    const all = await ds.Employee.query('lastName = :1', 'Person 0007').select('*').first();
    expect(all).toMatchObject({ lastName: 'Person 0007', employerName: 'Acme' });
  });

  onOne('reads the first related entities that match, in their order', async () => {
    await open();
    await addStaff(130);
    const all = ds.Company.query('name = :name', { name: 'Acme' });
    const rows = await all
      .select('name', 'staff.lastName')
      .expand('staff', {
        top: 2,
        filter: `lastName begin :start and lastName != "'"`,
        values: { start: 'Person 00' },
        orderBy: 'lastName desc',
      })
      .toArray();
    const names = rows.map(({ staff }) => staff.map(({ lastName }) => lastName));
    expect(names).toEqual([['Person 0099', 'Person 0098']]);
    const behind = await all
      .select('staff.employer.staff.lastName')
      .expand('staff.employer.staff', { top: 1, orderBy: 'lastName desc' })
      .toArray();
    expect(behind[0]?.staff).toHaveLength(130);
    const last = { lastName: 'Person 0129' };
    expect(behind[0]?.staff[129]?.employer?.staff).toEqual([expect.objectContaining(last)]);
    const wrong = ds.Company.query('name = :1', 'Acme').select('staff.lastName');
    expect(() => wrong.expand('manager' as 'staff', { top: 1 })).toThrow(TypeError);
    await expect(wrong.expand('staff', { top: 1, values: { a: 1 } }).toArray()).rejects.toThrow(
      TypeError,
    );
  });

  onOne('saves what was set, and nothing else', async () => {
    await open();
    const acme = await ds.Company.query('name = Acme').first();
    if (acme === null) throw new Error('no Acme');
    await acme.save();
    acme.city = 'Paris';
    await acme.save();
    expect(sent.filter((each) => each.startsWith('POST'))).toEqual([]);
    acme.city = 'Lyon';
    acme.fromObject({ revenue: 7, extra: ['a', 'list'] });
    await acme.save();
    expect([acme.stamp, acme.label]).toEqual([2, 'Acme, Lyon']);
    expect(() => ((acme as { label: string | null }).label = 'x')).toThrow(
      'Company.label cannot be set',
    );
    expect(() => acme.fromObject({ revenue: NaN })).toThrow('Company.revenue is NaN');
  });

  onOne('reports why a save is refused, with the attribute', async () => {
    await open();
    const twin = ds.Company.new({ name: 'acme' });
    const failure: unknown = await twin.save().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(client.RestError);
    expect(failure).toMatchObject({ status: 409, attribute: 'name', entity: twin });
    expect(twin.isNew).toBe(true);
    twin.name = 'Twin';
    await twin.save();
    const person = ds.Employee.new({ lastName: 'X', email: 'no mail' });
    await expect(person.save()).rejects.toMatchObject({ status: 422, attribute: 'email' });
  });

  it('resolves conflicts with onConflict, or throws', async () => {
    await open();
    const [mine] = await ds.Company.query('name = Acme').toArray();
    const [theirs] = await connect({}).Company.query('name = Acme').toArray();
    if (mine === undefined || theirs === undefined) throw new Error('no Acme');
    const other = await ds.Company.get(2);
    if (other === null) throw new Error('no Acme');
    other.fromObject({ city: 'Lyon', revenue: 100 });
    await other.save();
    mine.city = 'Nice';
    await expect(mine.save()).rejects.toMatchObject({ status: 409, errCode: 1263 });
    expect([mine.city, mine.revenue, mine.stamp]).toEqual(['Nice', 2.5, 1]);
    await expect(mine.save({ onConflict: () => null })).rejects.toMatchObject({ errCode: 1263 });
    const seen: unknown[] = [];
    await mine.save({
      onConflict: (own, stored) => {
        seen.push([own.city, own.revenue, stored.city, stored.revenue]);
        return { ...stored, city: own.city };
      },
    });
    expect(seen).toEqual([['Nice', 2.5, 'Lyon', 100]]);
    expect([mine.city, mine.revenue, mine.stamp]).toEqual(['Nice', 100, 3]);
    expect((await ds.Company.get(2))?.city).toBe('Nice');
  });

  it('saves several entities atomically: all or none', async () => {
    await open();
    const [bolt, acme] = await ds.Company.all().slice(0, 2);
    if (bolt === undefined || acme === undefined) throw new Error('no companies');
    bolt.city = 'Rome';
    acme.name = 'Nørre';
    const failed = ds.atomic([bolt, acme, ds.Company.new({ name: 'New' })]);
    await expect(failed).rejects.toMatchObject({ status: 409, attribute: 'name', entity: acme });
    expect(await ds.Company.query('city = Rome or name = New').count()).toBe(0);
    const other = await ds.Company.get(1);
    other?.fromObject({ revenue: 55 });
    await other?.save();
    acme.name = 'Acme 2';
    await ds.atomic([bolt, acme], { onConflict: ({ city }, stored) => ({ ...stored, city }) });
    expect(await ds.Company.query('city = Rome').select('name', 'revenue').toArray()).toEqual([
      { key: 1, stamp: 3, name: 'Bolt', revenue: 55 },
    ]);
    const person = ds.Employee.new({ lastName: 'X' });
    await expect(ds.atomic([bolt as never, person])).rejects.toThrow(
      'atomic() saves entities of one dataclass, not of Company and Employee.',
    );
  });

  it('gives all entities of a selection the same values, or changes none', async () => {
    await open();
    const paris = ds.Company.query('city = :1', 'Paris');
    expect(await paris.update({ city: 'Rome', active: false }, { atMost: 2 })).toBe(2);
    expect(await paris.count()).toBe(0);
    const unreadable = { status: 400, errCode: 1280 };
    const none = ds.Company.query('revenue != :1', '12,50');
    await expect(none.toArray()).rejects.toMatchObject(unreadable);
    await expect(none.update({ city: 'Bonn' })).rejects.toMatchObject(unreadable);
    const rome = ds.Company.query('city = Rome');
    await expect(rome.update({ city: 'Bonn' }, { atMost: 1 })).rejects.toMatchObject({
      status: 413,
      errCode: 1834,
    });
    await expect(rome.update({ name: 'Same' })).rejects.toMatchObject({ errCode: 1569 });
    const both = await rome.or(ds.Company.query('city = Oslo')).set();
    expect(await both.update({ revenue: 7 })).toBe(3);
    expect(await ds.Company.all().update({ revenue: 7 })).toBe(0);
    await both.release();
    expect(await ds.Company.all().distinct('revenue')).toEqual([7]);
  });

  it('finds entities by a unique attribute, and creates the others: all or none', async () => {
    await open();
    const one = await ds.Company.upsert('name', { name: 'Bolt', city: 'Rome' });
    expect([one.key, one.stamp, one.city, one.isNew, one.touched()]).toEqual([
      1,
      2,
      'Rome',
      false,
      false,
    ]);
    const both = await ds.Company.upsert('name', [{ name: 'New' }, { name: 'Bolt', city: 'Oslo' }]);
    expect(both.map(({ key, stamp }) => [key, stamp])).toEqual([
      [4, 1],
      [1, 3],
    ]);
    const failed = ds.Company.upsert('name', [{ name: 'Other' }, { city: 'Oslo' }]);
    await expect(failed).rejects.toMatchObject({ status: 422, attribute: 'name' });
    expect(await ds.Company.all().count()).toBe(4);
    await expect(ds.Company.upsert('city', { city: 'Oslo' })).rejects.toMatchObject({
      status: 400,
      errCode: 1813,
    });
  });

  onOne(
    'saves new entities in lists of to-many relations with their entity, or nothing',
    async () => {
      await open();
      const hiredAt = new Date('2020-01-02T03:04:05Z');
      const kiosk = ds.Company.new({
        name: 'Kiosk',
        staff: [
          { lastName: 'Hale', hiredAt, cv: new Blob(['text']) },
          { lastName: 'Ito', email: 'x' },
        ],
      });
      await expect(kiosk.save()).rejects.toMatchObject({
        status: 422,
        attribute: 'staff[1].email',
        entity: kiosk,
      });
      expect(await ds.Company.query('name = Kiosk').count()).toBe(0);
      kiosk.fromObject({ staff: [{ lastName: 'Hale', hiredAt, cv: new Blob(['text']) }] });
      await kiosk.save();
      expect([kiosk.isNew, kiosk.touched()]).toEqual([false, false]);
      const [hale] = await kiosk.staff.toArray();
      expect([hale?.lastName, hale?.hiredAt, await (await hale?.cv.read())?.text()]).toEqual([
        'Hale',
        hiredAt,
        'text',
      ]);
      const other = await ds.Company.get(kiosk.key ?? 0);
      await other?.fromObject({ city: 'Oslo' }).save();
      kiosk.fromObject({ revenue: 1, staff: [{ lastName: 'Ito' }] });
      await kiosk.save({ onConflict: ({ revenue }) => ({ revenue }) });
      expect([kiosk.city, await kiosk.staff.count()]).toEqual(['Oslo', 2]);
      const takesValues = 'Company.staff must be set to a list of values of new entities';
      expect(() => ds.Company.new({ staff: [hale as never] })).toThrow(takesValues);
      expect(() => ds.Company.new({ staff: 5 as never })).toThrow(takesValues);
      expect(() => ds.Company.new({ staff: [{ fullName: 5, label: 1 } as never] })).toThrow(
        'Employee.label does not exist',
      );
    },
  );

  onOne('repeats reads, and changes of entities that exist, while the server is busy', async () => {
    await open();
    busy = { requests: 2, retryAfter: '0' };
    const acme = await ds.Company.query('name = Acme').first();
    expect(acme?.name).toBe('Acme');
    expect(sent).toHaveLength(3);
    busy.requests = 1;
    await acme?.fromObject({ city: 'Rome' }).save();
    expect((await ds.Company.get(acme?.key ?? 0))?.city).toBe('Rome');
    const refused = { status: 503, message: 'busy' };
    busy.requests = 3;
    await expect(ds.Company.get(1)).rejects.toMatchObject(refused);
    expect(busy.requests).toBe(0);
    for (const unrepeated of [
      () => ds.Company.new({ name: 'New' }).save(),
      () => acme?.fromObject({ staff: [{ lastName: 'X' }] }).save(),
      () => acme?.drop(),
      () => ds.Company.fromCity('Paris'),
      () => connect({ retries: 0 }).Company.get(1),
    ]) {
      busy.requests = 1;
      await expect(unrepeated()).rejects.toMatchObject(refused);
    }
    busy = { requests: 1, retryAfter: '11' };
    await expect(ds.Company.get(1)).rejects.toMatchObject(refused);
    busy = { requests: 1, retryAfter: '5' };
    const controller = new AbortController();
    const waiting = ds.Company.all().count({ signal: controller.signal });
    await expect.poll(() => busy.requests).toBe(0);
    controller.abort();
    await expect(waiting).rejects.toThrow(/abort/i);
  });

  onOne('follows relations, and sets them', async () => {
    await open();
    await addStaff(3);
    const person = await ds.Employee.all().first();
    expect(person?.employer.key).toBe(2);
    const employer = await person?.employer.get();
    expect(employer?.name).toBe('Acme');
    expect(await person?.employer.get()).toBe(employer);
    const staff = employer?.staff.orderBy('lastName desc');
    expect((await staff?.toArray())?.map(({ lastName }) => lastName)).toEqual([
      'Person 0002',
      'Person 0001',
      'Person 0000',
    ]);
    expect(await staff?.query('lastName = :1', 'Person 0001').count()).toBe(1);
    expect(await staff?.distinct('lastName')).toHaveLength(3);
    person?.employer.set(1);
    await person?.save();
    expect(await staff?.count()).toBe(2);
    expect((await person?.employer.get())?.name).toBe('Bolt');
    expect(() => person?.employer.set(person as never)).toThrow('an entity of Company, its key');
  });

  onOne('combines selections, and deletes them', async () => {
    await open();
    const paris = ds.Company.query('city = Paris').orderBy('name');
    const rich = ds.Company.query('revenue > 2');
    const names = async (selection: typeof paris): Promise<readonly string[]> =>
      (await selection.toArray()).map(({ name }) => name);
    expect(await names(paris.and(rich))).toEqual(['Acme']);
    expect(await names(paris.or(rich))).toEqual(['Acme', 'Bolt', 'Nørre']);
    expect(await names(paris.minus(rich))).toEqual(['Bolt']);
    expect(sent.filter((each) => each.endsWith('$release'))).toHaveLength(3);
    const [acme] = await rich.toArray();
    if (acme === undefined) throw new Error('no Acme');
    expect([await paris.contains(acme), await paris.minus(rich).contains(acme)]).toEqual([
      true,
      false,
    ]);
    expect(await paris.or(rich).sum('revenue')).toBe(7.5);
    const kept = await rich.set();
    acme.revenue = 0;
    await acme.save();
    expect([await rich.count(), await kept.count()]).toEqual([1, 2]);
    await kept.release();
    await expect(kept.count()).rejects.toMatchObject({ status: 404, errCode: 1802 });
    await expect(paris.drop()).rejects.toMatchObject({ status: 422, errCode: 9001 });
    for await (const each of paris) {
      each.active = false;
      await each.save();
    }
    await paris.and(ds.Company.all()).drop();
    expect(await names(ds.Company.all())).toEqual(['Nørre']);
  });

  onOne('computes sums, averages, ends and distinct values', async () => {
    await open();
    const all = ds.Company.all();
    expect(await all.sum('revenue')).toBe(7.5);
    expect(await all.query('city = Paris').average('revenue')).toBe(2);
    expect([await all.min('name'), await all.max('revenue')]).toEqual(['Acme', 3.5]);
    expect(await all.distinct('city')).toEqual(['Oslo', 'Paris']);
    const person = ds.Employee.new({ lastName: 'X', hiredAt: new Date(0), employer: 1 });
    await person.save();
    expect(await ds.Employee.all().min('hiredAt')).toEqual(new Date(0));
    expect(await all.distinct('staff.hiredAt')).toEqual([new Date(0)]);
  });

  onOne('reads groups, page by page', async () => {
    await open();
    const { Company } = ds;
    const byCity = await Company.groupBy(['city'], ['count', 'sum(revenue)', 'max(name)']);
    expect(byCity).toEqual([
      { city: 'Oslo', count: 1, 'sum(revenue)': 3.5, 'max(name)': 'Nørre' },
      { city: 'Paris', count: 2, 'sum(revenue)': 4, 'max(name)': 'Bolt' },
    ]);
    const named = Company.query('name = :1 or city = :2 order by name', 'Acme', 'Oslo');
    const options = { having: 'sum(revenue) < :1', values: [3], orderBy: 'count desc' };
    expect(await named.groupBy(['city'], ['count'], options)).toEqual([
      { city: 'Paris', count: 1 },
    ]);
    const counts: number[] = [];
    const part = { skip: 1, top: 1, onCount: (count: number) => counts.push(count) };
    expect(await named.groupBy(['city'], ['count'], part)).toHaveLength(1);
    expect(counts).toEqual([2]);
    const person = ds.Employee.new({ lastName: 'X', hiredAt: new Date(0), employer: 1 });
    await person.save();
    const keys = ['employer', 'employer.name', 'hiredAt:quarter'] as const;
    expect(await ds.Employee.groupBy(keys, ['min(hiredAt)'])).toEqual([
      {
        employer: 1,
        'employer.name': 'Bolt',
        'hiredAt:quarter': '1970-Q1',
        'min(hiredAt)': new Date(0),
      },
    ]);
    await expect(Company.groupBy(['city'], ['count'], { top: -1 })).rejects.toThrow(RangeError);
    await expect(Company.groupBy(['city'], [], { having: 'x' })).rejects.toMatchObject({
      status: 400,
    });
  });

  onOne('calls functions of all classes with their arguments and results', async () => {
    await open();
    const paris = await ds.Company.fromCity('Paris');
    expect(await paris?.orderBy('name').select('name').toArray()).toMatchObject([
      { name: 'Acme' },
      { name: 'Bolt' },
    ]);
    expect(await paris?.totalRevenue()).toBe(4);
    expect(await ds.Company.query('city = Oslo').totalRevenue()).toBe(3.5);
    expect(await ds.Company.all().totalRevenue()).toBe(7.5);
    await paris?.release();
    const acme = await ds.Company.get(2);
    const hired = await acme?.hire(ds.Employee.new({ lastName: 'Hopper' }));
    expect([hired?.lastName, hired?.isNew, hired?.employer.key]).toEqual(['Hopper', false, 2]);
    expect(hired?.hiredAt).toBeInstanceOf(Date);
    expect(await ds.singletons.Clock.now()).toBeInstanceOf(Date);
    const guest = connect();
    expect(await guest.authentify('tom', 'example')).toBe('Welcome, tom');
    expect(await guest.session.userName()).toBe('tom');
    await expect(connect().authentify('tom', 'no')).rejects.toMatchObject({
      status: 401,
      errCode: 9002,
    });
  });

  onOne('logs in and out, and keeps sessions of several clients apart', async () => {
    await open();
    const guest = connect();
    expect(await guest.session.login('mia', 'wrong')).toBe(false);
    await expect(guest.Employee.all().toArray()).rejects.toMatchObject({ status: 401 });
    expect(await guest.session.userName()).toBeNull();
    const tom = connect();
    expect(await tom.session.login('tom', 'example', { seconds: 600 })).toBe(true);
    expect(await tom.session.hasPrivilege('manageStaff', 'viewStaff')).toBe(true);
    expect(await tom.session.hasPrivilege('manageStaff')).toBe(false);
    await expect(tom.Employee.new({ lastName: 'X' }).save()).rejects.toMatchObject({ status: 403 });
    await tom.session.logout();
    expect(await tom.session.userName()).toBeNull();
    expect(await ds.session.userName()).toBe('mia');
  });

  onOne('stores images and BLOBs, and reads their bytes', async () => {
    await open();
    const acme = await ds.Company.get(2);
    if (acme === null) throw new Error('no Acme');
    expect([acme.logo.url, await acme.logo.read()]).toEqual([null, null]);
    acme.logo.set(new Blob([png], { type: 'image/png' }));
    await acme.save();
    const again = await ds.Company.get(2);
    const logo = await again?.logo.read();
    expect(logo?.type).toBe('image/png');
    expect(new Uint8Array((await logo?.arrayBuffer()) ?? [])).toEqual(png);
    expect((await fetch(again?.logo.url ?? '')).status).toBe(200);
    const person = ds.Employee.new({ lastName: 'X', cv: new Uint8Array([1, 2, 3]), photo: png });
    await person.save();
    const cv = await (await ds.Employee.get(person.key ?? ''))?.cv.read();
    expect(new Uint8Array((await cv?.arrayBuffer()) ?? [])).toEqual(new Uint8Array([1, 2, 3]));
    person.cv.set(null);
    await person.save();
    expect(await person.cv.read()).toBeNull();
  });

  onOne('keeps the removal of an image when a conflict is resolved', async () => {
    await open();
    const acme = await ds.Company.get(2);
    if (acme === null) throw new Error('no Acme');
    acme.logo.set(new Blob([png], { type: 'image/png' }));
    await acme.save();
    const other = await ds.Company.get(2);
    await other?.fromObject({ city: 'Oslo' }).save();
    acme.logo.set(null);
    await acme.save({ onConflict: (own) => own });
    expect((await ds.Company.get(2))?.logo.url).toBe(null);
  });

  onOne('reads the images and BLOBs of rows, also of related entities', async () => {
    await open();
    const acme = await ds.Company.get(2);
    if (acme === null) throw new Error('no Acme');
    const logo = new Blob([png], { type: 'image/png' });
    await acme.fromObject({ logo, staff: [{ lastName: 'X', cv: new Blob(['text']) }] }).save();
    const [bolt, row] = await ds.Company.all()
      .select('logo', 'staff.photo', 'staff.cv')
      .slice(0, 2);
    expect([bolt?.logo.url, await bolt?.logo.read()]).toEqual([null, null]);
    expect(row?.logo.url).toBe(acme.logo.url);
    expect((await row?.logo.read())?.size).toBe(png.length);
    const [person] = row?.staff ?? [];
    expect([person?.photo.url, await (await person?.cv.read())?.text()]).toEqual([null, 'text']);
    const whole = await ds.Company.query('name = Acme').select('*').first();
    expect([whole?.name, whole?.logo.url]).toEqual(['Acme', acme.logo.url]);
  });

  it('locks entities, reloads and deletes them', async () => {
    await open();
    const acme = await ds.Company.get(2);
    const other = connect();
    await other.session.login('mia', 'example');
    const same = await other.Company.get(2);
    if (acme === null || same === null) throw new Error('no Acme');
    expect(await acme.lock()).toBe(true);
    expect(await same.lock()).toBe(false);
    same.city = 'Nice';
    await expect(same.save()).rejects.toMatchObject({ status: 423 });
    expect(await acme.unlock()).toBe(true);
    await same.save();
    acme.city = 'Lyon';
    await acme.reload();
    expect([acme.city, acme.stamp, acme.touched()]).toEqual(['Nice', 2, false]);
    acme.active = false;
    await acme.save();
    await acme.drop();
    expect(await ds.Company.get(2)).toBeNull();
    await expect(same.reload()).rejects.toMatchObject({ status: 404 });
  });

  onOne('aborts requests by a signal, and reports a server that cannot be reached', async () => {
    await open();
    const controller = new AbortController();
    const search = ds.with({ signal: controller.signal });
    expect(await search.Company.all().count()).toBe(3);
    const acme = await search.Company.get(2);
    controller.abort();
    await expect(search.Company.all().count()).rejects.toThrow(/abort/i);
    await expect(search.Company.fromCity('Paris')).rejects.toThrow(/abort/i);
    const { signal } = controller;
    await expect(ds.Company.all().toArray({ signal })).rejects.toThrow(/abort/i);
    expect(await acme?.staff.count()).toBe(0);
    await acme?.reload();
    const nobody = client.connect('http://127.0.0.1:1');
    await expect(nobody.Company.get(1)).rejects.toMatchObject({ name: 'RestError', status: 0 });
  });
});
