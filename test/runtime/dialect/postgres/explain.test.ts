import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Executor } from '../../../../runtime/dialect/executor.js';
import { describePostgres } from '../../../support/postgres.js';
import { database, statement } from './opened.js';

describePostgres('The plan of a statement on PostgreSQL', () => {
  let opened: Awaited<ReturnType<typeof database>>;
  let executor: Executor;

  beforeAll(async () => {
    opened = await database(
      'create table "A" ("ID" bigint primary key, "b" text collate "C", "my ""c""" integer, "d" integer)',
      'create index "__A.b,c" on "A" ("b", "my ""c""")',
      'create table "B" ("key" integer primary key, "a" bigint references "A")',
      'create index "__B.a" on "B" ("a")',
    );
    executor = (await opened.open()).executor;
  });
  afterAll(async () => {
    await executor.close();
    await opened.drop();
  });

  it.each([
    ['the whole table', 'select * from "A" as "t1"', { t1: [] }],
    ['no index', 'select * from "A" as "t1" where "d" = 1', { t1: [] }],
    ['the key', 'select * from "A" as "t1" where "ID" = 1', { t1: ['ID'] }],
    ['a bound key', 'select * from "A" as "t1" where "ID" = $1', { t1: ['ID'] }, 7],
    ['an index', `select * from "A" as "t1" where "b" = 'my "c"'`, { t1: ['b'] }],
    [
      'two columns',
      `select * from "A" as "t1" where "b" = 'x' and "my ""c""" > 3`,
      { t1: ['b', 'my "c"'] },
    ],
    [
      'a join',
      'select * from "A" as "t1" join "B" as "t2" on "t2"."a" = "t1"."ID" where "t1"."ID" = 1',
      { t1: ['ID'], t2: ['a'] },
    ],
    [
      'one of several',
      `select * from "A" as "t1" where "ID" = 1 or "b" = 'x'`,
      { t1: ['ID', 'b'] },
    ],
  ])('shows %s', async (_what, sql, expected: object, ...values: readonly number[]) => {
    const searches = await executor.explain(statement(sql, ...values), []);
    const found = searches.map(({ alias, columns }) => [alias, [...columns].sort()] as const);
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it('shows which index is that of the primary key', async () => {
    const keys = await executor.explain(statement('select * from "A" as "t" where "ID" = 1'), []);
    expect(keys).toMatchObject([{ byKey: true }]);
    const others = await executor.explain(
      statement(`select * from "A" as "t" where "b" = 'ID'`),
      [],
    );
    expect(others).toMatchObject([{ byKey: false }]);
  });

  it('changes nothing in the session, not even after an error', async () => {
    await expect(executor.explain(statement('select no_such_column'), [])).rejects.toThrow(
      'no_such',
    );
    expect(await executor.value(statement('show enable_seqscan'), [])).toBe('on');
  });
});
