import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import type { PlanPart } from '../../../../runtime/dialect/sqlite/readers/query-plan.js';
import { StatementCost } from '../../../../runtime/dialect/sqlite/readers/statement-cost.js';
import { TableSizes } from '../../../../runtime/dialect/sqlite/readers/table-sizes.js';

const database = new Database(':memory:');
database.exec(`
  create table "Large" ("ID" integer primary key, "text" text);
  create table "Small" ("ID" integer primary key, "text" text);
  insert into "Small" ("ID", "text") values (1, zeroblob(32000000)), (100, '');
  insert into "Large" ("ID") values (1), (1000000);
`);
afterAll(() => {
  database.close();
});

function scan(table: string): PlanPart {
  return { kind: 'loop', table, search: undefined, isPaged: false };
}

function costOf(table: string, bindings = 1, longest = Infinity): StatementCost {
  const statement = {
    sql: `select count(*) from "${table}" where "text" = ?`,
    bindings: new Array<null>(bindings).fill(null),
  };
  return new StatementCost(statement, () => [scan(table)], new TableSizes(database), longest);
}

/** How often the same run must be told until the statement is where it shall be. */
function runsUntil(cost: StatementCost, isAway: boolean, milliseconds: number, bytes = 0): number {
  for (let runs = 0; runs < 1_000; runs += 1) {
    if (cost.isAway(0) === isAway) return runs;
    cost.took(milliseconds, bytes);
  }
  return Infinity;
}

describe('where a statement runs', () => {
  it('is here at first when it reads little', () => {
    expect(costOf('Small').isAway(0)).toBe(false);
  });

  it('is away at first when it reads much, and here when it proves short', () => {
    const cost = costOf('Large');
    expect(cost.isAway(0)).toBe(true);
    expect(runsUntil(cost, false, 0.2)).toBe(1);
  });

  it('is away for ever when it could take very long, however short it was', () => {
    expect(runsUntil(costOf('Large', 100), false, 0.2)).toBe(Infinity);
  });

  it('is away for ever when it could take longer than it may', () => {
    expect(runsUntil(costOf('Large', 1, 50), false, 0.2)).toBe(Infinity);
  });

  it('is away after it took long', () => {
    const cost = costOf('Small');
    expect(cost.isAway(0)).toBe(false);
    expect(runsUntil(cost, true, 12)).toBe(2);
  });

  it('stays after one run that a busy machine made long, and not after some, or one that was surely long', () => {
    for (const [milliseconds, runs] of [
      [90, 3],
      [200, 1],
    ] as const) {
      const cost = costOf('Small');
      cost.isAway(0);
      cost.took(0.1, 0);
      expect(runsUntil(cost, true, milliseconds)).toBe(runs);
    }
  });

  it('stays after a first run that a server which has just started made long', () => {
    const cost = costOf('Small');
    expect(cost.isAway(0)).toBe(false);
    cost.took(90, 0);
    for (let run = 0; run < 20; run += 1) {
      expect(cost.isAway(0)).toBe(false);
      cost.took(1, 0);
    }
  });

  it('stays where it mostly takes a little less than what is long, after one run that a busy machine made long', () => {
    const cost = costOf('Small');
    cost.isAway(0);
    for (let run = 0; run < 20; run += 1) {
      cost.took(8, 0);
      cost.took(38, 0);
      cost.took(8, 0);
      expect(cost.isAway(0)).toBe(false);
      for (let other = 0; other < 20; other += 1) cost.took(8, 0);
    }
    expect(runsUntil(cost, true, 38)).toBe(2);
  });

  it('is away where every other run takes long', () => {
    const cost = costOf('Small');
    cost.isAway(0);
    for (let run = 0; run < 10; run += 1) {
      cost.took(1, 0);
      cost.took(50, 0);
    }
    expect(cost.isAway(0)).toBe(true);
  });

  it('counts what it costs to send the answer', () => {
    expect(runsUntil(costOf('Small'), true, 12, 750_000)).toBe(Infinity);
    expect(runsUntil(costOf('Small'), true, 15, 750_000)).toBe(2);
  });

  it('is away after it took long for what is sent, too', () => {
    expect(runsUntil(costOf('Small'), true, 90, 10_000_000)).toBe(2);
    expect(runsUntil(costOf('Small'), true, 90, 17_000_000)).toBe(Infinity);
  });

  it('comes back after some short runs', () => {
    const cost = costOf('Small');
    runsUntil(cost, true, 12);
    expect(runsUntil(cost, false, 1)).toBeGreaterThan(1);
    expect(cost.isAway(0)).toBe(false);
  });

  it('is looked at again when tables have grown', () => {
    const cost = costOf('Small');
    expect(cost.isAway(0)).toBe(false);
    cost.took(0.1, 0);
    database.exec(`insert into "Small" ("ID") values (90000000)`);
    expect(cost.isAway(1_000)).toBe(false);
    expect(cost.isAway(70_000)).toBe(true);
    database.exec(`delete from "Small" where "ID" = 90000000`);
  });
});

it('has shown to end soon only when it has run', () => {
  const cost = costOf('Large');
  expect(cost.isShort).toBe(false);
  cost.took(300, 0);
  expect(cost.isShort).toBe(true);
  cost.took(30_000, 0);
  expect(cost.isShort).toBe(false);
});

describe('a statement that was stopped', () => {
  it('has not shown to end soon', () => {
    const cost = costOf('Large');
    cost.stopped(250);
    expect(cost.isShort).toBe(false);
    expect(cost.isAway(0)).toBe(true);
  });

  it('took as long as known at least', () => {
    const cost = costOf('Large', 100);
    cost.took(3_000, 0);
    for (let run = 0; run < 20; run += 1) cost.stopped(0);
    expect(cost.isShort).toBe(false);
    const other = costOf('Large', 100);
    other.took(500, 0);
    other.stopped(30_000);
    expect(other.isShort).toBe(false);
  });
});
