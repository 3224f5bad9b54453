import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pinned } from './cores.js';
import type { Random } from './data/random.js';
import type { ChangeKind } from './changes.js';
import { latencyStep, type LoadedChange, type LoadJob, type LoadResult } from './load-job.js';
import { work } from './places.js';
import type { BenchRequest } from './requests.js';
import type { Server } from './server.js';

/** One server under one kind of request for some seconds. */
export interface Sample {
  readonly requestsPerSecond: number;
  readonly p99Milliseconds: number;
  /** Processor time of the server for a request; nothing where the system does not tell. */
  readonly cpuMicroseconds: number | undefined;
}

export interface LoadSettings {
  readonly seconds: number;
  readonly rows: number;
  readonly random: Random;
  /** Each gets a process of its own; one that may run anywhere when there are none. */
  readonly cores: readonly string[];
}

const connections = 32;
const pathCount = 1_000;
const execute = promisify(execFile);

/** @throws Error when an answer is not 200 */
export async function measure(
  server: Server,
  request: BenchRequest,
  settings: LoadSettings,
): Promise<Sample> {
  const cores = settings.cores.length === 0 ? [undefined] : settings.cores;
  const before = server.cpuMilliseconds();
  const results = await Promise.all(
    cores.map((core, index) =>
      load(core, {
        url: server.origin,
        connections: connections / cores.length,
        seconds: settings.seconds,
        paths: Array.from({ length: pathCount }, () =>
          request.path(settings.random, settings.rows),
        ),
        ...(request.change === undefined
          ? {}
          : { change: change(request.change, settings, index, cores.length) }),
      }),
    ),
  );
  const after = server.cpuMilliseconds();
  const failures = total(results.map((each) => each.failures));
  if (failures > 0) throw new Error(`${server.name} failed ${failures} times at ${request.name}.`);
  const requests = total(results.map((each) => each.requests));
  return {
    requestsPerSecond: total(results.map((each) => each.requests / each.seconds)),
    p99Milliseconds: percentile(results, 0.99),
    cpuMicroseconds:
      before === undefined || after === undefined
        ? undefined
        : ((after - before) * 1_000) / requests,
  };
}

/** Each process of load changes employees of its own. */
function change(
  kind: ChangeKind,
  { random, rows }: LoadSettings,
  index: number,
  processes: number,
): LoadedChange {
  const keys = Array.from({ length: pathCount }, () => 1 + random.below(rows));
  const own = [...new Set(keys)].filter((key) => key % processes === index);
  return { kind, seed: random.below(2 ** 31), keys: own };
}

async function load(core: string | undefined, job: LoadJob): Promise<LoadResult> {
  const [command, args] = pinned(core, process.execPath, [join(work, 'dist/load.js')]);
  const running = execute(command, args, { maxBuffer: 2 ** 26 });
  running.child.stdin?.end(JSON.stringify(job));
  return JSON.parse((await running).stdout) as LoadResult;
}

function percentile(results: readonly LoadResult[], part: number): number {
  const steps = results.flatMap((each) => each.latencies).sort(([a], [b]) => a - b);
  let left = total(steps.map(([, count]) => count)) * part;
  for (const [step, count] of steps) {
    left -= count;
    if (left <= 0) return (step + 1) * latencyStep;
  }
  return 0;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}
