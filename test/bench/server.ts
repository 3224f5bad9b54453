import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { pinned } from './cores.js';

export interface ServerFiles {
  readonly name: ServerName;
  /** What Node runs. */
  readonly script: string;
  readonly database: string;
}

export type ServerName = 'generated' | 'sql-json' | 'raw-rows';

/** A server that runs as a process of its own. */
export class Server {
  private constructor(
    readonly name: ServerName,
    /** `http://127.0.0.1:<port>` */
    readonly origin: string,
    private readonly process: ChildProcess,
  ) {}

  /** Resolves when it listens. */
  static async start(files: ServerFiles, node: string, core: string | undefined): Promise<Server> {
    const [command, args] = pinned(core, node, [files.script]);
    const child = spawn(command, args, {
      env: {
        ...process.env,
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        PORT: '0',
        LOG_LEVEL: 'error',
        DATABASE_URL: `sqlite:${files.database}`,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    process.once('exit', () => child.kill('SIGKILL'));
    return new Server(files.name, await origin(files.name, child), child);
  }

  async stop(): Promise<void> {
    const ended = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    await ended;
  }

  /** Processor time used so far, in milliseconds; nothing where the system does not tell. */
  cpuMilliseconds(): number | undefined {
    try {
      const stat = readFileSync(`/proc/${String(this.process.pid)}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11]) + Number(fields[12])) * 10;
    } catch {
      return undefined;
    }
  }
}

async function origin(name: string, child: ChildProcess): Promise<string> {
  let printed = '';
  for await (const chunk of child.stdout ?? []) {
    printed += String(chunk);
    const found = /listening on (http:\/\/[^/\s]+)/.exec(printed)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error(`The server ${name} did not start. It said: ${printed}`);
}
