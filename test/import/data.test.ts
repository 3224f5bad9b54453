import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Model } from '../../generator/model/model.js';
import type { Outcome } from '../../generator/import-data/run.js';
import { Random } from '../support/random-model/random.js';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { hasPostgres, postgresDatabase, type TestDatabase } from '../support/postgres.js';
import { modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';
import { imported, runIn, workplace, type Run, type Workplace } from './importer.js';
import { isLong, itLong, itOnOne } from '../support/long.js';

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

/** How many messages of a program, or requests, are between two places where it is stopped. */
const stride = isLong ? 1 : 100;

function ofSqlite(sql: string, ...options: readonly string[]): Promise<Project> {
  const place = workplace();
  const database = new Database(join(place.folder, 'old.sqlite'));
  database.function('png', () => png);
  // As SQLite does by default elsewhere.
  database.pragma('foreign_keys = off');
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

async function copied(
  ...given: Parameters<typeof copy>
): Promise<Result & { readonly code: number }> {
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

/** A server whose program runs other JavaScript first. */
function serverWith({ place, server, ...project }: Project, code: string): Project {
  const folder = join(place.folder, 'changed');
  const program = 'dist/src/generated/import-data.js';
  mkdirSync(join(folder, 'dist/src/generated'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const { href } = pathToFileURL(join(server, program));
  writeFileSync(join(folder, program), `${code}\nawait import(${JSON.stringify(href)});\n`);
  return { ...project, place, server: folder };
}

/**
 * A server whose program kills itself at a message of the import: `DIE_AT` counts those that it gets
 * and those that it sends.
 */
function dyingServer(project: Project): Project {
  return serverWith(
    project,
    `let left = Number(process.env.DIE_AT ?? 0);
const die = () => {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
};
const { send } = process;
process.send = (...given) => {
  die();
  return send.apply(process, given);
};
process.prependListener('message', die);`,
  );
}

/** A program that kills the import when it gets a batch's commit, and stores it when a file is there. */
const lateCommit = (go: string): string => `import { existsSync } from 'node:fs';
const { emit } = process;
let late;
process.emit = (...event) => {
  if (late === undefined && event[0] === 'message' && event[1].kind === 'commit') {
    late = [];
    process.kill(process.ppid, 'SIGKILL');
    const wait = setInterval(() => {
      if (!existsSync(${JSON.stringify(go)})) return;
      clearInterval(wait);
      process.emit = emit;
      for (const each of late) emit.apply(process, each);
    }, 20);
  }
  if (late === undefined) return emit.apply(process, event);
  late.push(event);
  return true;
};`;

/** The program of the next import, which lets {@link lateCommit} go on. */
const next = (go: string): string => `import { writeFileSync } from 'node:fs';
const letGo = () => writeFileSync(${JSON.stringify(go)}, '');
const { send } = process;
process.send = (...given) => {
  letGo();
  return send.apply(process, given);
};
setTimeout(letGo, 2000).unref();`;

/**
 * A program that is loaded first: kills the import at a step of it, which is a request, a message to
 * the program of the server, or a change of a file.
 */
const killer = `data:text/javascript,${encodeURIComponent(`
import childProcess from 'node:child_process';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
let steps = 0;
const counted = (owner, name) => {
  const own = owner[name];
  owner[name] = function (...given) {
    steps += 1;
    if (steps === Number(process.env.KILL_AT)) process.kill(process.pid, 'SIGKILL');
    return own.apply(this, given);
  };
};
const { fork } = childProcess;
childProcess.fork = (...given) => {
  const child = fork(...given);
  counted(child, 'send');
  return child;
};
const changing = ['appendFile', 'writeFile', 'rename', 'rm', 'truncate', 'mkdir'];
for (const name of changing) counted(files, name);
counted(globalThis, 'fetch');
syncBuiltinESMExports();
process.on('exit', () => process.stderr.write('steps: ' + steps));
`)}`;

/** Runs the import in a process of its own. */
async function copyApart(
  { place, source, server }: Project,
  url: string,
  killAt: number,
): Promise<Run & { readonly steps: number }> {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const command = join(packageRoot, 'test/support/run-drs-gen.ts');
  const node = ['--import', tsx, '--import', killer, command];
  const argv = ['import-data', source, '-o', server, '--batch', '7'];
  const child = spawn(process.execPath, [...node, ...argv], {
    cwd: place.folder,
    env: { ...process.env, NO_COLOR: '1', DATABASE_URL: url, KILL_AT: String(killAt) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code, signal]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close') as Promise<[code: number | null, signal: string | null]>,
  ]);
  const steps = Number(/steps: (\d+)$/.exec(err)?.[1] ?? 0);
  return { code: signal === 'SIGKILL' ? -9 : (code ?? -1), out, err, steps };
}

/**
 * Kills an import at every fourth of its steps, each time with a new database, and runs it again; without
 * `npm run test:long` a few times with one database.
 * @param fresh the project in a new folder
 * @param content what a database holds, and what was rejected
 */
async function killEverywhere(
  databases: TestDatabases,
  fresh: () => Project,
  exitCode: number,
  content: (project: Project, url: string) => Promise<unknown>,
): Promise<void> {
  const ended = async (kills: readonly number[]): Promise<{ steps: number; found: unknown }> => {
    const target = await databases.create();
    const project = fresh();
    try {
      for (const at of kills) {
        const { code, err } = await copyApart(project, target.url, at);
        expect({ code, at, err }).toMatchObject({ code: -9 });
      }
      const { code, err, steps } = await copyApart(project, target.url, 0);
      expect({ code, kills, err }).toMatchObject({ code: exitCode });
      expect(err).toContain('Compared value by value');
      return { steps, found: await content(project, target.url) };
    } finally {
      await target.drop();
    }
  };
  const { steps, found: expected } = await ended([]);
  // Every fourth place: a run of all of them takes more than ten minutes.
  const places = Array.from({ length: Math.ceil(steps / 4) }, (_, index) => [4 * index + 1]);
  for (const kills of isLong ? places : [[6, 17]]) {
    const { found } = await ended(kills);
    expect({ kills, found }).toEqual({ kills, found: expected });
  }
}

/** The files of rejected rows. */
function rejectFiles({ place }: Project): readonly (readonly [string, string])[] {
  return place
    .files()
    .filter((each) => each.startsWith('rejects/'))
    .map((each) => [each, place.text(each)]);
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
  ...Array.from(
    { length: 12 },
    (_, at) => `INSERT INTO team VALUES (${String(at + 1)}, 'team ${String(at)}', NULL);`,
  ),
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

/** What {@link circleContent} has of {@link circleRows}. */
const circleShown: readonly unknown[] = [
  Array.from({ length: 12 }, (_, at) => [at + 1, `team ${String(at)}`, at + 1]),
  Array.from({ length: 20 }, (_, at) => [
    at + 1,
    `player ${String(at)}`,
    (at % 12) + 1,
    20 - at,
    1,
  ]),
  Array.from({ length: 20 }, (_, at) => [(at % 12) + 1, at + 1]).toSorted(
    ([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d,
  ),
  expect.arrayContaining(
    ['same', 'same', 'other'].map((words): unknown => [expect.any(String), words]),
  ),
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

  itOnOne(databases)('copies values of SQLite as the types of the model have them', async () => {
    const project = await ofSqlite(
      `CREATE TABLE t (id INTEGER PRIMARY KEY, i INT, f BOOLEAN, d DATE, m DATETIME, c TIME, j JSON, s VARCHAR(20),
        r DOUBLE, b BLOB, u UUID, p BLOB);
      INSERT INTO t VALUES (1, 9007199254740991, 1, '2024-02-29', '2024-02-29 23:59:59', '01:02:03.5', '{"a":[1,null]}',
        'ñ 😀', 0.1, x'00ff', '0f8fad5b-d9cb-469f-a165-70867728950e', png());
      INSERT INTO t VALUES (2, -9007199254740991, 0, '2024-02-29T00:00:00Z', '2024-03-01T01:30:00.1239+02:00', 86399999, '[]',
        '', -1.5e300, x'', '0F8FAD5BD9CB469FA16570867728950F', x'');
      INSERT INTO t (id) VALUES (3);
      INSERT INTO t (id, m, d, r) VALUES (4, 1709251199, 2460369.5, 7), (5, 1709251199123, NULL, NULL), (6, 2460370.25, NULL, NULL);`,
      '--image',
      't.p',
    );
    const { code, outcomes, differences } = await copied(project, target.url);
    expect({ code, differences }).toEqual({ code: 0, differences: [] });
    expect(outcomes.map(numbers)).toEqual([['t', 6, 6, 0, 0, 0]]);
    const rows = await read(
      'select "id", "i", "f", "d", "m", "c", "j", "s", "r", "u", "__STAMP" from "t" order by "id"',
    );
    const [yes, no] = [1, 0];
    const empty = [null, null, null, null];
    expect(rows).toEqual([
      [
        1,
        9007199254740991,
        yes,
        '2024-02-29',
        '2024-02-29T23:59:59.000Z',
        3723500,
        '{"a":[1,null]}',
        'ñ 😀',
        0.1,
        '0F8FAD5BD9CB469FA16570867728950E',
        1,
      ],
      [
        2,
        -9007199254740991,
        no,
        '2024-02-29',
        '2024-02-29T23:30:00.123Z',
        86399999,
        '[]',
        '',
        -1.5e300,
        '0F8FAD5BD9CB469FA16570867728950F',
        1,
      ],
      [3, ...empty, ...empty, null, 1]
        .slice(0, 11)
        .map((each, at) => (at === 10 ? 1 : (each ?? null))),
      [4, null, null, '2024-02-29', '2024-02-29T23:59:59.000Z', null, null, null, 7, null, 1],
      [5, null, null, null, '2024-02-29T23:59:59.123Z', null, null, null, null, null, 1],
      [6, null, null, null, '2024-02-29T18:00:00.000Z', null, null, null, null, null, 1],
    ]);
    expect(await read('select "b", "p" from "t" where "id" < 3 order by "id"')).toEqual([
      [Buffer.from('00ff', 'hex'), png],
      [Buffer.alloc(0), null],
    ]);
  });

  it.skipIf(!hasPostgres || (databases.driver === 'sqlite' && !isLong))(
    'copies values of PostgreSQL as the types of the model have them',
    async () => {
      const project = await ofPostgres(
        `
      CREATE TYPE mood AS ENUM ('sad', 'ok');
      CREATE DOMAIN moment AS timestamptz;
      CREATE SCHEMA other;
      CREATE TABLE other.t (id bigserial PRIMARY KEY, i bigint, n numeric(12, 3), f boolean, d date, m timestamp, z moment, c time,
        v interval, j jsonb, l int[], g int4range, s varchar(20), x char(5), b bytea, u uuid, o mood, ip inet, e real);
      INSERT INTO other.t VALUES
        (1, 9007199254740991, 12.345, true, '2024-02-29', '2024-02-29 23:59:59.1239', '2024-02-29 23:59:59+05:30', '01:02:03.5',
          '1 day 01:00:00', '{"a": [1, null]}', '{1,2}', '[1,5)', 'ñ 😀', 'ab', '\\x00ff', '0f8fad5b-d9cb-469f-a165-70867728950e', 'ok', '10.0.0.1/8', 0.1),
        (2);
    `.replace(
          '(2);',
          '(2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);',
        ),
      );
      const { code, outcomes, differences } = await copied(project, target.url);
      expect({ code, differences }).toEqual({ code: 0, differences: [] });
      expect(outcomes.map(numbers)).toEqual([['t', 2, 2, 0, 0, 0]]);
      const columns =
        '"i", "n", "f", "d", "m", "z", "c", "v", "j", "l", "g", "s", "x", "u", "o", "ip", "e"';
      const [one, two] = await read(`select ${columns} from "t" order by "id"`);
      expect(one).toEqual([
        9007199254740991,
        databases.driver === 'sqlite' ? 12345 : '12.345',
        1,
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
      expect(await read('select "b" from "t" where "id" = 1')).toEqual([
        [Buffer.from('00ff', 'hex')],
      ]);
      // The sequence goes on behind the keys.
      await read(`insert into "t" ("i", "__STAMP", "__TIMESTAMP") values (1, 1, '')`);
      expect(await read('select max("id") from "t"')).toEqual([[3]]);
    },
  );

  itOnOne(databases)(
    'writes what the model cannot hold to rejects, with the reason, and exits with 1',
    async () => {
      const project = await ofSqlite(
        `CREATE TABLE place (code TEXT PRIMARY KEY, name VARCHAR(5) NOT NULL);
      CREATE TABLE item (id INTEGER PRIMARY KEY, place TEXT REFERENCES place (code), need TEXT NOT NULL REFERENCES place (code),
        n INT, d DATE, u VARCHAR(9) UNIQUE, p BLOB);
      INSERT INTO place VALUES ('a', 'one'), ('A', 'two'), ('b', 'much too long'), ('c', 'three');
      INSERT INTO item VALUES
        (1, 'a', 'a', 1, NULL, 'x', x'01'),
        (2, 'gone', 'c', 2, NULL, 'y', NULL),
        (3, NULL, 'b', 3, NULL, 'z', NULL),
        (4, '', 'c', 9007199254740993, NULL, NULL, NULL),
        (5, '', 'c', 5, '2024-01-01 10:00:00', 'X', NULL),
        (6, '', 'c', 6.5, '2024-02-30', 'X', NULL),
        (7, '', 'c', 7, NULL, 'X', NULL),
        (8, 'A', 'A', 8, NULL, NULL, NULL);`
          .replace(/'X'/, "'w'")
          .replace(/'X'/, "'v'"),
        '--image',
        'item.p',
      );
      const { code, ok, outcomes, differences } = await copied(project, target.url);
      expect({ code, ok, differences }).toEqual({ code: 1, ok: false, differences: [] });
      expect(outcomes.map(numbers)).toEqual([
        ['place', 4, 2, 2, 0, 0],
        ['item', 8, 2, 6, 2, 0],
      ]);
      const long = expect.stringMatching(/^must have at most 5 characters$/) as unknown;
      expect(rejectsOf(project, 'place')).toEqual(
        [
          {
            number: 2,
            isStored: false,
            reasons: [
              {
                attribute: 'code',
                message: 'must be unique: another entity has this value',
              },
            ],
            row: { code: 'A', name: 'two' },
          },
          {
            number: 3,
            isStored: false,
            reasons: [{ attribute: 'name', message: long, rule: 'maxLength' }],
            row: { code: 'b', name: 'much too long' },
          },
        ].toSorted((a, b) => a.number - b.number),
      );
      const reasons = rejectsOf(project, 'item').map((each) => {
        const {
          number,
          isStored,
          reasons: list,
        } = each as {
          readonly number: number;
          readonly isStored: boolean;
          readonly reasons: readonly { readonly attribute: string; readonly message: string }[];
        };
        return [
          number,
          isStored,
          ...list.map(({ attribute, message }) => `${attribute} ${message}`),
        ];
      });
      expect(reasons.toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
        [1, true, 'p is no image of a known kind'],
        [2, true, 'place_id leads to no entity of place (place): "gone"'],
        [3, false, 'need_id leads to a row of place that is not stored (need): "b"'],
        [4, false, 'n is beyond 2^53: 9007199254740993'],
        [5, false, 'd holds a time of day'],
        [
          6,
          false,
          'n must be a whole number between -(2^53 - 1) and 2^53 - 1',
          'd must be a date such as 2026-03-09 or 9!3!2026',
        ],
        [7, false, 'u must be unique: another entity has this value'],
        [
          8,
          false,
          'need_id leads to a row of place that is not stored (need): "A"',
          'place_id leads to a row of place that is not stored (place): "A"',
        ],
      ]);
      expect(await read('select "id", "place", "need" from "item" order by "id"')).toEqual([
        [1, 'a', 'a'],
        [2, null, 'c'],
      ]);
      const [withBytes] = rejectsOf(project, 'item').filter(
        (each) => (each as { readonly number: number }).number === 1,
      );
      expect(withBytes).toMatchObject({ row: { id: '1', p: { bytes: 1 } } });
      // Stopping at the first relation that leads to nothing.
      const other = await databases.create();
      try {
        const stop = await copied(project, other.url, ['--dangling', 'stop', '--restart']);
        expect([stop.code, stop.error]).toEqual([1, expect.stringContaining('leads to no entity')]);
      } finally {
        await other.drop();
      }
    },
  );

  itOnOne(databases)(
    'takes rows of rejects that are mended there, and goes on after each kill',
    async () => {
      const project = await ofSqlite(
        `CREATE TABLE place (code TEXT PRIMARY KEY, name VARCHAR(5) NOT NULL);
      CREATE TABLE item (id INTEGER PRIMARY KEY, place TEXT REFERENCES place (code), n INT, p BLOB,
        parent INTEGER REFERENCES item (id), price DECIMAL(8,2));
      INSERT INTO place VALUES ('a', 'one'), ('b', 'much too long');
      INSERT INTO item VALUES (1, 'b', 1, png(), NULL, 12.5), (2, 'gone', 2, x'01', 1, 12.5),
        (3, 'a', 9007199254740993, png(), 1, 12.5), (4, 'a', 4, NULL, 3, 12.5);`,
        '--image',
        'item.p',
      );
      const { place } = project;
      expect((await copied(project, target.url, ['--rejects'])).error).toContain(
        'a complete import has refused',
      );
      const before = [
        ['place', 2, 1, 1, 0, 0],
        ['item', 4, 3, 1, 3, 0],
      ];
      expect((await copied(project, target.url)).outcomes.map(numbers)).toEqual(before);
      // As they are, they are refused again.
      expect((await copied(project, target.url, ['--rejects'])).outcomes.map(numbers)).toEqual(
        before,
      );
      const mend = (name: string, from: string, to: string): void => {
        const text = place.text(`rejects/${name}.jsonl`);
        expect(text).toContain(from);
        place.put(`rejects/${name}.jsonl`, text.replace(from, to));
      };
      mend('place', '"much too long"', '"fits"');
      mend('item', '"9007199254740993"', '5');
      // This row is refused once more, for its place.
      mend('item', '{"bytes":1}', JSON.stringify({ base64: png.toString('base64') }));
      const dying = dyingServer(project);
      for (const at of isLong ? [3, 4, 5, 6, 7, 8, 9, 10] : [5]) {
        const { code, err } = await copy(dying, target.url, ['--rejects'], { DIE_AT: String(at) });
        expect([code, err]).toEqual([1, expect.stringContaining('server has ended')]);
      }
      const taken = await copied(project, target.url, ['--rejects']);
      expect([taken.code, taken.differences]).toEqual([1, []]);
      expect(taken.outcomes.map(numbers)).toEqual([
        ['place', 2, 2, 0, 0, 0],
        ['item', 4, 4, 0, 1, 0],
      ]);
      expect(place.has('rejects/place.jsonl')).toBe(false);
      expect(rejectsOf(project, 'item')).toEqual([
        expect.objectContaining({
          number: 2,
          isStored: true,
          row: expect.objectContaining({ p: { base64: png.toString('base64') } }) as unknown,
        }),
      ]);
      mend('item', '"gone"', '"a"');
      expect((await copied(project, target.url, ['--rejects'])).code).toBe(0);
      // The comparison knows what was mended.
      const last = await copied(project, target.url);
      expect([last.code, last.differences]).toEqual([0, []]);
      expect(await read('select "code", "name" from "place" order by "code"')).toEqual([
        ['a', 'one'],
        ['b', 'fits'],
      ]);
      expect(
        await read('select "id", "place", "n", "p", "parent" from "item" order by "id"'),
      ).toEqual([
        [1, 'b', 1, png, null],
        [2, 'a', 2, png, 1],
        [3, 'a', 5, png, 1],
        [4, 'a', 4, null, 3],
      ]);
    },
  );

  itOnOne(databases)(
    'reports rows that refer to a rejected row, and attaches them to no row that differs in case',
    async () => {
      const project = await ofSqlite(`
      CREATE TABLE link (slug TEXT PRIMARY KEY, next TEXT REFERENCES link (slug));
      CREATE TABLE page (id INTEGER PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE hit (id INTEGER PRIMARY KEY, slug TEXT REFERENCES link (slug), code TEXT REFERENCES page (code));
      INSERT INTO link VALUES ('aB3', 'ab3'), ('ab3', NULL), ('AB3', NULL);
      INSERT INTO page VALUES (1, 'x'), (2, 'X');
      INSERT INTO hit VALUES (1, 'aB3', 'x'), (2, 'ab3', 'X'), (3, 'AB3', NULL), (4, 'Ab3', NULL);`);
      const { place } = project;
      const { code, outcomes, differences } = await copied(project, target.url, ['--batch', '1']);
      expect([code, differences]).toEqual([1, []]);
      expect(outcomes.map(numbers)).toEqual([
        ['link', 3, 1, 2, 1, 0],
        ['page', 2, 1, 1, 0, 0],
        ['hit', 4, 4, 0, 2, 0],
      ]);
      const hits = 'select "id", "slug", "code" from "hit" order by "id"';
      // No row of the source is Ab3: it leads where the server would lead it.
      expect(await read(hits)).toEqual([
        [1, 'aB3', 'x'],
        [2, null, null],
        [3, null, null],
        [4, 'aB3', null],
      ]);
      expect(await read('select "slug", "next" from "link"')).toEqual([['aB3', null]]);
      const message = 'leads to a row of link that is not stored (slug): "AB3"';
      expect(rejectsOf(project, 'hit')).toContainEqual(
        expect.objectContaining({ number: 3, reasons: [{ attribute: 'slug_id', message }] }),
      );
      // A row that is mended has another text: what has the old one still leads nowhere.
      const links = place.text('rejects/link.jsonl').replace('"slug":"ab3"', '"slug":"ab3-2"');
      place.put('rejects/link.jsonl', links);
      const taken = await copied(project, target.url, ['--rejects']);
      expect([taken.code, taken.differences]).toEqual([1, []]);
      expect((await read(hits)).slice(1, 3)).toEqual([
        [2, null, null],
        [3, null, null],
      ]);
      const mended = place.text('rejects/hit.jsonl').replace('"slug":"ab3"', '"slug":"ab3-2"');
      place.put('rejects/hit.jsonl', mended);
      await copied(project, target.url, ['--rejects']);
      expect((await read(hits)).slice(1, 3)).toEqual([
        [2, 'ab3-2', null],
        [3, null, null],
      ]);
    },
  );

  itOnOne(databases)(
    'refuses rows that must lead to a row of their table which is refused, in one batch and in several',
    async () => {
      const project = await ofSqlite(`
      CREATE TABLE tree (slug TEXT PRIMARY KEY, parent TEXT NOT NULL REFERENCES tree (slug));
      INSERT INTO tree VALUES ('aB3', 'aB3'), ('ab3', 'ab3'), ('c', 'ab3'), ('d', 'aB3'), ('e', 'c');`);
      for (const argv of [[], ['--restart', '--batch', '1']]) {
        const { outcomes, differences } = await copied(project, target.url, argv);
        expect(differences).toEqual([]);
        expect(outcomes.map(numbers)).toEqual([['tree', 5, 2, 3, 0, 0]]);
        expect(await read('select "slug", "parent" from "tree" order by "slug"')).toEqual([
          ['aB3', 'aB3'],
          ['d', 'aB3'],
        ]);
        expect(rejectsOf(project, 'tree')).toMatchObject([
          { number: 2, isStored: false },
          {
            number: 3,
            isStored: false,
            reasons: [{ message: 'leads to a row of tree that is not stored (parent): "ab3"' }],
          },
          { number: 5, isStored: false },
        ]);
      }
    },
  );

  itOnOne(databases)(
    'refuses infinity, NaN and dates of other years than 0000 to 9999, or makes them null with --odd-values null',
    async () => {
      const sqlite = await ofSqlite(`
      CREATE TABLE price (id INTEGER PRIMARY KEY, n DOUBLE, d DATE, m DATETIME NOT NULL);
      INSERT INTO price VALUES (1, 9e999, '9999-12-31', '0001-01-01'), (2, 1, 'infinity', 0), (3, NULL, '10000-01-01', 1),
        (4, -9e999, NULL, 300000000000000), (5, 2, '-0044-03-15', '9999-12-31 23:00:00-05:00');`);
      const refused = await copied(sqlite, target.url, ['--batch', '2']);
      expect(refused.outcomes.map(numbers)).toEqual([['price', 5, 0, 5, 0, 0]]);
      const rows = rejectsOf(sqlite, 'price') as { reasons: { message: string }[] }[];
      expect(rows.flatMap(({ reasons }) => reasons.map(({ message }) => message))).toEqual(
        [
          'Infinity, which no number',
          'infinity, which no date',
          '10000-01-01, which no date',
          '-Infinity, which no number',
          '300000000000000, which no date',
          '-0044-03-15, which no date',
          '9999-12-31 23:00:00-05:00, which no date',
        ].map((words) => `is ${words} can be; --odd-values null makes it null`),
      );
      // Rows whose mandatory date is odd stay out. Later runs need no option.
      const taken = await copied(sqlite, target.url, ['--rejects', '--odd-values', 'null']);
      expect(taken.outcomes.map(numbers)).toEqual([['price', 5, 3, 2, 0, 0]]);
      const again = await copied(sqlite, target.url);
      expect([again.outcomes.map(numbers), again.differences]).toEqual([
        [['price', 5, 3, 2, 0, 0]],
        [],
      ]);
      expect(await read('select "id", "n", "d" from "price" order by "id"')).toEqual([
        [1, null, '9999-12-31'],
        [2, 1, null],
        [3, null, null],
      ]);
    },
  );

  itOnOne(databases)('copies keys beyond 2^53 as texts, with their relations', async () => {
    const project = await ofSqlite(`
      CREATE TABLE post (id INTEGER PRIMARY KEY, parent BIGINT REFERENCES post (id));
      INSERT INTO post VALUES (1, 9007199254740993), (9007199254740992, 1), (9007199254740993, 9007199254740992);`);
    const { code, outcomes, differences } = await copied(project, target.url);
    expect({ code, differences }).toEqual({ code: 0, differences: [] });
    expect(outcomes.map(numbers)).toEqual([['post', 3, 3, 0, 0, 0]]);
    expect(await read('select "id", "parent" from "post" order by "id"')).toEqual([
      ['1', '9007199254740993'],
      ['9007199254740992', '1'],
      ['9007199254740993', '9007199254740992'],
    ]);
  });

  itLong(
    'says which line of rejects is none, and takes no rows into a database that others have changed',
    async () => {
      const project = await ofSqlite(`
      CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR(2));
      INSERT INTO t VALUES (1, 'a'), (2, 'long');`);
      const { place } = project;
      expect((await copied(project, target.url)).code).toBe(1);
      const line = place.text('rejects/t.jsonl');
      const wrong = [
        [`${line}{"number":2`, 'rejects/t.jsonl:2: this is no line of an import'],
        ['{"number":0,"row":{}}', 'rejects/t.jsonl:1: this is no line of an import'],
        [line.replace('"s":', '"x":'), 'the table has no column "x"'],
        [line.replace('"number":2', '"number":7'), 'names row 7, and the source has 2'],
      ] as const;
      for (const [text, reason] of isLong ? wrong : [wrong[0], wrong[3]]) {
        place.put('rejects/t.jsonl', text);
        const { code, error } = await copied(project, target.url, ['--rejects']);
        expect([code, error]).toEqual([1, expect.stringContaining(reason)]);
      }
      expect((await copy(project, target.url, ['--rejects', '--restart'])).code).toBe(2);
      place.put('rejects/t.jsonl', line.replace('"long"', '"b"'));
      const checked = modelOf(place.text('model.yaml'));
      const model: Model = { ...checked, databases: ['sqlite', 'postgres'] };
      const app = await serverOf(model, { databaseUrl: target.url });
      await app.inject({ method: 'POST', url: '/rest/t?$method=update', payload: '{"s":"c"}' });
      await app.close();
      expect((await copied(project, target.url, ['--rejects'])).error).toContain(
        'others have changed the database since the import',
      );
      expect(await read('select "s" from "t" order by "id"')).toEqual([['a'], ['c']]);
      // A restart that is refused leaves what there is.
      place.put('rejects/mended/t.jsonl', '{"number":1,"row":{}}\n');
      const checkpoint = place.text('.drs-gen/import-data.json');
      expect((await copied(project, target.url, ['--restart'])).error).toContain(
        'so its tables are not emptied',
      );
      expect(place.text('rejects/t.jsonl')).toBe(line.replace('"long"', '"b"'));
      expect(place.has('rejects/mended/t.jsonl')).toBe(true);
      expect(place.text('.drs-gen/import-data.json')).toBe(checkpoint);
    },
  );

  itOnOne(databases)('names the rules that rows break, and removes them with --relax', async () => {
    const place = workplace();
    const old = new Database(join(place.folder, 'old.sqlite'));
    old.exec(`
      CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(5) NOT NULL, kind TEXT CHECK (kind IN ('a', 'b')),
        size INT CHECK (size BETWEEN 1 AND 9), note TEXT, code VARCHAR(9), owner_id INT REFERENCES owner);
      CREATE TABLE owner (id INTEGER PRIMARY KEY);
      PRAGMA ignore_check_constraints = 1;
      INSERT INTO owner VALUES (1);
      INSERT INTO t VALUES (1, 'longer', 'a', 1, 'x', 'a', 1), (2, 'ok', 'c', 1, 'x', 'a', 1),
        (3, 'ok', 'a', 99, 'x', 'a', 1), (4, 'longest', 'b', 9, 'x', 'a', 1), (5, 'ok', 'b', 9, NULL, 'a', 1),
        (6, 'ok', 'b', 9, 'x', 'a', 1), (7, 'ok', 'b', 9, 'x', 'far too long', 1), (8, 'ok', 'b', 9, 'x', 'a', NULL);`);
    old.close();
    await imported(place, 'sqlite:old.sqlite');
    const text = place
      .text('model.yaml')
      .replace('note: string', '# Ours\n      note: { type: string, mandatory: true } # too')
      // The server names these as clients do.
      .replace('code: { type: string,', 'code: { type: string, restName: The code,')
      .replace('owner_id: integer', 'owner_id: { type: integer, restName: Owner no }')
      .replace('owner: { to: owner,', 'owner: { to: owner, mandatory: true,');
    place.put('model.yaml', text);
    const serverOfText = (): string =>
      compiledServer(
        writeServer({ ...modelOf(place.text('model.yaml')), databases: ['sqlite', 'postgres'] }),
      );
    const project = { place, source: 'sqlite:old.sqlite', server: serverOfText() };
    const lineOf = (attribute: string): number =>
      text.split('\n').findIndex((each) => each.startsWith(`      ${attribute}:`)) + 1;
    const first = await copy(project, target.url);
    expect(first.code).toBe(1);
    for (const [rule, attribute, rows] of [
      ['maxLength', 'name', '2 rows'],
      ['enum', 'kind', '1 row'],
      ['max', 'size', '1 row'],
      ['mandatory', 'note', '1 row'],
      ['maxLength', 'code', '1 row'],
      ['mandatory', 'owner_id', '1 row'],
    ] as const) {
      const line = lineOf(attribute.replace('_id', ''));
      expect(first.err).toContain(
        `model.yaml:${String(line)}: ${rule} of t.${attribute} refuses ${rows}\n`,
      );
    }
    expect(place.text('model.yaml')).toBe(text);
    const relaxed = await copy(project, target.url, ['--relax']);
    expect(relaxed.err).toContain('max of t.size refuses 1 row, and is removed');
    expect(place.text('model.yaml')).toContain('# Ours\n      note: { type: string } # too\n');
    expect(place.text('model.yaml')).toMatch(/size: { type: integer, min: 1 }/);
    expect(place.text('model.yaml')).toContain('code: { type: string, restName: The code }');
    expect(place.text('model.yaml')).toContain('owner: { to: owner, foreignKey: owner_id,');
    const next = await copied({ ...project, server: serverOfText() }, target.url, ['--rejects']);
    expect([next.code, next.differences]).toEqual([0, []]);
    expect(next.outcomes.map(numbers).toSorted()).toEqual([
      ['owner', 1, 1, 0, 0, 0],
      ['t', 8, 8, 0, 0, 0],
    ]);
    expect(place.files()).not.toContainEqual(expect.stringContaining('rejects/'));
  });

  const isFromPostgres = databases.driver === 'sqlite' && hasPostgres;

  itOnOne(databases)(
    `copies circles of relations and tables without a key from ${isFromPostgres ? 'PostgreSQL' : 'SQLite'}, and goes on after each kill`,
    async () => {
      const project = dyingServer(await (isFromPostgres ? postgresCircle() : sqliteCircle()));
      const reference = await databases.create();
      try {
        const whole = await copied(project, reference.url, ['--batch', '7']);
        expect(whole).toMatchObject({ code: 0, differences: [] });
        expect(whole.outcomes.map(numbers).toSorted()).toEqual(circleOutcome.toSorted());
        // Each run gets a little further, and ends at another message.
        for (let at = 2; at <= 13; at += stride) {
          const argv = ['--batch', '7', ...(at === 2 ? ['--restart'] : [])];
          const { code, err } = await copy(project, target.url, argv, { DIE_AT: String(at) });
          expect([code, err]).toEqual([
            1,
            expect.stringContaining('the program of the server has ended'),
          ]);
        }
        const last = await copy(project, target.url, ['--batch', '7']);
        expect(last.err).toContain(
          'Compared value by value: the database holds what the source holds.',
        );
        expect(await circleContent(databases, target.url)).toEqual(
          await circleContent(databases, reference.url),
        );
      } finally {
        await reference.drop();
      }
    },
  );

  itLong(
    `ends equal from ${isFromPostgres ? 'PostgreSQL' : 'SQLite'}, wherever kill -9 ends it`,
    async () => {
      const { place, ...project } = await (isFromPostgres ? postgresCircle() : sqliteCircle());
      const fresh = (): Project => {
        const copied = workplace();
        for (const path of place.files()) {
          copied.put(path, readFileSync(join(place.folder, path)));
        }
        return { ...project, place: copied };
      };
      await killEverywhere(databases, fresh, 0, async (_project, url) => {
        const content = await circleContent(databases, url);
        expect(content).toMatchObject(circleShown);
        return content;
      });
    },
  );

  itLong('waits for the program of a killed import that is still storing', async () => {
    const project = await sqliteCircle();
    const go = join(project.place.folder, 'go');
    const { code } = await copyApart(serverWith(project, lateCommit(go)), target.url, 0);
    expect(code).toBe(-9);
    const { err } = await copy(serverWith(project, next(go)), target.url, ['--batch', '7']);
    expect(err).toContain('Going on where the last import ended.');
    expect(err).toContain('Compared value by value: the database holds what the source holds.');
    expect(await circleContent(databases, target.url)).toMatchObject(circleShown);
  });

  itLong.each([
    ['a unique value', 'UNIQUE', ['fr', 'de']],
    ['another value than the key', '', [2, 1]],
  ])('finds relations by %s, as the source does', async (_, unique, held) => {
    const project = await ofSqlite(`
      CREATE TABLE land (id INTEGER PRIMARY KEY, code TEXT ${unique});
      CREATE TABLE town (id INTEGER PRIMARY KEY, land TEXT REFERENCES land (code));
      INSERT INTO land VALUES (1, 'de'), (2, 'fr');
      INSERT INTO town VALUES (1, 'fr'), (2, 'de'), (3, 'xx'), (4, NULL);`);
    const { code, outcomes } = await copied(project, target.url);
    expect(code).toBe(1);
    expect(outcomes.map(numbers)).toEqual([
      ['land', 2, 2, 0, 0, 0],
      ['town', 4, 4, 0, 1, 0],
    ]);
    const foreignKey = project.place.text('model.yaml').match(/foreignKey: (\w+)/)?.[1] ?? '';
    const column = unique === '' ? foreignKey : 'land';
    expect(await read(`select "id", "${column}" from "town" order by "id"`)).toEqual([
      [1, held[0]],
      [2, held[1]],
      [3, null],
      [4, null],
    ]);
    expect(rejectsOf(project, 'town')).toEqual([
      expect.objectContaining({ number: 3, isStored: true }),
    ]);
    if (!isLong && unique === '') return;
    const mended = project.place.text('rejects/town.jsonl').replace('"xx"', '"de"');
    project.place.put('rejects/town.jsonl', mended);
    const taken = await copied(project, target.url, ['--rejects']);
    expect([taken.code, taken.differences]).toEqual([0, []]);
    expect(await read(`select "${column}" from "town" where "id" = 3`)).toEqual([[held[1]]]);
  });

  itLong('finds relations by a decimal', async () => {
    const place = workplace();
    const old = new Database(join(place.folder, 'old.sqlite'));
    old.pragma('foreign_keys = off');
    old.exec(`
      CREATE TABLE land (id INTEGER PRIMARY KEY, code DECIMAL(8, 2));
      CREATE TABLE town (id INTEGER PRIMARY KEY, land DECIMAL(8, 2) REFERENCES land (code));
      INSERT INTO land VALUES (1, 12.5), (2, 13);
      INSERT INTO town VALUES (1, 13), (2, 12.5), (3, 14);`);
    old.close();
    await imported(place, 'sqlite:old.sqlite');
    const text = place
      .text('model.yaml')
      .replace(/code: .*/, 'code: { type: decimal, precision: 8, scale: 2 }');
    place.put('model.yaml', text);
    const server = compiledServer(
      writeServer({ ...modelOf(text), databases: ['sqlite', 'postgres'] }),
    );
    const project = { place, source: 'sqlite:old.sqlite', server };
    const { outcomes, differences } = await copied(project, target.url);
    expect([outcomes.map(numbers), differences]).toEqual([
      [
        ['land', 2, 2, 0, 0, 0],
        ['town', 3, 3, 0, 1, 0],
      ],
      [],
    ]);
    const [, foreignKey = ''] = /foreignKey: (\w+)/.exec(text) ?? [];
    expect(await read(`select "id", "${foreignKey}" from "town" order by "id"`)).toEqual([
      [1, 2],
      [2, 1],
      [3, null],
    ]);
  });

  itLong(
    'leaves out a held relation that breaks a unique list or holds no key, and goes on',
    async () => {
      const project = await ofSqlite(`
      CREATE TABLE folder (id INTEGER PRIMARY KEY, name TEXT, parent INTEGER REFERENCES folder (id),
        other INTEGER REFERENCES folder (id), UNIQUE (name, parent));
      INSERT INTO folder VALUES (1, 'root', NULL, NULL), (2, 'Docs', 1, 1), (3, 'docs', 1, 2), (4, 'Docs', 2, 3),
        (5, 'odd', 'none', 4);`);
      const { code, outcomes, differences } = await copied(project, target.url);
      expect([code, differences]).toEqual([1, []]);
      expect(outcomes.map(numbers)).toEqual([['folder', 5, 5, 0, 2, 0]]);
      expect(
        await read('select "id", "name", "parent", "other" from "folder" order by "id"'),
      ).toEqual([
        [1, 'root', null, null],
        [2, 'Docs', 1, 1],
        [3, 'docs', null, 2],
        [4, 'Docs', 2, 3],
        [5, 'odd', null, 4],
      ]);
      const message = 'must be unique together: another entity has these values (name, parent_id)';
      expect(rejectsOf(project, 'folder')).toEqual([
        expect.objectContaining({
          number: 3,
          isStored: true,
          reasons: [{ attribute: 'parent_id', message }],
        }),
        expect.objectContaining({
          number: 5,
          isStored: true,
          reasons: [
            {
              attribute: 'parent_id',
              message: 'must be a whole number between -(2^53 - 1) and 2^53 - 1',
            },
          ],
        }),
      ]);
    },
  );

  itOnOne(databases)(
    'never writes into a database that holds other data, and empties what it filled only',
    async () => {
      const project = await ofSqlite(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'a');",
      );
      expect((await copied(project, target.url)).code).toBe(0);
      // A second run compares only.
      expect((await copied(project, target.url)).outcomes.map(numbers)).toEqual([
        ['t', 1, 1, 0, 0, 0],
      ]);
      project.place.put('.drs-gen/import-data.json', '{}');
      expect((await copied(project, target.url, ['--restart'])).code).toBe(0);
      const checked = (await imported(project.place, project.source)).model.checked.value;
      if (checked === undefined) throw new Error('The model has errors.');
      const model: Model = { ...checked, databases: ['sqlite', 'postgres'] };
      const app = await serverOf(model, { databaseUrl: target.url });
      const made = await app.inject({
        method: 'POST',
        url: '/rest/t?$method=update',
        payload: '{"s":"b"}',
      });
      expect(made.statusCode).toBe(200);
      await app.close();
      const again = await copied(project, target.url);
      expect([again.code, again.differences]).toEqual([1, ['t: 2 entities of 1 accepted rows']]);
      expect((await copied(project, target.url, ['--restart'])).error).toContain(
        'others have changed the database since the import',
      );
      project.place.put('.drs-gen/import-data.json', '{}');
      expect((await copied(project, target.url)).error).toContain(
        'is not what an import has written',
      );
      expect(await read('select "s" from "t" order by "id"')).toEqual([['a'], ['b']]);
      const used = await databases.create();
      try {
        const place = workplace();
        place.put('old.sqlite', readFileSync(join(project.place.folder, 'old.sqlite')));
        place.put('model.yaml', project.place.text('model.yaml'));
        const own = await serverOf(model, { databaseUrl: used.url });
        await own.inject({
          method: 'POST',
          url: '/rest/t?$method=update',
          payload: '{"s":"mine"}',
        });
        await own.close();
        const refused = await copied({ ...project, place }, used.url);
        expect([refused.code, refused.error]).toEqual([
          1,
          expect.stringContaining('the database holds 1 entity of t that no import has written'),
        ]);
      } finally {
        await used.drop();
      }
    },
  );
});

const shopModel = `
drs: 1
name: shop
dataclasses:
  Customer:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true }
      code: { type: string, unique: true }
      born: { type: date, dateOnly: true }
      seen: date
      worked: { type: duration, restName: Hours worked }
      more: object
      rating: number
      isKnown: boolean
      photo: image
      contract: blob
      boss: { to: Customer, inverse: staff }
      staff: { to: Customer, many: true, inverse: boss }
      orders: { to: Order, many: true, inverse: customer }
  Order:
    attributes:
      number: { type: string, key: true }
      token: uuid
      customer: { to: Customer, inverse: orders, mandatory: true, restName: The customer }
`;

/** Random entities, the same ones at each run. */
function shopContent(random: Random): {
  readonly customers: readonly object[];
  readonly orders: readonly object[];
} {
  const maybe = <T>(value: T): T | null => (random.chance(25) ? null : value);
  const text = (): string => random.pick(['', 'a', 'Ä', '😀', "o'x", '"', '0', 'null', '\n', '@*']);
  const customers = Array.from({ length: 40 }, (_, at) => ({
    ID: (at + 1) * 3,
    name: text(),
    code: maybe(`code ${String(at)}`),
    born: maybe(`19${String(10 + random.int(0, 88))}-0${String(1 + random.int(0, 8))}-15`),
    seen: maybe(
      `2024-0${String(1 + random.int(0, 8))}-15T10:20:30.${String(100 + random.int(0, 898))}Z`,
    ),
    'Hours worked': maybe(random.int(0, 86_399_999)),
    more: maybe({ list: [text(), null, random.int(0, 8)] }),
    rating: maybe(random.int(0, 999) / 7),
    isKnown: maybe(random.chance(50)),
  }));
  const orders = Array.from({ length: 60 }, (_, at) => ({
    number: `N ${String(at)} ${text()}`,
    token: maybe('0f8fad5b-d9cb-469f-a165-70867728950e'),
    'The customer': { __KEY: String((1 + random.int(0, 39)) * 3) },
  }));
  return { customers, orders };
}

async function post(
  app: FastifyInstance,
  url: string,
  payload: unknown,
  session: Record<string, string> = {},
): Promise<unknown> {
  const isBytes = payload instanceof Uint8Array;
  const { statusCode, body, cookies } = await app.inject({
    cookies: session,
    method: 'POST',
    url,
    headers: { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' },
    payload: isBytes ? Buffer.from(payload) : JSON.stringify(payload),
  });
  if (statusCode !== 200) throw new Error(`${String(statusCode)} ${body}`);
  for (const { name, value } of cookies) session[name] = value;
  return JSON.parse(body) as unknown;
}

async function filledShop(app: FastifyInstance): Promise<void> {
  const { customers, orders } = shopContent(new Random(7));
  await post(app, '/rest/Customer?$method=update', customers);
  const bosses = customers.map((_, at) => ({
    __KEY: String((at + 1) * 3),
    __STAMP: 1,
    boss: at % 4 === 0 ? null : { __KEY: String((40 - at) * 3) },
  }));
  await post(app, '/rest/Customer?$method=update', bosses);
  await post(app, '/rest/Order?$method=update', orders);
  const session = {};
  for (const [attribute, kind, bytes] of [
    ['photo', '$rawPict', png],
    ['contract', '$binary', Buffer.from([0, 1, 255])],
  ] as const) {
    const upload = (await post(app, `/rest/$upload?${kind}=true`, bytes, session)) as {
      readonly ID: string;
    };
    const { __STAMP: stamp } = JSON.parse((await app.inject('/rest/Customer(3)')).body) as {
      readonly __STAMP: number;
    };
    await post(
      app,
      '/rest/Customer?$method=update',
      {
        __KEY: '3',
        __STAMP: stamp,
        [attribute]: { ID: upload.ID },
      },
      session,
    );
  }
}

/** What clients see, without stamps. */
async function shopShown(app: FastifyInstance): Promise<unknown> {
  const bodies: unknown[] = [];
  for (const url of ['/rest/Customer?$top=1000', '/rest/Order?$top=1000']) {
    const text = (await app.inject(url)).body.replaceAll(/\$version=\d+/g, '');
    const { __ENTITIES: entities } = JSON.parse(text, (name, value: unknown) =>
      /^__(?:STAMP|TIMESTAMP|GlobalStamp)$/.test(name) ? undefined : value,
    ) as { readonly __ENTITIES: unknown };
    bodies.push(entities);
  }
  for (const uri of ['photo?$expand=photo', 'contract?$binary=true&$expand=contract']) {
    bodies.push((await app.inject(`/rest/Customer(3)/${uri}`)).rawPayload.toString('hex'));
  }
  return bodies;
}

describeDatabases('drs-gen import-data from a running server', (databases) => {
  let target: TestDatabase;
  let old: FastifyInstance;
  let proxy: Server;
  /** Requests that are passed on; the next one is refused. */
  let passed = Infinity;
  /** What the proxy leaves out of addresses. */
  let dropped = /(?!)/g;

  beforeEach(async () => {
    target = await databases.create();
    old = await serverOf(shopModel);
    await filledShop(old);
    const origin = new URL(await old.listen({ port: 0, host: '127.0.0.1' }));
    proxy = createServer((request, response) => {
      passed -= 1;
      if (passed < 0) {
        response.writeHead(403).end();
        return;
      }
      const { url = '', method, headers } = request;
      const path = url.replaceAll(dropped, '');
      const on = httpRequest(
        { host: origin.hostname, port: origin.port, path, method, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        },
      );
      request.pipe(on);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterEach(async () => {
    passed = Infinity;
    dropped = /(?!)/g;
    proxy.close();
    proxy.closeAllConnections();
    await old.close();
    await target.drop();
  });

  itLong('ends equal, wherever kill -9 ends it', async () => {
    const model: Model = { ...modelOf(shopModel), databases: ['sqlite', 'postgres'] };
    const server = compiledServer(writeServer(model));
    const { port } = proxy.address() as AddressInfo;
    const fresh = (): Project => {
      const place = workplace();
      place.put('model.yaml', shopModel);
      return { place, server, source: `http://127.0.0.1:${String(port)}` };
    };
    const shown = await shopShown(old);
    await killEverywhere(databases, fresh, 0, async (_project, url) => {
      const app = await serverOf(model, { databaseUrl: url });
      try {
        expect(await shopShown(app)).toEqual(shown);
      } finally {
        await app.close();
      }
      return shown;
    });
  });

  itOnOne(databases)(
    'ends equal, whichever request is refused on the way, and where a proxy drops parameters',
    async () => {
      const place = workplace();
      place.put('model.yaml', shopModel);
      const model = modelOf(shopModel);
      const server = compiledServer(writeServer({ ...model, databases: ['sqlite', 'postgres'] }));
      const { port } = proxy.address() as AddressInfo;
      const project = { place, server, source: `http://127.0.0.1:${String(port)}` };
      for (passed = 0; passed < 9;) {
        const before = passed;
        const { code, err } = await copy(project, target.url, ['--batch', '20']);
        expect([code, err]).toEqual([1, expect.stringContaining('answered 403')]);
        passed = before + stride;
      }
      passed = Infinity;
      for (const [parameters, what] of [
        [
          /\$(?:filter|params)=[^&]*&/g,
          // How far the import is by then depends on the stride.
          /Customer: the page behind \d+ entities \(key \d+\) (?:has the key 3|leads beyond)/,
        ],
        [/&\$skip=[^&]*/g, /Order: the page behind \d+ entities/],
      ] as const) {
        dropped = parameters;
        const { code, err } = await copy(project, target.url, ['--batch', '20']);
        expect([code, err]).toEqual([1, expect.stringMatching(what)]);
      }
      dropped = /(?!)/g;
      const last = await copy(project, target.url, ['--batch', '20']);
      expect(last.err).toContain(
        'Compared value by value: the database holds what the source holds.',
      );
      const app = await serverOf(
        { ...model, databases: ['sqlite', 'postgres'] },
        { databaseUrl: target.url },
      );
      try {
        expect(await shopShown(app)).toEqual(await shopShown(old));
      } finally {
        await app.close();
      }
    },
  );
});

describeDatabases('drs-gen import-data from exports', (databases) => {
  let target: TestDatabase;

  beforeEach(async () => {
    target = await databases.create();
  });
  afterEach(async () => {
    await target.drop();
  });

  itOnOne(databases)('reads JSON, CSV and SQL of a folder', async () => {
    const place = workplace();
    place.put('model.yaml', shopModel);
    const model = modelOf(shopModel);
    const server = compiledServer(writeServer({ ...model, databases: ['sqlite', 'postgres'] }));
    const hex = png.toString('hex');
    const photo = { length: png.length, hex };
    const sql = `INSERT INTO [Customer] ( [ID] , [name] , [code] , [born] , [seen] , [worked] , [photo] , [boss_id] )
      VALUES (3,'it''s',NULL,'2024/02/29 00:00:00:000','2024/02/29 10:20:30:45','01:02:03:04:005',X'${hex}',6),
      (6,'','','0000/00/00 00:00:00:000',NULL,NULL,NULL,0);`;
    place.put('old/SQLExport/Customer/Export1.sql', sql);
    const more = [{ ID: 9, name: '}]"\\', photo, contract: 'BLOBS/9.blob', more: { a: [1] } }];
    place.put('old/JsonExport/Customer/Export2.json', `\ufeff${JSON.stringify(more)}`);
    place.put('old/JsonExport/Customer/BLOBS/9.blob', Buffer.from([0, 1, 255]));
    place.put(
      'old/Order.csv',
      'number,customer_id,token\r\n"a ""1"", b",3,\r\nb,9,0f8fad5b-d9cb-469f-a165-70867728950e\r\n',
    );
    place.put('old/more/Customer.csv', '\ufeffID;name;rating\r\n10;1,5;12,50\r\n');
    const project = { place, server, source: 'old' };
    const { code, differences, outcomes } = await copied(project, target.url);
    expect({ code, differences }).toEqual({ code: 0, differences: [] });
    expect(outcomes.map(numbers)).toEqual([
      ['Customer', 4, 4, 0, 0, 0],
      ['Order', 2, 2, 0, 0, 0],
    ]);
    const read = (text: string): ReturnType<TestDatabases['run']> =>
      databases.run(target.url, text);
    expect(
      await read(
        'select "ID", "name", "code", "born", "seen", "worked", "more", "photo", "contract", "boss_id" from "Customer" where "ID" < 10 order by "ID"',
      ),
    ).toEqual([
      [3, "it's", null, '2024-02-29', '2024-02-29T10:20:30.450Z', 93_784_005, null, png, null, 6],
      [6, '', null, null, null, null, null, null, null, null],
      [9, '}]"\\', null, null, null, null, '{"a":[1]}', png, Buffer.from([0, 1, 255]), null],
    ]);
    expect(await read('select "name", "rating" from "Customer" where "ID" = 10')).toEqual([
      ['1,5', 12.5],
    ]);
    expect(
      await read('select "number", "token", "customer_id" from "Order" order by "number"'),
    ).toEqual([
      ['a "1", b', null, 3],
      ['b', '0F8FAD5BD9CB469FA16570867728950E', 9],
    ]);
  });

  it.skipIf(!hasPostgres || (databases.driver === 'sqlite' && !isLong))(
    'makes odd values of PostgreSQL null with --odd-values null',
    async () => {
      const project = await ofPostgres(`
      CREATE TABLE price (id integer PRIMARY KEY, n double precision, c numeric(8, 2), d date, m timestamptz);
      INSERT INTO price VALUES (1, 'NaN', 'NaN', 'infinity', '-infinity'), (2, '-Infinity', 1.5, '0044-03-15 BC', '10000-01-01Z'),
        (3, 1, 2, '0001-01-01', '9999-12-31 23:59Z');`);
      const refused = await copied(project, target.url);
      expect(refused.outcomes.map(numbers)).toEqual([['price', 3, 1, 2, 0, 0]]);
      const { code, differences, outcomes } = await copied(project, target.url, [
        ...['--restart', '--odd-values', 'null'],
      ]);
      expect({ code, differences }).toEqual({ code: 0, differences: [] });
      expect(outcomes.map(numbers)).toEqual([['price', 3, 3, 0, 0, 0]]);
      const found = 'select "id", "n", "d", "m" from "price" order by "id"';
      expect((await databases.run(target.url, found)).slice(0, 2)).toEqual([
        [1, null, null, null],
        [2, null, null, null],
      ]);
    },
  );

  itLong('ends equal with the same rejected rows, wherever kill -9 ends it', async () => {
    const server = compiledServer(
      writeServer({ ...modelOf(shopModel), databases: ['sqlite', 'postgres'] }),
    );
    const customers = Array.from({ length: 20 }, (_, at) => ({
      ID: at + 1,
      name: at % 5 === 4 ? null : `name ${String(at)}`,
      worked: at,
      boss_id: at % 3 === 0 ? 99 : ((at * 7) % 20) + 1,
    }));
    const orders = Array.from({ length: 12 }, (_, at) => `n${String(at)},${String(at + 1)}`);
    const fresh = (): Project => {
      const place = workplace();
      place.put('model.yaml', shopModel);
      place.put('old/Customer.json', JSON.stringify(customers));
      place.put('old/Order.csv', `number,customer_id\n${orders.join('\n')}\n`);
      return { place, server, source: 'old' };
    };
    const isStored = (id: number): boolean => id % 5 !== 0;
    await killEverywhere(databases, fresh, 1, async (project, url) => {
      const read = (sql: string): ReturnType<TestDatabases['run']> => databases.run(url, sql);
      expect(
        await read('select "ID", "name", "worked", "boss_id" from "Customer" order by "ID"'),
      ).toEqual(
        customers
          .filter(({ ID }) => isStored(ID))
          .map(({ ID, name, worked, boss_id: boss }) => [
            ID,
            name,
            worked,
            isStored(boss) && boss !== 99 ? boss : null,
          ]),
      );
      expect(await read('select count(*) from "Order"')).toEqual([[10]]);
      const rejects = rejectFiles(project);
      expect(rejects.map(([path]) => path)).toEqual([
        'rejects/Customer.jsonl',
        'rejects/Order.jsonl',
      ]);
      return rejects;
    });
  });

  itOnOne(databases)(
    'refuses a text whose file is missing or not in UTF-8, and tells which',
    async () => {
      const place = workplace();
      place.put('model.yaml', shopModel);
      const server = compiledServer(
        writeServer({ ...modelOf(shopModel), databases: ['sqlite', 'postgres'] }),
      );
      place.put('old/right.txt', 'ñ');
      place.put('old/wrong.txt', Buffer.from('ñ', 'latin1'));
      const rows = ['right', 'wrong', 'missing'].map(
        (name, at) => `(${String(at + 1)}, INFILE '${name}.txt')`,
      );
      place.put('old/Customer.sql', `INSERT INTO [Customer] ([ID], [name]) VALUES ${rows.join()};`);
      const project = { place, server, source: 'old' };
      const { code, outcomes } = await copied(project, target.url);
      expect([code, outcomes.map(numbers)]).toEqual([1, [['Customer', 3, 1, 2, 0, 0]]]);
      expect(await databases.run(target.url, 'select "ID", "name" from "Customer"')).toEqual([
        [1, 'ñ'],
      ]);
      expect(JSON.stringify(rejectsOf(project, 'Customer'))).toMatch(
        /is no UTF-8: wrong\.txt.*that is not there: missing\.txt/,
      );
    },
  );

  itLong('takes few rows at once if their files are large', async () => {
    const place = workplace();
    place.put('model.yaml', shopModel);
    const server = compiledServer(
      writeServer({ ...modelOf(shopModel), databases: ['sqlite', 'postgres'] }),
    );
    const row = (id: number): object => ({ ID: id, name: 'a', contract: 'large.blob' });
    place.put('old/Customer.json', JSON.stringify([1, 2, 3, 4, 5].map(row)));
    place.put('old/large.blob', Buffer.alloc(5 * 1024 * 1024));
    const project = { place, server, source: 'old' };
    // It ends when the first batch is stored.
    const dying = dyingServer(project);
    expect((await copy(dying, target.url, [], { DIE_AT: '7' })).code).toBe(1);
    const stored = await databases.run(target.url, 'select count(*) from "Customer"');
    expect(stored).toEqual([[2]]);
    const { code, outcomes } = await copied(project, target.url);
    expect([code, outcomes.map(numbers)]).toEqual([0, [['Customer', 5, 5, 0, 0, 0]]]);
  });

  itOnOne(databases)('tells where a file is not what its name says', async () => {
    const place = workplace();
    place.put('model.yaml', shopModel);
    const server = compiledServer(writeServer(modelOf(shopModel)));
    const project = { place, server, source: 'old' };
    place.put('old/Customer.csv', 'ID\n1\n');
    const none = await copied(project, 'sqlite:unused.sqlite', ['--tables', 'Order*']);
    expect([none.code, none.error]).toEqual([1, expect.stringContaining('no table of the source')]);
    for (const option of [['--schema', 'a'], ['--cookie', 'a=b'], ['--authentify']]) {
      expect((await copy(project, 'sqlite:unused.sqlite', option)).code).toBe(2);
    }
    for (const [path, text, reason] of [
      ['Customer.json', '{"ID":1}', 'it is no list of JSON objects'],
      ['Customer.json', '[{"ID":1}', 'ends within it'],
      [
        'Customer.csv',
        'ID,name\n1\n',
        'record 2 has 1 fields separated by commas, and the first line 2',
      ],
      ['Customer.csv', 'ID,name\n1,"a\n', 'it ends within quotes'],
      ['Customer.sql', 'DROP TABLE x;', 'it holds more than INSERT: DROP'],
      ['Customer.csv', Buffer.from('ID,name\n1,ñ\n', 'latin1'), 'it is not in UTF-8'],
      ['Customer.json', Buffer.from('\ufeff[{"ID":1}]', 'utf16le'), 'it is not in UTF-8'],
    ] as const) {
      place.put(`old/${path}`, text);
      const { code, error } = await copied(project, 'sqlite:unused.sqlite');
      expect([code, error]).toEqual([1, expect.stringContaining(reason)]);
      place.put(`old/${path}`, path.endsWith('.json') ? '[]' : '');
    }
  });
});
