import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pinned } from './cores.js';
import { latencyStep, type LoadJob, type LoadResult } from './load-job.js';
import { work } from './places.js';
import type { Server } from './server.js';

/** The result of one server under one kind of request for some seconds. */
export interface Sample {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly medianMilliseconds: number;
  readonly p99Milliseconds: number;
  /** Answers other than 200, and broken connections. */
  readonly failures: number;
  /** The number of them by cause, as a text. */
  readonly causes: string;
  /** Processor time of the server per request; `undefined` if the system does not report it. */
  readonly cpuMicroseconds: number | undefined;
  /** Memory of the server at the end; `undefined` if the system does not report it. */
  readonly residentMegabytes: number | undefined;
}

const execute = promisify(execFile);

/**
 * Sends load to a server, with a process for each job, each on its own core if there are enough
 * (`chooseCores`). Two calls may run at the same time, each with its own kind of request; the
 * processor time is then that of both.
 */
export async function putLoad(
  server: Server,
  jobs: readonly Omit<LoadJob, 'url'>[],
  cores: readonly string[],
): Promise<Sample> {
  const before = server.cpuMilliseconds();
  const results = await Promise.all(
    jobs.map((job, index) => load(cores[index % cores.length], { url: server.origin, ...job })),
  );
  const after = server.cpuMilliseconds();
  const requests = total(results.map((each) => each.requests));
  return {
    requests,
    requestsPerSecond: total(results.map((each) => each.requests / each.seconds)),
    medianMilliseconds: percentile(results, 0.5),
    p99Milliseconds: percentile(results, 0.99),
    failures: total(results.map((each) => each.failures)),
    causes: causesOf(results),
    cpuMicroseconds:
      before === undefined || after === undefined
        ? undefined
        : ((after - before) * 1_000) / requests,
    residentMegabytes: server.residentMegabytes(),
  };
}

async function load(core: string | undefined, job: LoadJob): Promise<LoadResult> {
  const [command, args] = pinned(core, process.execPath, [join(work, 'dist/load.js')]);
  const running = execute(command, args, { maxBuffer: 2 ** 26 });
  running.child.stdin?.end(JSON.stringify(job));
  return JSON.parse((await running).stdout) as LoadResult;
}

function causesOf(results: readonly LoadResult[]): string {
  return results
    .flatMap((each) => Object.entries(each.causes))
    .map(([cause, count]) => `${count} times ${cause}`)
    .join(', ');
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
