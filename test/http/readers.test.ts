import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { send } from '../support/ask.js';
import { filledServer, moment } from '../support/staff-fixture.js';
import { forceReaders } from '../support/forced-readers.js';
import { modelFile } from '../support/model-file.js';
import { isOnPostgres, writeServer } from '../support/server.js';
import { readCases } from './cases.js';

vi.useFakeTimers({ toFake: ['Date'], now: new Date(moment) });
afterAll(() => {
  vi.useRealTimers();
});

interface Filled {
  readonly app: FastifyInstance;
  readonly close: () => Promise<void>;
}

let here: Filled;
let away: Filled;
let reads: () => number;

/** Values that differ between servers. */
const drawn = /"(?:__UNIQID|uri)":"[^"]*"/g;

beforeAll(async () => {
  here = await filledServer();
  const answers = new Map<string, string>();
  for (const { url } of readCases) answers.set(url, await answerOf(here.app, url));
  expected = answers;
  // Both servers share the prototype: the first one gets no more requests.
  const server = writeServer(modelFile('staff'));
  reads = await forceReaders(server);
  away = await filledServer();
});

let expected: ReadonlyMap<string, string>;

afterAll(async () => {
  vi.restoreAllMocks();
  await here.close();
  await away.close();
});

async function answerOf(app: FastifyInstance, url: string): Promise<string> {
  const { statusCode, headers, body } = await send(app, { method: 'GET', url });
  return `${statusCode} ${String(headers['content-type'])} ${body.replaceAll(drawn, '')}`;
}

// PostgreSQL needs no processes of the server for long reads.
describe.skipIf(isOnPostgres)('An answer of a reader process is the same', () => {
  it.each(readCases)('$topic: $name', async ({ url }) => {
    expect(await answerOf(away.app, url)).toBe(expected.get(url));
  });

  it('and most reads ran in such a process', () => {
    expect(reads()).toBeGreaterThan(readCases.length);
  });
});
