import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emitServer } from '../../generator/emit/emit-server.js';
import type { EmittedFile } from '../../generator/emit/file.js';
import { builtRuntime } from '../support/built-runtime.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';
import { itLong } from '../support/long.js';

const model = `
drs: 1
name: dev
dataclasses:
  Item:
    attributes: { ID: { type: integer, key: true, generated: sequence } }
    functions:
      dataclass:
        word: { returns: string, exposed: true, onHTTPGet: true }
        fail: { exposed: true, onHTTPGet: true }
`;

/** The model with many more dataclasses. */
const grown = `${model}${Array.from(
  { length: 40 },
  (_, index) => `  More${index}: { attributes: { ID: { type: integer, key: true } } }\n`,
).join('')}`;

const main = `import { serve } from '#runtime/http';
import { buildApp } from './generated/app.js';

await serve(() => {
  console.log('opens');
  process.once('exit', () => console.log('ended'));
  return buildApp();
});
`;

const classOf = (word: string): string => `import { ItemBase } from '../generated/api.js';

interface Thrown {
  readonly message: string;
}

export class Item extends ItemBase {
  word(): string {
    return '${word}';
  }

  fail(): void {
    const thrown: Thrown = { message: 'It failed.' };
    throw new Error(thrown.message);
  }
}
`;
const failingLine = 'src/classes/Item.ts:14:11';

/** `npm run dev` in a server of its own. */
class DevelopedServer {
  readonly folder: string;
  output = '';
  log = '';
  readonly #npm: ChildProcess;

  constructor(environment: Readonly<Record<string, string>>) {
    const written = { 'src/main.ts': main, 'src/classes/Item.ts': classOf('one') };
    const server = writeServer(modelOf(model), written);
    const scratch = join(packageRoot, '.tmp');
    mkdirSync(scratch, { recursive: true });
    this.folder = mkdtempSync(join(scratch, 'dev-'));
    const isCompiled = (path: string): boolean => path.startsWith(join(server, 'program'));
    cpSync(server, this.folder, {
      recursive: true,
      dereference: true,
      filter: (path) => !isCompiled(path),
    });
    this.#npm = spawn('npm', ['run', 'dev'], {
      cwd: this.folder,
      // A process group of its own, so that all of it can be ended.
      detached: true,
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        LOG_LEVEL: 'error',
        DATABASE_URL: 'sqlite:data.sqlite',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#npm.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.#npm.stderr?.on('data', (chunk: Buffer) => (this.log += chunk.toString()));
  }

  /**
   * Writes files, and repeats this if the watcher did not know them yet: it watches a file only
   * some time after loading it.
   */
  async change(files: readonly EmittedFile[]): Promise<void> {
    const before = this.#restarts;
    while (this.#restarts === before) {
      for (const { path, text } of files) {
        mkdirSync(dirname(join(this.folder, path)), { recursive: true });
        writeFileSync(join(this.folder, path), text);
      }
      for (let i = 0; i < 50 && this.#restarts === before; i += 1) await this.#pause();
    }
  }

  get #restarts(): number {
    return this.output.split('Restarting').length;
  }

  /** The answer of the last server that listens; `undefined` while there is none. */
  async get(path: string): Promise<{ readonly status: number; readonly text: string } | undefined> {
    const origin = [...this.output.matchAll(/listening on (http:\/\/[^/\s]+)/g)].at(-1)?.[1];
    if (origin === undefined) return undefined;
    try {
      const answer = await fetch(`${origin}/rest/${path}`, { headers: { connection: 'close' } });
      return { status: answer.status, text: await answer.text() };
    } catch {
      // It ends, and another one starts.
      return undefined;
    }
  }

  async untilItSays(word: string): Promise<void> {
    while (!(await this.get('Item/word'))?.text.includes(word)) await this.#pause();
  }

  /**
   * @returns the times at which its processes opened the database and at which they ended, in that
   *   order
   */
  events(): readonly string[] {
    return this.output.split('\n').filter((line) => line === 'opens' || line === 'ended');
  }

  /** Ctrl-C: a terminal sends the signal to all of them. */
  async interrupt(): Promise<void> {
    this.#tellAll('SIGINT');
    const ended = (): number => this.events().filter((event) => event === 'ended').length;
    while (ended() * 2 < this.events().length) await setTimeout(20);
  }

  remove(): void {
    this.#tellAll('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  #tellAll(signal: NodeJS.Signals): void {
    try {
      if (this.#npm.pid !== undefined) process.kill(-this.#npm.pid, signal);
    } catch {
      // All of it has ended.
    }
  }

  async #pause(): Promise<void> {
    if (this.#npm.exitCode !== null) throw new Error(`It has ended:\n${this.output}${this.log}`);
    await setTimeout(20);
  }
}

describe('npm run dev', () => {
  /** The tests change it one after the other. */
  let server: DevelopedServer;
  beforeAll(() => {
    server = new DevelopedServer({});
  });
  afterAll(() => {
    server.remove();
  });

  const changeClass = async (changed: DevelopedServer): Promise<void> => {
    await changed.untilItSays('one');
    await changed.change([{ path: 'src/classes/Item.ts', owner: 'user', text: classOf('two') }]);
    await changed.untilItSays('two');
  };

  it('restarts a server when files change, after the previous one has ended', async () => {
    await changeClass(server);
    expect(server.events()).toEqual(['opens', 'ended', 'opens']);
    expect(server.log).not.toContain('Error');
  });

  itLong(
    'restarts a server of two processes, after both of the previous one have ended',
    async () => {
      const processes = new DevelopedServer({ PROCESSES: '2' });
      try {
        await changeClass(processes);
        const events = ['opens', 'opens', 'ended', 'ended', 'opens', 'opens'];
        expect(processes.events()).toEqual(events);
        await processes.interrupt();
        expect(processes.log).not.toContain('Error');
      } finally {
        processes.remove();
      }
    },
  );

  it('serves what a run of drs-gen has written, also many files at once', async () => {
    await expect.poll(() => server.get('More39')).toMatchObject({ status: 404 });
    const input = { packageRoot, modelFileName: 'model.yaml', runtimeFolder: builtRuntime() };
    await server.change(
      emitServer(modelOf(grown), input).filter(({ owner }) => owner === 'generator'),
    );
    while ((await server.get('More39'))?.status !== 200) await setTimeout(20);
    expect(await server.get('Item/word')).toMatchObject({ status: 200 });
  });

  it('logs the lines of the TypeScript sources that threw', async () => {
    await expect.poll(() => server.get('Item/fail')).toMatchObject({ status: 500 });
    while (!server.log.includes('It failed.\\n')) await setTimeout(20);
    expect(server.log).toContain(failingLine);
  });

  it('ends with its server when Ctrl-C is pressed', async () => {
    await expect.poll(() => server.get('Item/word')).toMatchObject({ status: 200 });
    await server.interrupt();
    expect(server.events().at(-1)).toBe('ended');
  });
});
