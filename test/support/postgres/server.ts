import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyPostgres, program } from './binaries.js';
import { type Runner, unprivilegedRunner } from './unprivileged.js';

const watchdog = fileURLToPath(new URL('watchdog.mjs', import.meta.url));

/**
 * No flush to disk, since tests do not simulate power loss here. Committed data survives `kill -9`
 * anyway.
 */
const settings = [
  'fsync=off',
  'full_page_writes=off',
  'max_connections=300',
  'shared_buffers=64MB',
];

/** A PostgreSQL server in a separate folder, which stops with this process. */
export class PostgresServer {
  #process: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly runner: Runner,
    private readonly password: string,
    private readonly port: number,
    private readonly mostConnections: number,
    private readonly further: readonly string[],
    private readonly watchdog: ChildProcess,
  ) {}

  /**
   * @param installed folder of PostgreSQL's programs
   * @param further settings, which win over those of the tests
   */
  static async create(
    installed: string,
    mostConnections = 300,
    further: readonly string[] = [],
  ): Promise<PostgresServer> {
    const folder = mkdtempSync(join(place(), 'drs-gen-postgres-'));
    const watching = spawn(process.execPath, [watchdog, folder], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    });
    watching.unref();
    const runner = unprivilegedRunner();
    const password = randomBytes(16).toString('hex');
    copyPostgres(installed, join(folder, 'programs'));
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    writeFileSync(join(folder, 'password'), password);
    for (const name of ['.', 'data', 'password']) give(join(folder, name), runner);
    // The collation of a language, so that tests find a comparison without `collate "C"`.
    const options = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en'];
    execFileSync(
      program(join(folder, 'programs'), 'initdb'),
      [
        ...['--pgdata', join(folder, 'data'), '--pwfile', join(folder, 'password')],
        ...['--username=postgres', '--auth=scram-sha-256', '--no-sync', ...options],
        // Each connection hashes the password so many times, and tests open many.
        ...['--set', 'scram_iterations=1'],
      ],
      { ...runner, cwd: folder, stdio: 'pipe' },
    );
    const server = new PostgresServer(
      folder,
      runner,
      password,
      await freePort(),
      mostConnections,
      further,
      watching,
    );
    await server.start();
    return server;
  }

  /** What to put into `DATABASE_URL`. */
  url(database: string): string {
    return `postgres://postgres:${this.password}@127.0.0.1:${this.port}/${database}`;
  }

  /**
   * Starts it, after {@link kill} or {@link stop} on the same data. Resolves when it accepts
   * connections.
   */
  async start(): Promise<void> {
    const all = [
      ...settings,
      `max_connections=${this.mostConnections}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...this.further,
    ];
    const started = spawn(
      program(join(this.folder, 'programs'), 'postgres'),
      [
        '-D',
        join(this.folder, 'data'),
        '-p',
        `${this.port}`,
        ...all.flatMap((each) => ['-c', each]),
      ],
      { ...this.runner, cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#process = started;
    started.unref();
    await ready(started);
  }

  /** Stops it in the fast mode: connections are closed, transactions rolled back. */
  stop(): Promise<void> {
    return this.#end('SIGINT');
  }

  /** `kill -9` of the server, which closes its connections at once. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Ends it for good. */
  async remove(): Promise<void> {
    await this.stop();
    const ended = once(this.watchdog, 'exit');
    this.watchdog.ref();
    this.watchdog.stdin?.end();
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    const running = this.#process;
    if (running?.exitCode !== null || running.signalCode !== null) return;
    // After `kill -9` its child processes keep the error stream and the data open for a moment
    // longer.
    const ended = once(running, 'close');
    running.ref();
    running.kill(signal);
    await ended;
  }
}

/**
 * The folder of the data: in memory if there is enough space, because each database has some
 * hundred files.
 */
function place(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 4e9 ? memory : tmpdir();
}

function give(path: string, { uid, gid }: Runner): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

/** Below the ephemeral ports, so that no connection uses it when the server starts again. */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(10_000, 30_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => {
        resolve(false);
      });
      server.listen(port, '127.0.0.1', () => {
        resolve(true);
      });
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error('There is no free port.');
}

function ready(started: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    started.once('error', reject);
    started.once('exit', (code) => {
      reject(new Error(`PostgreSQL has ended with ${String(code)}:\n${log}`));
    });
    started.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
      if (log.includes('ready to accept connections')) resolve();
    });
  });
}
