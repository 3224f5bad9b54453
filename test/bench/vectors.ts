/**
 * Measures comparisons of vectors: the generated server over HTTP, and other ways to compare in the
 * same database.
 *
 *   npm run bench:vectors -- [--scale 100k] [--rounds 5]
 *
 * How to read the tables: the median of the rounds in milliseconds, for vectors of 384 numbers.
 * Each round uses another vector, so that no cache has an effect. The second table counts the rows
 * of one filter by a single statement.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { load } from 'sqlite-vec';
import { run } from './command.js';
import { readOptions } from './options.js';
import { compiler, root, typescript, work } from './places.js';
import { median } from './report.js';
import { aligned } from './table.js';
import { Server, type ServerFiles } from './server.js';

const dimensions = 384;
const threshold = 0.1;
const model = `drs: 1
name: vectors
dataclasses:
  Text:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      title: string
      embedding: { type: vector, dimensions: ${dimensions} }
`;

const { rows = 100_000, rounds } = readOptions(process.argv.slice(2));
const folder = join(work, 'vectors');
const files: ServerFiles = {
  name: 'generated',
  script: join(folder, 'server/dist/src/main.js'),
  database: join(folder, 'data.sqlite'),
};

console.error('> generate and compile the server, fill the database');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'model.yaml'), model);
run(process.execPath, [compiler, join(folder, 'model.yaml'), '-o', join(folder, 'server')], {
  cwd: root,
});
run(process.execPath, [typescript, '-p', join(folder, 'server')], { cwd: root });
// The server makes the schema.
await (await Server.start(files)).stop();
const database = new Database(files.database);
database.pragma('cache_size = -65536');
load(database);
fill();

const server = await Server.start(files);
const requests = [
  await overHttp('filter, count alone', '$top=0', 'embedding >= :1'),
  await overHttp('filter, count and first 10', '$top=10', 'embedding >= :1'),
  await overHttp(
    'filter, count and 10 most similar',
    '$top=10&$orderby=embedding',
    'embedding >= :1',
  ),
  await overHttp('the same by dot', '$top=10&$orderby=embedding', 'embedding >= :1', 'dot'),
  await overHttp(
    'the same by euclidean',
    '$top=10&$orderby=embedding',
    'embedding < :1',
    'euclidean',
  ),
  await overHttp('filter of another attribute', '$top=10', "title = 'none' AND ID > :1"),
];
await server.stop();

registerFunctions();
const statements = [
  bySql('reading the column alone', 'substr("__unit_embedding", -4) = ?', bytes),
  bySql('sqlite-vec over single precision', 'vec_distance_L2("__unit_embedding", ?) < 1.34', bytes),
  bySql('JavaScript over single precision', 'js_cosine("__unit_embedding", ?) > 0.1', bytes),
  bySql('sqlite-vec over JSON', 'vec_distance_cosine("embedding", ?) < 0.9', JSON.stringify),
  bySql('JavaScript over JSON', 'js_json_cosine("embedding", ?) > 0.1', JSON.stringify),
];
database.close();

for (const lines of [requests, statements]) {
  console.log(
    `${aligned([['', 'ms'], ...lines.map(({ what, milliseconds }) => [what, milliseconds.toFixed(1)])])}\n`,
  );
}
const result = { node: process.version, rows, rounds, requests, statements };
writeFileSync(join(work, 'vectors.json'), `${JSON.stringify(result, undefined, 2)}\n`);

interface Line {
  readonly what: string;
  readonly milliseconds: number;
}

/** With distances similar to those of real texts. */
function randomVector(): number[] {
  return Array.from({ length: dimensions }, () => Number((Math.random() * 2 - 1).toFixed(8)));
}

function norm(vector: readonly number[]): number {
  return Math.sqrt(vector.reduce((sum, each) => sum + each * each, 0));
}

function bytes(vector: readonly number[]): Buffer {
  const length = norm(vector);
  return Buffer.from(Float32Array.from(vector, (each) => each / length).buffer);
}

function fill(): void {
  const insert = database.prepare(
    `insert into "Text" ("title", "embedding", "__norm_embedding", "__unit_embedding", "__STAMP", "__TIMESTAMP")
     values (?, ?, ?, ?, 1, '2026-01-01T00:00:00.000Z')`,
  );
  const all = database.transaction(() => {
    for (let i = 0; i < rows; i += 1) {
      const vector = randomVector();
      insert.run(`text ${i}`, JSON.stringify(vector), norm(vector), bytes(vector));
    }
  });
  all();
  database.pragma('wal_checkpoint(TRUNCATE)');
}

async function overHttp(
  what: string,
  query: string,
  filter: string,
  metric = 'cosine',
): Promise<Line> {
  const times: number[] = [];
  for (let i = 0; i <= rounds; i += 1) {
    const compared = {
      vector: randomVector(),
      metric,
      threshold: metric === 'dot' ? 12 : metric === 'euclidean' ? 15.3 : threshold,
    };
    const params = encodeURIComponent(JSON.stringify([filter.includes('ID') ? i : compared]));
    const url = `${server.origin}/rest/Text?$filter="${filter}"&$params=${params}&$attributes=title&${query}`;
    const start = performance.now();
    const response = await fetch(url);
    const answer = await response.text();
    times.push(performance.now() - start);
    if (response.status !== 200) throw new Error(answer);
  }
  // The first one prepares the statements.
  return { what, milliseconds: median(times.slice(1)) };
}

function registerFunctions(): void {
  const dot = (left: ArrayLike<number>, right: ArrayLike<number>): number => {
    let sum = 0;
    for (let i = 0; i < dimensions; i += 1) sum += (left[i] as number) * (right[i] as number);
    return sum;
  };
  const floats = ({ buffer, byteOffset }: Buffer): Float32Array =>
    new Float32Array(buffer, byteOffset, dimensions);
  database.function('js_cosine', { deterministic: true }, (stored: Buffer, given: Buffer) =>
    dot(floats(stored), floats(given)),
  );
  let last = { text: '', vector: [] as number[], norm: 0 };
  database.function('js_json_cosine', { deterministic: true }, (stored: string, given: string) => {
    if (last.text !== given) {
      const vector = JSON.parse(given) as number[];
      last = { text: given, vector, norm: norm(vector) };
    }
    const vector = JSON.parse(stored) as number[];
    return dot(vector, last.vector) / norm(vector) / last.norm;
  });
}

function bySql(
  what: string,
  condition: string,
  bind: (vector: readonly number[]) => Buffer | string,
): Line {
  const statement = database.prepare(`select count(*) from "Text" where ${condition}`);
  const times: number[] = [];
  for (let i = 0; i <= rounds; i += 1) {
    const value = bind(randomVector());
    const start = performance.now();
    statement.get(value);
    times.push(performance.now() - start);
  }
  return { what, milliseconds: median(times.slice(1)) };
}
