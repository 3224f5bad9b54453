import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { sqliteDialect } from '../../../runtime/dialect/sqlite/dialect.js';
import { Slot } from '../../../runtime/dialect/statement.js';
import { fold } from '../../../runtime/protocol/fold.js';

it('Variables have a unary plus, so that SQLite plans no statement again for their values', () => {
  const { sql: text } = sqliteDialect(fold).compile(
    sql`select * from "a" join "b" on "a"."b" = "b"."ID" where "a"."ID" = ${new Slot(0)}`,
  );
  expect(text).toBe('select * from "a" join "b" on "a"."b" = "b"."ID" where "a"."ID" = +?');
});

it('A unary plus changes no value, whatever its type', () => {
  const database = new Database(':memory:');
  const values = [7n, -1.5, '7', ' 7', 'x', '', Buffer.from('7'), Buffer.alloc(0), null, 2n ** 62n];
  const plus = database.prepare('select typeof(+?), +?').raw().safeIntegers();
  const bare = database.prepare('select typeof(?), ?').raw().safeIntegers();
  expect(values.map((each) => plus.get(each, each))).toEqual(
    values.map((each) => bare.get(each, each)),
  );
  // Comparisons do not change either: the affinity of the column still applies.
  database.exec(`create table "t" ("n" integer, "s" text); insert into "t" values (7, '7')`);
  for (const given of [7, '7', '7.0', 7n, Buffer.from('7')]) {
    const found = ['+?', '?'].map((variable) =>
      database
        .prepare(`select "n" = ${variable}, "s" = ${variable} from "t"`)
        .raw()
        .get(given, given),
    );
    expect(found[0]).toEqual(found[1]);
  }
  database.close();
});
