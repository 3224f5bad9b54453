import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create } from '../../support/server.js';
import {
  type CompanySelection,
  createStaff,
  type EmployeeSelection,
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

async function keys(selection: EmployeeSelection): Promise<number[]> {
  return (await selection.toArray()).map(({ ID }) => ID);
}

describe('The order of a selection', () => {
  it('is that of the keys if orderBy() is not called', async () => {
    expect(await keys(ds.Employee.query('lastName > "a"'))).toEqual([1, 2, 3, 4, 5]);
    expect(await keys(ds.Employee.all().orderBy('lastName desc').boss)).toEqual([1, 3]);
  });

  it('is that of the last orderBy()', async () => {
    const { Employee } = ds;
    expect(await keys(Employee.all().orderBy('salary desc'))).toEqual([4, 3, 2, 1, 5]);
    expect(await keys(Employee.all().orderBy('salary desc').orderBy('ID'))).toEqual([
      1, 2, 3, 4, 5,
    ]);
    expect(await keys(Employee.query('ID < 4 order by salary desc'))).toEqual([3, 2, 1]);
    expect(await keys(Employee.all().orderBy('salary').query('ID < 4 order by ID desc'))).toEqual([
      3, 2, 1,
    ]);
    expect(await keys(Employee.all().orderBy('employer.name desc, ID desc'))).toEqual([
      4, 2, 1, 3, 5,
    ]);
  });

  it('is no filter: query() names what orders all entities', () => {
    const refused = (order: string): string => {
      try {
        ds.Employee.query(order);
      } catch (error) {
        return String(error);
      }
      return '';
    };
    expect(refused('order by lastName')).toContain(".all().orderBy('lastName')");
    expect(refused('  ORDER  BY salary desc, ID ')).toContain(".all().orderBy('salary desc, ID')");
  });

  it('breaks ties by the key', async () => {
    expect(await keys(ds.Employee.all().orderBy('employer desc'))).toEqual([4, 3, 1, 2, 5]);
  });

  it('is kept by operations that remove entities', async () => {
    const down = ds.Employee.all().orderBy('lastName desc');
    expect(await keys(down.query('salary > 0'))).toEqual([4, 3, 2, 1]);
    expect(await keys(down.and(ds.Employee.query('ID > 2 order by ID')))).toEqual([5, 4, 3]);
    expect(await keys(down.minus(ds.Employee.query('ID = 3 order by ID')))).toEqual([5, 4, 2, 1]);
    expect(await keys(down.slice(1, 4).query('ID != 3'))).toEqual([4, 2]);
  });

  it('puts the entities that or() adds at the end', async () => {
    const { Employee } = ds;
    const high = Employee.query('salary >= 300');
    const low = Employee.query('salary < 300');
    expect(await keys(high.or(low))).toEqual([3, 4, 1, 2]);
    expect(await keys(high.or(Employee.all()))).toEqual([3, 4, 1, 2, 5]);
    expect(await keys(Employee.all().or(high))).toEqual([1, 2, 3, 4, 5]);
    expect(await keys(high.or(low.orderBy('lastName desc')))).toEqual([3, 4, 2, 1]);
    expect(await keys(high.or(Employee.all().orderBy('lastName desc')))).toEqual([3, 4, 5, 2, 1]);
    expect(await keys(high.orderBy('salary desc').or(low))).toEqual([4, 3, 1, 2]);
    expect(await keys(low.or(high.orderBy('salary desc').or(Employee.all())))).toEqual([
      1, 2, 4, 3, 5,
    ]);
    expect(await keys(low.or(high.or(Employee.all()).query('ID > 1')))).toEqual([1, 2, 3, 4, 5]);
    expect(await keys(high.or(low).slice(1, 3))).toEqual([4, 1]);
    expect((await high.or(low).last())?.ID).toBe(2);
  });

  it('is that of a list of keys', async () => {
    const { Employee } = ds;
    const given = Employee.fromKeys([4, 99, 1, 3, 4]);
    expect(await keys(given)).toEqual([4, 1, 3]);
    expect(await given.count()).toBe(3);
    expect((await given.first())?.ID).toBe(4);
    expect((await given.last())?.ID).toBe(3);
    expect(await keys(given.query('ID < 4'))).toEqual([1, 3]);
    expect(await keys(given.slice(1))).toEqual([1, 3]);
    expect(await keys(given.or(Employee.all()))).toEqual([4, 1, 3, 2, 5]);
    expect(await keys(Employee.query('ID = 2').or(given))).toEqual([2, 4, 1, 3]);
    expect(await keys(Employee.all().and(given))).toEqual([1, 3, 4]);
    expect(await keys(given.orderBy('lastName'))).toEqual([1, 3, 4]);
    expect(await keys(Employee.fromKeys([]))).toEqual([]);
  });

  it('is by similarity when a vector is compared', async () => {
    const { Company } = ds;
    const near = { vector: [1, 0], threshold: -1 };
    const order = async (selection: CompanySelection): Promise<number[]> =>
      (await selection.toArray()).map(({ ID }) => ID);
    const all = Company.query('embedding >= :1', near);
    expect(await order(all.orderBy('embedding'))).toEqual([1, 3, 2]);
    expect(await order(all.orderBy('embedding desc'))).toEqual([2, 3, 1]);
    expect(await order(all.orderBy('embedding').slice(0, 2).query('ID > 1'))).toEqual([3]);
    expect((await all.orderBy('embedding').last())?.ID).toBe(2);
    const other = Company.query('embedding >= :1 and ID < 3', { vector: [0, 1], threshold: -1 });
    const both = other.orderBy('embedding').or(all.orderBy('embedding'));
    expect(await order(both)).toEqual([2, 1, 3]);
    await expect(Company.all().orderBy('embedding').first()).rejects.toThrow('by its similarity');
  });
});

describe('Keys', () => {
  it('have the type of the dataclass, and match texts in any case', async () => {
    const badges = ds.Badge.fromKeys(['blue', 'RED', 'none', 'Red']);
    expect((await badges.toArray()).map(({ code }) => code)).toEqual(['BLUE', 'Red']);
    expect((await ds.Badge.all().toArray()).map(({ code }) => code)).toEqual([
      'BLUE',
      'green',
      'Red',
    ]);
    const owners = badges.owner.orderBy('ID desc');
    expect(await keys(owners)).toEqual([2, 1]);
    expect(await ds.Employee.fromKeys([1]).badges.count()).toBe(2);
    const adam = await ds.Employee.get(1);
    expect(await adam?.badges.distinct('code')).toEqual(['green', 'Red']);
  });

  it('that no entity can have are skipped', async () => {
    const [one, two] = await create(served.app, 'Token', [{ size: 1 }, { size: 2 }]);
    const known = [String(two?.['ID']).toLowerCase(), 'no uuid', String(one?.['ID'])];
    const tokens = ds.Token.fromKeys(known);
    expect(await tokens.distinct('size')).toEqual([1, 2]);
    expect((await tokens.toArray()).map(({ key }) => key)).toEqual([two?.['ID'], one?.['ID']]);
    const others: unknown[] = ['x', 1.5, null, {}];
    expect(await ds.Employee.fromKeys(others as number[]).count()).toBe(0);
  });
});
