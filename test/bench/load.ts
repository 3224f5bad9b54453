/** One process of load: its job comes as JSON on stdin, and what it measured goes to stdout as JSON. */
import { text } from 'node:stream/consumers';
import autocannon, { type Request } from 'autocannon';
import { changePath, Changing, createBody } from './changes.js';
import { type Random, seededRandom } from './data/random.js';
import { latencyStep, type LoadJob, type LoadResult } from './load-job.js';

const job = JSON.parse(await text(process.stdin)) as LoadJob;
process.stdout.write(JSON.stringify(await putLoad(job)));

async function putLoad(job: LoadJob): Promise<LoadResult> {
  const { url, connections, seconds, headers = {} } = job;
  const latencies = new Map<number, number>();
  const requests = await requestsOf(job);
  const run = autocannon({ url, connections, duration: seconds, headers, requests });
  // autocannon's own figures are whole milliseconds.
  run.on('response', (_client, _status, _bytes, milliseconds) => {
    const step = Math.floor(milliseconds / latencyStep);
    latencies.set(step, (latencies.get(step) ?? 0) + 1);
  });
  const result = await run;
  return {
    requests: result.requests.total,
    seconds: result.duration,
    failures: result.non2xx + result.errors,
    latencies: [...latencies],
  };
}

async function requestsOf(job: LoadJob): Promise<readonly Request[]> {
  const { url, requests, change, headers = {} } = job;
  if (change === undefined) {
    return requests.map(({ path, body }) =>
      body === undefined ? { path } : { method: 'POST', path, body },
    );
  }
  const random = seededRandom(change.seed);
  return change.kind === 'create'
    ? creations(random)
    : [updates(await Changing.of(url, change.keys, headers), random)];
}

function creations(random: Random): readonly Request[] {
  const setupRequest = (request: Request): Request => ({ ...request, body: createBody(random) });
  return [{ method: 'POST', path: changePath, setupRequest }];
}

function updates(employees: Changing, random: Random): Request {
  return {
    method: 'POST',
    path: changePath,
    setupRequest: (request, context) => {
      const { key, body } = employees.take(random);
      context.key = key;
      return { ...request, body };
    },
    onResponse: (_status, answer, context) => {
      employees.release(Number(context.key), answer);
    },
  };
}
