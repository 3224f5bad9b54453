import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EntitySelection } from '../../../runtime/class/objects/selection.js';
import type { EmployeeEntity } from '../../support/selections-served.js';
import {
  CompanyEntity,
  CompanySelection,
  createStaff,
  EmployeeSelection,
  type ServedSelections,
  serveSelections,
  type TestDatastore,
} from '../../support/selections-served.js';

let served: ServedSelections;
let ds: TestDatastore;

beforeAll(async () => {
  served = await serveSelections();
  ({ ds } = served);
  await createStaff(served.app);
});
afterAll(() => served.app.close());
beforeEach(() => {
  served.statements.length = 0;
});

async function names(selection: EmployeeSelection): Promise<(string | null)[]> {
  return (await selection.toArray()).map(({ lastName }) => lastName);
}

async function ids(selection: CompanySelection): Promise<number[]> {
  return (await selection.toArray()).map(({ ID }) => ID);
}

/** What groups of the staff have, computed from the entities. */
async function staffByEmployer(): Promise<object[]> {
  const totals = new Map<string | null, { count: number; sum: number }>();
  const staff = await ds.Employee.query('salary > 50').toArray();
  for (const each of staff) {
    const name = (await each.employer.get())?.name ?? null;
    const { count, sum } = totals.get(name) ?? { count: 0, sum: 0 };
    totals.set(name, { count: count + 1, sum: sum + (each.salary ?? 0) });
  }
  served.statements.length = 0;
  return [...totals]
    .sort(([a], [b]) => (a ?? '').toLowerCase().localeCompare((b ?? '').toLowerCase()))
    .map(([name, { count, sum }]) => ({ 'employer.name': name, count, 'sum(salary)': sum }));
}

describe('A lazy selection', () => {
  it('runs no statement until it is read', () => {
    const staff = ds.Company.query('city = :1', 'Paris').staff.orderBy('salary desc');
    expect(staff.slice(1, 3).boss.reports).toBeInstanceOf(EmployeeSelection);
    expect(served.statements).toEqual([]);
  });

  it('is read by one statement, whatever its parts', async () => {
    const companies = ds.Company.query('city = :1', 'Paris');
    expect(await companies.staff.query('salary > :1', 150).sum('salary')).toBe(600);
    expect(served.statements).toHaveLength(1);
    const some = companies.staff
      .or(ds.Employee.query('employer = null'))
      .minus(ds.Employee.fromKeys([1]))
      .orderBy('lastName desc')
      .slice(0, 2);
    expect(await names(some)).toEqual(['Ende', 'Dunn']);
    expect(served.statements).toHaveLength(2);
  });

  it('has entities of the user’s classes', async () => {
    const companies = ds.Company.query('city = :1', 'Paris');
    expect(companies).toBeInstanceOf(CompanySelection);
    expect(companies.staff).toBeInstanceOf(EmployeeSelection);
    expect(companies.staff.employer.and(companies)).toBeInstanceOf(CompanySelection);
    expect(await companies.first()).toBeInstanceOf(CompanyEntity);
    expect(await companies.payroll()).toBe(700);
    expect(companies.ds).toBe(ds);
    expect(companies.session.isGuest).toBe(false);
  });

  it('is immutable', async () => {
    const paris = ds.Company.query("city = 'Paris'");
    paris.query('ID > 1');
    paris.orderBy('name');
    expect(await ids(paris)).toEqual([1, 3]);
  });
});

describe('A read of a selection', () => {
  it('counts entities', async () => {
    expect(await ds.Employee.all().count()).toBe(5);
    expect(await ds.Employee.query('salary > 1000').count()).toBe(0);
    expect(await ds.Employee.all().slice(1, 3).count()).toBe(2);
  });

  it('returns one entity by its position', async () => {
    const all = ds.Employee.all().orderBy('lastName');
    expect((await all.first())?.lastName).toBe('Adam');
    expect((await all.last())?.lastName).toBe('Ende');
    expect((await all.at(2))?.lastName).toBe('cole');
    expect((await all.at(-2))?.lastName).toBe('Dunn');
    expect(await all.at(5)).toBeNull();
    expect(await all.at(-6)).toBeNull();
    expect(await ds.Employee.query('ID = 0').first()).toBeNull();
    expect(await ds.Employee.query('ID = 0').last()).toBeNull();
    await expect(all.at(0.5)).rejects.toThrow(RangeError);
    expect(() => all.slice(Number.NaN)).toThrow(RangeError);
  });

  it.each([
    [0, undefined],
    [1, undefined],
    [1, 3],
    [3, 1],
    [0, 0],
    [-2, undefined],
    [-3, -1],
    [-1, -3],
    [1, -1],
    [4, -4],
    [-3, 4],
    [-9, 2],
    [-9, -4],
    [9, undefined],
  ])('slices from %s to %s like an array', async (start, end) => {
    const all = await names(ds.Employee.all().orderBy('lastName desc'));
    const slice = ds.Employee.all().orderBy('lastName desc').slice(start, end);
    expect(await names(slice)).toEqual(all.slice(start, end));
    expect(await slice.count()).toBe(all.slice(start, end).length);
    expect(await names(slice.slice(1, 2))).toEqual(all.slice(start, end).slice(1, 2));
    expect(await names(slice.slice(-2))).toEqual(all.slice(start, end).slice(-2));
    expect((await slice.last())?.lastName).toEqual(all.slice(start, end).at(-1));
  });

  it('filters after slicing if slice() comes first', async () => {
    const slice = ds.Employee.all().slice(0, 3);
    expect(await names(slice.query('salary >= 200'))).toEqual(['Bell', 'cole']);
    expect(await names(slice.boss)).toEqual(['Adam']);
    expect(await ids(slice.employer)).toEqual([1, 2]);
  });

  it('computes aggregates', async () => {
    const all = ds.Employee.all();
    expect(await all.sum('salary')).toBe(1000);
    expect(await all.average('salary')).toBe(250);
    expect(await all.min('salary')).toBe(100);
    expect(await all.max('lastName')).toBe('Ende');
    expect(await ds.Company.all().sum('staff.salary')).toBe(1000);
    expect(await ds.Company.all().max('extra.size')).toBe('big');
    const none = ds.Employee.query('ID = 0');
    expect(await none.sum('salary')).toBe(0);
    expect(await none.average('salary')).toBeNull();
    expect(await none.min('lastName')).toBeNull();
    expect(served.statements).toHaveLength(9);
  });

  it('returns values in the same types as entities', async () => {
    const all = ds.Company.all();
    expect(await all.min('founded')).toEqual(new Date('1999-01-01T00:00:00.000Z'));
    expect(await all.max('opened')).toBe('2001-02-03');
    expect(await all.max('active')).toBe(true);
    expect(await all.distinct('city')).toEqual(['Lyon', 'Paris']);
    expect(await all.distinct('founded')).toEqual([
      new Date('1999-01-01T00:00:00.000Z'),
      new Date('2001-02-03T04:05:06.007Z'),
    ]);
    expect(await all.distinct('extra.size')).toEqual([3, 'big']);
    expect(await ds.Employee.all().distinct('employer.name')).toEqual(['azure', 'Blue', 'Cyan']);
  });

  it('computes groups with one statement', async () => {
    const expected = await staffByEmployer();
    const staff = ds.Employee.query('salary > 50 order by lastName').orderBy('salary');
    expect(await staff.groupBy(['employer.name'], ['count', 'sum(salary)'])).toEqual(expected);
    expect(served.statements).toHaveLength(1);
    const rich = await ds.Employee.groupBy(['employer.city'], ['max(lastName)'], {
      having: 'count > :count',
      values: [{ count: 1 }],
      orderBy: 'sum(salary) desc',
      top: 1,
    });
    expect(rich).toHaveLength(1);
    expect(Object.keys(rich[0] ?? {})).toEqual(['employer.city', 'max(lastName)']);
    expect(served.statements).toHaveLength(2);
  });

  it('returns instants in groups as dates', async () => {
    const rows = await ds.Company.groupBy(
      ['founded', 'opened', 'founded:month'],
      ['min(founded)', 'count(founded)'],
      { having: 'founded != null', orderBy: 'founded desc', top: 1 },
    );
    const instant = new Date('2001-02-03T04:05:06.007Z');
    expect(rows).toEqual([
      {
        founded: instant,
        opened: '2001-02-03',
        'founded:month': '2001-02',
        'min(founded)': instant,
        'count(founded)': 1,
      },
    ]);
  });

  it('groups by what is not exposed to clients', async () => {
    expect(await ds.Company.groupBy(['secret'], ['count'], { top: 1 })).toHaveLength(1);
  });

  it('refuses wrong groups', async () => {
    const all = ds.Company.all();
    await expect(all.groupBy(['city'], ['count'], { skip: -1 })).rejects.toThrow(RangeError);
    await expect(all.groupBy(['city'], ['sum(staff.salary)'])).rejects.toThrow(/several times/);
    await expect(all.groupBy(['city'], ['count'], { having: 'x = 1' })).rejects.toThrow(/\$having/);
  });

  it('finds whether it contains an entity', async () => {
    const adam = await ds.Employee.get(1);
    const cole = await ds.Employee.get(3);
    if (adam === null || cole === null) throw new Error('They are there.');
    const blue = ds.Company.query("name = 'BLUE'").staff;
    served.statements.length = 0;
    expect(await blue.contains(adam)).toBe(true);
    expect(await blue.contains(cole)).toBe(false);
    expect(await blue.slice(1).contains(adam)).toBe(false);
    expect(await blue.contains(ds.Employee.new())).toBe(false);
    expect(served.statements).toHaveLength(3);
    const company = await ds.Company.get(1);
    // @ts-expect-error An entity of another dataclass.
    await expect(blue.contains(company)).rejects.toThrow('An entity of Employee is expected.');
  });
});

describe('A path over relations of a selection', () => {
  it('leads over to-many and to-one relations, to each entity once', async () => {
    expect(await names(ds.Company.query("city = 'Paris'").staff)).toEqual(['Adam', 'Bell', 'Dunn']);
    expect(await ids(ds.Employee.query('salary < 250').employer)).toEqual([1]);
    expect(await ids(ds.Employee.all().employer)).toEqual([1, 2, 3]);
    expect(await names(ds.Company.all().staff)).toEqual(['Adam', 'Bell', 'cole', 'Dunn']);
    expect(await names(ds.Employee.all().boss)).toEqual(['Adam', 'cole']);
    expect(await names(ds.Employee.all().boss.boss)).toEqual(['Adam']);
    expect(await names(ds.Employee.fromKeys([1]).reports.reports)).toEqual(['Dunn']);
  });

  it('leads to nothing over relations without entities, also after minus()', async () => {
    const alone = ds.Employee.query("lastName = 'Ende'");
    expect(await alone.employer.count()).toBe(0);
    expect(await ids(ds.Company.all().minus(alone.employer))).toEqual([1, 2, 3]);
    expect(await ids(ds.Company.all().minus(ds.Employee.all().employer))).toEqual([]);
  });

  it('is a selection when it begins at one entity', async () => {
    const blue = await ds.Company.get(1);
    expect(await names(blue?.staff.query('salary > 150') ?? ds.Employee.all())).toEqual(['Bell']);
    expect(served.statements.at(-1)).toMatch(/"employer_id" = (?:\+\?|\$1)/);
    const unsaved = ds.Company.new();
    expect(await unsaved.staff.count()).toBe(0);
  });

  it('means the same related entity only within one filter', async () => {
    const within = ds.Company.query("staff.lastName = 'Adam' and staff.salary = 200");
    const apart = ds.Company.query("staff.lastName = 'Adam'").query('staff.salary = 200');
    expect(await within.count()).toBe(0);
    expect(await apart.count()).toBe(1);
  });
});

describe('The values of a filter', () => {
  it('have the types of class code', async () => {
    const { Company, Employee } = ds;
    const founded = new Date('2001-02-03T04:05:06.007Z');
    expect(await ids(Company.query('founded = :1', founded))).toEqual([1]);
    expect(await ids(Company.query('opened = :1', '2001-02-03'))).toEqual([1]);
    expect(await ids(Company.query('active = :1', false))).toEqual([3]);
    expect(await ids(Company.query('active = :1', null))).toEqual([2]);
    expect(await ids(Company.query('ID in :1', [3, 1n]))).toEqual([1, 3]);
    expect(await ids(Company.query('founded in :1', [founded, null]))).toEqual([1, 3]);
    const blue = await Company.get(1);
    expect(await names(Employee.query('employer = :1', blue))).toEqual(['Adam', 'Bell']);
    expect(await names(Employee.query('employer in :1', [blue]))).toEqual(['Adam', 'Bell']);
    const vector = Float32Array.of(1, 0);
    expect(await ids(Company.query('embedding > :1', { vector, threshold: 0.9 }))).toEqual([1]);
    expect(await ids(Company.query('name = :name', { name: 'AZURE' }))).toEqual([2]);
    expect(await ids(Company.query(':1 = :2', 'extra.size', 3))).toEqual([1]);
  });

  it('have a message of their own for each kind of invalid value', () => {
    const { Company } = ds;
    expect(() => Company.query('ID = :1', undefined)).toThrow('The value of :1 is undefined');
    expect(() => Company.query('ID = :2', 1)).toThrow('$params has no value for :2');
    expect(() => Company.query('ID = :1', Symbol('x'))).toThrow('found a symbol');
    expect(() => Company.query('ID = :1', new Date(Number.NaN))).toThrow('without a time');
    expect(() => Company.query('ID = :1', 2n ** 60n)).toThrow('beyond those that are exact');
    expect(() => Company.query('staff = :1', Company.new())).toThrow('save it first');
    expect(() => Company.query('ID in :1', Company.all())).toThrow(
      'found an object of class CompanySelection',
    );
  });
});

describe('A wrong call of a selection', () => {
  it('is refused as over HTTP', async () => {
    expect(() => ds.Company.query('name =')).toThrow('Character 7');
    expect(() => ds.Company.all().orderBy('name upwards')).toThrow('expected ASC, DESC');
    await expect(ds.Company.query('nme = 1').count()).rejects.toMatchObject({
      status: 400,
      errors: [{ errCode: 1500 }, { errCode: 1162 }],
    });
    await expect(ds.Company.all().orderBy('nme').first()).rejects.toMatchObject({
      errors: [{ errCode: 1500 }, { errCode: 1810 }],
    });
    // @ts-expect-error There is no such attribute.
    await expect(ds.Company.all().sum('nme')).rejects.toMatchObject({
      errors: [{ errCode: 1500 }, {}],
    });
    // @ts-expect-error A text is no number.
    await expect(ds.Company.all().sum('name')).rejects.toThrow('sum applies to numbers');
  });

  it('does not include the use of attributes that are not exposed', async () => {
    const filter = 'secret = null';
    expect(await ds.Company.query(filter).orderBy('secret').count()).toBe(3);
    expect(await ds.Company.all().sum('secret')).toBe(0);
    expect(await ds.Company.all().orderBy('secret desc').last()).not.toBeNull();
  });

  it('is refused for a selection of another dataclass', () => {
    // @ts-expect-error Selections of different dataclasses.
    expect(() => ds.Company.all().and(ds.Employee.all())).toThrow('A selection of Company');
    const others: unknown[] = [[], ds.Company.new()];
    for (const other of others) {
      expect(() => ds.Company.all().or(other as CompanySelection)).toThrow(TypeError);
    }
  });

  it('is refused with a message if a selection has too many parts', async () => {
    const { Employee } = ds;
    let chain = Employee.all();
    for (let hops = 0; hops < 20; hops += 1) chain = chain.boss;
    expect(await chain.count()).toBe(0);
    expect(await chain.first()).toBeNull();
    expect(() => chain.boss).toThrow('at most 20 relations');
    let doubled = Employee.query('salary > 0');
    expect(() => {
      for (let times = 0; times < 60; times += 1) doubled = doubled.and(doubled);
    }).toThrow('made of at most 500 others');
    let wide = Employee.query('ID = 1');
    for (let id = 2; id < 160; id += 1) {
      wide = wide.or(Employee.query('lastName = :1 order by salary desc', `n${id}`));
    }
    expect(await wide.count()).toBe(1);
    expect(await names(wide)).toEqual(['Adam']);
  });
});

describe('A selection in memory', () => {
  it('contains the same objects that were added', async () => {
    const list = ds.Employee.newSelection();
    expect(await list.count()).toBe(0);
    expect(await list.first()).toBeNull();
    const [cole, adam] = [await ds.Employee.get(3), await ds.Employee.get(1)];
    if (adam === null || cole === null) throw new Error('They are there.');
    adam.lastName = 'Changed';
    served.statements.length = 0;
    expect(list.add(cole).add(adam).add(cole)).toBe(list);
    expect(await list.count()).toBe(2);
    expect(await list.first()).toBe(cole);
    expect(await list.last()).toBe(adam);
    expect(await list.contains(adam)).toBe(true);
    expect(await list.toArray()).toEqual([cole, adam]);
    const seen: EmployeeEntity[] = [];
    for await (const each of list) seen.push(each);
    expect(seen).toEqual([cole, adam]);
    expect(served.statements).toEqual([]);
    // The database sees the stored values.
    expect(await names(list.query('salary > 0'))).toEqual(['cole', 'Adam']);
    expect(await list.sum('salary')).toBe(400);
    expect(await ids(list.employer)).toEqual([1, 2]);
  });

  it('accepts entities of its dataclass that have a key', () => {
    const list = ds.Employee.newSelection();
    expect(() => list.add(ds.Employee.new())).toThrow('save it first');
    // @ts-expect-error An entity of another dataclass.
    expect(() => list.add(ds.Company.new())).toThrow('An entity of Employee is expected.');
    const stored = ds.Employee.all();
    expect(() => stored.add(ds.Employee.new())).toThrow('newSelection()');
    expect(stored).toBeInstanceOf(EntitySelection);
  });
});
