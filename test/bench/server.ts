import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { pinned } from './cores.js';
import { cpuMilliseconds, residentMegabytes, threadTimes } from './process-tree.js';

/** The program of a server, and its database. */
export interface ServerFiles {
  readonly name: string;
  readonly script: string;
  readonly args?: readonly string[];
  /** A file of SQLite, or the URL of another database. */
  readonly database: string;
  /** The working directory; by default that of this process. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The binary, options and cores with which a server runs. */
export interface Place {
  /** The binary of Node. */
  readonly node?: string;
  /** Options of Node. */
  readonly options?: readonly string[];
  /** As `taskset -c` takes them; processes that the server starts run there, too. */
  readonly cores?: string | undefined;
}

/** A server in a separate process. */
export class Server {
  private constructor(
    readonly name: string,
    /** `http://127.0.0.1:<port>` */
    readonly origin: string,
    private readonly child: ChildProcess,
  ) {}

  /**
   * Resolves when it listens on a free port.
   * @throws Error with its output if it does not listen
   */
  static async start(files: ServerFiles, place: Place = {}): Promise<Server> {
    const { node = process.execPath, options = [], cores } = place;
    const script = [...options, files.script, ...(files.args ?? [])];
    const [command, args] = pinned(cores, node, script);
    const { database } = files;
    const child = spawn(command, args, {
      cwd: files.folder,
      env: {
        ...process.env,
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        PORT: '0',
        LOG_LEVEL: 'error',
        DATABASE_URL: database.includes('://') ? database : `sqlite:${database}`,
        ...files.env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    return new Server(files.name, await origin(files.name, child), child);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }

  /**
   * Processor time so far, including child processes, in milliseconds; `undefined` if the system
   * does not report it.
   */
  cpuMilliseconds(): number | undefined {
    return cpuMilliseconds(this.pid);
  }

  /** Processor time so far by thread: exact for short times, but only of live threads and processes. */
  threadTimes(): ReadonlyMap<string, number> | undefined {
    return threadTimes(this.pid);
  }

  /**
   * Present memory of the server and its child processes; `undefined` if the system does not report
   * it.
   */
  residentMegabytes(): number | undefined {
    return residentMegabytes(this.pid);
  }
}

async function origin(name: string, child: ChildProcess): Promise<string> {
  let printed = '';
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    printed += String(chunk);
    const found = /listening on (?:\{ url: ')?(http:\/\/[^/\s']+)/.exec(printed)?.[1];
    if (found === undefined) continue;
    // Later output must not fill the pipe.
    child.stdout?.resume();
    return found.replace('localhost', '127.0.0.1');
  }
  throw new Error(`The server ${name} did not start. It said: ${printed}`);
}
