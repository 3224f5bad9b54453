/** A load process: reads its job as JSON from stdin, and writes the results as JSON to stdout. */
import { text } from 'node:stream/consumers';
import autocannon, { type Request, type Result } from 'autocannon';
import { capChanges } from './cap/cap-changes.js';
import { type ChangeService, changePath, Changing, ownChanges } from './changes.js';
import { type Random, seededRandom } from './data/random.js';
import { latencyStep, type LoadJob, type LoadResult, type SentRequest } from './load-job.js';
import { RawConnection } from './raw-connection.js';

/** Seconds, so that a busy machine does not cause failures. */
const timeout = 60;

const job = JSON.parse(await text(process.stdin)) as LoadJob;
process.stdout.write(JSON.stringify(await (job.isRaw === true ? putRawLoad : putLoad)(job)));

/** The first answer other than 200 ends the run. */
async function putRawLoad({
  url,
  connections,
  seconds,
  headers,
  requests,
}: LoadJob): Promise<LoadResult> {
  const latencies = new Map<number, number>();
  const all = await Promise.all(
    Array.from({ length: connections }, () => RawConnection.open(url, headers ?? {})),
  );
  let next = 0;
  const start = performance.now();
  const end = start + seconds * 1_000;
  const ask = async (connection: RawConnection): Promise<void> => {
    for (let now = performance.now(); now < end;) {
      const sent = now;
      await connection.ask(requests[next++ % requests.length] as SentRequest);
      now = performance.now();
      count(latencies, now - sent);
    }
  };
  await Promise.all(all.map(ask));
  const passed = (performance.now() - start) / 1_000;
  for (const connection of all) connection.close();
  return { requests: next, seconds: passed, failures: 0, causes: {}, latencies: [...latencies] };
}

function count(latencies: Map<number, number>, milliseconds: number): void {
  const step = Math.floor(milliseconds / latencyStep);
  latencies.set(step, (latencies.get(step) ?? 0) + 1);
}

async function putLoad(job: LoadJob): Promise<LoadResult> {
  const { url, connections, seconds, headers = {} } = job;
  const latencies = new Map<number, number>();
  const requests = await requestsOf(job);
  const run = autocannon({ url, connections, duration: seconds, timeout, headers, requests });
  // autocannon's own figures are whole milliseconds.
  run.on('response', (_client, _status, _bytes, milliseconds) => {
    count(latencies, milliseconds);
  });
  const result = await run;
  return {
    requests: result.requests.total,
    seconds: result.duration,
    failures: result.non2xx + result.errors,
    causes: causesOf(result),
    latencies: [...latencies],
  };
}

function causesOf({ errors, timeouts, statusCodeStats }: Result): Record<string, number> {
  const statuses = Object.entries(statusCodeStats)
    .filter(([status]) => !status.startsWith('2'))
    .map(([status, { count }]): [string, number] => [`status ${status}`, count]);
  return {
    ...Object.fromEntries(statuses),
    ...(timeouts > 0 ? { [`no answer in ${timeout} s`]: timeouts } : {}),
    ...(errors > timeouts ? { 'broken connection': errors - timeouts } : {}),
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
  const service = change.service === 'cap' ? capChanges : ownChanges;
  return change.kind === 'create'
    ? creations(service, random, headers)
    : [updates(await Changing.of(url, change.keys, headers, service), random, headers)];
}

type Headers = Readonly<Record<string, string>>;

function creations(service: ChangeService, random: Random, all: Headers): readonly Request[] {
  const setupRequest = (request: Request): Request => {
    const sent = service.create(random);
    return { ...request, ...sent, headers: { ...all, ...sent.headers } };
  };
  return [{ method: 'POST', path: changePath, setupRequest }];
}

function updates(employees: Changing, random: Random, all: Headers): Request {
  return {
    method: 'POST',
    path: changePath,
    setupRequest: (request, context) => {
      const { key, sent } = employees.take(random);
      context.key = key;
      return { ...request, ...sent, headers: { ...all, ...sent.headers } };
    },
    onResponse: (_status, answer, context) => {
      employees.release(Number(context.key), answer);
    },
  };
}
