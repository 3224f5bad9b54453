import { isDeepStrictEqual } from 'node:util';
import type { Random } from './data/random.js';
import { createBody, stampOf, updateBody } from './changes.js';
import type { BenchRequest } from './requests.js';
import type { Server } from './server.js';

const callsOfEach = 100;

/**
 * Compares what the servers answer to the same requests.
 * @throws Error at the first answer that differs
 */
export async function compareAnswers(
  servers: readonly Server[],
  requests: readonly BenchRequest[],
  { random, rows }: { readonly random: Random; readonly rows: number },
): Promise<void> {
  for (const request of requests) {
    for (let call = 0; call < callsOfEach; call += 1) {
      const path = request.path(random, rows);
      const body = await bodyOf(request, servers, random, rows);
      const answers = await Promise.all(servers.map((server) => ask(server, path, body)));
      for (const [i, answer] of answers.entries()) {
        const where = difference(answers[0], answer, '');
        if (where === undefined) continue;
        const names = `${String(servers[0]?.name)} and ${String(servers[i]?.name)}`;
        throw new Error(`${names} answer ${path} differently at ${where}`);
      }
    }
  }
}

/** The same change for all servers, whose employees are the same. */
async function bodyOf(
  { change }: BenchRequest,
  [first]: readonly Server[],
  random: Random,
  rows: number,
): Promise<string | undefined> {
  if (change === undefined) return undefined;
  if (change === 'create') return createBody(random);
  const key = 1 + random.below(rows);
  const response = await fetch(`${String(first?.origin)}/rest/Employee(${key})`);
  return updateBody(key, stampOf(await response.text()), random);
}

async function ask({ name, origin }: Server, path: string, body?: string): Promise<unknown> {
  const response = await fetch(origin + path, body === undefined ? {} : { method: 'POST', body });
  const json = await response.text();
  // Each server changes entities at a time of its own.
  const text =
    body === undefined ? json : json.replaceAll(/"__TIMESTAMP":"[^"]*"/g, '"__TIMESTAMP":""');
  if (response.status !== 200) {
    throw new Error(`${name} answers ${path} with ${response.status}: ${text.slice(0, 300)}`);
  }
  return JSON.parse(text);
}

/** Where two values differ and how; nothing when they are equal. */
function difference(a: unknown, b: unknown, path: string): string | undefined {
  if (isDeepStrictEqual(a, b)) return undefined;
  if (isObject(a) && isObject(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const found = difference(a[name], b[name], `${path}/${name}`);
      if (found !== undefined) return found;
    }
  }
  return `${path}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
