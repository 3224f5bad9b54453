import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TableSizes } from '../../../../runtime/dialect/sqlite/readers/table-sizes.js';

const rows = 5_000;

let database: Database.Database;
let sizes: TableSizes;
beforeEach(() => {
  database = new Database(':memory:');
  database.exec('create table "t" ("ID" integer primary key, "text" text)');
  sizes = new TableSizes(database);
});
afterEach(() => {
  database.close();
});

/** @param key the SQL of a row's key, `i` being 1 for the first */
function fill(key: string): number | undefined {
  database.exec(`
    with recursive "n"("i") as (select 1 union all select "i" + 1 from "n" where "i" < ${rows})
    insert into "t" select ${key}, 'twenty characters or so' from "n"
  `);
  return sizes.rows('t', 0);
}

describe('the size of a table', () => {
  it.each([
    ['from 1 on', '"i"'],
    ['that begin anywhere', '1700000000000 + "i"'],
    ['below 0', '-"i"'],
  ])('is known by keys %s', (_, key) => {
    expect(fill(key)).toBe(rows);
  });

  it.each([
    ['far apart', '"i" * 86400000'],
    ['as far apart as can be', '("i" - 2500) * 3000000000000000'],
  ])('is no more than there is space for, with keys %s', (_, key) => {
    expect(fill(key)).toBeLessThan(rows * 5);
    expect(sizes.rows('t', 0)).toBeGreaterThanOrEqual(rows);
  });

  it('is none of an empty one, and unknown of what is no table', () => {
    expect(sizes.rows('t', 0)).toBe(0);
    expect(sizes.rows('u', 0)).toBeUndefined();
  });
});
