import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compiledServer } from '../../support/compiled-server.js';
import { modelOf, packageRoot, writeServer } from '../../support/server.js';

/** Two processes that serve one database file, and many clients that write at the same time. */
const model = `
drs: 1
name: writers
limits: { bodySize: 16777216, batchSize: 20000 }
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      n: integer
      twin: integer
`;

let folder: string;
let processes: readonly ChildProcess[];
let origins: readonly string[];

beforeAll(async () => {
  const program = join(compiledServer(writeServer(modelOf(model))), 'dist/src/main.js');
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'writers-'));
  const started = [];
  // One after the other: the first one creates the schema.
  for (let count = 0; count < 2; count += 1) {
    started.push(await start(program));
  }
  processes = started.map(({ child }) => child);
  origins = started.map(({ origin }) => origin);
});

afterAll(async () => {
  await Promise.all(
    processes.map((child) => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      return ended;
    }),
  );
  rmSync(folder, { recursive: true });
});

async function start(program: string): Promise<{ child: ChildProcess; origin: string }> {
  const child = spawn(process.execPath, [program], {
    env: {
      PATH: process.env['PATH'],
      LOG_LEVEL: 'error',
      // A hundred concurrent requests are never refused, however slow the machine is.
      MAX_WAIT: '600000',
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: `sqlite:${join(folder, 'data.sqlite')}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const chunk of child.stdout) {
    printed += String(chunk);
    const origin = /listening on (http:\/\/[^/\s]+)/.exec(printed)?.[1];
    if (origin === undefined) continue;
    child.stdout.resume();
    return { child, origin };
  }
  throw new Error(`The server did not start: ${printed}`);
}

interface Entity {
  readonly __KEY: string;
  readonly __STAMP: number;
  readonly __STATUS?: { readonly success: boolean; readonly status?: number };
  readonly __ERROR?: readonly { readonly errCode: number }[];
  readonly [name: string]: unknown;
}

type Answer = Entity & { readonly __ENTITIES: readonly Entity[]; readonly __GlobalStamp: number };

async function post(
  body: unknown,
  server = 0,
  query = '',
): Promise<{ readonly status: number; readonly json: Answer }> {
  const url = `${String(origins[server])}/rest/Item?$method=update${query}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, json: (await response.json()) as Answer };
}

async function get(path: string, server = 0): Promise<Answer> {
  const response = await fetch(`${String(origins[server])}/rest/${path}`);
  return (await response.json()) as Answer;
}

it.each([1, 2])('One of 100 writers with the same stamp wins: %i processes', async (count) => {
  const { json: item } = await post({ n: -1 });
  const before = (await get('Item?$top=0')).__GlobalStamp;
  for (let stamp = 1; stamp <= 5; stamp += 1) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        post({ __KEY: item.__KEY, __STAMP: stamp, n: stamp * 1000 + n }, n % count),
      ),
    );
    const winners = answers.filter(({ status }) => status === 200);
    const losers = answers.filter(({ status }) => status === 409);
    expect([winners.length, losers.length]).toEqual([1, 99]);
    const now = await get(`Item(${item.__KEY})`, count - 1);
    expect(now).toMatchObject({ __STAMP: stamp + 1, n: winners[0]?.json['n'] });
    for (const { json } of losers) {
      expect(json).toMatchObject({
        __STATUS: { status: 2, success: false },
        __STAMP: stamp + 1,
        n: now['n'],
      });
      expect(json.__ERROR?.map(({ errCode }) => errCode)).toEqual([1263, 1046, 1517]);
    }
  }
  expect((await get('Item?$top=0')).__GlobalStamp).toBe(before + 5);
});

it('Writers that retry until they win lose no change', async () => {
  // The number of requests grows with its square.
  const writers = 40;
  const { json: item } = await post({ n: 0 });
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      let { __STAMP: stamp, n } = await get(`Item(${item.__KEY})`, writer % 2);
      for (;;) {
        const body = { __KEY: item.__KEY, __STAMP: stamp, n: Number(n) + 1 };
        const { status, json } = await post(body, writer % 2);
        if (status === 200) return;
        expect(status).toBe(409);
        ({ __STAMP: stamp, n } = json);
      }
    }),
  );
  expect(await get(`Item(${item.__KEY})`)).toMatchObject({
    n: writers,
    __STAMP: writers + 1,
  });
});

it('One of 100 requests that create the same key, or the same unique value, wins', async () => {
  const race = (body: object): Promise<number[]> =>
    Promise.all(
      Array.from({ length: 100 }, async (_, n) => (await post({ ...body, n }, n % 2)).status),
    );
  for (const body of [{ __KEY: '5000' }, { ID: 6000 }, { name: 'Only One' }]) {
    const statuses = await race(body);
    expect(statuses.filter((each) => each === 200)).toHaveLength(1);
    expect(statuses.filter((each) => each === 409)).toHaveLength(99);
  }
});

it('Nobody reads a part of an atomic batch, nor anything of one that fails', async () => {
  const made = await post(Array.from({ length: 1000 }, () => ({ n: 0, twin: 0 })));
  let entities = made.json.__ENTITIES;
  const keys = entities.map((each) => Number(each.__KEY));
  const between = `ID >= ${String(keys[0])} and ID <= ${String(keys.at(-1))}`;
  const path = `Item?$top=1000&$attributes=n,twin&$filter=${encodeURIComponent(between)}`;
  const done = new AbortController();
  let reads = 0;
  const reader = async (server: number): Promise<void> => {
    while (!done.signal.aborted) {
      const page = await get(path, server);
      expect(
        new Set(page.__ENTITIES.map(({ n, twin }) => `${String(n)} ${String(twin)}`)).size,
      ).toBe(1);
      expect(page.__ENTITIES[0]?.['n']).toBe(page.__ENTITIES[0]?.['twin']);
      expect(page.__ENTITIES[0]?.['n']).toBeGreaterThanOrEqual(0);
      reads += 1;
    }
  };
  const readers = [reader(0), reader(1)];
  for (let n = 1; n <= 10; n += 1) {
    const body = entities.map(({ __KEY, __STAMP }) => ({ __KEY, __STAMP, n, twin: n }));
    const failing = [...body.map((each) => ({ ...each, n: -1 })), { __KEY: '0', __STAMP: 1 }];
    const failed = await post(failing, n % 2, '&$atomic=true');
    expect(failed.status).toBe(422);
    const { status, json } = await post(body, n % 2, '&$atomic=true');
    expect(status).toBe(200);
    entities = json.__ENTITIES;
    expect(entities.every(({ __STAMP }) => __STAMP === n + 1)).toBe(true);
  }
  done.abort();
  await Promise.all(readers);
  expect(reads).toBeGreaterThan(10);
});

it('10,000 entities in one body take limited memory, and do not block other requests', async () => {
  const memory = (): number => {
    const status = readFileSync(`/proc/${String(processes[0]?.pid)}/status`, 'utf8');
    return Number(/VmHWM:\s*(\d+) kB/.exec(status)?.[1]) / 1024;
  };
  const made = await post(Array.from({ length: 10_000 }, (_, n) => ({ n })));
  expect(made.json.__ENTITIES).toHaveLength(10_000);
  let entities = made.json.__ENTITIES;
  const after = memory();
  const done = new AbortController();
  let reads = 0;
  const others = (async () => {
    while (!done.signal.aborted) {
      await get('Item(1)');
      reads += 1;
    }
  })();
  // If a body blocked the others, there would be few reads before and after it: one, rarely ten.
  let mostReads = 0;
  for (let n = 0; n < 5 || (n < 50 && mostReads <= 20); n += 1) {
    const before = reads;
    const body = entities.map(({ __KEY, __STAMP }) => ({ __KEY, __STAMP, twin: n }));
    const { status, json } = await post(body, 0, n % 2 === 0 ? '' : '&$atomic=true');
    expect(status).toBe(200);
    entities = json.__ENTITIES;
    expect(entities.every(({ __STAMP }) => __STAMP === n + 2)).toBe(true);
    mostReads = Math.max(mostReads, reads - before);
  }
  done.abort();
  await others;
  expect(memory() - after).toBeLessThan(300);
  expect(mostReads).toBeGreaterThan(20);
  const file = new Database(join(folder, 'data.sqlite'), { readonly: true });
  expect(file.pragma('integrity_check', { simple: true })).toBe('ok');
  file.close();
});
