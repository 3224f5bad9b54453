/**
 * Measures clients that save entities of their own on PostgreSQL, where a commit takes 2 ms: on one server and on two, with and
 * without the rows of the global stamp, by turns.
 *
 *   npm run bench:writers -- [--scale 10k] [--rounds 5] [--seconds 3] [--before <folder>]
 *
 * How to read the table: saves per second, medians over the rounds. `two by one` is the median of the ratios of two servers to
 * one in each round. Without the rows, no save raises the stamp: the difference is what the stamp costs, except for a trigger
 * that returns at once.
 * `--before` measures the server of another checkout, too.
 */
import { runScript } from './command.js';
import { seededRandom } from './data/random.js';
import { postgresDatabases } from './databases.js';
import { compileServer } from './generated-server.js';
import type { LoadJob } from './load-job.js';
import { readOptions } from './options.js';
import { BenchPostgres, runOn } from './postgres.js';
import { putLoad, type Sample } from './put-load.js';
import { median } from './report.js';
import { Server } from './server.js';
import { aligned } from './table.js';

const clients = 32;
/** The load processes of each measurement: if there are two servers, each gets one. */
const loads = 2;
const serverCounts = [1, 2] as const;

/** The time of a commit: whoever is the first to flush waits for others, however few they are. */
const slowCommits = ['commit_delay=2000', 'commit_siblings=0'];

/** No save takes or makes a row of the stamp. */
const withoutStamp = [
  `delete from "__datastore" where "name" like 'globalStamp%'`,
  `create function "without_stamp"() returns trigger language plpgsql as 'begin return null; end'`,
  `create trigger "without_stamp" before insert on "__datastore" for each row
    when (new."name" like 'globalStamp%') execute function "without_stamp"()`,
];

interface Variant {
  readonly name: string;
  readonly script: string;
  readonly hasStamp: boolean;
}

await runScript(compare);

async function compare(): Promise<void> {
  const { rows = 10_000, rounds, seconds, before } = readOptions(process.argv.slice(2));
  const random = seededRandom(17);
  const script = compileServer('plain', undefined, 'postgres');
  const variants: readonly Variant[] = [
    { name: 'generated', script, hasStamp: true },
    { name: 'without the stamp', script, hasStamp: false },
    ...(before === undefined
      ? []
      : [{ name: 'before', script: compileServer('plain', before, 'postgres'), hasStamp: true }]),
  ];
  const postgres = await BenchPostgres.start(slowCommits);
  const databases = postgresDatabases(postgres);
  const samples = new Map(variants.map(({ name }) => [name, [] as [number, number][]]));
  const filled = new Map<string, string>();
  for (const { script: own } of variants) {
    if (!filled.has(own)) filled.set(own, await databases.filled(own, rows));
  }
  for (let round = 0; round < rounds; round += 1) {
    // Each round begins with another variant.
    const order = [
      ...variants.slice(round % variants.length),
      ...variants.slice(0, round % variants.length),
    ];
    for (const variant of order) {
      console.error(`> round ${round + 1}, ${variant.name}`);
      const measured: number[] = [];
      for (const count of serverCounts) {
        const database = await databases.copy(filled.get(variant.script) as string, 'writers');
        if (!variant.hasStamp) await runOn(database, withoutStamp);
        const servers = await start(variant.script, database, count);
        await save(servers, 1, random.below(2 ** 31));
        measured.push(await save(servers, seconds, random.below(2 ** 31)));
        await Promise.all(servers.map((server) => server.stop()));
      }
      samples.get(variant.name)?.push(measured as [number, number]);
    }
  }
  await databases.close();
  const lines = [...samples].map(([name, each]) => [
    name,
    median(each.map(([one]) => one)).toFixed(0),
    median(each.map(([, two]) => two)).toFixed(0),
    median(each.map(([one, two]) => two / one)).toFixed(2),
  ]);
  console.log(aligned([['', 'one server', 'two servers', 'two by one'], ...lines]));
}

function start(script: string, database: string, count: number): Promise<readonly Server[]> {
  // No client waits for a connection.
  const env = { DATABASE_POOL: String(clients + 2) };
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      Server.start({ name: `server ${index + 1}`, script, database, env }),
    ),
  );
}

/** @returns saves a second */
async function save(servers: readonly Server[], seconds: number, seed: number): Promise<number> {
  const connections = clients / loads;
  const all = await Promise.all(
    Array.from({ length: loads }, (_, index): Promise<Sample> => {
      const keys = Array.from({ length: connections }, (_each, key) => 1 + index + key * loads);
      const job: Omit<LoadJob, 'url'> = {
        connections,
        seconds,
        requests: [],
        change: { kind: 'update', service: 'own', seed: seed + index, keys },
      };
      return putLoad(servers[index % servers.length] as Server, [job], []);
    }),
  );
  for (const { failures, causes } of all) if (failures > 0) throw new Error(causes);
  return all.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
}
