import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  Client,
  type Collection,
  type Entity,
  type ErrorItem,
  saved,
} from '../support/processes/client.js';
import { durabilityModel } from './support/model.js';
import { compiledProgram } from '../support/processes/program.js';
import { Scratch } from '../support/processes/scratch.js';
import type { ServerProcess } from '../support/processes/server-process.js';
import { itLong, sampled } from '../support/long.js';
import { serverOf } from '../support/server.js';

const rows = 100_000;
/** The number of fillers that a scan finds. */
const found = 1_000;

let program: string;
let filled: Scratch;
let scratch: Scratch;
/** The server of the tests that need none of their own. */
let shared: { readonly scratch: Scratch; readonly server: Promise<ServerProcess> } | undefined;

beforeAll(async () => {
  program = compiledProgram(durabilityModel);
  filled = new Scratch(program);
  const app = await serverOf(durabilityModel, { databaseUrl: `sqlite:${filled.file}` });
  await app.ready();
  await app.close();
  const database = new Database(filled.file);
  database.exec(`
    with recursive "n"("i") as (select 1 union all select "i" + 1 from "n" where "i" < ${rows})
    insert into "Part" ("ID", "__STAMP", "__TIMESTAMP", "serial", "tag", "filler")
      select "i", 1, '2026-01-01T00:00:00.000Z', "i", "i" % 1000, 'filler ' || ("i" % ${rows / found}) from "n";
  `);
  database.pragma('wal_checkpoint(truncate)');
  database.close();
});
afterAll(async () => {
  await shared?.scratch.remove();
  await filled.remove();
});

beforeEach(() => {
  scratch = filledScratch();
});
afterEach(() => scratch.remove());

function filledScratch(): Scratch {
  const made = new Scratch(program);
  copyFileSync(filled.file, made.file);
  return made;
}

/** A server for tests that leave it as it was. */
function sharedServer(): Promise<ServerProcess> {
  if (shared === undefined) {
    const made = filledScratch();
    shared = { scratch: made, server: made.start() };
  }
  return shared.server;
}

/** Scans all rows, for some tens of milliseconds. */
const shortScan = query({ $filter: 'filler = "filler 7"', $top: '1' });
const otherScan = query({ $filter: 'filler = "filler 8"', $top: '1' });

/**
 * Searches each row for the maximum number of texts in a filter, which takes many seconds on any
 * machine.
 */
const longScan = scanOf(500);

/** About half a second on a fast machine. */
const middleScan = scanOf(75);

function scanOf(texts: number): string {
  return query({ $filter: searches(texts) });
}

function searches(texts: number): string {
  return Array.from({ length: texts }, (_, index) => `filler = "@no ${index}@"`).join(' or ');
}

function query(parameters: Readonly<Record<string, string>>): string {
  return `/rest/Part?${new URLSearchParams(parameters).toString()}`;
}

/** The child processes of a server that still run. */
function readersOf({ child }: Pick<ServerProcess, 'child'>): readonly number[] {
  return processes()
    .filter(({ parent }) => parent === child.pid)
    .map(({ id }) => id);
}

interface Process {
  readonly id: number;
  readonly parent: number;
  /** Processor time in hundredths of a second. */
  readonly used: number;
}

function processes(): readonly Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const [state, parent, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z') return [];
        const used = Number(fields[9]) + Number(fields[10]);
        return [{ id: Number(name), parent: Number(parent), used }];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const seen = look();
    if (seen !== undefined) return seen;
    await setTimeout(5);
  }
}

/** A reader that runs a statement from now on: a short one uses less time, and so does a start. */
function busyReader(server: ServerProcess): Promise<number> {
  const before = new Map(processes().map(({ id, used }) => [id, used]));
  const isBusy = ({ id, parent, used }: Process): boolean => {
    if (parent !== server.child.pid) return false;
    const known = before.get(id);
    return known === undefined ? used > 40 : used - known > 20;
  };
  return until(() => processes().find(isBusy)?.id);
}

function isGone(id: number): true | undefined {
  return existsSync(`/proc/${id}`) && processes().some((each) => each.id === id) ? undefined : true;
}

/** Retries while a slow machine prevents the server from answering in time. */
async function askedWhile(
  status: number,
  client: Client,
  path: string,
): Promise<Answer<Collection>> {
  for (;;) {
    const answer = await client.get(path);
    if (answer.status !== status) return answer;
    await setTimeout(1000 * Number(answer.headers.get('retry-after')));
  }
}

function errorOf(answer: { readonly body: unknown }): ErrorItem | undefined {
  return (answer.body as { readonly __ERROR?: readonly ErrorItem[] }).__ERROR?.[0];
}

/** Processes are observed in `/proc`. */
const onLinux = describe.skipIf(process.platform !== 'linux');

onLinux('A long read', () => {
  it('may be a page that returns many entities, on its first run', async () => {
    const server = await sharedServer();
    const client = new Client(server.origin);
    // The first test of this server, which has no reader yet. Counting scans all entities.
    expect((await client.get('/rest/Part?$count=false&$top=2500')).status).toBe(200);
    expect(readersOf(server)).toEqual([]);
    expect((await client.get('/rest/Part?$count=false&$top=2501')).status).toBe(200);
    expect(readersOf(server)).toHaveLength(1);
  });

  it('does not delay other requests', async () => {
    const server = await sharedServer();
    const client = new Client(server.origin);
    const order: string[] = [];
    const gone = new AbortController();
    const long = fetch(server.origin + longScan, { signal: gone.signal }).then(
      () => order.push('long'),
      () => order.push('gone'),
    );
    const reader = await busyReader(server);
    for (let key = 1; key <= 50; key += 1) {
      const { status } = await client.get<Entity>(`/rest/Part(${key})`);
      expect(status).toBe(200);
      order.push('one');
    }
    expect((await client.get(shortScan)).body.__COUNT).toBe(found);
    order.push('scan');
    const counter = { owner: 'somebody' };
    expect((await client.post('/rest/Counter?$method=update', counter)).status).toBe(200);
    order.push('change');
    gone.abort();
    await long;
    await until(() => isGone(reader));
    expect(order).toEqual([...new Array<string>(50).fill('one'), 'scan', 'change', 'gone']);
  });

  it('sees what the same client changed before it', async () => {
    const server = await sharedServer();
    const client = new Client(server.origin);
    for (let round = 1; round <= sampled(20); round += 1) {
      const changed = { __KEY: String(100 * round + 1), __STAMP: 1, filler: 'filler 8' };
      expect((await client.post('/rest/Part?$method=update', changed)).status).toBe(200);
      expect((await client.get(otherScan)).body.__COUNT).toBe(found + round);
    }
    expect(readersOf(server)).not.toEqual([]);
  });

  itLong('is answered while a hundred others run', async () => {
    const server = await scratch.start();
    const scans = Array.from({ length: 100 }, (_, index) =>
      askedWhile(
        503,
        new Client(server.origin),
        query({ $filter: `filler = "filler ${index}"`, $top: '1' }),
      ),
    );
    for (const { status, body } of await Promise.all(scans)) {
      expect([status, body.__COUNT]).toEqual([200, found]);
    }
  });

  // The line of waiting reads has tests of its own.
  itLong('is refused when too many wait, and the server continues to work', async () => {
    const server = await scratch.start({ environment: { READERS: '1' } });
    const long = new AbortController();
    void fetch(server.origin + longScan, { signal: long.signal }).catch(() => undefined);
    await busyReader(server);
    const gone = new AbortController();
    const scans = Array.from({ length: 520 }, (_, index) =>
      // Most clients disconnect when one is refused.
      fetch(server.origin + shortScan, index % 100 === 0 ? {} : { signal: gone.signal }),
    );
    // The reader is busy, so every answer is a refusal.
    const refused = await Promise.race(scans);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(errorOf({ body: await refused.json() })?.errCode).toBe(1836);
    gone.abort();
    long.abort();
    const outcomes = await Promise.allSettled(scans);
    const statuses = new Set(
      outcomes.map((each) =>
        each.status === 'fulfilled' ? each.value.status : (each.reason as Error).name,
      ),
    );
    expect([...statuses].sort()).toEqual([200, 503, 'AbortError']);
    expect((await new Client(server.origin).get(shortScan)).body.__COUNT).toBe(found);
  });

  it('ends when its client disconnects', async () => {
    const server = await sharedServer();
    const logged = server.stderr();
    const gone = new AbortController();
    const asked = fetch(server.origin + longScan, { signal: gone.signal });
    const reader = await busyReader(server);
    gone.abort();
    await expect(asked).rejects.toThrow();
    await until(() => isGone(reader));
    expect(server.stderr()).toBe(logged);
  });
});

onLinux('queryTimeout', () => {
  itLong('stops only its own statement', async () => {
    const server = await scratch.start({ environment: { QUERY_TIMEOUT: '700' } });
    const client = new Client(server.origin);
    expect((await askedWhile(504, client, shortScan)).body.__COUNT).toBe(found);
    const [reader = 0] = readersOf(server);
    expect(reader).not.toBe(0);
    const answer = await client.get(longScan);
    expect(answer.status).toBe(504);
    expect(errorOf(answer)).toMatchObject({ errCode: 1847, componentSignature: 'dbmg' });
    expect(errorOf(answer)?.message).toContain('700 ms');
    await until(() => isGone(reader));
    expect((await askedWhile(504, client, shortScan)).body.__COUNT).toBe(found);
  });

  it('undoes a change whose statement took longer', async () => {
    // No statement of a start takes so long, but a deletion that searches all rows does.
    const server = await scratch.start({ environment: { QUERY_TIMEOUT: '100' } });
    const client = new Client(server.origin);
    const $filter = `${searches(30)} or tag > 1`;
    const many = new URLSearchParams({ $method: 'delete', $filter });
    const answer = await client.post(`/rest/Part?${many.toString()}`, []);
    expect(answer.status).toBe(504);
    server.child.kill('SIGTERM');
    await server.ended;
    const database = new Database(scratch.file, { readonly: true });
    expect(database.prepare('select count(*) from "Part"').pluck().get()).toBe(rows);
    database.close();
  });

  it('cannot be set for a database in memory, where no statement can be stopped', async () => {
    const started = serverOf(durabilityModel, { environment: { QUERY_TIMEOUT: '1500' } });
    await expect(started).rejects.toThrow(/queryTimeout.*DATABASE_URL/);
  });
});

onLinux('A reader process', () => {
  it('is replaced when it ends in the middle of a read, which is repeated', async () => {
    const server = await sharedServer();
    const client = new Client(server.origin);
    const asked = client.get(middleScan);
    process.kill(await busyReader(server), 'SIGKILL');
    expect(await asked.then(({ status, body }) => [status, body.__COUNT])).toEqual([200, 0]);
  });

  it('is not tried a third time, and the server continues to work', async () => {
    const server = await sharedServer();
    const client = new Client(server.origin);
    const asked = client.get(longScan);
    const first = await busyReader(server);
    process.kill(first, 'SIGKILL');
    await until(() => isGone(first));
    process.kill(await busyReader(server), 'SIGKILL');
    const answer = await asked;
    expect(answer.status).toBe(503);
    expect(errorOf(answer)?.errCode).toBe(1836);
    expect((await client.get(shortScan)).body.__COUNT).toBe(found);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('ignores %s', async (signal) => {
    const server = await sharedServer();
    const client = new Client(server.origin);
    await client.get(shortScan);
    const before = readersOf(server);
    for (const reader of before) process.kill(reader, signal);
    expect((await client.get(shortScan)).body.__COUNT).toBe(found);
    expect(readersOf(server)).toEqual(before);
  });

  it('ends when its server is killed', async () => {
    const server = await scratch.start();
    void new Client(server.origin).get(longScan).catch(() => undefined);
    const reader = await busyReader(server);
    server.child.kill('SIGKILL');
    await server.ended;
    await until(() => isGone(reader));
  });

  it('ends with a server that receives SIGTERM, which answers first', async () => {
    const server = await scratch.start();
    const client = new Client(server.origin);
    const answers: Promise<Collection>[] = [];
    for (let index = 0; index < 8; index += 1) {
      const path = query({ $filter: `filler = "filler ${index}"`, $top: '1' });
      answers.push(new Client(server.origin).get(path).then(({ body }) => body));
    }
    await until(() => (readersOf(server).length > 0 ? true : undefined));
    await client.get('/rest/Part(1)');
    const readers = readersOf(server);
    server.child.kill('SIGTERM');
    for (const { __COUNT: count } of await Promise.all(answers)) expect(count).toBe(found);
    expect(await server.ended).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(scratch.folder)).toEqual(['data.sqlite']);
    for (const reader of readers) await until(() => isGone(reader));
  });

  itLong('ends with a server that receives SIGTERM during a long read', async () => {
    const server = await scratch.start();
    const asked = fetch(server.origin + longScan);
    asked.catch(() => undefined);
    const reader = await busyReader(server);
    // The read lasts as long as the server waits for it, and uses no processor meanwhile.
    process.kill(reader, 'SIGSTOP');
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
    expect(readdirSync(scratch.folder)).toEqual(['data.sqlite']);
    await until(() => isGone(reader));
  });

  it('leaves every change in the database file of a server that receives SIGTERM', async () => {
    const server = await scratch.start();
    const client = new Client(server.origin);
    await client.get(shortScan);
    expect(readersOf(server)).toHaveLength(1);
    saved(await client.post<Entity>('/rest/Folder?$method=update', { name: 'a' }));
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(scratch.folder)).toEqual(['data.sqlite']);
  });
});

it('READERS must be a number', async () => {
  const databaseUrl = `sqlite:${scratch.file}`;
  const started = serverOf(durabilityModel, { databaseUrl, environment: { READERS: 'none' } });
  await expect(started).rejects.toThrow('READERS is "none"');
});
