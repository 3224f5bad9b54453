import Database from 'better-sqlite3';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { Slot, type Statement } from '../../../../runtime/dialect/statement.js';
import { SqliteReads, PreparedStatements } from '../../../../runtime/dialect/sqlite/reads.js';
import type { ReaderPool } from '../../../../runtime/dialect/sqlite/readers/reader-pool.js';
import {
  Placement,
  placementOf,
  Placements,
  slowMilliseconds,
} from '../../../../runtime/dialect/sqlite/readers/placement.js';

const schema = `
  create table "Large" ("ID" integer primary key, "text" text, "number" integer, "code" text);
  create index "Large.text" on "Large" ("text");
  create unique index "Large (code=?)" on "Large" ("code");
  create unique index "Large.number,text" on "Large" ("number", "text");
  create table "Keyed" ("ID" text primary key, "number" integer) without rowid;
  create table "Pair" ("a" text, "b" text, primary key ("a", "b")) without rowid;
  create table "Small" ("ID" text primary key, "text" text);
  insert into "Small" values (1, 'a'), (2, 'b');
`;
const large = new Database(':memory:');
large.exec(`${schema}
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
    insert into "Large" select i, 'text ' || (i % 100) || hex(zeroblob(100)), i, i from n;
  insert into "Keyed" select 'key ' || "ID", "ID" from "Large";
`);
const small = new Database(':memory:');
small.exec(schema);
afterAll(() => {
  large.close();
  small.close();
});

function statementOf(sql: string, page?: Partial<Statement['page']>): Statement {
  const bindings = (sql.match(/\?/g) ?? []).map(() => null);
  const whole = { isOfAll: false, top: new Slot(0), related: 0, ...page };
  return { sql, bindings, ...(page === undefined ? {} : { page: whole }) };
}

/** The placement of a page of at most `top` entities. */
function placement(statement: Statement, top = 100, placements = new Placements(large)): Placement {
  const placed = placements.of(statement);
  if (placed === undefined) throw new Error(`${statement.sql} is never offloaded.`);
  return placementOf(placed, statement, [top]);
}

/** A page of all entities. */
function pageOfAll(order: string, related = 0): Statement {
  return statementOf(`select * from "Large" order by ${order} limit ?`, { isOfAll: true, related });
}

describe('A read that finds each row by a unique key', () => {
  it.each([
    'select 1',
    'select case when exists (select 1 from "Large" where "ID" = ?) then 1 end',
    'select * from "Large" where "ID" = ?',
    'select * from "Large" where "code" = ?',
    'select "code" from "Large" where "code" = ?',
    'select * from "Large" where "number" = ? and "text" = ?',
    'select "number" from "Keyed" where "ID" = ?',
    'select * from "Pair" where "a" = ? and "b" = ?',
    '\n-- by key\nselect * from "Large" where "ID" = ?',
    'select "text" from "Small" where "ID" = ?',
    'select (select "text" from "Small" where "ID" = "l"."text") from "Large" as "l" where "ID" = ?',
  ])('is never offloaded: %s', (sql) => {
    expect(new Placements(large).of(statementOf(sql))).toBeUndefined();
  });
});

describe('A read by a unique key whose index another server removes', () => {
  it('is offloaded after one slow run', async () => {
    const database = new Database(':memory:');
    database.exec(schema);
    let isSlow = false;
    // A scan of a large table takes longer than a read may block the server.
    database.function('scanned', () => {
      const cell = new Int32Array(new SharedArrayBuffer(4));
      if (isSlow) Atomics.wait(cell, 0, 0, 2 * slowMilliseconds);
      return 1;
    });
    database.exec(`insert into "Large" ("ID", "code") values (1, 'a')`);
    const asked: string[] = [];
    const pool = {
      ask: ({ sql }: { readonly sql: string }) => {
        asked.push(sql);
        return new Promise(() => undefined);
      },
    } as unknown as ReaderPool;
    const placements = new Placements(database, true);
    const reads = new SqliteReads(database, new PreparedStatements(database), {
      placements,
      openPool: () => Promise.resolve(pool),
    });
    const statement = {
      sql: 'select scanned() from "Large" where "code" = ?',
      bindings: [new Slot(0)],
    };
    for (let run = 0; run < 2; run += 1) expect(await reads.value(statement, ['a'])).toBe(1);
    database.exec('drop index "Large (code=?)"');
    isSlow = true;
    expect(await reads.value(statement, ['a'])).toBe(1);
    expect(asked).toEqual([]);
    void reads.value(statement, ['a']);
    await vi.waitFor(() => {
      expect(asked).toEqual([statement.sql]);
    });
    database.close();
  });
});

describe('A read that takes long in the server', () => {
  /**
   * Whether the third run is offloaded, if each takes 20 ms by the clock.
   * @param worked milliseconds of each run for which the processor worked for this process
   */
  async function isOffloaded(worked: number): Promise<boolean> {
    let clock = 0;
    let used = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => clock);
    vi.spyOn(process, 'cpuUsage').mockImplementation((before) => ({
      user: 1_000 * used - (before?.user ?? 0),
      system: 0,
    }));
    const database = new Database(':memory:');
    database.exec(schema);
    database.function('passed', () => {
      clock += 2 * slowMilliseconds;
      used += worked;
      return 1;
    });
    let isAsked = false;
    const pool = {
      ask: () => {
        isAsked = true;
        return new Promise(() => undefined);
      },
    } as unknown as ReaderPool;
    const reads = new SqliteReads(database, new PreparedStatements(database), {
      placements: new Placements(database),
      openPool: () => Promise.resolve(pool),
    });
    const statement = { sql: 'select passed() from "Small" limit 1', bindings: [] };
    try {
      for (let run = 0; run < 2; run += 1) expect(await reads.value(statement, [])).toBe(1);
      void reads.value(statement, []);
      await new Promise(setImmediate);
    } finally {
      vi.restoreAllMocks();
      database.close();
    }
    return isAsked;
  }

  it('is offloaded after two runs if the processor worked for it', async () => {
    expect(await isOffloaded(2 * slowMilliseconds)).toBe(true);
  });

  it('stays if others had the processor', async () => {
    expect(await isOffloaded(1)).toBe(false);
  });
});

describe('Every other read', () => {
  const reads = [
    'select count(*) from "Large"',
    'select * from "Large" where "text" = ?',
    'select * from "Large" where "text" = ? limit 1',
    'select * from "Large" where "ID" > ?',
    'select * from "Large" where "code" < ?',
    'select * from "Large" where "code" is null',
    'select count(*) from "Large" where "code" is null',
    'select * from "Large" where "code" is ?',
    'select * from "Large" where "ID" in (?, ?)',
    'select * from "Pair" where "a" = ?',
    '\n  select count(*) from "Large"',
    '-- counts\n/* all */ select count(*) from "Large"',
    'with recursive "n" ("i") as (select 1 union all select "i" + 1 from "n") select "i" from "n" limit ?',
    'select * from "Large" where "number" = ?',
    'select * from "Large" where "number" = ? and "text" > ?',
    'select * from "Keyed" where "ID" > ?',
    'select "text" from json_each(?) as "k" join "Large" as "l" on "l"."ID" = "k"."value"',
    'select (select count(*) from "Large" where "text" = "s"."text") from "Small" as "s" where "ID" = ?',
  ];

  it.each(reads)('is offloaded until a run was not slow: %s', (sql) => {
    const placed = placement(statementOf(sql));
    expect(placed.isOffloaded()).toBe(true);
    placed.record(1);
    expect(placed.isOffloaded()).toBe(false);
  });

  it.each(reads)('begins in the server if the database is small: %s', (sql) => {
    expect(placement(statementOf(sql), 100, new Placements(small)).isOffloaded()).toBe(false);
  });

  it('begins in the server if only the schema of the database is large', () => {
    const wide = new Database(':memory:');
    wide.exec(schema);
    for (let i = 0; i < 1_500; i += 1) wide.exec(`create table "T${i}" ("ID" integer primary key)`);
    for (const sql of reads) {
      expect(placement(statementOf(sql), 100, new Placements(wide)).isOffloaded()).toBe(false);
    }
    wide.close();
  });

  it.each(reads)('stays offloaded if the time of statements is limited: %s', (sql) => {
    for (const database of [large, small]) {
      const placed = placement(statementOf(sql), 100, new Placements(database, true));
      for (let run = 0; run < 50; run += 1) placed.record(1);
      expect(placed.isOffloaded()).toBe(true);
    }
  });

  it.each(reads)('is offloaded from a small database, too, after a slow run: %s', (sql) => {
    const placed = placement(statementOf(sql), 100, new Placements(small));
    placed.record(11);
    expect(placed.isOffloaded()).toBe(true);
  });

  it('is offloaded after a slow run, until 20 in a row were not', () => {
    const placed = new Placement(0);
    placed.record(10);
    expect(placed.isOffloaded()).toBe(false);
    placed.record(10.1);
    for (let run = 0; run < 19; run += 1) placed.record(1);
    placed.record(10.1);
    for (let run = 0; run < 20; run += 1) {
      expect(placed.isOffloaded()).toBe(true);
      placed.record(1);
    }
    expect(placed.isOffloaded()).toBe(false);
  });
});

describe('A statement that cannot be explained', () => {
  it.each(['explain query plan select count(*) from "Large"', ';select count(*) from "Large"'])(
    'begins in the server, until a run was slow: %s',
    (sql) => {
      const placed = placement(statementOf(sql));
      expect(placed.isOffloaded()).toBe(false);
      placed.record(11);
      expect(placed.isOffloaded()).toBe(true);
    },
  );
});

describe('A page', () => {
  it('of all entities begins in the server if it need not sort them', () => {
    for (const order of ['"ID"', '"text"']) {
      expect(placement(pageOfAll(order)).isOffloaded()).toBe(false);
    }
    expect(placement(pageOfAll('"text" || "number"')).isOffloaded()).toBe(true);
  });

  it('that may return more than 2,500 entities is offloaded until a run of such a page was not slow', () => {
    const statement = pageOfAll('"ID"');
    const placed = new Placements(large).of(statement);
    if (placed === undefined) throw new Error('It is never offloaded.');
    const runs = (top: number): Placement => placementOf(placed, statement, [top]);
    expect(runs(2_500).isOffloaded()).toBe(false);
    runs(2_500).record(1);
    expect(runs(2_501).isOffloaded()).toBe(true);
    runs(2_501).record(15);
    expect(runs(2_500).isOffloaded()).toBe(false);
    expect(placement(pageOfAll('"ID"', 24), 100).isOffloaded()).toBe(false);
    expect(placement(pageOfAll('"ID"', 25), 100).isOffloaded()).toBe(true);
  });
});

describe('A read whose last run', () => {
  it('ended within a second is short; one that never ran, or was stopped, is not', () => {
    const placed = new Placement(1);
    expect(placed.isShort).toBe(false);
    placed.record(300);
    expect(placed.isShort).toBe(true);
    placed.record(3_000);
    expect(placed.isShort).toBe(false);
    placed.record(300);
    placed.record(Infinity);
    expect(placed.isShort).toBe(false);
  });
});
