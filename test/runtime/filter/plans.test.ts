import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: filterplans
protocol: { wildcard: true }
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      city: { type: string, indexed: true }
      score: { type: number, indexed: true }
      born: { type: date, dateOnly: true, indexed: true }
      badge: { type: uuid, unique: true }
      extra: object
      boss: { to: Person, inverse: team }
      team: { to: Person, many: true, inverse: boss }
`;

const folder = mkdtempSync(join(tmpdir(), 'drs-filter-plans-'));
const file = join(folder, 'data.sqlite');
let app: FastifyInstance;
let database: Database.Database;
let statements: string[] = [];

beforeAll(async () => {
  const onStatement = (sql: string): void => {
    statements.push(sql);
  };
  app = await serverOf(model, { databaseUrl: `sqlite:${file}`, onStatement });
  const people = Array.from({ length: 1_000 }, (_, at) => ({
    city: `Town ${at % 200}`,
    score: at % 300,
    born: new Date(at * 86_400_000).toISOString().slice(0, 10),
    badge: String(at).padStart(32, '0'),
    extra: { at },
    boss: at < 10 ? null : 1 + Math.floor(at / 10),
  }));
  await create(app, 'Person', people);
  database = new Database(file);
  // Plans need the names of these functions, but not their code.
  for (const name of ['drs_fold', 'drs_uri', 'drs_number', 'drs_matches', 'drs_has_word']) {
    database.function(name, { deterministic: true, varargs: true }, () => null);
  }
  database.exec('ANALYZE');
});

afterAll(async () => {
  database.close();
  await app.close();
  rmSync(folder, { recursive: true });
});

/** How SQLite finds the people of each statement that a read needs. */
async function searches(filter: string, params: unknown[], order = ''): Promise<string[]> {
  statements = [];
  const query = new URLSearchParams({ $filter: filter, $params: JSON.stringify(params) });
  if (order !== '') query.set('$orderby', order);
  const response = await app.inject(`/rest/Person?${query.toString()}`);
  expect(response.statusCode, response.body).toBe(200);
  expect(statements).not.toHaveLength(0);
  return statements.flatMap((sql) => {
    // The table that a statement begins with keeps its name.
    const aliases = Array.from(sql.matchAll(/"Person" as "(t\d+)"/g), (each) => each[1]);
    const people = new Set([...aliases, 'Person']);
    const values = sql.replace(/'(?:[^']|'')*'/g, '').match(/\?/g) ?? [];
    const rows = database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values.map(() => null)) as readonly { readonly detail: string }[];
    return rows
      .map(({ detail }) => detail)
      .filter((detail) => people.has(/^(?:SCAN|SEARCH) (\w+)/.exec(detail)?.[1]));
  });
}

describe('An index finds', () => {
  it.each([
    ['texts of a list', 'city in :1', [['town 7', 'town 8']]],
    ['texts that are null', 'city = null', []],
    ['numbers of a list', 'score in :1', [[7, 8]]],
    ['days of a list', 'born in :1', [['1970-01-01']]],
    ['UUIDs of a list', 'badge in :1', [['00000000000000000000000000000007']]],
    ['keys of a list', '__KEY in :1', [['7', '8']]],
    ['related keys of a list', 'boss in :1', [[7]]],
    ['the beginning of a pattern', 'city = :1', ['town 1@']],
    ['the beginning of a longer pattern', 'city = :1', ['town@9*']],
    ['a range beside a property', "city = 'town 7' AND extra.at > 3", []],
    ['elements beside a text', "city = 'town 7' AND extra.list[a].x = 3", []],
    ['a list beside another relation', "team.city in :1 AND city = 'town 7'", [['town 8']]],
  ])('%s', async (_, filter, params) => {
    const steps = await searches(filter, params);
    expect(steps).not.toHaveLength(0);
    expect(steps.filter((step) => !step.startsWith('SEARCH'))).toStrictEqual([]);
  });
});

it('A list of texts is looked up only in the column of folded text', async () => {
  const [first] = await searches('city in :1', [['town 7']]);
  expect(first).toMatch(/^SEARCH Person USING (?:COVERING )?INDEX .*\(__folded_city=\?\)$/);
});
