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
/** Processor time of a slice. */
const sliceMicroseconds = 25_000;
/** The kernel adds up a thread's time when the thread goes to sleep. */
const settlingMilliseconds = 3;
const connectionCount = 8;

/**
 * Processor time of each server for a request, in microseconds: the least of many short slices, in which the servers take
 * turns. Whatever else the machine does only adds to a slice, and some slices are undisturbed: this tells more than a median
 * where a machine is shared. Nothing where the system does not tell processor times.
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

  /** How many requests take about as long as a slice shall; one for each connection at least. */
  async fittingSize(): Promise<number> {
    let size = this.connectionCount * 4;
    // Again, since what has run a few times only takes longer.
    for (let trial = 0; trial < 3; trial += 1) {
      const time = await this.slice(size);
      if (time === undefined) continue;
      size = Math.max(this.connectionCount, Math.round(sliceMicroseconds / Math.max(time, 1)));
    }
    return size;
  }

  /** @returns microseconds a request, of a slice that did not fail; nothing where they cannot be told */
  slice(size: number): Promise<number | undefined> {
    return insist(`${this.name} at ${this.request.name}`, async () => {
      try {
        return await this.#sliceOnce(size);
      } catch (error) {
        // Nobody gives back what the failed requests were changing.
        this.changing = await changingOf(this.contestant, this.request, this.random);
        throw error;
      }
    });
  }

  async #sliceOnce(size: number): Promise<number | undefined> {
    const { server, context } = this.contestant;
    // New ones: a server closes those that had nothing to do while it was not its turn.
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
