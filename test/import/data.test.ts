import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../generator/import-data/run.js';
import { Random } from '../property/model/random.js';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { hasPostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { packageRoot, serverOf, writeServer } from '../support/server.js';
import { imported, runIn, workplace, type Run, type Workplace } from './importer.js';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
);

/** A source, and a compiled server of the model that was imported from it. */
interface Project {
  readonly place: Workplace;
  readonly source: string;
  readonly server: string;
}

interface Result {
  readonly ok: boolean;
  readonly error?: string;
  readonly outcomes: readonly Outcome[];
  readonly differences: readonly string[];
}

/** Imports the structure of a source, generates its server and compiles it. */
async function projectOf(
  place: Workplace,
  source: string,
  ...options: readonly string[]
): Promise<Project> {
  const { model } = await imported(place, source, ...options);
  const checked = model.checked.value;
  if (checked === undefined) throw new Error('The model has errors.');
  const written = writeServer({ ...checked, databases: ['sqlite', 'postgres'] });
  return { place, source, server: compiledServer(written) };
}

function ofSqlite(sql: string, ...options: readonly string[]): Promise<Project> {
  const place = workplace();
  const database = new Database(join(place.folder, 'old.sqlite'));
  database.function('png', () => png);
  database.exec(sql);
  database.close();
  return projectOf(place, 'sqlite:old.sqlite', ...options);
}

const sources: TestDatabase[] = [];

async function ofPostgres(sql: string, ...options: readonly string[]): Promise<Project> {
  const database = await postgresDatabase();
  sources.push(database);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(sql);
  await client.end();
  return projectOf(workplace(), database.url, ...options);
}

afterEach(async () => {
  for (const { drop } of sources.splice(0)) await drop();
});

function copy(
  { place, source, server }: Project,
  url: string,
  argv: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Run> {
  return runIn(place.folder, ['import-data', source, '-o', server, ...argv], {
    DATABASE_URL: url,
    ...env,
  });
}

async function copied(...given: Parameters<typeof copy>): Promise<Result & { readonly code: number }> {
  const [project, url, argv = [], env] = given;
  const { code, out, err } = await copy(project, url, ['--json', ...argv], env);
  try {
    return { code, ...(JSON.parse(out) as Result) };
  } catch {
    throw new Error(`exit ${String(code)}\n${err}${out}`);
  }
}

function rejectsOf({ place }: Project, dataclass: string): readonly unknown[] {
  const lines = place.text(`rejects/${dataclass}.jsonl`).trimEnd().split('\n');
  return lines.map((each) => JSON.parse(each) as unknown);
}

const numbers = ({
  dataclass,
  rows,
  entities,
  rejectedRows,
  incompleteRows,
  differences,
}: Outcome): readonly unknown[] => [
  dataclass,
  rows,
  entities,
  rejectedRows,
  incompleteRows,
  differences,
];

/**
 * A server whose program kills itself at a message of the import: `DIE_AT` counts those that it gets
 * and those that it sends. With `DIE_WHO=both` it kills the importer first.
 */
function dyingServer({ place, server, ...project }: Project): Project {
  const folder = join(place.folder, 'dying');
  mkdirSync(join(folder, 'dist/src'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'dist/src/import-data.js'),
    `let left = Number(process.env.DIE_AT ?? 0);
const die = () => {
  left -= 1;
  if (left !== 0) return;
  if (process.env.DIE_WHO === 'both') process.kill(process.ppid, 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
};
const { send } = process;
process.send = (...given) => {
  die();
  return send.apply(process, given);
};
process.prependListener('message', die);
await import(${JSON.stringify(pathToFileURL(join(server, 'dist/src/import-data.js')).href)});
`,
  );
  return { ...project, place, server: folder };
}

/** Two tables in a circle, one that refers to itself, one without a key and one with a key of two columns. */
const circle = (type: { readonly text: string; readonly key: string }): string => `
  CREATE TABLE team (id ${type.key}, name ${type.text}, captain_id INTEGER);
  CREATE TABLE player (id ${type.key}, name ${type.text}, team_id INTEGER NOT NULL REFERENCES team (id),
    coach_id INTEGER REFERENCES player (id));
  CREATE TABLE pair (a INTEGER NOT NULL REFERENCES team (id), b INTEGER NOT NULL REFERENCES player (id), PRIMARY KEY (a, b));
  CREATE TABLE note (words ${type.text});
`;

const circleRows = [
  ...Array.from({ length: 12 }, (_, at) => `INSERT INTO team VALUES (${String(at + 1)}, 'team ${String(at)}', NULL);`),
  ...Array.from(
    { length: 20 },
    (_, at) =>
      `INSERT INTO player VALUES (${String(at + 1)}, 'player ${String(at)}', ${String((at % 12) + 1)}, NULL);`,
  ),
  'UPDATE player SET coach_id = 21 - id;',
  'UPDATE team SET captain_id = id;',
  'INSERT INTO pair SELECT team_id, id FROM player;',
  "INSERT INTO note VALUES ('same'), ('same'), ('other');",
].join('\n');

const circleOutcome = [
  ['team', 12, 12, 0, 0, 0],
  ['player', 20, 20, 0, 0, 0],
  ['pair', 20, 20, 0, 0, 0],
  ['note', 3, 3, 0, 0, 0],
];

const sqliteCircle = (): Promise<Project> =>
  ofSqlite(
    circle({ text: 'TEXT', key: 'INTEGER PRIMARY KEY' }).replace(
      'captain_id INTEGER',
      'captain_id INTEGER REFERENCES player (id)',
    ) + circleRows,
  );

const postgresCircle = (): Promise<Project> =>
  ofPostgres(
    `${circle({ text: 'text', key: 'serial PRIMARY KEY' })}
    ALTER TABLE team ADD FOREIGN KEY (captain_id) REFERENCES player (id);
    ${circleRows}`,
  );

/** All that a database of the circle holds, in an order of its own. */
async function circleContent(databases: TestDatabases, url: string): Promise<unknown> {
  const read = (sql: string): ReturnType<TestDatabases['run']> => databases.run(url, sql);
  return [
    await read('select "id", "name", "captain_id" from "team" order by "id"'),
    await read('select "id", "name", "team_id", "coach_id", "__STAMP" from "player" order by "id"'),
    await read('select "a", "b" from "pair" order by "a", "b"'),
    await read('select "ID", "words" from "note" order by "ID"'),
  ];
}

describeDatabases('drs-gen import-data', (databases) => {
  let target: TestDatabase;

  beforeEach(async () => {
    target = await databases.create();
  });
  afterEach(async () => {
    await target.drop();
  });

  const read = (sql: string): ReturnType<TestDatabases['run']> => databases.run(target.url, sql);

  it('copies values of SQLite as the types of the model have them', async () => {
    const project = await ofSqlite(
      `CREATE TABLE t (id INTEGER PRIMARY KEY, i INT, f BOOLEAN, d DATE, m DATETIME, c TIME, j JSON, s VARCHAR(20),
        r DOUBLE, b BLOB, u UUID, p BLOB);
      INSERT INTO t VALUES (1, 9007199254740991, 1, '2024-02-29', '2024-02-29 23:59:59', '01:02:03.5', '{"a":[1,null]}',
        'ñ 😀', 0.1, x'00ff', '0f8fad5b-d9cb-469f-a165-70867728950e', png());
      INSERT INTO t VALUES (2, -9007199254740991, 0, '2024-02-29T00:00:00Z', '2024-03-01T01:30:00.1239+02:00', 86399999, '[]',
        '', -1.5e300, x'', '0F8FAD5BD9CB469FA16570867728950F', x'');
      INSERT INTO t (id) VALUES (3);
      INSERT INTO t (id, m, d, r) VALUES (4, 1709251199, 2460370.5, 7), (5, 1709251199123, NULL, NULL), (6, 2460370.25, NULL, NULL);`,
      '--image',
      't.p',
    );
    const { code, outcomes, differences } = await copied(project, target.url);
    expect({ code, differences }).toEqual({ code: 0, differences: [] });
    expect(outcomes.map(numbers)).toEqual([['t', 6, 6, 0, 0, 0]]);
    const rows = await read(
      'select "id", "i", "f", "d", "m", "c", "j", "s", "r", "u", "__STAMP" from "t" order by "id"',
    );
    const [yes, no] = databases.driver === 'sqlite' ? [1, 0] : [true, false];
    const empty = [null, null, null, null];
    expect(rows).toEqual([
      [1, 9007199254740991, yes, '2024-02-29', '2024-02-29T23:59:59.000Z', 3723500, '{"a":[1,null]}', 'ñ 😀', 0.1, '0F8FAD5BD9CB469FA16570867728950E', 1],
      [2, -9007199254740991, no, '2024-02-29', '2024-02-29T23:30:00.123Z', 86399999, '[]', '', -1.5e300, '0F8FAD5BD9CB469FA16570867728950F', 1],
      [3, ...empty, ...empty, null, 1].slice(0, 11).map((each, at) => (at === 10 ? 1 : (each ?? null))),
      [4, null, null, '2024-02-29', '2024-02-29T23:59:59.000Z', null, null, null, 7, null, 1],
      [5, null, null, null, '2024-02-29T23:59:59.123Z', null, null, null, null, null, 1],
      [6, null, null, null, '2024-02-29T18:00:00.000Z', null, null, null, null, null, 1],
    ]);
    expect(await read('select "b", "p" from "t" where "id" < 3 order by "id"')).toEqual([
      [Buffer.from('00ff', 'hex'), png],
      [Buffer.alloc(0), null],
    ]);
  });

  it.skipIf(!hasPostgres)('copies values of PostgreSQL as the types of the model have them', async () => {
    const project = await ofPostgres(`
      CREATE TYPE mood AS ENUM ('sad', 'ok');
      CREATE DOMAIN moment AS timestamptz;
      CREATE SCHEMA other;
      CREATE TABLE other.t (id bigserial PRIMARY KEY, i bigint, n numeric(12, 3), f boolean, d date, m timestamp, z moment, c time,
        v interval, j jsonb, l int[], g int4range, s varchar(20), x char(5), b bytea, u uuid, o mood, ip inet, e real);
      INSERT INTO other.t VALUES
        (1, 9007199254740991, 12.345, true, '2024-02-29', '2024-02-29 23:59:59.1239', '2024-02-29 23:59:59+05:30', '01:02:03.5',
          '1 day 01:00:00', '{"a": [1, null]}', '{1,2}', '[1,5)', 'ñ 😀', 'ab', '\\x00ff', '0f8fad5b-d9cb-469f-a165-70867728950e', 'ok', '10.0.0.1/8', 0.1),
        (2);
    `.replace('(2);', '(2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);'));
    const { code, outcomes, differences } = await copied(project, target.url);
    expect({ code, differences }).toEqual({ code: 0, differences: [] });
    expect(outcomes.map(numbers)).toEqual([['t', 2, 2, 0, 0, 0]]);
    const columns = '"i", "n", "f", "d", "m", "z", "c", "v", "j", "l", "g", "s", "x", "u", "o", "ip", "e"';
    const [one, two] = await read(`select ${columns} from "t" order by "id"`);
    expect(one).toEqual([
      9007199254740991,
      12.345,
      databases.driver === 'sqlite' ? 1 : true,
      '2024-02-29',
      '2024-02-29T23:59:59.123Z',
      '2024-02-29T18:29:59.000Z',
      3723500,
      90_000_000,
      '{"a":[1,null]}',
      '[1,2]',
      '{"lower":1,"upper":5,"lowerInclusive":true,"upperInclusive":false,"isEmpty":false}',
      'ñ 😀',
      'ab',
      '0F8FAD5BD9CB469FA16570867728950E',
      'ok',
      '10.0.0.1/8',
      0.1,
    ]);
    expect(two?.every((each) => each === null)).toBe(true);
    expect(await read('select "b" from "t" where "id" = 1')).toEqual([[Buffer.from('00ff', 'hex')]]);
    // The sequence goes on behind the keys.
    await read(`insert into "t" ("i", "__STAMP", "__TIMESTAMP") values (1, 1, '')`);
    expect(await read('select max("id") from "t"')).toEqual([[3]]);
  });

  it('writes what the model cannot hold to rejects, with the reason, and exits with 1', async () => {
    const project = await ofSqlite(
      `CREATE TABLE place (code TEXT PRIMARY KEY, name VARCHAR(5) NOT NULL);
      CREATE TABLE item (id INTEGER PRIMARY KEY, place TEXT REFERENCES place (code), need TEXT NOT NULL REFERENCES place (code),
        n INT, d DATE, u VARCHAR(9) UNIQUE, p BLOB);
      INSERT INTO place VALUES ('a', 'one'), ('A', 'two'), ('b', 'much too long'), ('c', 'three');
      INSERT INTO item VALUES
        (1, 'a', 'A', 1, NULL, 'x', x'01'),
        (2, 'gone', 'c', 2, NULL, 'y', NULL),
        (3, NULL, 'b', 3, NULL, 'z', NULL),
        (4, '', 'c', 9007199254740993, NULL, NULL, NULL),
        (5, '', 'c', 5, '2024-01-01 10:00:00', 'X', NULL),
        (6, '', 'c', 6.5, '2024-02-30', 'X', NULL),
        (7, '', 'c', 7, NULL, 'X', NULL);`
        .replace(/'X'/, "'w'")
        .replace(/'X'/, "'v'"),
      '--image',
      'item.p',
    );
    const { code, ok, outcomes, differences } = await copied(project, target.url);
    expect({ code, ok, differences }).toEqual({ code: 1, ok: false, differences: [] });
    expect(outcomes.map(numbers)).toEqual([
      ['place', 4, 2, 2, 0, 0],
      ['item', 7, 2, 5, 2, 0],
    ]);
    const long = expect.stringMatching(/^must have at most 5 characters$/) as unknown;
    expect(rejectsOf(project, 'place')).toEqual([
      {
        number: 2,
        isStored: false,
        reasons: [{ attribute: 'code', message: 'has the value of another entity; case does not count' }],
        row: { code: 'A', name: 'two' },
      },
      {
        number: 3,
        isStored: false,
        reasons: [{ attribute: 'name', message: long }],
        row: { code: 'b', name: 'much too long' },
      },
    ].toSorted((a, b) => a.number - b.number));
    const reasons = rejectsOf(project, 'item').map((each) => {
      const { number, isStored, reasons: list } = each as {
        readonly number: number;
        readonly isStored: boolean;
        readonly reasons: readonly { readonly attribute: string; readonly message: string }[];
      };
      return [number, isStored, ...list.map(({ attribute, message }) => `${attribute} ${message}`)];
    });
    expect(reasons.toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
      [1, true, 'p is no image of a known kind'],
      [2, true, 'place_id leads to no entity of place (place): "gone"'],
      [3, false, 'need_id leads to no entity of place (need): "b"'],
      [4, false, 'n is beyond 2^53: 9007199254740993'],
      [5, false, 'd holds a time of day'],
      [6, false, 'n must be a whole number between -(2^53 - 1) and 2^53 - 1', 'd must be a date such as 2026-03-09 or 9!3!2026'],
      [7, false, 'u has the value of another entity; case does not count'],
    ]);
    expect(await read('select "id", "place", "need" from "item" order by "id"')).toEqual([
      [1, 'a', 'a'],
      [2, null, 'c'],
    ]);
    // Stopping at the first relation that leads to nothing.
    const other = await databases.create();
    try {
      const stop = await copied(project, other.url, ['--dangling', 'stop', '--restart']);
      expect([stop.code, stop.error]).toEqual([1, expect.stringContaining('leads to no entity')]);
    } finally {
      await other.drop();
    }
  });

  it.each(['SQLite', ...(hasPostgres ? ['PostgreSQL'] : [])])(
    'copies circles of relations and tables without a key from %s, and goes on after each kill',
    async (kind) => {
      const project = dyingServer(await (kind === 'SQLite' ? sqliteCircle() : postgresCircle()));
      const reference = await databases.create();
      try {
        const whole = await copied(project, reference.url, ['--batch', '7']);
        expect(whole).toMatchObject({ code: 0, differences: [] });
        expect(whole.outcomes.map(numbers).toSorted()).toEqual(circleOutcome.toSorted());
        let died = 0;
        let last: Run;
        do {
          // Each run gets a little further, and ends at another message.
          const env = { DIE_AT: String(died + 2) };
          const argv = ['--batch', '7', ...(died === 0 ? ['--restart'] : [])];
          last = await copy(project, target.url, argv, env);
          if (last.code !== 0) {
            expect(last.err).toContain('the program of the server has ended');
            died += 1;
          }
        } while (last.code !== 0 && died < 60);
        expect(died).toBeGreaterThan(5);
        expect(last.err).toContain('Compared value by value: the database holds what the source holds.');
        expect(await circleContent(databases, target.url)).toEqual(
          await circleContent(databases, reference.url),
        );
      } finally {
        await reference.drop();
      }
    },
  );

  it('finds relations by another value than the key, as the source does', async () => {
    const project = await ofSqlite(`
      CREATE TABLE land (id INTEGER PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE town (id INTEGER PRIMARY KEY, land TEXT REFERENCES land (code));
      INSERT INTO land VALUES (1, 'de'), (2, 'fr');
      INSERT INTO town VALUES (1, 'fr'), (2, 'de'), (3, 'xx'), (4, NULL);`);
    const { code, outcomes } = await copied(project, target.url);
    expect(code).toBe(1);
    expect(outcomes.map(numbers)).toEqual([
      ['land', 2, 2, 0, 0, 0],
      ['town', 4, 4, 0, 1, 0],
    ]);
    const column = project.place.text('model.yaml').match(/foreignKey: (\w+)/)?.[1] ?? '';
    expect(await read(`select "id", "${column}" from "town" order by "id"`)).toEqual([
      [1, 2],
      [2, 1],
      [3, null],
      [4, null],
    ]);
    expect(rejectsOf(project, 'town')).toEqual([
      expect.objectContaining({ number: 3, isStored: true }),
    ]);
  });

  it('never writes into a database that holds other data, and empties what it filled only', async () => {
    const project = await ofSqlite(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'a');",
    );
    expect((await copied(project, target.url)).code).toBe(0);
    // A second run compares only.
    expect((await copied(project, target.url)).outcomes.map(numbers)).toEqual([['t', 1, 1, 0, 0, 0]]);
    expect((await copied(project, target.url, ['--restart'])).code).toBe(0);
    const app = await serverOf(
      (await imported(project.place, project.source)).model.checked.value ?? '',
      { databaseUrl: target.url },
    );
    const made = await app.inject({ method: 'POST', url: '/rest/t?$method=update', payload: '{"s":"b"}' });
    expect(made.statusCode).toBe(200);
    await app.close();
    const again = await copied(project, target.url);
    expect([again.code, again.differences]).toEqual([1, ['t: 2 entities of 1 accepted rows']]);
    expect((await copied(project, target.url, ['--restart'])).error).toContain(
      'others have changed the database since the import',
    );
    project.place.put('.drs-gen/import-data.json', '{}');
    expect((await copied(project, target.url)).error).toContain('is not what an import has written');
    expect(await read('select "s" from "t" order by "id"')).toEqual([['a'], ['b']]);
    const used = await databases.create();
    try {
      const place = workplace();
      place.put('old.sqlite', await import('node:fs').then(({ readFileSync }) => readFileSync(join(project.place.folder, 'old.sqlite'))));
      await databases.run(used.url, 'select 1');
      const own = await serverOf(
        (await imported(project.place, project.source)).model.checked.value ?? '',
        { databaseUrl: used.url },
      );
      await own.inject({ method: 'POST', url: '/rest/t?$method=update', payload: '{"s":"mine"}' });
      await own.close();
      const refused = await copied({ ...project, place }, used.url, ['--model', join(project.place.folder, 'model.yaml')]);
      expect([refused.code, refused.error]).toEqual([1, expect.any(String)]);
    } finally {
      await used.drop();
    }
  });
});
