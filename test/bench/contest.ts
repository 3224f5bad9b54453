import { capRequest } from './cap/cap-requests.js';
import { compareCounts } from './cap/compare-counts.js';
import { compareAnswers, type Contestant } from './compare.js';
import { employeesBelow } from './databases.js';
import type { Random } from './data/random.js';
import { leastCpu } from './least-cpu.js';
import { type LoadSettings, measure } from './measure.js';
import type { Sample } from './put-load.js';
import type { Measured } from './report.js';
import type { BenchRequest, RequestContext } from './requests.js';
import { type Place, Server, type ServerFiles } from './server.js';
import type { VariantName } from './variants.js';

export interface ContestSettings {
  readonly rounds: number;
  readonly load: LoadSettings;
  /** The processor cores of the servers. */
  readonly place: Place;
}

/** The number of employees in the databases. */
export interface Ground {
  readonly variant: VariantName;
  readonly rows: number;
  /** The database that is copied for each server. */
  readonly filled: string;
}

/** Seconds of warm-up, in which V8 compiles the frequent code. */
const warmUpSeconds = 2;

/** Seconds after a rest, in which the heap of a server grows again. */
const recoverySeconds = 1;

/**
 * Starts the servers, compares their answers to one kind of request and measures it. Servers and
 * databases are fresh for each kind, so that no earlier measurement has an effect.
 * @param peer another product with its own requests; those without an equivalent are reported and
 *   skipped
 */
export async function contest(
  files: readonly ServerFiles[],
  peer: ServerFiles | undefined,
  request: BenchRequest,
  ground: Ground,
  settings: ContestSettings,
): Promise<Measured> {
  const servers = await Promise.all(files.map((each) => Server.start(each, settings.place)));
  try {
    const contestants = await Promise.all(
      servers.map(async (server) => ({
        server,
        request,
        context: await contextOf(server, request, ground),
      })),
    );
    await compareAnswers(contestants, request, settings.load.random);
    const other = peer && (await startPeer(peer, contestants, settings));
    if (other !== undefined) servers.push(other.server);
    const all = other === undefined ? contestants : [...contestants, other];
    const samples = await inTurn(all, settings);
    const least = await leastCpu(contestants, request, settings.load.random);
    return { request, rows: ground.rows, samples, leastCpu: least };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** @returns nothing if it has no equivalent, or answers something else */
async function startPeer(
  files: ServerFiles,
  [first]: readonly Contestant[],
  { place, load }: ContestSettings,
): Promise<Contestant | undefined> {
  const request = first && capRequest(first.request);
  if (first === undefined || request === undefined) return undefined;
  let server: Server | undefined;
  try {
    server = await Server.start(files, place);
    const peer = { server, request, context: { rows: first.context.rows, key: first.context.key } };
    await compareCounts(first, peer, load.random);
    await measure(server, request, peer.context, { ...load, seconds: warmUpSeconds });
    return peer;
  } catch (error) {
    console.error(`  ${files.name} is skipped: ${error instanceof Error ? error.message : ''}`);
    await server?.stop();
    return undefined;
  }
}

/** Prepares a server for one kind of request. */
export async function contextOf(
  server: Server,
  request: BenchRequest,
  ground: Ground,
): Promise<RequestContext> {
  const prepared = await request.prepare?.(server, ground.rows);
  return { ...prepared, rows: ground.rows, key: await keysOf(ground) };
}

/**
 * A round measures each server once, always in the same order, so that all of them rest for equally
 * long between their turns: V8 shrinks the heap of a server that rests and flushes its bytecode.
 */
async function inTurn(
  contestants: readonly Contestant[],
  { load, rounds }: ContestSettings,
): Promise<Measured['samples']> {
  for (const { server, request, context } of contestants) {
    await measure(server, request, context, { ...load, seconds: warmUpSeconds });
  }
  const samples: Record<string, Sample[]> = {};
  for (const { server } of contestants) samples[server.name] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const { server, request, context } of contestants) {
      await measure(server, request, context, { ...load, seconds: recoverySeconds });
      samples[server.name]?.push(await measure(server, request, context, load));
    }
  }
  return samples;
}

/** Any employee; where some are hidden, one of those that are seen. */
async function keysOf({ variant, rows, filled }: Ground): Promise<RequestContext['key']> {
  if (variant !== 'restrict') return (random: Random) => 1 + random.below(rows);
  const seen = await employeesBelow(filled, 900);
  return (random: Random) => random.pick(seen);
}
