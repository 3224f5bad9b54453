/**
 * Measures the time of schema changes on large tables, and how long other writers wait meanwhile.
 *
 *   npm run bench:migrations -- [--scale 1m]
 *
 * Each change is made by `node dist/src/migrate.js`, while another process changes rows of the same
 * table, one after the other. How to read the table: seconds from the start of the command to its
 * end, and the longest duration of one of these changes. PostgreSQL is that of the tests, which
 * does not wait for the disk, or the one of POSTGRES_TEST_URL.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { buildSync } from 'esbuild';
import { run } from './command.js';
import { beTheOnlyOne } from './only-one.js';
import { readOptions } from './options.js';
import { compiler, root, work } from './places.js';
import { runOn, startPostgres } from './postgres.js';
import { aligned } from './table.js';

interface Change {
  readonly name: string;
  /** Attributes of the dataclass from now on. */
  readonly set?: Readonly<Record<string, string | undefined>>;
  /** Steps of a migration. */
  readonly steps?: string;
}

const first: Readonly<Record<string, string>> = {
  ID: '{ type: integer, key: true, generated: sequence }',
  name: '{ type: string, maxLength: 60 }',
  role: '{ type: string, enum: [a, b, c] }',
  city: 'string',
  code: 'string',
  amount: 'integer',
  zip: 'integer',
  fax: 'string',
  loud: '{ computed: string, expression: "upper(name)" }',
};

const changes: readonly Change[] = [
  { name: 'add an attribute with a default', set: { level: '{ type: integer, default: 3 }' } },
  {
    name: 'loosen an enum and maxLength',
    set: { role: '{ type: string, enum: [a, b, c, d] }', name: '{ type: string, maxLength: 90 }' },
  },
  {
    name: 'tighten both',
    set: { role: '{ type: string, enum: [a, b] }', name: '{ type: string, maxLength: 50 }' },
  },
  { name: 'make an attribute mandatory', set: { city: '{ type: string, mandatory: true }' } },
  { name: 'make an attribute unique', set: { code: '{ type: string, unique: true }' } },
  { name: 'add an index', set: { amount: '{ type: integer, indexed: true }' } },
  { name: 'add a relation', set: { company: '{ to: Company, inverse: staff }' } },
  {
    name: 'change a computed expression',
    set: { loud: '{ computed: string, expression: "lower(name)" }' },
  },
  {
    name: 'fill an attribute by SQL',
    set: { third: 'integer' },
    steps: `{ kind: 'fill', table: 'Person', set: { third: '"ID" % 3' } }`,
  },
  {
    name: 'fill an attribute by a function',
    set: { size: 'integer' },
    steps: `{ kind: 'fill', table: 'Person', set: (row: { name: string }) => ({ size: row.name.length }) }`,
  },
  {
    name: 'convert a type',
    set: { zip: 'string' },
    steps: `{ kind: 'convert', table: 'Person', column: 'zip', value: { sqlite: 'CAST("zip" AS TEXT)', postgres: 'CAST("zip" AS text)' } }`,
  },
  {
    name: 'drop a column',
    set: { fax: undefined },
    steps: `{ kind: 'drop', table: 'Person', column: 'fax', atMost: 100000000 }`,
  },
];

const values = `'Name ' || n, case n % 2 when 0 then 'a' else 'b' end, 'City ' || n % 1000, 'Code ' || n, n % 100000, n % 9000 + 1000, 'Fax ' || n, 1, '2026-01-01T00:00:00.000Z'`;
const insertInto = `insert into "Person" ("name", "role", "city", "code", "amount", "zip", "fax", "__STAMP", "__TIMESTAMP")`;

/** A database to be migrated. */
interface Place {
  readonly name: string;
  readonly url: string;
  readonly fill: (rows: number) => Promise<void>;
  readonly remove: () => Promise<void>;
}

interface Measured {
  readonly seconds: number;
  readonly longestWait: number;
  readonly writes: number;
}

beTheOnlyOne();
const { rows = 1_000_000 } = readOptions(process.argv.slice(2));
const folder = join(work, 'migrations');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

console.error('> generate a server for each version');
const versions: string[] = [];
let attributes: Readonly<Record<string, string | undefined>> = first;
for (const [index, { set, steps }] of [
  { name: '', set: {}, steps: undefined },
  ...changes,
].entries()) {
  attributes = { ...attributes, ...set };
  versions.push(version(index, attributes, steps));
}
const absent: Measured = { seconds: NaN, longestWait: NaN, writes: 0 };
const measured = new Map<string, readonly Measured[]>();
for (const place of [sqlitePlace(), await postgresPlace()]) {
  try {
    measured.set(place.name, await measure(place));
  } finally {
    await place.remove();
  }
}
const names = [...measured.keys()];
const head = ['', ...names.flatMap((name) => [`${name} s`, 'longest wait s', 'writes'])];
const lines = changes.map(({ name }, index) => [
  name,
  ...names.flatMap((each) => {
    const { seconds, longestWait, writes } = measured.get(each)?.[index] ?? absent;
    return [seconds.toFixed(1), longestWait.toFixed(2), String(writes)];
  }),
]);
console.log(aligned([head, ...lines]));
const result = { node: process.version, rows, changes: lines, head };
writeFileSync(join(work, 'migrations.json'), `${JSON.stringify(result, undefined, 2)}\n`);
// PostgreSQL's process, and the connections to it.
process.exit();

/** @returns what Node has to run */
function version(
  index: number,
  of: Readonly<Record<string, string | undefined>>,
  steps: string | undefined,
): string {
  const project = join(folder, String(index));
  const model = `${project}.yaml`;
  const own = Object.entries(of).flatMap(([name, definition]) =>
    definition === undefined ? [] : [`      ${name}: ${definition}`],
  );
  const staff =
    'company' in of ? '\n      staff: { to: Person, many: true, inverse: company }' : '';
  writeFileSync(
    model,
    `drs: 1
name: migrations
database: [sqlite, postgres]
dataclasses:
  Person:
    attributes:
${own.join('\n')}
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string${staff}
`,
  );
  const generate = (): number =>
    run(process.execPath, [compiler, model, '-o', project], { cwd: root });
  generate();
  if (steps !== undefined) {
    mkdirSync(join(project, 'src/migrations'), { recursive: true });
    writeFileSync(
      join(project, `src/migrations/${String(index).padStart(4, '0')}-change.ts`),
      `import type { Migration } from '#runtime/definition';
export const migration: Migration = { from: '${index}', to: '${index + 1}', steps: [${steps}] };
`,
    );
    generate();
  }
  const sources = readdirSync(join(project, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
  const outdir = join(project, 'dist');
  buildSync({ entryPoints: sources, outbase: project, outdir, tsconfigRaw: {}, target: 'es2023' });
  return join(project, 'dist/src/migrate.js');
}

async function measure({ name, url, fill }: Place): Promise<readonly Measured[]> {
  console.error(`> ${name}: fill ${rows} rows`);
  migrate(versions[0] ?? '', url);
  await fill(rows);
  const writer = fork(join(import.meta.dirname, 'migrations-writer.js'), [url, String(rows)]);
  await once(writer, 'message');
  const all: Measured[] = [];
  for (const [index, change] of changes.entries()) {
    writer.send('begin');
    const milliseconds = migrate(versions[index + 1] ?? '', url);
    const { longest, writes } = await told(writer);
    all.push({ seconds: milliseconds / 1000, longestWait: longest / 1000, writes });
    console.error(
      `> ${name}: ${change.name}: ${(milliseconds / 1000).toFixed(1)} s, longest wait ${(longest / 1000).toFixed(2)} s, ${writes} writes`,
    );
  }
  writer.disconnect();
  await once(writer, 'exit');
  return all;
}

function migrate(script: string, url: string): number {
  const env = { ...process.env, DATABASE_URL: url };
  return run(process.execPath, [script], { cwd: folder, env });
}

/** The records of the writer since the start of the step. */
async function told(writer: ChildProcess): Promise<{ longest: number; writes: number }> {
  writer.send('tell');
  const [answer] = (await once(writer, 'message')) as [{ longest: number; writes: number }];
  return answer;
}

function sqlitePlace(): Place {
  const file = join(folder, 'data.sqlite');
  const remove = (): Promise<void> => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
    return Promise.resolve();
  };
  const fill = (count: number): Promise<void> => {
    const database = new Database(file);
    database.exec(
      `${insertInto} with recursive "numbers" (n) as (select 1 union all select n + 1 from "numbers" where n < ${count})
        select ${values} from "numbers"`,
    );
    database.close();
    return Promise.resolve();
  };
  return { name: 'SQLite', url: `sqlite:${file}`, fill, remove };
}

async function postgresPlace(): Promise<Place> {
  const given = process.env['POSTGRES_TEST_URL'];
  const started = given === undefined ? await startPostgres() : undefined;
  const database = `drs_gen_bench_${randomBytes(4).toString('hex')}`;
  const server = given ?? started?.url('postgres') ?? '';
  await runOn(server, [`create database "${database}" template template0`]);
  const own = new URL(server);
  own.pathname = `/${database}`;
  const fill = async (count: number): Promise<void> => {
    await runOn(own.href, [
      `${insertInto} select ${values} from generate_series(1, ${count}) n`,
      'vacuum analyze',
    ]);
  };
  const remove = async (): Promise<void> => {
    if (started !== undefined) await started.remove();
    else await runOn(server, [`drop database "${database}" with (force)`]);
  };
  return { name: 'PostgreSQL', url: own.href, fill, remove };
}
