import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../support/cookies.js';
import { restrictedClient, restrictedServer } from '../../support/restricted-server.js';

let folder: string;
let app: FastifyInstance;
let north: Client;
let plans: Sqlite.Database;
const statements: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drs-plans-'));
  const path = join(folder, 'data.sqlite');
  app = await restrictedServer({
    databaseUrl: `sqlite:${path}`,
    onStatement: (sql) => statements.push(sql),
  });
  north = await restrictedClient(app, 'ann', ['north']);
  plans = new Sqlite(path);
  for (const [name, count] of Object.entries({ drs_fold: 1, drs_uri: 1, drs_number: 1 })) {
    plans.function(name, { varargs: count > 1, deterministic: true }, (value: unknown) => value);
  }
  plans.exec(`
    insert into "Company" ("name", "__folded_name", "area", "__TIMESTAMP", "__STAMP") values ('a', 'a', 'north', '', 1), ('b', 'b', 'south', '', 1);
    insert into "Employee" ("name", "__folded_name", "salary", "employerID", "__TIMESTAMP", "__STAMP") with recursive "n"("i") as (select 1 union all select "i" + 1 from "n" where "i" < 2000) select 'e' || "i", 'e' || "i", "i" % 97, 1 + "i" % 2, '', 1 from "n";
    insert into "Seat" ("ID", "__folded_ID", "owner_ID", "__TIMESTAMP", "__STAMP") select 's' || "ID", 's' || "ID", "ID", '', 1 from "Employee";
    analyze`);
});
afterAll(async () => {
  plans.close();
  await app.close();
  rmSync(folder, { recursive: true });
});

/** Steps of the plans of what a request runs. */
async function stepsOf(
  send: () => Promise<{ statusCode: number; body: string }>,
): Promise<string[]> {
  statements.length = 0;
  const { statusCode, body } = await send();
  expect(statusCode, body).toBe(200);
  return statements
    .filter((each) => /^(?:select|update)/i.test(each))
    .flatMap((each) => {
      const unquoted = each.replaceAll(/'[^']*'|"[^"]*"/g, '');
      const nulls = Array.from(unquoted.matchAll(/\?/g), () => null);
      const rows = plans.prepare(`explain query plan ${each}`).all(...nulls);
      return (rows as { detail: string }[]).map(({ detail }) => detail);
    });
}

describe('A statement over a restricted dataclass', () => {
  it.each([
    '/rest/Employee?$top=5',
    '/rest/Employee?$filter=salary=5&$expand=employer,boss',
    '/rest/Employee?$orderby=salary&$top=5&$expand=boss',
    '/rest/Employee(2)?$expand=employer,boss,letters',
    '/rest/Seat?$expand=owner',
    '/rest/Seat?$filter=owner.salary=5',
    '/rest/Seat?$orderby=owner.name&$top=3',
    '/rest/Seat/owner.name?$distinct=true',
    '/rest/Seat/owner.salary?$compute=$all',
    '/rest/Employee/salary?$compute=sum',
    '/rest/Company?$expand=staff',
    '/rest/Company?$filter=staff.salary=5',
    '/rest/Company?$filter=staff.boss.salary=5',
  ])('builds no temporary table: %s', async (url) => {
    const steps = await stepsOf(() => north.get(url));
    expect(steps.length).toBeGreaterThan(0);
    for (const step of steps)
      expect(step).not.toMatch(/MATERIALIZE (?!__beside)|AUTOMATIC|SCAN __r\d/);
  });

  it('finds the entities of a filter and a relation by their indexes', async () => {
    const filtered = await stepsOf(() => north.get('/rest/Employee?$filter=salary=5'));
    expect(filtered.join('\n')).toMatch(/SEARCH Employee USING (?:COVERING )?INDEX/);
    const keyed = await stepsOf(() => north.get('/rest/Employee(2)'));
    expect(keyed.filter((each) => /^SCAN (?:t\d|Employee)/.test(each))).toEqual([]);
    expect(keyed.join('\n')).toContain('USING INTEGER PRIMARY KEY');
  });

  it('needs no additional statement', async () => {
    const url = '/rest/Employee?$filter=salary=6&$top=3';
    const all = await restrictedClient(app, 'all', ['all']);
    const count = async (client: Client): Promise<number> => {
      await client.get(url);
      statements.length = 0;
      await client.get(url);
      return statements.length;
    };
    expect(await count(north)).toBe(await count(all));
  });
});
