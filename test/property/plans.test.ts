import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';

const yaml = `
drs: 1
name: plans
dataclasses:
  Company:
    attributes:
      code: { type: string, key: true }
      city: { type: string, indexed: true }
      staff: { to: Person, many: true, inverse: employer }
      alumni: { to: Person, many: true, inverse: formerEmployer }
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      city: { type: string, indexed: true }
      email: { type: string, unique: true }
      score: { type: number, indexed: true }
      born: { type: date, dateOnly: true, indexed: true }
      name: string
      employer: { to: Company, foreignKey: employerCode }
      employerCode: { type: string, exposed: false, indexed: true }
      formerEmployer: { to: Company }
      boss: { to: Person }
      reports: { to: Person, many: true, inverse: boss }
      visits: { to: Visit, many: true, inverse: person }
  Visit:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      person: { to: Person, foreignKey: personID }
      personID: { type: integer, exposed: false, indexed: true }
      at: { type: date, indexed: true }
`;

const people = 3_000;
const folder = mkdtempSync(join(tmpdir(), 'drs-plans-'));
const file = join(folder, 'data.sqlite');

let app: FastifyInstance;
let database: Database.Database;
let statements: string[] = [];

beforeAll(async () => {
  app = await serverOf(yaml, {
    databaseUrl: `sqlite:${file}`,
    onStatement: (sql) => {
      statements.push(sql);
    },
  });
  const companies = Array.from({ length: 60 }, (_, index) => ({
    code: `C${index}`,
    city: `Town ${index % 20}`,
  }));
  await create(app, 'Company', companies);
  for (let start = 0; start < people; start += 500) {
    const batch = Array.from({ length: 500 }, (_, offset) => person(start + offset));
    await create(app, 'Person', batch);
  }
  const visits = Array.from({ length: 2_000 }, (_, index) => ({
    person: 1 + ((index * 7) % people),
    at: new Date(1_700_000_000_000 + index * 3_600_000).toISOString(),
  }));
  await create(app, 'Visit', visits);
  database = new Database(file);
  // Plans need the names of these functions, but not their code.
  for (const name of ['drs_fold', 'drs_uri', 'drs_number']) {
    database.function(name, { deterministic: true }, (text: unknown) => String(text));
  }
  database.exec('ANALYZE');
});

afterAll(async () => {
  database.close();
  await app.close();
  rmSync(folder, { recursive: true });
});

function person(index: number): object {
  return {
    city: `Town ${index % 300}`,
    email: `p${index}@example.org`,
    score: (index * 37) % 1_000,
    born: new Date(index * 86_400_000 * 3).toISOString().slice(0, 10),
    name: `Person ${index}`,
    employer: `c${index % 60}`,
    formerEmployer: `C${(index * 7) % 60}`,
    boss: index < 10 ? null : 1 + Math.floor(index / 10),
  };
}

interface Plan {
  /** `SCAN Person`, `SEARCH Person USING INDEX ...`: names of tables in place of their names in the statement. */
  readonly steps: readonly string[];
  readonly sorts: readonly string[];
}

/** The plans of a read on SQLite: a statement for the page, and perhaps one for the count. */
async function planOf(url: string): Promise<Plan> {
  statements = [];
  const response = await app.inject({ url: url.replaceAll(' ', '%20') });
  expect(response.statusCode, response.body).toBe(200);
  expect(statements.length).toBeGreaterThanOrEqual(1);
  expect(statements.length).toBeLessThanOrEqual(2);
  const details = statements.flatMap(detailsOf);
  return {
    steps: details.filter((each) => /^(SCAN|SEARCH) (Person|Company|Visit)\b/.test(each)),
    sorts: details.filter((each) => each.startsWith('USE TEMP B-TREE')),
  };
}

function detailsOf(sql: string): readonly string[] {
  const values = sql.replace(/'(?:[^']|'')*'/g, '').match(/\?/g) ?? [];
  const rows = database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...values.map(() => null)) as readonly { readonly detail: string }[];
  const tables = new Map(
    [...sql.matchAll(/"(\w+)" as "(t\d+)"/g)].map((each) => [each[2], each[1]]),
  );
  return rows.map(({ detail }) =>
    detail.replace(/^(SCAN|SEARCH) (t\d+)\b/, (all, verb: string, alias: string) =>
      tables.has(alias) ? `${verb} ${tables.get(alias) ?? ''}` : all,
    ),
  );
}

function scans({ steps }: Plan): readonly string[] {
  return steps.filter((each) => each.startsWith('SCAN'));
}

describe('An index finds', () => {
  it.each([
    ['a text', "/rest/Person?$filter=city = 'TOWN 7'"],
    ['the beginning of a text', "/rest/Person?$filter=city begin 'town 1'"],
    ['a range of texts', "/rest/Person?$filter=city >= 'town 1' and city < 'town 2'"],
    ['a text with another condition', "/rest/Person?$filter=name = 'x' AND city = 'town 7'"],
    ['a number', '/rest/Person?$filter=score = 37'],
    ['a range of numbers', '/rest/Person?$filter=score > 10 AND score <= 12'],
    ['days', "/rest/Person?$filter=born >= '1990-01-01' AND born < '1990-02-01'"],
    ['a unique text', "/rest/Person?$filter=email = 'P7@example.org'"],
    ['a key', '/rest/Person?$filter=ID = 7'],
    ['a range of keys', '/rest/Person?$filter=__KEY > 2990'],
    ['a text key', "/rest/Company?$filter=code = 'c7'"],
    ['a related key', "/rest/Person?$filter=employer = 'c7'"],
    ['one entity', '/rest/Person(7)'],
    ['one entity by a text key', '/rest/Company(c7)'],
    ['one entity by a unique attribute', '/rest/Person:email(P7@example.org)'],
    ['one entity by an attribute that is not unique', '/rest/Person:city(town 7)'],
    ['related entities', '/rest/Company(c7)/staff?$expand=staff'],
    ['related entities by a foreign key that was made', '/rest/Company(c7)/alumni?$expand=alumni'],
    ['related entities of the same dataclass', '/rest/Person(7)/reports?$expand=reports'],
    ['related entities that match', "/rest/Company(c7)/staff?$expand=staff&$filter=city='town 7'"],
    ['expanded entities', '/rest/Company(c7)?$expand=staff.visits'],
    ['expanded entities on the way up', '/rest/Person(7)?$expand=boss.employer'],
    ['entities by the city of their employer', "/rest/Person?$filter=employer.city = 'town 7'"],
  ])('%s', async (_, url) => {
    const plan = await planOf(url);
    expect(plan.steps).not.toStrictEqual([]);
    expect(scans(plan)).toStrictEqual([]);
  });

  it('the entities of an OR of two conditions', async () => {
    const plan = await planOf("/rest/Person?$filter=city = 'town 7' OR email = 'p7@example.org'");
    expect(scans(plan)).toStrictEqual([]);
  });
});

describe('An index gives the order', () => {
  it.each([
    ['keys', '/rest/Person?$top=10'],
    ['text keys', '/rest/Company?$top=10'],
    ['keys backwards', '/rest/Person?$top=10&$orderby=ID desc'],
    ['UUID keys', '/rest/Visit?$top=10'],
    ['a text', '/rest/Person?$top=10&$orderby=city'],
    ['a text and its key', '/rest/Person?$top=10&$orderby=city,ID'],
    ['a unique text', '/rest/Person?$top=10&$orderby=email'],
    ['a number', '/rest/Person?$top=10&$orderby=score'],
    ['a day', '/rest/Person?$top=10&$orderby=born'],
    ['a date in a dataclass whose key is no number', '/rest/Visit?$top=10&$orderby=at'],
    ['keys among equal texts', "/rest/Person?$filter=city = 'town 7'"],
    ['texts with a beginning', "/rest/Person?$filter=city begin 'town 1'&$orderby=city"],
    ['related entities', '/rest/Company(c7)/staff?$expand=staff&$top=5'],
    ['related entities with a UUID', '/rest/Person(7)/visits?$expand=visits'],
  ])('of %s', async (_, url) => {
    const plan = await planOf(url);
    expect(plan.sorts).toStrictEqual([]);
  });

  it('of a text backwards, except for ties', async () => {
    const plan = await planOf('/rest/Person?$top=10&$orderby=city desc');
    expect(plan.sorts).toStrictEqual(['USE TEMP B-TREE FOR LAST TERM OF ORDER BY']);
  });
});

describe('An index gives', () => {
  it.each([
    ['the different numbers', '/rest/Person/score?$distinct=true'],
    ['the first different numbers', '/rest/Person/score?$distinct=true&$top=3'],
    ['the first different texts', '/rest/Person/city?$distinct=true&$top=3'],
    ['the different days', '/rest/Person/born?$distinct=true'],
    ['the least number', '/rest/Person/score?$compute=min'],
    ['the greatest number', '/rest/Person/score?$compute=max'],
    ['the least text', '/rest/Person/city?$compute=min'],
    ['the greatest text', '/rest/Person/email?$compute=max'],
    ['the greatest key', '/rest/Person/ID?$compute=max'],
  ])('%s', async (_, url) => {
    const { steps, sorts } = await planOf(url);
    expect(sorts).toStrictEqual([]);
    // A whole table is read only in the order of an index, or only at one end.
    expect(steps.filter((each) => !each.includes('INDEX') && each.startsWith('SCAN'))).toEqual([]);
    expect(steps).not.toStrictEqual([]);
  });

  it.each([
    ['an aggregate of related entities', '/rest/Company(c7)/staff.score?$compute=$all'],
    ['different values of related entities', '/rest/Company(c7)/staff.city?$distinct=true'],
    ['an aggregate behind a filter', "/rest/Person/name?$compute=$all&$filter=city = 'town 7'"],
    [
      'an aggregate over a to-many relation',
      "/rest/Company/staff.name?$compute=$all&$filter=code = 'c7'",
    ],
  ])('the entities of %s', async (_, url) => {
    const plan = await planOf(url);
    expect(plan.steps).not.toStrictEqual([]);
    expect(scans(plan)).toStrictEqual([]);
  });
});
