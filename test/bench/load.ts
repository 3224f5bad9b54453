/** One process of load: its job comes as JSON on stdin, and what it measured goes to stdout as JSON. */
import { text } from 'node:stream/consumers';
import autocannon from 'autocannon';
import { latencyStep, type LoadJob, type LoadResult } from './load-job.js';

const job = JSON.parse(await text(process.stdin)) as LoadJob;
process.stdout.write(JSON.stringify(await putLoad(job)));

async function putLoad({ url, connections, seconds, paths }: LoadJob): Promise<LoadResult> {
  const latencies = new Map<number, number>();
  const run = autocannon({
    url,
    connections,
    duration: seconds,
    requests: paths.map((path) => ({ path })),
  });
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
