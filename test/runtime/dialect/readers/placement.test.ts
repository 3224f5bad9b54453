import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import { type EntitiesPage, Slot } from '../../../../runtime/dialect/statement.js';
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

function placementOf(sql: string, of?: EntitiesPage['of']): Placement | undefined {
  const bindings = (sql.match(/\?/g) ?? []).map(() => null);
  const page = of === undefined ? {} : { page: { of, top: new Slot(0), related: 0 } };
  return placements.of({ sql, bindings, ...page });
}

/** Of a read that loops over something. */
function measured(sql: string, page?: EntitiesPage['of']): Placement {
  const placement = placementOf(sql, page);
  if (placement === undefined) throw new Error(`${sql} is never offloaded.`);
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
    for (let run = 0; run < 50; run += 1) {
      expect(placement.isOffloaded(run * minute)).toBe(true);
      placement.record(0.1, 10);
    }
  });

  it('is not offloaded if it is a page in the order of an index, which ends with its last row', () => {
    for (const order of ['"ID"', '"text"']) {
      expect(
        measured(`select * from "Large" order by ${order} limit ?`, 'all').isOffloaded(0),
      ).toBe(false);
    }
    expect(measured('select * from "Large" order by "number" limit ?', 'all').isOffloaded(0)).toBe(
      true,
    );
  });
});

describe('A page', () => {
  const keys =
    'select "text" from json_each(?) as "k" join "Large" as "l" on "l"."ID" = "k"."value"';

  it.each([
    ['of all entities', 'select * from "Large" order by "ID" limit ?', 'all'],
    ['of entities of a set', keys, 'others'],
  ] as const)('%s is offloaded at once if it may return more than 2,500', (_, sql, of) => {
    const placement = measured(sql, of);
    expect(placement.isOffloaded(0, 2_500)).toBe(false);
    expect(placement.isOffloaded(0, 2_501)).toBe(true);
    placement.record(0.1, 10);
    expect(placement.isOffloaded(0, 2_501)).toBe(true);
  });

  it('of a table that has fewer rows is not offloaded', () => {
    const placement = measured('select * from "Small" order by "ID" limit ?', 'all');
    expect(placement.isOffloaded(0, 10_000)).toBe(false);
  });
});

describe('A read that loops over a part of a large table', () => {
  const expectOffloadedUntilShort = (placement: Placement): void => {
    expect(placement.isOffloaded(0)).toBe(true);
    placement.record(1, 10);
    expect(placement.isOffloaded(0)).toBe(false);
    placement.record(50, 10);
    for (let run = 0; run < 20; run += 1) {
      expect(placement.isOffloaded(0)).toBe(true);
      placement.record(1, 10);
    }
    expect(placement.isOffloaded(0)).toBe(false);
  };

  it('is offloaded until a run was short, and for 20 runs after one that was not', () => {
    expectOffloadedUntilShort(measured('select count(*) from "Large" where "text" = ?'));
  });

  it('may be a filtered page in the order of an index, which ends when it is full', () => {
    const page = (order: string): string =>
      `select * from "Large" where "number" > ? order by ${order} limit ?`;
    expectOffloadedUntilShort(measured(page('"text"'), 'filtered'));
    const sorted = measured(page('"number"'), 'filtered');
    sorted.record(1, 10);
    expect(sorted.isOffloaded(0)).toBe(true);
  });
});

it('A read that loops over a part of a large table stays offloaded if the time of statements is limited', () => {
  const placement = new Placements(database, true).of({
    sql: 'select count(*) from "Large" where "text" = ?',
    bindings: [null],
  });
  placement?.record(1, 10);
  expect(placement?.isOffloaded(1)).toBe(true);
});

describe('A read of a small table', () => {
  const small = (): Placement => measured('select * from "Small" order by "text"');
  const record = (placement: Placement, milliseconds: number, times = 1): void => {
    for (let run = 0; run < times; run += 1) placement.record(milliseconds, 10);
  };

  it('is not offloaded after one long run, however long it was: the machine may have been busy', () => {
    const once = small();
    expect(once.isOffloaded(0)).toBe(false);
    record(once, 5_000);
    expect(once.isOffloaded(0)).toBe(false);
    record(once, 1, 19);
    record(once, 5_000);
    expect(once.isOffloaded(0)).toBe(false);
  });

  it('is offloaded while two of its last 20 runs were slow', () => {
    const placement = small();
    record(placement, 30);
    record(placement, 1, 18);
    record(placement, 30);
    expect(placement.isOffloaded(0)).toBe(true);
    record(placement, 1);
    expect(placement.isOffloaded(0)).toBe(false);
    record(placement, 30);
    expect(placement.isOffloaded(0)).toBe(true);
    record(placement, 1, 17);
    expect(placement.isOffloaded(0)).toBe(true);
    record(placement, 1);
    expect(placement.isOffloaded(0)).toBe(false);
  });

  it('may take longer if the answer is large', () => {
    const placement = small();
    for (let run = 0; run < 3; run += 1) placement.record(40, 8_000_000);
    expect(placement.isOffloaded(0)).toBe(false);
  });

  it('is classified again when the table has grown', () => {
    const placement = small();
    expect(placement.isOffloaded(0)).toBe(false);
    placement.record(0.1, 10);
    database.exec(`insert into "Small" select "ID" + 10, "text" from "Large"`);
    expect(placement.isOffloaded(1)).toBe(false);
    expect(placement.isOffloaded(2 * minute)).toBe(true);
    database.exec(`delete from "Small" where "ID" > 2`);
  });
});

describe('A read whose last run', () => {
  it('ended within a second is short; one that never ran is not', () => {
    const placement = measured('select sum("number") from "Large"');
    expect(placement.isShort).toBe(false);
    placement.record(300, 10);
    expect(placement.isShort).toBe(true);
    placement.record(3_000, 10);
    expect(placement.isShort).toBe(false);
  });

  it('was stopped counts as at least as long as it ran', () => {
    const unknown = measured('select sum("number") from "Large"');
    unknown.recordStop(250);
    expect(unknown.isShort).toBe(false);
    const known = measured('select sum("number") from "Large"');
    known.record(500, 10);
    known.recordStop(30_000);
    expect(known.isShort).toBe(false);
  });
});
