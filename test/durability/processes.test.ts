import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../support/server.js';
import { compiledProgram } from '../support/processes/program.js';
import { kill, launch, type ServerProcess, start } from '../support/processes/server-process.js';
import {
  type Answer,
  Client,
  clientsOf,
  severalClasses,
  severalModel,
} from '../support/processes/several.js';
import { isLong, itLong } from '../support/long.js';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
);

let program: string;
let folder: string;
let server: ServerProcess;
let clients: readonly Client[] = [];
let one: Client;
let other: Client;
let stop = (): Promise<unknown> => Promise.resolve();

beforeAll(() => {
  program = compiledProgram(severalModel, severalClasses);
});

function makeFolder(): void {
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'processes-'));
}

/** Ends the server, if a test has begun one, and removes its folder. */
async function end(): Promise<void> {
  for (const client of clients) client.close();
  await stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

/** The tests of a `describe` begin servers of their own, each in a folder of its own. */
function withOwnServers(): void {
  beforeEach(makeFolder);
  afterEach(end);
}

/** The next tests of a `describe` use the server that one has begun, unless it has ended. */
function withOneServer(): void {
  beforeAll(makeFolder);
  afterAll(end);
}

/** Starts a server, if none runs. */
async function begin(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  if (server?.child.exitCode === null && server.child.signalCode === null) {
    for (const client of clients) client.close();
    await connect(server);
    return;
  }
  const started = await start(program, {
    folder,
    environment: { PROCESSES: '2', SESSION_TRUST: '0', ...environment },
  });
  server = started;
  // Its processes end with the parent process.
  stop = () => kill(started);
  await connect(started);
}

/** A client of each process, without a cookie. */
async function connect({ origin }: Pick<ServerProcess, 'origin'>): Promise<void> {
  clients = await clientsOf(origin, 2);
  const [first, second] = clients;
  if (first === undefined || second === undefined) throw new Error('There are not two processes.');
  one = first;
  other = second;
}

/** The other process gets a request with the same cookie. */
function share(): void {
  other.cookie = one.cookie;
}

/** @returns the greatest key */
async function createItems(count: number): Promise<number> {
  const items = Array.from({ length: count }, (_, at) => ({ name: `item ${at}` }));
  const { status, json } = await one.post('/Item?$method=update', items);
  expect(status).toBe(200);
  const created = (json as { readonly __ENTITIES: readonly { readonly ID: number }[] }).__ENTITIES;
  return Math.max(...created.map(({ ID }) => ID));
}

async function setOf(client: Client, filter: string): Promise<string> {
  const path = `/Item?$filter="${encodeURIComponent(filter)}"&$method=entityset&$limit=1`;
  const { json } = await client.get(path);
  return (json as { __ENTITYSET: string }).__ENTITYSET.slice(-32);
}

const countOf = ({ json }: Answer): unknown => (json as { readonly __COUNT: number }).__COUNT;
const resultOf = ({ json }: Answer): unknown => (json as { readonly result: unknown }).result;

async function logIn(client: Client, user = 'mia'): Promise<void> {
  expect((await client.post('/$directory/login', [user, 'right'])).status).toBe(200);
}

/** Node ends the processes of a server whose first one was killed. */
async function allEnd(processes: readonly number[]): Promise<void> {
  const isRunning = (each: number): boolean => {
    try {
      return process.kill(each, 0);
    } catch {
      return false;
    }
  };
  while (processes.some(isRunning)) await setTimeout(20);
}

/** How many processes a process has started that still run. */
function childrenOf({ pid }: { readonly pid?: number | undefined }): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter((each) => each !== '').length;
}

const currentUser = async (client: Client): Promise<unknown> =>
  (resultOf(await client.get('/$directory/currentUser')) as { userName: string } | null)?.userName;

describe('Two processes', () => {
  beforeAll(async () => {
    makeFolder();
    await begin();
    await createItems(50);
  });
  // Each test has sessions of its own. Only one of them changes an item.
  beforeEach(async () => {
    await begin();
  });
  afterAll(end);

  it('print their address once, when both of them listen', async () => {
    expect(new Set([await one.process(), await other.process()]).size).toBe(2);
  });

  it('page, combine and release entity sets that either has created', async () => {
    const low = await setOf(one, 'ID <= 30');
    const high = await setOf(other, 'ID > 20');
    expect(countOf(await other.get(`/Item/$entityset/${low}?$skip=10`))).toBe(30);
    const both = `/Item/$entityset/${low}?$logicOperator=AND&$otherCollection=${high}`;
    expect(countOf(await other.get(both))).toBe(10);
    expect(countOf(await one.get(both))).toBe(10);
    expect((await other.get(`/Item/$entityset/${low}?$method=release`)).status).toBe(200);
    expect((await one.get(`/Item/$entityset/${low}`)).status).toBe(404);
    expect((await one.get(`/Item/$entityset/${high}`)).status).toBe(200);
  });

  it('keep the ID of a stored definition for its owner, in whichever process another session names it', async () => {
    await logIn(one);
    const make = '/Item?$filter="ID=1"&$method=entityset&$savedfilter=true';
    const made = (await one.get(make)).json as { readonly __ENTITYSET: string };
    const set = `/Item/$entityset/${made.__ENTITYSET.slice(-32)}`;
    const named = `${set}?$savedfilter="ID>1"`;
    expect((await other.get(named)).status).toBe(404);
    await one.get(`${set}?$method=release`);
    expect((await other.get(named)).status).toBe(404);
    share();
    expect(countOf(await other.get(set))).toBe(1);
    expect(countOf(await one.get(set))).toBe(1);
  });

  it('know a user who has logged in at either, until the user logs out at one of them', async () => {
    await logIn(one);
    share();
    expect([await currentUser(one), await currentUser(other)]).toEqual(['mia', 'mia']);
    const set = await setOf(one, 'ID > 0');
    expect((await other.get(`/Item/$entityset/${set}`)).status).toBe(200);
    expect((await new Client(server.origin).get(`/Item/$entityset/${set}`)).status).toBe(404);
    const { cookie } = other;
    expect(resultOf(await other.get('/$directory/logout'))).toBe(true);
    expect(await currentUser(one)).toBe(undefined);
    one.cookie = cookie;
    expect((await one.get(`/Item/$entityset/${set}`)).status).toBe(404);
  });

  it('accept only the newest cookie of a session', async () => {
    await logIn(one);
    share();
    const old = one.cookie;
    await other.post('/$catalog/become', ['edit']);
    expect(other.cookie).not.toBe(old);
    expect(await currentUser(one)).toBe(undefined);
    one.cookie = other.cookie;
    expect(await currentUser(one)).toBe('mia');
  });

  it('keep what class code stores for a session, including changes inside a stored object', async () => {
    await one.post('/$catalog/remember', ['list', 'a']);
    share();
    await other.post('/$catalog/remember', ['list', 'b']);
    await one.post('/$catalog/remember', ['list', 'c']);
    await other.post('/$catalog/remember', ['another', 'd']);
    const recalled = await one.post('/$catalog/recall', ['list']);
    expect(resultOf(recalled)).toEqual(['a', 'b', 'c']);
    // A guest who becomes a user keeps it.
    await logIn(other);
    one.cookie = other.cookie;
    expect(resultOf(await one.post('/$catalog/recall', ['another']))).toEqual(['d']);
  });

  it('refuse what a session has locked by the other process', async () => {
    await logIn(one, 'mia');
    await logIn(other, 'bob');
    expect((await one.get('/Item(1)?$lock=true')).json).toMatchObject({ result: true });
    expect((await other.get('/Item(1)?$lock=true')).json).toMatchObject({ result: false });
    const change = [{ __KEY: '1', __STAMP: 1, name: 'changed' }];
    const refused = await other.post('/Item?$method=update', change);
    expect(refused.text).toContain('"status":3');
    await one.get('/$directory/logout');
    expect((await other.post('/Item?$method=update', change)).text).toContain('"name":"changed"');
  });
});

describe('Two processes with limits', () => {
  withOwnServers();

  itLong('accept uploads that either has received, and count their space together', async () => {
    await begin({ UPLOAD_SPACE: '8192' });
    await createItems(1);
    await logIn(one);
    share();
    const sent = await one.post('/$upload?$rawPict=true', png);
    const upload = (sent.json as { readonly ID: string }).ID;
    const change = [{ __KEY: '1', __STAMP: 1, photo: { ID: upload } }];
    expect((await other.post('/Item?$method=update', change)).status).toBe(200);
    expect(
      (await one.get('/Item(1)/photo?$imageformat=best&$expand=photo')).headers['content-type'],
    ).toBe('image/png');
    expect((await other.post('/$upload?$rawPict=true', png)).status).toBe(200);
    expect((await one.post('/$upload?$rawPict=true', png)).status).toBe(429);
    await other.get('/$directory/logout');
    await logIn(one);
    expect((await one.post('/$upload?$rawPict=true', png)).status).toBe(200);
  });

  itLong('hold together as many sessions as the limit of the server', async () => {
    await begin({ MAX_SESSIONS: '2' });
    await logIn(one, 'mia');
    await logIn(other, 'bob');
    const third = new Client(server.origin);
    expect((await third.post('/$directory/login', ['eve', 'right'])).status).toBe(402);
    await one.get('/$directory/logout');
    expect((await third.post('/$directory/login', ['eve', 'right'])).status).toBe(200);
    third.close();
  });
});

describe('With one server', () => {
  withOneServer();

  describe('A process that dies', () => {
    it('is restarted, and its clients lose nothing', async () => {
      await begin();
      const last = await createItems(20);
      await logIn(one);
      share();
      const set = await setOf(one, `ID > ${last - 15}`);
      await one.get(`/Item(${last})?$lock=true`);
      const dead = await one.process();
      const living = await other.process();
      const others = Array.from({ length: 8 }, () => new Client(server.origin, other.cookie));
      let isOver = false;
      const load = others.map(async (client) => {
        const failures: unknown[] = [];
        while (!isOver) {
          await client.get(`/Item/$entityset/${set}`).then(
            ({ status }) => status === 200 || failures.push(status),
            (error: unknown) => failures.push(error),
          );
          // Without a pause, the load would delay the process that starts.
          await setTimeout(10);
        }
        return failures;
      });
      await setTimeout(100);
      process.kill(dead, 'SIGKILL');
      const again = await clientsOf(server.origin, 2);
      isOver = true;
      for (const failures of await Promise.all(load)) {
        expect(failures.filter((each) => !(each instanceof Error))).toEqual([]);
        // One request was pending; a connection may be passed to the dead process until its end is
        // noticed.
        expect(failures.length).toBeLessThanOrEqual(3);
      }
      for (const client of again) {
        client.cookie = other.cookie;
        expect(await client.process()).not.toBe(dead);
        expect(await currentUser(client)).toBe('mia');
        expect(countOf(await client.get(`/Item/$entityset/${set}`))).toBe(15);
      }
      const stranger = new Client(server.origin);
      await logIn(stranger, 'bob');
      expect((await stranger.get(`/Item(${last})?$lock=true`)).json).toMatchObject({
        result: false,
      });
      expect(await other.process()).toBe(living);
      expect(server.stderr()).toContain('A process of the server has ended (SIGKILL).');
      for (const client of [...again, ...others, stranger]) client.close();
    });

    itLong('loses no shared state, even if all processes die', async () => {
      await begin();
      await logIn(one);
      const { cookie } = one;
      const dead = [await one.process(), await other.process()];
      for (const each of dead) process.kill(each, 'SIGKILL');
      let user: unknown;
      while (user === undefined) {
        const client = new Client(server.origin, cookie);
        user = await currentUser(client).catch(() => undefined);
        client.close();
        await setTimeout(20);
      }
      expect(user).toBe('mia');
    });
  });

  describe('a server that starts again', () => {
    it('knows who was logged in, even if all its processes were killed', async () => {
      await begin();
      const last = await createItems(10);
      await logIn(one);
      await one.post('/$catalog/remember', ['list', 'a']);
      await one.get(`/Item(${last})?$lock=true`);
      const set = await setOf(one, `ID > ${last - 5}`);
      const { cookie } = one;
      const processes = [await one.process(), await other.process()];
      await kill(server);
      await allEnd(processes);
      for (const client of [one, other]) client.close();
      await begin();
      one.cookie = cookie;
      expect(await currentUser(one)).toBe('mia');
      expect(resultOf(await one.post('/$catalog/recall', ['list']))).toEqual(['a']);
      expect(countOf(await one.get(`/Item/$entityset/${set}`))).toBe(5);
      await logIn(other, 'bob');
      expect((await other.get(`/Item(${last})?$lock=true`)).json).toMatchObject({ result: false });
    });
  });

  describe('The end of a server whose processes answer', () => {
    it('comes after SIGTERM when all requests are answered, and leaves nothing behind', async () => {
      await begin();
      await createItems(1);
      const clients = Array.from({ length: 10 }, () => new Client(server.origin));
      let answered = 0;
      const answers = clients.map(async (client, at) => {
        for (let count = 0; ; count += 1) {
          const body = [{ name: `${at} ${count}` }];
          const answer = await client.post('/Item?$method=update', body).catch(() => undefined);
          if (answer === undefined) return;
          expect(answer.status).toBe(200);
          answered += 1;
        }
      });
      while (answered < 50) await setTimeout(5);
      server.child.kill('SIGTERM');
      await Promise.all(answers);
      expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
      expect(readdirSync(folder).filter((name) => !name.startsWith('data.sqlite'))).toEqual([]);
    });
  });
});

describe('The end of a server with several processes', () => {
  withOwnServers();

  it('comes at once for processes that are starting', async () => {
    const path = join(folder, 'locked.sqlite');
    const database = new Database(path);
    database.pragma('journal_mode = WAL');
    // The first process waits until it may create the schema.
    database.exec('begin immediate');
    const environment = { PROCESSES: '2', DATABASE_URL: `sqlite:${path}` };
    const starting = launch(program, { folder, environment });
    while (childrenOf(starting.child) === 0) await setTimeout(20);
    await setTimeout(300);
    starting.child.kill('SIGTERM');
    await setTimeout(100);
    database.close();
    expect(await starting.ended).toEqual({ code: 0, signal: null, stderr: '' });
  });

  itLong('is not delayed by a process that ends by itself', async () => {
    await begin();
    process.kill(await one.process(), 'SIGKILL');
    // A death that is not noticed yet would count as a process that could not stop.
    while (!server.stderr().includes('has ended (SIGKILL)')) await setTimeout(5);
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  });

  itLong('comes for a reader process that is disconnected while it starts', async () => {
    await begin();
    const settings = { file: join(folder, 'data.sqlite'), isFoldedWithoutAccents: false };
    const script = join(dirname(program), '../../runtime/reader-process.js');
    const reader = fork(script, [JSON.stringify({ ...settings, hasVectors: false })], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const ended = once(reader, 'exit');
    reader.disconnect();
    expect(await ended).toEqual([0, null]);
  });

  // A test above does so, too.
  itLong('comes for all of them when the first one is killed', async () => {
    await begin();
    const processes = [await one.process(), await other.process()];
    await kill(server);
    await allEnd(processes);
  });
});

describe('A start that fails', () => {
  withOwnServers();

  const wrong = [
    ['a number of processes that is none', { PROCESSES: 'many' }, 'PROCESSES is "many"'],
    ['a database in memory', { DATABASE_URL: 'sqlite::memory:' }, 'a database in memory'],
    ['a variable that is wrong', { PAGE_SIZE: '-1' }, 'PAGE_SIZE is "-1"'],
  ] as const;
  it.each(isLong ? wrong : wrong.slice(1, 2))(
    'because of %s ends with an error',
    async (_what, environment, message) => {
      const { ended } = launch(program, {
        folder,
        environment: { PROCESSES: '2', ...environment },
      });
      const { code, stderr } = await ended;
      expect(code).toBe(1);
      expect(stderr).toContain(message);
    },
  );

  it('because the server is a worker of another cluster ends with an error', async () => {
    const outer = join(folder, 'outer.mjs');
    writeFileSync(
      outer,
      `import cluster from 'node:cluster';
      if (cluster.isPrimary) cluster.fork().once('exit', (code) => process.exit(code));
      else await import(${JSON.stringify(pathToFileURL(program).href)}).then(() => cluster.worker.disconnect());`,
    );
    const { code, stderr } = await launch(outer, { folder, environment: { PROCESSES: '2' } }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('PROCESSES is 2, and this process is a worker of a cluster');
  });

  itLong('because the port is in use ends with an error', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { readonly port: number };
    const environment = { PROCESSES: '2', PORT: String(port) };
    const { code, stderr } = await launch(program, { folder, environment }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('EADDRINUSE');
    taken.close();
  });
});
