/**
 * Measures the cost of open connections: 10,000 clients of one process, each of which sends a
 * request, waits, and sends the next one.
 *
 *   npm run bench:connections -- [--rounds 5] [--seconds 3]
 *
 * How to read the table: resident megabytes after each step, and kilobytes that each open
 * connection has added since the start. The last line: requests per second of 32 more clients,
 * divided by those of a server without the open connections; the median of the rounds.
 */
import { runScript } from './command.js';
import { chooseCores } from './cores.js';
import { type Random, seededRandom } from './data/random.js';
import { copyDatabase, filledDatabase } from './databases.js';
import { compileServer } from './generated-server.js';
import { readOptions } from './options.js';
import { putLoad } from './put-load.js';
import { RawConnection } from './raw-connection.js';
import { median } from './report.js';
import { Server } from './server.js';
import { aligned } from './table.js';

const crowd = 10_000;
const rows = 100_000;
/** Clients that connect or send a request at the same time. */
const busy = 32;

/** The requests of each client, one after the other. */
const steps: readonly { readonly name: string; readonly path: (random: Random) => string }[] = [
  { name: 'each has asked for an entity', path: one },
  ...Array.from({ length: 4 }, (_, time) => ({ name: `and again, ${time + 2} times`, path: one })),
  { name: 'for a page of 100', path: page },
  { name: 'and again, twice', path: page },
];

await runScript(measure);

async function measure(): Promise<void> {
  const { rounds, seconds } = readOptions(process.argv.slice(2));
  const cores = chooseCores();
  const script = compileServer('plain');
  const filled = await filledDatabase(script, rows);
  const start = (name: string): Promise<Server> =>
    Server.start({ name, script, database: copyDatabase(filled, name) }, { cores: cores?.server });
  const [alone, crowded] = [await start('alone'), await start('crowded')];
  const ratios: number[] = [];
  try {
    const connections = await tellSteps(crowded);
    for (let round = 0; round < rounds; round += 1) {
      console.error(`> round ${round + 1}`);
      const speeds: { readonly server: Server; readonly speed: number }[] = [];
      for (const server of round % 2 === 0 ? [alone, crowded] : [crowded, alone]) {
        speeds.push({ server, speed: await speedOf(server, seconds, cores?.load ?? []) });
      }
      const of = (wanted: Server): number =>
        speeds.find(({ server }) => server === wanted)?.speed ?? NaN;
      ratios.push(of(crowded) / of(alone));
    }
    for (const connection of connections) connection.close();
  } finally {
    await Promise.all([alone.stop(), crowded.stop()]);
  }
  console.log(`requests a second beside them: ${median(ratios).toFixed(2)} of those without`);
}

/** @returns the connections, which are still open */
async function tellSteps(server: Server): Promise<readonly RawConnection[]> {
  const random = seededRandom(5);
  const connections: RawConnection[] = [];
  const empty = server.residentMegabytes() ?? NaN;
  const lines = [['none', empty.toFixed(0), '']];
  for (const { name, path } of steps) {
    await busily(crowd, async (index) => {
      connections[index] ??= await RawConnection.open(server.origin, {});
      await connections[index].ask({ path: path(random) });
    });
    const now = server.residentMegabytes() ?? NaN;
    lines.push([name, now.toFixed(0), (((now - empty) * 1_000) / crowd).toFixed(1)]);
  }
  console.log(aligned([['10,000 connections', 'MB', 'kB each'], ...lines]));
  return connections;
}

async function speedOf(server: Server, seconds: number, cores: readonly string[]): Promise<number> {
  const random = seededRandom(6);
  const requests = Array.from({ length: 1_000 }, () => ({ path: one(random) }));
  const job = { connections: busy, seconds, requests, isRaw: true } as const;
  const { failures, causes, requestsPerSecond } = await putLoad(server, [job], cores);
  if (failures > 0) throw new Error(`The server failed ${failures} times: ${causes}`);
  return requestsPerSecond;
}

function one(random: Random): string {
  return `/rest/Employee(${1 + random.below(rows)})`;
}

function page(random: Random): string {
  return `/rest/Employee?$skip=${random.below(rows - 100)}&$top=100`;
}

/** Does the work for each index, so many at a time as are busy. */
async function busily(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: busy }, worker));
}
