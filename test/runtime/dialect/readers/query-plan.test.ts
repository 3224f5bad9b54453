import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type PlanLine,
  type PlanPart,
  readPlan,
} from '../../../../runtime/dialect/sqlite/readers/query-plan.js';
import { isLookup, worstRows } from '../../../../runtime/dialect/sqlite/readers/scan-cost.js';
import { TableSizes } from '../../../../runtime/dialect/sqlite/readers/table-sizes.js';

const people = 100_000;
const towns = 1_000;

const database = new Database(':memory:');
database.exec(`
  create table "Town" ("ID" integer primary key, "name" text not null unique);
  create table "Person" ("ID" integer primary key, "name" text, "age" integer, "townID" integer);
  create index "Person.age" on "Person" ("age");
  create index "Person.town" on "Person" ("townID");
  create table "Pair" ("one" integer, "two" integer, "text" text, primary key ("one", "two")) without rowid;
  insert into "Town" ("ID", "name") values (1, 'first'), (${towns}, 'last');
  insert into "Person" ("ID", "name") values (1, 'first'), (${people}, zeroblob(${20 * people}));
  insert into "Pair" values (1, 1, 'a'), (1, 2, 'b');
`);
afterAll(() => {
  database.close();
});

function planOf(sql: string): readonly PlanPart[] {
  const lines = database.prepare(`explain query plan ${sql}`);
  return readPlan(lines.all() as readonly PlanLine[], sql);
}

function worst(sql: string): number {
  const sizes = new TableSizes(database);
  return Math.round(worstRows(planOf(sql), / limit /.test(sql), sizes, 0));
}

describe('the rows that a statement goes through at worst', () => {
  it.each([
    ['a key', `select "name" from "Person" as "t1" where "ID" = 5`, 1],
    ['a whole table', `select sum("age") from "Person" as "t1"`, people],
    [
      'a filter without an index',
      `select count(*) from "Person" as "t1" where "name" = 'a'`,
      people,
    ],
    ['a number of all rows', `select (select count(*) from "Person" as "t1")`, 100],
    ['a number of all rows, as it is emitted', `select count(*) as "count" from "Person"`, 100],
    ['an index', `select count(*) from "Person" as "t1" where "age" = 5`, people / 4],
    ['bounds of an index', `select "name" from "Person" as "t1" where "age" > 5`, people / 4],
    ['a unique text', `select "ID" from "Town" as "t1" where "name" = 'a'`, 1],
    ['a page', `select "name" from "Person" as "t1" order by "t1"."ID" limit 5`, 100],
    ['a page, as it is emitted', `select "name" from "Person" order by "Person"."ID" limit 5`, 100],
    [
      'a page of a filter',
      `select "name" from "Person" as "t1" where "name" > 'a' order by "t1"."ID" limit 5`,
      people,
    ],
    [
      'a page in an order without an index',
      `select "name" from "Person" as "t1" order by "name" limit 5`,
      people,
    ],
    [
      'a to-one relation',
      `select "t2"."name" from "Person" as "t1" left join "Town" as "t2" on "t2"."ID" = "t1"."townID"`,
      people * 2,
    ],
    [
      'a to-many relation of each row',
      `select (select count(*) from "Person" as "t2" where "t2"."townID" = "t1"."ID") from "Town" as "t1"`,
      towns + towns * 10,
    ],
    [
      'a scan for each row',
      `select (select count(*) from "Person" as "t2" where "t2"."name" = "t1"."name") from "Town" as "t1"`,
      towns + towns * people,
    ],
    [
      'two ways to find a row',
      `select "name" from "Person" as "t1" where "age" = 5 or "townID" = 6`,
      people / 2,
    ],
    ['a part of a key', `select "text" from "Pair" as "t1" where "text" = 'a'`, 2],
  ])('%s', (_, sql, rows) => {
    expect(worst(sql)).toBe(rows);
  });
});

describe('a look-up', () => {
  const isLooked = (sql: string): boolean => isLookup(planOf(sql), new TableSizes(database));

  it.each([
    `select "name" from "Person" as "t1" where "ID" = 5`,
    `select "ID" from "Town" as "t1" where "name" = 'a'`,
    `select "t2"."name" from "Person" as "t1" left join "Town" as "t2" on "t2"."ID" = "t1"."townID" where "t1"."ID" = 5`,
    `select 1`,
  ])('%s', (sql) => {
    expect(isLooked(sql)).toBe(true);
  });

  it.each([
    `select "name" from "Person" as "t1" where "ID" > 5`,
    `select "name" from "Person" as "t1" where "age" = 5`,
    `select "name" from "Person" as "t1" limit 1`,
    `select (select count(*) from "Person" as "t2" where "t2"."townID" = "t1"."ID") from "Town" as "t1" where "ID" = 1`,
  ])('is none: %s', (sql) => {
    expect(isLooked(sql)).toBe(false);
  });
});

describe('the names of tables', () => {
  it('may hold anything', () => {
    database.exec(`create table "from ""x"" as" ("ID" integer primary key, "a" text)`);
    database.exec(`insert into "from ""x"" as" ("ID") values (1), (77)`);
    expect(worst(`select count(*) from "from ""x"" as" as "t 1" where "a" = 'b'`)).toBe(77);
  });
});
