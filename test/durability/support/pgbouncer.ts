import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unprivilegedRunner } from '../../support/postgres/unprivileged.js';

/** Whether tests can have a PgBouncer here. In CI they must. */
export const hasPgBouncer =
  spawnSync('pgbouncer', ['--version']).status === 0 || process.env['CI'] !== undefined;

/** A PgBouncer in transaction mode, which lends few connections to many clients. */
export class PgBouncer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly port: number,
  ) {}

  /** @param url of a database of the server whose connections it lends */
  static async start(
    url: string,
    connections: number,
    mode: 'transaction' | 'session' = 'transaction',
  ): Promise<PgBouncer> {
    const { hostname, port, username, password } = new URL(url);
    const folder = mkdtempSync(join(tmpdir(), 'drs-gen-pgbouncer-'));
    const own = await freePort();
    const users = join(folder, 'users.txt');
    const configuration = join(folder, 'pgbouncer.ini');
    writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`);
    writeFileSync(
      configuration,
      [
        '[databases]',
        `* = host=${hostname} port=${port}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${own}`,
        'unix_socket_dir =',
        'auth_type = scram-sha-256',
        `auth_file = ${users}`,
        `pool_mode = ${mode}`,
        `default_pool_size = ${connections}`,
        'ignore_startup_parameters = extra_float_digits,options',
        '',
      ].join('\n'),
    );
    const { uid, gid } = unprivilegedRunner();
    if (uid !== undefined && gid !== undefined) {
      for (const path of [folder, users, configuration]) chownSync(path, uid, gid);
    }
    chmodSync(folder, 0o700);
    const child = spawn('pgbouncer', [configuration], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(uid === undefined || gid === undefined ? {} : { uid, gid }),
    });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString();
        if (log.includes('process up')) resolve();
      });
      child.once('error', () => {
        reject(new Error('There is no PgBouncer: apt-get install pgbouncer.'));
      });
      child.once('exit', () => {
        reject(new Error(`PgBouncer has ended:\n${log}`));
      });
    });
    return new PgBouncer(child, folder, own);
  }

  /** The URL of the same database through the pooler. */
  url(url: string): string {
    const own = new URL(url);
    own.port = String(this.port);
    return own.href;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGQUIT');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
