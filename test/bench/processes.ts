/**
 * Measures the gain of several processes: cheap reads of the generated server with one process and
 * with two, in the same rounds, with and without a session and an entity set, which both processes
 * share.
 *
 *   npm run bench:processes -- [--scale 100k] [--rounds 5] [--seconds 3]
 *
 * How to read the table: medians over the rounds. `gain` is requests per second with two processes
 * divided by those with one, computed for each round. `cpu gain` is the gain that the processor
 * times allow on two cores: twice the time per request with one process, divided by that with two.
 * Other work on the machine disturbs it less.
 */
import { runScript } from './command.js';
import { chooseCores } from './cores.js';
import { type Random, seededRandom } from './data/random.js';
import { copyDatabase, filledDatabase } from './databases.js';
import { compileServer } from './generated-server.js';
import { readOptions } from './options.js';
import { logIn } from './preparations.js';
import { putLoad, type Sample } from './put-load.js';
import { median } from './report.js';
import { Server } from './server.js';
import { aligned } from './table.js';
import type { VariantName } from './variants.js';

/** Clients. */
const connections = 64;
const counts = [1, 2] as const;

interface Read {
  readonly name: string;
  readonly variant: VariantName;
  /** Whether its client has logged in. */
  readonly inSession: boolean;
  readonly path: (random: Random, rows: number, set: string) => string;
}

const one: Read['path'] = (random, rows) => `/rest/Employee(${1 + random.below(rows)})`;
const page: Read['path'] = (random, rows, set) =>
  `/rest/Employee/$entityset/${set}?$skip=${random.below(rows - 20)}&$top=20`;

const reads: readonly Read[] = [
  { name: 'one entity', variant: 'plain', inSession: false, path: one },
  { name: 'page of a set', variant: 'plain', inSession: false, path: page },
  { name: 'one entity, logged in', variant: 'roles', inSession: true, path: one },
  { name: 'page of a set, logged in', variant: 'roles', inSession: true, path: page },
];

await runScript(compare);

async function compare(): Promise<void> {
  const { rows = 100_000, rounds, seconds } = readOptions(process.argv.slice(2));
  const random = seededRandom(13);
  const lines: string[][] = [];
  for (const variant of new Set(reads.map((each) => each.variant))) {
    const servers = await startAll(variant, rows);
    try {
      for (const read of reads.filter((each) => each.variant === variant)) {
        console.error(`> ${read.name}`);
        const clients = await Promise.all(servers.map((server) => clientOf(server, read)));
        const samples: Sample[][] = [];
        for (let round = 0; round < rounds; round += 1) {
          samples.push([]);
          for (const client of clients) {
            const paths = Array.from({ length: 1_000 }, () => ({
              path: read.path(random, rows, client.set),
            }));
            samples[round]?.push(await measure(client, paths, seconds));
          }
        }
        lines.push(line(read.name, samples as [Sample, Sample][]));
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }
  const head = ['', 'by one /s', 'by two /s', 'gain', 'by one µs', 'by two µs', 'cpu gain', 'MB'];
  console.log(aligned([head, ...lines]));
}

async function startAll(variant: VariantName, rows: number): Promise<readonly Server[]> {
  const script = compileServer(variant);
  const filled = await filledDatabase(script, rows);
  const database = copyDatabase(filled, `processes-${variant}`);
  return Promise.all(
    counts.map((count) =>
      Server.start(
        { name: `${count}`, script, database, env: { PROCESSES: `${count}`, MAX_WAIT: '60000' } },
        // Each has a core that the other does not use at the time.
        { cores: chooseCores(count)?.server },
      ),
    ),
  );
}

interface Client {
  readonly server: Server;
  readonly set: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function clientOf(server: Server, { inSession }: Read): Promise<Client> {
  const { headers } = inSession ? await logIn(server) : {};
  const url = `${server.origin}/rest/Employee?$method=entityset&$top=0`;
  const response = await fetch(url, { headers: headers ?? {} });
  const { __ENTITYSET: uri = '' } = (await response.json()) as { readonly __ENTITYSET?: string };
  return { server, set: uri.slice(-32), ...(headers === undefined ? {} : { headers }) };
}

async function measure(
  { server, headers }: Client,
  requests: readonly { readonly path: string }[],
  seconds: number,
): Promise<Sample> {
  const load = chooseCores(2)?.load ?? [];
  const processes = Math.max(load.length, 1);
  const job = {
    connections: connections / processes,
    seconds,
    requests,
    isRaw: true as const,
    ...(headers === undefined ? {} : { headers }),
  };
  const sample = await putLoad(
    server,
    Array.from({ length: processes }, () => job),
    load,
  );
  if (sample.failures === 0) return sample;
  throw new Error(`The server failed ${sample.failures} times.`);
}

function line(name: string, rounds: readonly (readonly [Sample, Sample])[]): string[] {
  const of = (value: (one: Sample, two: Sample) => number, digits: number): string =>
    median(rounds.map((round) => value(...round))).toFixed(digits);
  const cpu = ({ cpuMicroseconds = NaN }: Sample): number => cpuMicroseconds;
  return [
    name,
    of((byOne) => byOne.requestsPerSecond, 0),
    of((_, byTwo) => byTwo.requestsPerSecond, 0),
    of((byOne, byTwo) => byTwo.requestsPerSecond / byOne.requestsPerSecond, 2),
    of(cpu, 1),
    of((_, byTwo) => cpu(byTwo), 1),
    of((byOne, byTwo) => (2 * cpu(byOne)) / cpu(byTwo), 2),
    of((_, { residentMegabytes = NaN }) => residentMegabytes, 0),
  ];
}
