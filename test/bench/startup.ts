/**
 * Measures how servers of many dataclasses start: models of 30 and 300 dataclasses with 20
 * attributes each, built as their own `npm run build` does it.
 *
 *   npm run bench:startup
 *   npm run bench:startup -- --node 24
 *
 * How to read the table: milliseconds from the start of the process to the line with its address,
 * and to the first answer, on an empty file and on one with the schema; processor time up to that
 * answer, which is more precise on a busy machine; resident megabytes five seconds later, of all
 * processes of the server. Medians of five starts, except for the empty file.
 *
 * A second table lists the lines of the runtime's JavaScript that two servers have loaded: that of
 * `drs-gen init` after a read with a filter and an expansion, a save, a deletion, a set and the
 * catalog, and that of the example, whose class code is not written there, after reads, a failed
 * validation, a failed login and the catalog.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { run } from './command.js';
import { compileProject } from './generated-server.js';
import { largeModel } from './large-model.js';
import { compiler, root, work } from './places.js';
import { readOptions } from './options.js';
import { Preparation } from './prepare.js';
import { median } from './report.js';
import { Server } from './server.js';
import { aligned } from './table.js';

const { node: major } = readOptions(process.argv.slice(2));
const preparation = new Preparation(major);
const folder = join(work, 'startup');
const repetitions = 5;
const restMilliseconds = 5_000;

interface Start {
  readonly line: number;
  readonly first: number;
  readonly cpu: number;
  readonly rest: number;
}

const rows: string[][] = [];
for (const size of [30, 300]) {
  const script = build(size);
  const database = join(folder, `${size}.sqlite`);
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${database}${suffix}`, { force: true });
  console.error(`> ${size} dataclasses: start the server on an empty file`);
  const empty = await start(script, database);
  const starts: Start[] = [];
  for (let i = 1; i <= repetitions; i += 1) {
    console.error(`> ${size} dataclasses: start ${i} of ${repetitions} on a schema`);
    starts.push(await start(script, database));
  }
  rows.push(row(`${size}, empty file`, [empty]), row(`${size}, schema there`, starts));
}
console.log(aligned([['dataclasses', 'listens ms', 'answers ms', 'cpu ms', 'MB'], ...rows]));

const loaded: string[][] = [];
const first = join(folder, 'first');
console.error('> the server of drs-gen init: generate, compile and use it');
rmSync(first, { recursive: true, force: true });
run(process.execPath, [compiler, 'init', first], { cwd: root });
const ada = { firstName: 'Ada', lastName: 'Bell' };
loaded.push(
  ...(await loadedLines('init', compiled(join(first, 'model.yaml'), join(first, 'server')), [
    ['POST', '/rest/Company?$method=update', { name: 'Acme', city: 'Ulm' }],
    ['POST', '/rest/Employee?$method=update', { ...ada, employer: { __KEY: 1 } }],
    ['GET', '/rest/Company?$filter="city = ulm"&$expand=staff'],
    ['GET', '/rest/Employee?$method=entityset'],
    ['POST', '/rest/Employee?$filter="lastName = Bell"&$method=delete'],
    ['GET', '/rest/$catalog/$all'],
  ])),
);
console.error('> the example: generate, compile and use it');
const example = join(root, 'examples/staff/model.yaml');
loaded.push(
  ...(await loadedLines('example', compiled(example, join(folder, 'example')), [
    ['GET', '/rest/Company?$filter="name begin a"&$expand=staff'],
    ['GET', '/rest/Company?$method=entityset'],
    ['POST', '/rest/Company?$method=validate', {}],
    ['POST', '/rest/$directory/login', ['mia', 'wrong']],
    ['GET', '/rest/$catalog/$all'],
  ])),
);
console.log(aligned([['server', 'file', 'lines'], ...loaded]));

/** @returns the file that Node runs */
function build(size: number): string {
  console.error(`> ${size} dataclasses: generate and compile the server`);
  const model = join(folder, `${size}.yaml`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(model, largeModel(size));
  return compiled(model, join(folder, String(size)));
}

/** @returns the file that Node runs */
function compiled(model: string, project: string): string {
  return preparation.placed(compileProject(model, project));
}

type Asked = readonly [method: 'GET' | 'POST', path: string, body?: object];

/** Rows with the lines of each file of the runtime that a server has loaded after these requests. */
async function loadedLines(
  name: string,
  script: string,
  requests: readonly Asked[],
): Promise<readonly string[][]> {
  const coverage = join(folder, `coverage-${name}`);
  rmSync(coverage, { recursive: true, force: true });
  const files = {
    name,
    script,
    database: ':memory:',
    env: { NODE_V8_COVERAGE: coverage },
  };
  const server = await Server.start(files, { node: preparation.node });
  for (const [method, path, body] of requests) {
    const response = await fetch(`${server.origin}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status >= 500) throw new Error(`${path}: ${response.status} ${text}`);
  }
  await server.stop();
  const urls = readdirSync(coverage).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as {
      readonly result: readonly { readonly url: string }[];
    };
    return result.map(({ url }) => url);
  });
  const own = [...new Set(urls)]
    .filter((url) => /(?<!\/dist)\/runtime\/[\w-]+\.js$/.test(url))
    .sort();
  const lines = own.map((url) => readFileSync(fileURLToPath(url), 'utf8').split('\n').length);
  const total = lines.reduce((sum, each) => sum + each, 0);
  return [
    ...own.map((url, index) => [name, url.replace(/.*\//, ''), String(lines[index])]),
    [name, 'all', String(total)],
  ];
}

async function start(script: string, database: string): Promise<Start> {
  const began = performance.now();
  const server = await Server.start(
    { name: 'generated', script, database },
    { node: preparation.node },
  );
  const line = performance.now() - began;
  const ask = async (): Promise<Response> => {
    const response = await fetch(`${server.origin}/rest/Thing0?$top=1`);
    await response.text();
    return response;
  };
  let response = await ask();
  // On a busy machine, a server may refuse requests in its first moments.
  while (response.status === 503) response = await ask();
  if (response.status !== 200)
    throw new Error(`The first answer has the status ${response.status}.`);
  const first = performance.now() - began;
  const cpu = server.cpuMilliseconds() ?? Number.NaN;
  await sleep(restMilliseconds);
  const rest = server.residentMegabytes() ?? Number.NaN;
  await server.stop();
  return { line, first, cpu, rest };
}

function row(name: string, starts: readonly Start[]): string[] {
  const middle = (of: (start: Start) => number): string => median(starts.map(of)).toFixed(0);
  return [
    name,
    middle(({ line }) => line),
    middle(({ first }) => first),
    middle(({ cpu }) => cpu),
    middle(({ rest }) => rest),
  ];
}
