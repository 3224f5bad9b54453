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
const warmUpSeconds = 4;

/**
 * Starts the servers, compares their answers to one kind of request and measures it. Databases are
 * fresh for each kind, so that no earlier measurement has an effect, and processes are fresh for
 * each round: what V8 optimizes differs from process to process, by up to a fifth of the time.
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
  const samples: Record<string, Sample[]> = {};
  let least: Measured['leastCpu'];
  for (let round = 0; round < settings.rounds; round += 1) {
    const measured = await roundOf(round, files, peer, request, ground, settings);
    for (const [name, sample] of measured.samples) (samples[name] ??= []).push(sample);
    least = leastOf(least, measured.leastCpu);
  }
  return { request, rows: ground.rows, samples, leastCpu: least };
}

interface Round {
  readonly samples: readonly (readonly [name: string, sample: Sample])[];
  readonly leastCpu: Measured['leastCpu'];
}

/**
 * Measures each server once; each round begins with another one. Answers are compared in the first
 * round: changes make databases differ.
 */
async function roundOf(
  round: number,
  files: readonly ServerFiles[],
  peer: ServerFiles | undefined,
  request: BenchRequest,
  ground: Ground,
  settings: ContestSettings,
): Promise<Round> {
  const servers = await Promise.all(files.map((each) => Server.start(each, settings.place)));
  try {
    const contestants = await Promise.all(
      servers.map(async (server) => ({
        server,
        request,
        context: await contextOf(server, request, ground),
      })),
    );
    if (round === 0) await compareAnswers(contestants, request, settings.load.random);
    const other = peer && (await startPeer(round, peer, contestants, settings));
    if (other !== undefined) servers.push(other.server);
    const all = other === undefined ? contestants : [...contestants, other];
    const samples: (readonly [string, Sample])[] = [];
    const first = round % all.length;
    for (const { server, request, context } of [...all.slice(first), ...all.slice(0, first)]) {
      await measure(server, request, context, { ...settings.load, seconds: warmUpSeconds });
      samples.push([server.name, await measure(server, request, context, settings.load)]);
    }
    const least = await leastCpu(contestants, request, settings.load.random);
    return { samples, leastCpu: least };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** The lower of two processor times of each server. */
function leastOf(one: Measured['leastCpu'], other: Measured['leastCpu']): Measured['leastCpu'] {
  if (one === undefined || other === undefined) return one ?? other;
  const names = Object.entries(other);
  return Object.fromEntries(
    names.map(([name, time]) => [name, Math.min(time, one[name] ?? Infinity)]),
  );
}

/** @returns nothing if it has no equivalent, or answers something else */
async function startPeer(
  round: number,
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
    if (round === 0) await compareCounts(first, peer, load.random);
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

/** Any employee; where some are hidden, one of those that are seen. */
async function keysOf({ variant, rows, filled }: Ground): Promise<RequestContext['key']> {
  if (variant !== 'restrict') return (random: Random) => 1 + random.below(rows);
  const seen = await employeesBelow(filled, 900);
  return (random: Random) => random.pick(seen);
}
