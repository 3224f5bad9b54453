/**
 * Measures how long one entity by key takes (R1) when nothing else runs, next to a client that runs
 * a filter without an index in a loop (R12), next to one whose filter has 500 conditions without an
 * index, next to one that reads pages of 10,000 entities, and next to one that makes entity sets of
 * all entities.
 *
 *   npm run bench:steady -- [--scale 1m] [--rounds 3] [--seconds 5]
 *
 * How to read the table: medians over the rounds, in milliseconds. `p99 to quiet` is the ratio to
 * the quiet server, computed for each round. `scans` is the number of finished requests of the
 * other client per second.
 */
import { runScript } from './command.js';
import { chooseCores } from './cores.js';
import { type Random, seededRandom } from './data/random.js';
import { startGenerated } from './generated-server.js';
import type { SentRequest } from './load-job.js';
import { readOptions } from './options.js';
import { putLoad, type Sample } from './put-load.js';
import { median } from './report.js';
import { requests } from './requests.js';
import type { Server } from './server.js';
import { aligned } from './table.js';

/** Clients that read one entity each. */
const connections = 8;

interface Round {
  readonly one: Sample;
  readonly other: Sample | undefined;
}

interface Beside {
  readonly name: string;
  /** The request of the other client; none if there is no other client. */
  readonly request: ((random: Random) => SentRequest) | undefined;
}

await runScript(steady);

async function steady(): Promise<void> {
  const { rows = 1_000_000, rounds, seconds } = readOptions(process.argv.slice(2));
  // A core for short requests, and one for long ones.
  const cores = chooseCores(2);
  const server = await startGenerated({ rows, cores: cores?.server });
  const random = seededRandom(11);
  const besides = [
    { name: 'quiet', request: undefined },
    { name: 'beside R12', request: r12(rows) },
    { name: 'beside 500 conditions', request: conditions },
    { name: 'beside long pages', request: () => ({ path: '/rest/Employee?$top=10000' }) },
    { name: 'beside sets of all', request: () => ({ path: '/rest/Employee?$method=entityset' }) },
  ];
  const measured = new Map<string, Round[]>(besides.map(({ name }) => [name, []]));
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const beside of besides) {
        console.error(`> round ${round + 1}, ${beside.name}`);
        const settings = { rows, seconds, random, cores: cores?.load ?? [] };
        measured.get(beside.name)?.push(await measureRound(server, beside, settings));
      }
    }
  } finally {
    await server.stop();
  }
  console.log(table(measured));
}

async function measureRound(
  server: Server,
  { request }: Beside,
  settings: {
    readonly rows: number;
    readonly seconds: number;
    readonly random: Random;
    readonly cores: readonly string[];
  },
): Promise<Round> {
  const { rows, seconds, random, cores } = settings;
  const one = Array.from({ length: 1_000 }, () => ({
    path: `/rest/Employee(${1 + random.below(rows)})`,
  }));
  const job = { connections, seconds, requests: one };
  if (request === undefined) {
    return { one: checked(await putLoad(server, [job], cores)), other: undefined };
  }
  const others = Array.from({ length: 100 }, () => request(random));
  const [beside, other] = await Promise.all([
    putLoad(server, [job], cores),
    putLoad(server, [{ connections: 1, seconds, requests: others }], cores.slice(1)),
  ]);
  return { one: checked(beside), other: checked(other) };
}

function checked(sample: Sample): Sample {
  if (sample.failures === 0) return sample;
  throw new Error(`The server failed ${sample.failures} times.`);
}

function r12(rows: number): (random: Random) => SentRequest {
  const found = requests.find(({ name }) => name === 'R12');
  if (found === undefined) throw new Error('There is no R12.');
  return (random) => found.request(random, { rows, key: () => 1 });
}

/** No condition is true, and no value is used twice. */
function conditions(random: Random): SentRequest {
  const each = Array.from({ length: 500 }, (_, index) => `salary=${-index}.${random.below(1_000)}`);
  return { path: `/rest/Employee?$filter=${encodeURIComponent(each.join(' or '))}` };
}

function table(measured: ReadonlyMap<string, readonly Round[]>): string {
  const quiet = measured.get('quiet') ?? [];
  const lines = [...measured].map(([name, rounds]) => {
    const of = (value: (round: Round, index: number) => number): string =>
      median(rounds.map(value)).toFixed(2);
    return [
      name,
      of(({ one }) => one.medianMilliseconds),
      of(({ one }) => one.p99Milliseconds),
      of(({ one }, index) => one.p99Milliseconds / (quiet[index]?.one.p99Milliseconds ?? NaN)),
      of(({ one }) => one.requestsPerSecond),
      of(({ other }) => other?.requestsPerSecond ?? 0),
    ];
  });
  const head = ['R1', 'median', 'p99', 'p99 to quiet', 'a second', 'scans'];
  return aligned([head, ...lines]);
}
