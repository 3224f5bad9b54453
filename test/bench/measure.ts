import type { Random } from './data/random.js';
import { insist } from './insist.js';
import type { LoadedChange } from './load-job.js';
import { putLoad, type Sample } from './put-load.js';
import type { BenchRequest, RequestContext } from './requests.js';
import type { Server } from './server.js';

export interface LoadSettings {
  readonly seconds: number;
  readonly random: Random;
  /** Each core gets one load process; without known cores there is one process. */
  readonly cores: readonly string[];
}

const requestCount = 1_000;
/** Each load process reads the stamps first. */
const changedCount = 200;

/**
 * Measures one kind of request on a server. A measurement with failures is reported and repeated,
 * for a longer time if nothing was answered.
 * @throws Error if it fails repeatedly
 */
export function measure(
  server: Server,
  request: BenchRequest,
  context: RequestContext,
  settings: LoadSettings,
): Promise<Sample> {
  let seconds = settings.seconds * (request.times ?? 1);
  return insist(`${server.name} at ${request.name}`, async () => {
    const sample = await measureOnce(server, request, context, { ...settings, seconds });
    if (sample.failures > 0) throw new Error(sample.causes);
    if (sample.requests === 0) {
      seconds *= 2;
      throw new Error(`no answer in ${seconds / 2} s; it gets ${seconds} s`);
    }
    return sample;
  });
}

async function measureOnce(
  server: Server,
  request: BenchRequest,
  context: RequestContext,
  { seconds, random, cores }: LoadSettings,
): Promise<Sample> {
  const processes = Math.max(cores.length, 1);
  const jobs = Array.from({ length: processes }, (_, index) => ({
    connections: request.connections / processes,
    seconds,
    ...(context.headers === undefined ? {} : { headers: context.headers }),
    requests: Array.from({ length: requestCount }, () => request.request(random, context)),
    ...changeOf(request, context, random, { index, processes }),
  }));
  return putLoad(server, jobs, cores);
}

/** Each load process changes its own employees. */
function changeOf(
  { change: kind, service = 'own' }: BenchRequest,
  { key }: RequestContext,
  random: Random,
  { index, processes }: { readonly index: number; readonly processes: number },
): { readonly change?: LoadedChange } {
  if (kind === undefined) return {};
  const keys = Array.from({ length: changedCount }, () => key(random));
  const own = [...new Set(keys)].filter((each) => each % processes === index);
  return { change: { kind, service, seed: random.below(2 ** 31), keys: own } };
}
