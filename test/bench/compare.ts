import { isDeepStrictEqual } from 'node:util';
import { createBody, stampOf, updateBody } from './changes.js';
import { type Random, seededRandom } from './data/random.js';
import type { SentRequest } from './load-job.js';
import type { BenchRequest, RequestContext } from './requests.js';
import type { Server } from './server.js';

/** A server and the result of its preparation. */
export interface Contestant {
  readonly server: Server;
  readonly request: BenchRequest;
  readonly context: RequestContext;
}

/** Slow requests are compared fewer times. */
const callsOfEach = { many: 100, few: 5 } as const;

/**
 * Compares the whole answers of the servers to the same requests, except for times of changes, IDs
 * of sets and tokens of cursors.
 * @throws Error at the first answer that differs or is not 200
 */
export async function compareAnswers(
  contestants: readonly Contestant[],
  request: BenchRequest,
  random: Random,
): Promise<void> {
  const calls = request.connections < 32 ? callsOfEach.few : callsOfEach.many;
  for (let call = 0; call < calls; call += 1) {
    const seed = random.below(2 ** 31);
    const body = await changedBody(request, contestants, seed);
    const answers = await Promise.all(
      contestants.map(({ server, context }) => {
        const sent = request.request(seededRandom(seed), context);
        return ask(server, context, body === undefined ? sent : { ...sent, body });
      }),
    );
    for (const [i, answer] of answers.entries()) {
      const where = difference(answers[0], answer, '');
      if (where === undefined) continue;
      const names = contestants.map(({ server }) => server.name);
      throw new Error(
        `${String(names[0])} and ${String(names[i])} answer ${request.name} differently at ${where}`,
      );
    }
  }
}

/** The body of a change, which fits all servers because they have the same employees. */
async function changedBody(
  { change }: BenchRequest,
  [first]: readonly Contestant[],
  seed: number,
): Promise<string | undefined> {
  if (change === undefined || first === undefined) return undefined;
  const random = seededRandom(seed);
  if (change === 'create') return createBody(random);
  const key = first.context.key(random);
  const { headers = {} } = first.context;
  const response = await fetch(`${first.server.origin}/rest/Employee(${key})`, { headers });
  return updateBody(key, stampOf(await response.text()), random);
}

async function ask(
  { name, origin }: Server,
  { headers = {} }: RequestContext,
  { path, body }: SentRequest,
): Promise<unknown> {
  const sent = body === undefined ? { headers } : { method: 'POST', headers, body };
  const response = await fetch(origin + path, sent);
  const json = await response.text();
  if (response.status !== 200) {
    throw new Error(`${name} answers ${path} with ${response.status}: ${json.slice(0, 300)}`);
  }
  return JSON.parse(comparable(json, body !== undefined));
}

/** Each server has its own times of changes, IDs of sets and tokens of cursors. */
function comparable(json: string, isChange: boolean): string {
  const text = json
    .replaceAll(/\$entityset\/[0-9A-F]{32}/g, '$entityset/ID')
    .replace(/"__NEXT":"[^"]*"\}$/, '"__NEXT":""}');
  return isChange ? text.replaceAll(/"__TIMESTAMP":"[^"]*"/g, '"__TIMESTAMP":""') : text;
}

/** Describes where two values differ; `undefined` if they are equal. */
function difference(a: unknown, b: unknown, path: string): string | undefined {
  if (isDeepStrictEqual(a, b)) return undefined;
  if (typeof a === 'number' && typeof b === 'number' && isRounded(a, b)) return undefined;
  if (isObject(a) && isObject(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const found = difference(a[name], b[name], `${path}/${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return `${path}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
}

/** PostgreSQL adds numbers in the order in which parallel workers end. */
function isRounded(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
