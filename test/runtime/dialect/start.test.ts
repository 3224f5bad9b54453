import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compiledServer } from '../../support/compiled-server.js';
import { isLong } from '../../support/long.js';
import { modelFile } from '../../support/model-file.js';
import { packageRoot, writeServer } from '../../support/server.js';

/** The start contract of an emitted server, kept by the compiled program in a process of its own. */
let program: string;
let folder: string;

beforeAll(() => {
  program = join(compiledServer(writeServer(modelFile('staff'))), 'dist/src/main.js');
});

beforeEach(() => {
  mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(packageRoot, '.tmp', 'start-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Running {
  readonly child: ChildProcess;
  readonly url: URL;
  readonly output: () => string;
  /** Exit code, and everything that was printed. */
  readonly ended: Promise<Ended>;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(
  environment: Readonly<Record<string, string>>,
  file = program,
): {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<Ended>;
} {
  const child = spawn(process.execPath, [file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], LOG_LEVEL: 'silent', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => {
      resolve({ code, stdout, stderr });
    });
  });
  return { child, output: () => stdout, ended };
}

/** Starts the server and waits for its line. */
async function start(environment: Readonly<Record<string, string>> = {}): Promise<Running> {
  const launched = launch({ PORT: '0', ...environment });
  await new Promise<void>((resolve, reject) => {
    launched.child.stdout?.on('data', () => {
      if (launched.output().includes('\n')) resolve();
    });
    void launched.ended.then(({ stderr }) => {
      reject(new Error(`The server has ended: ${stderr}`));
    });
  });
  const address = /http:\S+/.exec(launched.output())?.[0];
  return { ...launched, url: new URL(String(address)) };
}

async function create(url: URL, name: string): Promise<unknown> {
  const body = JSON.stringify({ name });
  const response = await fetch(`${url.href}/Company?$method=update`, { method: 'POST', body });
  return response.json();
}

async function stop({ child, ended }: Running): Promise<Ended> {
  child.kill('SIGTERM');
  return ended;
}

describe('A start', () => {
  it('prints one line with its address, and SIGTERM ends it with 0', async () => {
    const running = await start();
    expect(running.output()).toBe(`listening on ${running.url.href}\n`);
    expect(running.url.hostname).toBe('127.0.0.1');
    expect(running.url.pathname).toBe('/rest');
    const health = await fetch(new URL('/health', running.url));
    expect(await health.json()).toEqual({ ok: true });
    const { code, stdout, stderr } = await stop(running);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`listening on ${running.url.href}\n`);
  });

  it('finds the data of the previous start in data.sqlite', async () => {
    const first = await start();
    expect(await create(first.url, 'kept')).toMatchObject({ __KEY: '1' });
    expect((await stop(first)).code).toBe(0);
    expect(existsSync(join(folder, 'data.sqlite'))).toBe(true);
    const second = await start();
    const found = await fetch(`${second.url.href}/Company(1)`);
    expect(await found.json()).toMatchObject({ name: 'kept' });
    expect(await create(second.url, 'next')).toMatchObject({ __KEY: '2' });
    const count = await fetch(`${second.url.href}/Company?$top=0`);
    expect(await count.json()).toMatchObject({ __COUNT: 2, __GlobalStamp: 2 });
    expect((await stop(second)).code).toBe(0);
  });

  it('listens on another host if HOST says so', async () => {
    const running = await start({ HOST: '::1', DATABASE_URL: 'sqlite::memory:' }).catch(() => null);
    // A machine without IPv6 cannot show it.
    if (running === null) return;
    expect(running.url.host).toContain('[::1]');
    expect((await stop(running)).code).toBe(0);
  });

  it('is ended by SIGTERM after the running request, without accepting another one', async () => {
    const running = await start();
    const body = '{"name":"late"}';
    const socket = connect(Number(running.url.port), '127.0.0.1');
    const answer = new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('close', () => {
        resolve(text);
      });
    });
    const head = `POST /rest/Company?$method=update HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
    await new Promise<void>((resolve) => {
      socket.write(head + body.slice(0, 5), () => {
        resolve();
      });
    });
    // An answer to a later request proves that the first one has arrived.
    await fetch(new URL('/health', running.url), { headers: { connection: 'close' } });
    running.child.kill('SIGTERM');
    await refused(Number(running.url.port));
    socket.write(body.slice(5));
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*"name":"late"/s);
    expect((await running.ended).code).toBe(0);
    const database = new Database(join(folder, 'data.sqlite'), { readonly: true });
    expect(database.prepare('select "name" from "Company"').pluck().all()).toEqual(['late']);
    database.close();
  });
});

/** Waits until nobody listens on the port. */
async function refused(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => {
        resolve(false);
      });
    });
    if (!isOpen) return;
  }
}

async function expectFailure(
  environment: Readonly<Record<string, string>>,
  message: RegExp,
): Promise<void> {
  const { code, stdout, stderr } = await launch({ PORT: '0', ...environment }).ended;
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(message);
  // A message for the operator, without a stack.
  expect(stderr).not.toMatch(/^\s+at /m);
}

const limits = ['PAGE_SIZE', 'MAX_PAGE_SIZE', 'BODY_SIZE', 'FILTER_LENGTH', 'BATCH_SIZE'];

describe('A start that fails prints the reason to stderr and ends with 1:', () => {
  it.each(isLong ? ['-1', '65536', 'http', '80.5', '0x50', '1e3'] : ['0x50'])(
    'PORT=%s',
    async (PORT) => {
      await expectFailure({ PORT }, new RegExp(`^PORT is ${JSON.stringify(PORT)}`));
      expect(existsSync(join(folder, 'data.sqlite'))).toBe(false);
    },
  );

  it.each(isLong ? ['postgres://localhost/x', 'data.sqlite', 'sqlite:'] : ['data.sqlite'])(
    'DATABASE_URL=%s',
    async (url) => {
      await expectFailure({ DATABASE_URL: url }, /^DATABASE_URL is "/);
    },
  );

  it.each(isLong ? limits : limits.slice(0, 1))('%s=none', async (name) => {
    await expectFailure({ [name]: 'none' }, new RegExp(`^${name} is "none"`));
  });

  it('a folder as the database', async () => {
    await expectFailure({ DATABASE_URL: `sqlite:${folder}` }, /^Cannot open the database/);
  });

  it('a database of another model', async () => {
    const database = new Database(join(folder, 'data.sqlite'));
    database.exec('CREATE TABLE "Company" (x); CREATE TABLE "Employee" (x)');
    database.close();
    await expectFailure({}, /does not match the model[^]*Company[^]*Employee/);
  });

  it('a model with vectors without the package that compares them', async () => {
    // A place where no parent folder has packages.
    const elsewhere = mkdtempSync(join(tmpdir(), 'drs-start-'));
    try {
      cpSync(join(program, '../../..'), elsewhere, { recursive: true, dereference: true });
      mkdirSync(join(elsewhere, 'node_modules'));
      for (const name of [
        '@fastify',
        'better-sqlite3',
        'fastify',
        'fastify-plugin',
        'kysely',
        'pino',
      ]) {
        symlinkSync(join(packageRoot, 'node_modules', name), join(elsewhere, 'node_modules', name));
      }
      const { ended } = launch({}, join(elsewhere, 'dist/src/main.js'));
      const { code, stdout, stderr } = await ended;
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^The model has vectors.*sqlite-vec.*npm install sqlite-vec\n/);
      expect(existsSync(join(folder, 'data.sqlite'))).toBe(false);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });

  it('a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    await expectFailure({ PORT: String(port) }, /EADDRINUSE/);
    other.close();
  });
});
