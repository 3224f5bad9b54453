import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type Placement,
  Placements,
} from '../../../../runtime/dialect/sqlite/readers/placement.js';

const database = new Database(':memory:');
database.exec(`
  create table "Large" ("ID" integer primary key, "text" text, "number" integer);
  create index "Large.text" on "Large" ("text");
  create table "Keyed" ("ID" text primary key, "number" integer) without rowid;
  create table "Small" ("ID" integer primary key, "text" text);
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
    insert into "Large" select i, 'text ' || (i % 100) || zeroblob(40), i from n;
  insert into "Keyed" select 'key ' || "ID", "ID" from "Large";
  insert into "Small" values (1, 'a'), (2, 'b');
`);
afterAll(() => {
  database.close();
});

const placements = new Placements(database);

function placementOf(sql: string, isPage = false): Placement | undefined {
  const bindings = (sql.match(/\?/g) ?? []).map(() => null);
  return placements.of({ sql, bindings, ...(isPage ? { isPage: true } : {}) });
}

/** Of a read that loops over something. */
function measured(sql: string, isPage = false): Placement {
  const placement = placementOf(sql, isPage);
  if (placement === undefined) throw new Error(`${sql} is never elsewhere.`);
  return placement;
}

const minute = 60_000;

describe('A read by a unique key', () => {
  it.each([
    'select * from "Large" where "ID" = ?',
    'select "number" from "Keyed" where "ID" = ?',
    'select (select "text" from "Small" where "ID" = "l"."number") from "Large" as "l" where "ID" = ?',
  ])('is never offloaded: %s', (sql) => {
    expect(placementOf(sql)).toBeUndefined();
  });
});

describe('A read that scans a whole large table', () => {
  it.each([
    'select sum("number") from "Large"',
    'select * from "Large" where "number" = ? limit 1',
    'select * from "Large" order by "number" limit 10',
    'select count(*) from "Keyed" where "number" > ?',
    'select (select count(*) from "Large" where "number" > "s"."ID") from "Small" as "s"',
  ])('is always offloaded, however short its runs are: %s', (sql) => {
    const placement = measured(sql);
    for (let run = 0; run < 5; run += 1) {
      expect(placement.isElsewhere(run * minute * 2)).toBe(true);
      placement.ran(0.1, 10, run * minute * 2);
    }
  });

  it('is not offloaded if it is a page in the order of an index, which ends with its last row', () => {
    for (const order of ['"ID"', '"text"']) {
      expect(measured(`select * from "Large" order by ${order} limit ?`, true).isElsewhere(0)).toBe(
        false,
      );
    }
    expect(measured('select * from "Large" order by "number" limit ?', true).isElsewhere(0)).toBe(
      true,
    );
  });
});

describe('A read that loops over a part of a large table', () => {
  it('is offloaded until a run was short', () => {
    const placement = measured('select count(*) from "Large" where "text" = ?');
    expect(placement.isElsewhere(0)).toBe(true);
    placement.ran(50, 10, 0);
    placement.ran(50, 10, 1);
    expect(placement.isElsewhere(2)).toBe(true);
    placement.ran(1, 10, 2);
    expect(placement.isElsewhere(3)).toBe(true);
    expect(placement.isElsewhere(minute + 2)).toBe(false);
  });

  it('is no longer offloaded as soon as a run was short', () => {
    const placement = measured('select count(*) from "Large" where "text" = ?');
    placement.ran(1, 10, 0);
    expect(placement.isElsewhere(1)).toBe(false);
  });
});

it('A read that loops over a part of a large table stays offloaded if the time of statements is limited', () => {
  const placement = new Placements(database, true).of({
    sql: 'select count(*) from "Large" where "text" = ?',
    bindings: [null],
  });
  placement?.ran(1, 10, 0);
  expect(placement?.isElsewhere(1)).toBe(true);
});

describe('A read of a small table', () => {
  const small = (): Placement => measured('select * from "Small" order by "text"');

  it('is not offloaded until two runs in a row were slow', () => {
    const twice = small();
    expect(twice.isElsewhere(0)).toBe(false);
    twice.ran(30, 10, 0);
    expect(twice.isElsewhere(0)).toBe(false);
    twice.ran(30, 10, 0);
    expect(twice.isElsewhere(0)).toBe(true);
  });

  it('is offloaded after a run of more than 100 ms, until one was short: the machine may have been busy', () => {
    const once = small();
    once.ran(150, 10, 0);
    expect(once.isElsewhere(0)).toBe(true);
    once.ran(1, 10, 1);
    expect(once.isElsewhere(1)).toBe(false);
    once.ran(150, 10, 2);
    once.ran(150, 10, 3);
    once.ran(1, 10, 4);
    expect(once.isElsewhere(4)).toBe(true);
  });

  it('is tried in the server again after a minute', () => {
    const placement = small();
    placement.ran(30, 10, 0);
    placement.ran(30, 10, 0);
    expect(placement.isElsewhere(minute - 1)).toBe(true);
    expect(placement.isElsewhere(minute)).toBe(false);
  });

  it('is tried in the server again after 20 short runs in a row', () => {
    const placement = small();
    placement.ran(30, 10, 0);
    placement.ran(30, 10, 0);
    for (let run = 0; run < 19; run += 1) placement.ran(1, 10, 0);
    expect(placement.isElsewhere(0)).toBe(true);
    placement.ran(1, 10, 0);
    expect(placement.isElsewhere(0)).toBe(false);
  });

  it('may take longer if the answer is large', () => {
    const placement = small();
    for (let run = 0; run < 3; run += 1) placement.ran(40, 8_000_000, 0);
    expect(placement.isElsewhere(0)).toBe(false);
  });

  it('is classified again when the table has grown', () => {
    const placement = small();
    expect(placement.isElsewhere(0)).toBe(false);
    placement.ran(0.1, 10, 0);
    database.exec(`insert into "Small" select "ID" + 10, "text" from "Large"`);
    expect(placement.isElsewhere(1)).toBe(false);
    expect(placement.isElsewhere(2 * minute)).toBe(true);
    database.exec(`delete from "Small" where "ID" > 2`);
  });
});

describe('A read whose last run', () => {
  it('ended within a second is short; one that never ran is not', () => {
    const placement = measured('select sum("number") from "Large"');
    expect(placement.isShort).toBe(false);
    placement.ran(300, 10, 0);
    expect(placement.isShort).toBe(true);
    placement.ran(3_000, 10, 0);
    expect(placement.isShort).toBe(false);
  });

  it('was stopped counts as at least as long as it ran', () => {
    const unknown = measured('select sum("number") from "Large"');
    unknown.stopped(250, 0);
    expect(unknown.isShort).toBe(false);
    const known = measured('select sum("number") from "Large"');
    known.ran(500, 10, 0);
    known.stopped(30_000, 0);
    expect(known.isShort).toBe(false);
  });
});

it('A read of a small database is not offloaded, whatever it scans', () => {
  const small = new Database(':memory:');
  small.exec('create table "Small" ("ID" integer primary key, "text" text)');
  const placement = new Placements(small).of({ sql: 'select * from "Small"', bindings: [] });
  expect(placement?.isElsewhere(0)).toBe(false);
  small.close();
});
