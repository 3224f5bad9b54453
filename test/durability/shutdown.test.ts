import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../support/server.js';
import { durabilityModel } from './support/model.js';
import { compiledProgram } from '../support/processes/program.js';
import { kill, launch, type Launched } from '../support/processes/server-process.js';
import { isLong, itLong } from '../support/long.js';

let program: string;
let folder: string;
let server: Launched;
let origin: string;

beforeAll(() => {
  program = compiledProgram(durabilityModel);
});

beforeEach(() => {
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'shutdown-'));
});
afterEach(async () => {
  await kill(server);
  rmSync(folder, { recursive: true, force: true });
});

async function begin(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  server = launch(program, { folder, environment });
  origin = await server.listening;
}

/** The ordinary run tries one number of processes. */
function numbersOfProcesses(usual: 1 | 2): readonly Readonly<Record<string, string>>[] {
  return [{}, { PROCESSES: '2' }].filter((_, index) => isLong || index === usual - 1);
}

describe('SIGTERM', () => {
  it.each(isLong ? [1, 2, 3] : [1])(
    'lets the server answer every change that it makes (round %i)',
    async () => {
      await begin();
      const acknowledged: number[] = [];
      const agent = new Agent({ keepAlive: true });
      const clients = Array.from({ length: 12 }, async (_, client) => {
        for (let count = 0; ; count += 1) {
          const value = client * 1_000_000 + count;
          // Half of the clients keep their connections.
          const answer = await post(client % 2 === 0 ? agent : undefined, value);
          if (answer === undefined) return;
          expect(answer).toMatchObject({ status: 200, body: { value } });
          acknowledged.push(value);
        }
      });
      while (acknowledged.length < 100) await setTimeout(5);
      server.child.kill('SIGTERM');
      await Promise.all(clients);
      expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
      const database = new Database(join(folder, 'data.sqlite'), { readonly: true });
      const stored = database
        .prepare('select "value" from "Counter" order by "value"')
        .pluck()
        .all();
      database.close();
      expect(stored).toEqual(acknowledged.sort((a, b) => a - b));
    },
  );

  itLong('makes the server wait at most 10 seconds for a client, and end with 0', async () => {
    await begin();
    const socket = await halfRequest();
    const start = performance.now();
    server.child.kill('SIGTERM');
    // After 20 seconds it would end with 1.
    expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
    expect(performance.now() - start).toBeGreaterThan(9_000);
    socket.destroy();
  });

  it.each(numbersOfProcesses(1))(
    'makes the answers of running requests announce that their connections close (%o)',
    async (environment) => {
      await begin(environment);
      const socket = await halfRequest();
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      server.child.kill('SIGTERM');
      await untilItStops();
      socket.write(`"owner":"x"${' '.repeat(87)}}`);
      await closed;
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(text).toMatch(/\r\nconnection: close\r\n/i);
      expect(text).not.toMatch(/keep-alive/i);
      expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
    },
  );

  it.each(numbersOfProcesses(2))(
    'ends the server as one signal does when SIGINT arrives at the same time (%o)',
    async (environment) => {
      await begin(environment);
      const socket = await halfRequest();
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      // The system merges two signals of one kind that arrive at the same time.
      server.child.kill('SIGINT');
      server.child.kill('SIGTERM');
      await untilItStops();
      socket.write(`"owner":"x"${' '.repeat(87)}}`);
      await closed;
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
    },
  );

  it('lets the server answer changes that wait behind others of their connection, and announce the close in the last answer', async () => {
    await begin();
    const database = new Database(join(folder, 'data.sqlite'));
    database.exec('begin immediate');
    const body = '{"owner":"x"}';
    const head = `POST /rest/Counter?$method=update HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}`;
    const socket = await sending(`${head}\r\n\r\n${body}`.repeat(2));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    server.child.kill('SIGTERM');
    await untilItStops();
    expect(text).toBe('');
    database.exec('commit');
    database.close();
    await closed;
    const [, ...answers] = text.split('HTTP/1.1 200 OK');
    expect(answers.map((each) => /\r\nconnection: ([\w-]+)/i.exec(each)?.[1])).toEqual([
      'keep-alive',
      'close',
    ]);
  });

  it.each([
    ['SIGINT', 130] as const,
    // The test of STOP_DELAY sends it twice, too.
    ...(isLong ? [['SIGTERM', 143] as const] : []),
  ])('ends the server at once when %s follows', async (signal, code) => {
    await begin();
    const socket = await halfRequest();
    server.child.kill('SIGTERM');
    await untilItStops();
    expect(server.child.exitCode).toBe(null);
    // Immediately after the first one it would count as the same signal.
    const again = setInterval(() => server.child.kill(signal), 50);
    await server.ended;
    clearInterval(again);
    expect(await server.ended).toEqual({ code, signal: null, stderr: '' });
    socket.destroy();
  });

  it.each(numbersOfProcesses(2))(
    'makes a server with STOP_DELAY not ready, and lets it answer all other requests (%o)',
    async (environment) => {
      // The second signal ends the delay.
      await begin({ ...environment, STOP_DELAY: '3600' });
      const statusOf = async (path: string): Promise<number> =>
        (await fetch(`${origin}${path}`, { headers: { connection: 'close' } })).status;
      expect(await statusOf('/health/ready')).toBe(200);
      server.child.kill('SIGTERM');
      await expect.poll(() => statusOf('/health/ready'), { timeout: 30_000 }).toBe(503);
      for (const path of ['/health', '/health/live', '/rest/Counter']) {
        expect(await statusOf(path), path).toBe(200);
      }
      const again = setInterval(() => server.child.kill('SIGTERM'), 50);
      expect(await server.ended).toEqual({ code: 143, signal: null, stderr: '' });
      clearInterval(again);
    },
  );

  it('ends a server with STOP_DELAY with 0 after the delay', async () => {
    await begin({ STOP_DELAY: '1' });
    const start = performance.now();
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
    expect(performance.now() - start).toBeGreaterThan(900);
  });

  it('finds no server with a wrong STOP_DELAY', async () => {
    server = launch(program, { folder, environment: { STOP_DELAY: 'soon' } });
    expect(await server.ended).toEqual({
      code: 1,
      signal: null,
      stderr: 'STOP_DELAY is "soon"; it must be a whole number of seconds from 0 to 3600.\n',
    });
  });
});

/** A request whose body is never completed. */
function halfRequest(): Promise<Socket> {
  return sending(
    'POST /rest/Counter?$method=update HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{',
  );
}

function connected(): Socket {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  socket.on('error', () => undefined);
  return socket;
}

/** A connection whose text has arrived when this returns. */
async function sending(text: string): Promise<Socket> {
  const socket = connected();
  await new Promise<void>((resolve) => {
    socket.write(text, () => {
      resolve();
    });
  });
  await fetch(`${origin}/health`, { headers: { connection: 'close' } });
  return socket;
}

/** Resolves when the server has noticed the signal and accepts no more connections. */
async function untilItStops(): Promise<void> {
  for (;;) {
    const socket = connected();
    const code = await new Promise<string | undefined>((resolve) => {
      socket.once('connect', () => {
        resolve(undefined);
      });
      socket.once('error', (error: NodeJS.ErrnoException) => {
        resolve(error.code);
      });
    });
    socket.destroy();
    if (code === 'ECONNREFUSED') return;
    await setTimeout(10);
  }
}

/** Creates a counter; `undefined` if the server accepts no more requests. */
function post(
  agent: Agent | undefined,
  value: number,
): Promise<{ readonly status: number | undefined; readonly body: unknown } | undefined> {
  const body = JSON.stringify({ owner: 'x', value });
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/rest/Counter?$method=update`, { method: 'POST', agent });
    sent.on('error', () => {
      resolve(undefined);
    });
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode, body: JSON.parse(text) as unknown });
      });
    });
    sent.end(body);
  });
}
