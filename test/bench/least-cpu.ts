import { setTimeout } from 'node:timers/promises';
import { changePath, Changing, createBody } from './changes.js';
import type { Contestant } from './compare.js';
import type { Random } from './data/random.js';
import { insist } from './insist.js';
import type { SentRequest } from './load-job.js';
import { passed } from './process-tree.js';
import { RawConnection } from './raw-connection.js';
import type { BenchRequest } from './requests.js';

const rounds = 25;
/** Length of a slice in processor time. */
const sliceMicroseconds = 25_000;
/** The kernel updates the time of a thread when the thread sleeps. */
const settlingMilliseconds = 3;
const connectionCount = 8;

/**
 * Processor time per request of each server, in microseconds: the minimum of many short slices, in
 * which the servers take turns. Other work on the machine only makes a slice longer, and some
 * slices are undisturbed, so on a shared machine the minimum is more precise than a median.
 * `undefined` if the system does not report processor times.
 */
export async function leastCpu(
  contestants: readonly Contestant[],
  request: BenchRequest,
  random: Random,
): Promise<Readonly<Record<string, number>> | undefined> {
  if (contestants.some(({ server }) => server.threadTimes() === undefined)) return undefined;
  const sliced: Sliced[] = [];
  const sizes: number[] = [];
  for (const each of contestants) {
    const what = `${each.server.name} at ${request.name}`;
    const opened = await insist(what, () => Sliced.open(each, request, random));
    sliced.push(opened);
    sizes.push(await opened.fittingSize());
  }
  const size = Math.max(...sizes);
  const least: Record<string, number> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < sliced.length; turn += 1) {
      const each = sliced[(round + turn) % sliced.length];
      if (each === undefined) continue;
      const time = await each.slice(size);
      if (time !== undefined) least[each.name] = Math.min(least[each.name] ?? Infinity, time);
    }
  }
  return least;
}

/** One server with open connections. */
class Sliced {
  private constructor(
    private readonly contestant: Contestant,
    private readonly request: BenchRequest,
    private readonly random: Random,
    private readonly connectionCount: number,
    private changing: Changing,
  ) {}

  static async open(
    contestant: Contestant,
    request: BenchRequest,
    random: Random,
  ): Promise<Sliced> {
    const count = Math.min(request.connections, connectionCount);
    const changing = await changingOf(contestant, request, random);
    return new Sliced(contestant, request, random, count, changing);
  }

  get name(): string {
    return this.contestant.server.name;
  }

  /** The number of requests for one slice; at least one for each connection. */
  async fittingSize(): Promise<number> {
    let size = this.connectionCount * 4;
    // Repeated, because code that has run only a few times is slower.
    for (let trial = 0; trial < 3; trial += 1) {
      const time = await this.slice(size);
      if (time === undefined) continue;
      size = Math.max(this.connectionCount, Math.round(sliceMicroseconds / Math.max(time, 1)));
    }
    return size;
  }

  /**
   * @returns microseconds per request, of a slice without failures; `undefined` if they are unknown
   */
  slice(size: number): Promise<number | undefined> {
    return insist(`${this.name} at ${this.request.name}`, async () => {
      try {
        return await this.#sliceOnce(size);
      } catch (error) {
        // Failed requests do not return the employees that they were changing.
        this.changing = await changingOf(this.contestant, this.request, this.random);
        throw error;
      }
    });
  }

  async #sliceOnce(size: number): Promise<number | undefined> {
    const { server, context } = this.contestant;
    // New connections: a server closes idle ones while it is not its turn.
    const connections = await Promise.all(
      Array.from({ length: this.connectionCount }, () =>
        RawConnection.open(server.origin, context.headers ?? {}),
      ),
    );
    let left = size;
    const before = await this.#threadTimes();
    try {
      await Promise.all(
        connections.map(async (connection) => {
          while (left > 0) {
            left -= 1;
            await this.#ask(connection);
          }
        }),
      );
      const nanoseconds = passed(before, await this.#threadTimes());
      return nanoseconds === undefined ? undefined : nanoseconds / 1_000 / size;
    } finally {
      for (const connection of connections) connection.close();
    }
  }

  async #threadTimes(): Promise<ReadonlyMap<string, number>> {
    await setTimeout(settlingMilliseconds);
    return this.contestant.server.threadTimes() ?? new Map<string, number>();
  }

  async #ask(connection: RawConnection): Promise<void> {
    const { request, random } = this;
    if (request.change === 'update') {
      const { key, sent } = this.changing.take(random);
      const answer = await connection.ask(sent);
      this.changing.release(key, answer.toString());
      return;
    }
    await connection.ask(this.#sent());
  }

  #sent(): SentRequest {
    const { request, random, contestant } = this;
    if (request.change === 'create') return { path: changePath, body: createBody(random) };
    return request.request(random, contestant.context);
  }
}

function changingOf(
  contestant: Contestant,
  request: BenchRequest,
  random: Random,
): Promise<Changing> {
  const { server, context } = contestant;
  const keys = request.change === 'update' ? distinctKeys(contestant, random) : [];
  return Changing.of(server.origin, keys, context.headers ?? {});
}

function distinctKeys({ context }: Contestant, random: Random): readonly number[] {
  return [...new Set(Array.from({ length: 100 }, () => context.key(random)))];
}
