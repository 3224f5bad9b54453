/**
 * Measures how servers of many dataclasses start: models of 30 and 300 dataclasses with 20
 * attributes each, built as their own `npm run build` does it.
 *
 *   npm run bench:startup
 *   npm run bench:startup -- --node 24
 *
 * How to read the table: milliseconds from the start of the process to the line with its address,
 * and to the first answer, on an empty file and on one with the schema; processor time up to that
 * answer, which is more precise on a busy machine; resident megabytes five seconds later. Medians
 * of five starts, except for the empty file.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './command.js';
import { largeModel } from './large-model.js';
import { compiler, root, typescript, work } from './places.js';
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
  const empty = await start(script, database);
  const starts: Start[] = [];
  for (let i = 0; i < repetitions; i += 1) starts.push(await start(script, database));
  rows.push(row(`${size}, empty file`, [empty]), row(`${size}, schema there`, starts));
}
console.log(aligned([['dataclasses', 'listens ms', 'answers ms', 'cpu ms', 'MB'], ...rows]));

/** @returns the file that Node runs */
function build(size: number): string {
  const model = join(folder, `${size}.yaml`);
  const project = join(folder, String(size));
  mkdirSync(folder, { recursive: true });
  rmSync(project, { recursive: true, force: true });
  writeFileSync(model, largeModel(size));
  run(process.execPath, [compiler, model, '-o', project], { cwd: root });
  run(process.execPath, [typescript, '-p', project], { cwd: root });
  return preparation.placed(join(project, 'dist/src/main.js'));
}

async function start(script: string, database: string): Promise<Start> {
  const began = performance.now();
  const server = await Server.start(
    { name: 'generated', script, database },
    { node: preparation.node },
  );
  const line = performance.now() - began;
  const response = await fetch(`${server.origin}/rest/Thing0?$top=1`);
  await response.text();
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
