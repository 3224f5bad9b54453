import { isOnPostgres } from '../../support/server.js';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { selectionKeys } from '../../support/selection-access.js';
import {
  createStaff,
  type ServedSelections,
  serveSelections,
} from '../../support/selections-served.js';
import { itLong } from '../../support/long.js';

const million = 1_000_000;

describe('A selection of a million entities', () => {
  let served: ServedSelections;

  beforeAll(async () => {
    served = await serveSelections();
    await createStaff(served.app);
    // One in 10 has a boss; half of them work for the second company.
    await sql`with recursive "n" ("i") as (select 6 union all select "i" + 1 from "n" where "i" < ${million})
      insert into "Employee" ("lastName", "salary", "employer_id", "boss_id", "__TIMESTAMP")
      select 'name ' || ("i" % 1000), "i" % 7, 1 + "i" % 2, case "i" % 10 when 0 then 1 end, '2020-01-01T00:00:00.000Z' from "n"`.execute(
      served.ds.kysely,
    );
  });
  afterAll(() => served.app.close());
  beforeEach(() => {
    served.statements.length = 0;
  });

  it('is counted and aggregated only by the database', async () => {
    const { Company, Employee } = served.ds;
    expect(await Employee.all().count()).toBe(million);
    expect(await Employee.query('salary < 7').count()).toBe(million - 5);
    const sums = Array.from({ length: million - 5 }, (_, index) => (index + 6) % 7);
    const sum = sums.reduce((all, each) => all + each, 0);
    expect(await Employee.all().sum('salary')).toBe(sum + 1000);
    const azure = Company.query("name = 'azure'").staff;
    expect(await azure.query('salary = 300').sum('salary')).toBe(300);
    expect(await azure.and(Employee.query('boss = null')).count()).toBe(500_000 - 3);
    expect(await Employee.all().boss.count()).toBe(2);
    expect(await Employee.all().minus(azure).slice(100_000, 200_000).count()).toBe(100_000);
    expect((await Employee.all().last())?.ID).toBe(million);
    // What follows names the statements of SQLite.
    if (isOnPostgres) return;
    expect(served.statements).toHaveLength(8);
    for (const statement of served.statements.slice(0, -1)) {
      expect(statement).toMatch(/^select (?:count\(|\(select concat\()/);
    }
  });

  itLong('is read by a long list of keys quickly', async () => {
    const { Employee } = served.ds;
    // Searching the list for each entity would take minutes.
    const keys = await selectionKeys(Employee.query('salary = 2').orderBy('ID desc'));
    const listed = Employee.fromKeys(keys as Iterable<number>);
    expect(await listed.count()).toBe(keys.length);
    expect((await listed.slice(0, 2).toArray()).map(({ ID }) => ID)).toEqual([999_994, 999_987]);
    expect((await listed.query("lastName = 'name 9'").first())?.ID).toBe(994_009);
  });

  it('is iterated in batches, which are read on demand', async () => {
    const { Employee } = served.ds;
    let seen = 0;
    for await (const employee of Employee.query('salary = 1')) {
      seen += 1;
      expect(employee.salary).toBe(1);
      if (seen === 1700) break;
    }
    // The first batch, the keys of all, and three more batches.
    expect(served.statements).toHaveLength(5);
    const sizes = served.statements.filter((each) => /json_each|json_array_elements/.test(each));
    expect(sizes).toHaveLength(3);
  });
});

describe('An iteration over a selection', () => {
  let served: ServedSelections;

  beforeEach(async () => {
    served = await serveSelections();
    await createStaff(served.app);
    await sql`with recursive "n" ("i") as (select 6 union all select "i" + 1 from "n" where "i" < 1205)
      insert into "Employee" ("lastName", "salary", "__TIMESTAMP") select 'n', 5, '2020-01-01T00:00:00.000Z' from "n"`.execute(
      served.ds.kysely,
    );
    served.statements.length = 0;
  });
  afterEach(() => served.app.close());

  it('reads a few entities by one statement', async () => {
    const names: (string | null)[] = [];
    const some = served.ds.Employee.query('salary > 5').orderBy('lastName desc');
    for await (const { lastName } of some) names.push(lastName);
    expect(names).toEqual(['Dunn', 'cole', 'Bell', 'Adam']);
    expect(served.statements).toHaveLength(1);
  });

  it('visits the entities of its beginning, whatever changes', async () => {
    const { Employee } = served.ds;
    const fives = Employee.query('salary = 5').orderBy('salary, ID desc');
    const seen: number[] = [];
    for await (const employee of fives) {
      seen.push(employee.ID);
      // It no longer belongs to the selection, and would have another position.
      employee.salary = 1;
      if (employee.ID % 100 === 0) await employee.save();
      if (employee.ID === 1000) await Employee.fromKeys([10, 20, 999]).drop();
    }
    expect(seen).toHaveLength(1198);
    expect(seen).toEqual([...seen].sort((a, b) => b - a));
    // 999 was read with its batch.
    expect(seen).not.toContain(10);
    expect(seen).toContain(999);
    expect(await fives.count()).toBe(1200 - 3 - 12);
  });

  it('sees the changes of its transaction', async () => {
    const { ds } = served;
    const outside = ds.Employee.query("lastName = 'new'");
    const counted = ds.transaction(async () => {
      const entity = ds.Employee.new({ lastName: 'new' });
      await entity.save();
      const names: (string | null)[] = [];
      for await (const { lastName } of outside) names.push(lastName);
      expect(names).toEqual(['new']);
      expect(await outside.contains(entity)).toBe(true);
      expect(await outside.distinct('lastName')).toEqual(['new']);
      throw new Error(`saw ${await outside.count()}`);
    });
    await expect(counted).rejects.toThrow('saw 1');
    expect(await outside.count()).toBe(0);
  });
});

describe('The deletion of a selection', () => {
  let served: ServedSelections;

  beforeEach(async () => {
    served = await serveSelections();
    await createStaff(served.app);
  });
  afterEach(() => served.app.close());

  it('deletes its entities and those that the model adds, and returns the number', async () => {
    const { ds } = served;
    expect(await ds.Employee.query('salary < 250').drop()).toBe(2);
    expect(await ds.Employee.all().distinct('lastName')).toEqual(['cole', 'Dunn', 'Ende']);
    expect(await ds.Badge.all().count()).toBe(0);
    expect(await ds.Employee.query('boss = null').count()).toBe(2);
    expect(await ds.Employee.query('salary < 250').drop()).toBe(0);
    expect(await ds.Employee.all().orderBy('salary desc').slice(0, 1).drop()).toBe(1);
    expect(await ds.Employee.all().distinct('lastName')).toEqual(['cole', 'Ende']);
    expect(await ds.Employee.all().drop()).toBe(2);
    expect(await ds.Company.all().drop()).toBe(3);
  });

  it('is all or nothing', async () => {
    const { ds } = served;
    await expect(ds.Company.all().drop()).rejects.toMatchObject({
      name: 'SaveError',
      httpStatus: 409,
      errors: [{ errCode: 1840 }],
    });
    expect(await ds.Company.all().count()).toBe(3);
    const given = ds.transaction(async () => {
      expect(await ds.Employee.all().drop()).toBe(5);
      expect(await ds.Employee.all().count()).toBe(0);
      throw new Error('given up');
    });
    await expect(given).rejects.toThrow('given up');
    expect(await ds.Employee.all().count()).toBe(5);
  });

  it('deletes the entities of a selection in memory', async () => {
    const { ds } = served;
    const list = ds.Employee.newSelection();
    for await (const each of ds.Employee.query('salary > 250')) list.add(each);
    expect(await list.drop()).toBe(2);
    expect(await ds.Employee.all().count()).toBe(3);
  });
});
