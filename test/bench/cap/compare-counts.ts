import { capChanges } from './cap-changes.js';
import { countsOf } from './cap-requests.js';
import { ownChanges } from '../changes.js';
import type { Contestant } from '../compare.js';
import { type Random, seededRandom } from '../data/random.js';
import type { SentRequest } from '../load-job.js';

const calls = 5;

/**
 * Compares the numbers of sent and of all entities in the answers of CAP and of the generated
 * server.
 * @throws Error at the first answer that differs or fails
 */
export async function compareCounts(
  own: Contestant,
  cap: Contestant,
  random: Random,
): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    const seed = random.below(2 ** 31);
    const counts: string[] = [];
    for (const each of [own, cap]) {
      const answer = await ask(each.server.origin, await sentTo(each, seed));
      counts.push(countsOf(answer, own.request.name));
    }
    const [expected, found] = counts;
    if (found !== expected) {
      throw new Error(`it answers ${String(found)} entities, and not ${String(expected)}`);
    }
  }
}

async function sentTo(
  { server, request, context }: Contestant,
  seed: number,
): Promise<SentRequest> {
  const random = seededRandom(seed);
  const service = request.service === 'cap' ? capChanges : ownChanges;
  if (request.change === undefined) return request.request(random, context);
  if (request.change === 'create') return service.create(random);
  const key = context.key(random);
  const stamp = service.stamp(await ask(server.origin, { path: service.entity(key) }));
  return service.update(key, stamp, random);
}

async function ask(origin: string, { method, path, headers, body }: SentRequest): Promise<string> {
  const sent = body === undefined ? {} : { method: method ?? 'POST', headers: headers ?? {}, body };
  const response = await fetch(origin + path, sent);
  const text = await response.text();
  if (response.ok) return text;
  throw new Error(`it answers ${path} with ${response.status}: ${text.slice(0, 300)}`);
}
