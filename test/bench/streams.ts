/**
 * Measures what open streams of changes cost one server: 1,000 clients that follow a set of 1,000 entities.
 *
 *   npm run bench:streams -- [--rounds 5] [--seconds 3]
 *
 * How to read the table: resident megabytes, and of 32 more clients that read entities the requests per second, divided by
 * those of a server without streams, and the times of a request in milliseconds. The last line: how long a change takes to
 * reach the clients, in milliseconds, when one entity changes each second.
 */
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { runScript } from './command.js';
import { seededRandom } from './data/random.js';
import { copyDatabase, filledDatabase } from './databases.js';
import { compileServer } from './generated-server.js';
import { readOptions } from './options.js';
import { putLoad, type Sample } from './put-load.js';
import { RawConnection } from './raw-connection.js';
import { median } from './report.js';
import { Server } from './server.js';
import { aligned } from './table.js';

const rows = 100_000;
const streams = 1_000;
const members = 1_000;

async function measure(): Promise<void> {
  const { rounds, seconds } = readOptions(process.argv.slice(2));
  const script = compileServer('live');
  const filled = await filledDatabase(script, rows);
  const env = { LIVE_STREAMS_PER_SESSION: String(streams) };
  const start = (name: string): Promise<Server> =>
    Server.start({ name, script, database: copyDatabase(filled, name), env });
  const [alone, crowded] = [await start('alone'), await start('crowded')];
  try {
    const empty = crowded.residentMegabytes() ?? NaN;
    const changes = new Changes(crowded);
    await changes.open();
    const open = crowded.residentMegabytes() ?? NaN;
    const idle = await beside(alone, crowded, rounds, seconds);
    const end = changes.begin();
    const busy = await beside(alone, crowded, rounds, seconds);
    await end();
    const after = crowded.residentMegabytes() ?? NaN;
    console.log(
      aligned([
        ['', 'MB', 'beside', 'median ms', 'p99 ms'],
        ['no streams', empty.toFixed(0), '1.00', ...idle.alone],
        ['1,000 streams', open.toFixed(0), idle.ratio, ...idle.crowded],
        ['and a change each second', after.toFixed(0), busy.ratio, ...busy.crowded],
      ]),
    );
    const delays = changes.delays.sort((one, other) => one - other);
    const [half, most] = [0.5, 0.99].map((part) => delays[Math.floor(part * delays.length)]);
    console.log(`a message: ${half?.toFixed(0)} ms, 99 of 100 within ${most?.toFixed(0)} ms`);
  } finally {
    await Promise.all([alone.stop(), crowded.stop()]);
  }
}

/** Clients that follow a set of a server, and one that changes its entities. */
class Changes {
  readonly delays: number[] = [];
  #changedAt: number | undefined;

  constructor(private readonly server: Server) {}

  async open(): Promise<void> {
    const { origin } = this.server;
    const made = await fetch(`${origin}/rest/Employee?$filter="ID<=${members}"&$method=entityset`);
    const { __ENTITYSET: set } = (await made.json()) as { readonly __ENTITYSET: string };
    for (let count = 0; count < streams; count += 1) await this.#follow(`${origin}${set}/$changes`);
  }

  /** @returns ends the changes */
  begin(): () => Promise<void> {
    const stop = new AbortController();
    const working = this.#change(stop.signal);
    return async () => {
      stop.abort();
      await working;
    };
  }

  async #change(signal: AbortSignal): Promise<void> {
    const random = seededRandom(8);
    const url = `${this.server.origin}/rest/Employee`;
    while (!signal.aborted) {
      const key = 1 + random.below(members);
      const read = await fetch(`${url}(${key})`);
      const { __STAMP } = (await read.json()) as { readonly __STAMP: number };
      const body = JSON.stringify({ __KEY: key, __STAMP, score: random.below(1_000) });
      this.#changedAt = performance.now();
      const saved = await fetch(`${url}?$method=update`, { method: 'POST', body });
      if (!saved.ok) throw new Error(await saved.text());
      await sleep(1_000);
    }
  }

  #follow(url: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(url, { agent: false }, (response) => {
        if (response.statusCode !== 200) {
          reject(new Error(`The server answered ${String(response.statusCode)}.`));
          return;
        }
        response.once('data', () => {
          resolve();
        });
        response.on('data', (bytes: Buffer) => {
          if (this.#changedAt === undefined || !bytes.includes('__CHANGED')) return;
          this.delays.push(performance.now() - this.#changedAt);
        });
        // The server is stopped at the end.
        response.on('error', () => undefined);
      });
      sent.on('error', () => undefined);
      sent.end();
    });
  }
}

interface Beside {
  readonly ratio: string;
  readonly alone: readonly string[];
  readonly crowded: readonly string[];
}

/** Reads from both servers by turns. */
async function beside(
  alone: Server,
  crowded: Server,
  rounds: number,
  seconds: number,
): Promise<Beside> {
  const ratios: number[] = [];
  const times = new Map<Server, number[]>([alone, crowded].map((each) => [each, []]));
  for (let round = 0; round < rounds; round += 1) {
    console.error(`> round ${round + 1}`);
    const speeds = new Map<Server, number>();
    for (const server of round % 2 === 0 ? [alone, crowded] : [crowded, alone]) {
      speeds.set(server, (await load(server, seconds)).requestsPerSecond);
      times.get(server)?.push(...(await timesOf(server)));
    }
    ratios.push((speeds.get(crowded) ?? NaN) / (speeds.get(alone) ?? NaN));
  }
  const shown = (server: Server): readonly string[] => {
    const sorted = (times.get(server) ?? []).sort((one, other) => one - other);
    return [0.5, 0.99].map((part) => (sorted[Math.floor(part * sorted.length)] ?? NaN).toFixed(2));
  };
  return { ratio: median(ratios).toFixed(2), alone: shown(alone), crowded: shown(crowded) };
}

async function load(server: Server, seconds: number): Promise<Sample> {
  const random = seededRandom(6);
  const requests = Array.from({ length: 1_000 }, () => ({ path: one(random.below(rows)) }));
  const sample = await putLoad(server, [{ connections: 32, seconds, requests, isRaw: true }], []);
  if (sample.failures > 0) throw new Error(sample.causes);
  return sample;
}

/** Milliseconds of requests of one client, one after the other. */
async function timesOf(server: Server): Promise<readonly number[]> {
  const random = seededRandom(7);
  const connection = await RawConnection.open(server.origin, {});
  const times: number[] = [];
  for (let count = 0; count < 2_000; count += 1) {
    const start = performance.now();
    await connection.ask({ path: one(random.below(rows)) });
    times.push(performance.now() - start);
  }
  connection.close();
  return times;
}

function one(index: number): string {
  return `/rest/Employee(${1 + index})`;
}

await runScript(measure);
