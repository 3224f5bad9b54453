import { type ChildProcess, spawn } from 'node:child_process';

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

export interface ServerProcess {
  readonly child: ChildProcess;
  /** The origin of a server that listens: `http://127.0.0.1:<port>`. */
  readonly origin: string;
  readonly ended: Promise<Ended>;
  /** The log so far. */
  readonly stderr: () => string;
  /** The output so far. */
  readonly stdout: () => string;
}

export interface LaunchOptions {
  /** The current folder, where `data.sqlite` is. */
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** A command that gets the command of the server as arguments. */
  readonly wrapper?: readonly string[];
  readonly uid?: number;
}

export interface Launched extends Omit<ServerProcess, 'origin'> {
  /** Its address, once it listens; throws when it ends before. */
  readonly listening: Promise<string>;
}

/** Starts a compiled server in a process of its own, on a port that the system chooses. */
export function launch(program: string, options: LaunchOptions): Launched {
  const line: readonly string[] = [...(options.wrapper ?? []), process.execPath, program];
  const [command = '', ...rest] = line;
  const child = spawn(command, rest, {
    cwd: options.folder,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      LOG_LEVEL: 'error',
      // A server of a test does not refuse requests because the machine is busy.
      MAX_WAIT: '600000',
      TMPDIR: options.folder,
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  let printed = '';
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal, stderr });
    });
  });
  const listening = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      const origin = /listening on (http:\/\/[^/\s]+)/.exec(printed)?.[1];
      if (origin !== undefined) resolve(origin);
    });
    void ended.then(({ code, signal }) => {
      reject(new Error(`The server has ended (${code ?? signal}): ${stderr}`));
    });
  });
  // A test that kills it before it listens does not need its address.
  listening.catch(() => undefined);
  return { child, listening, ended, stderr: () => stderr, stdout: () => printed };
}

export async function start(program: string, options: LaunchOptions): Promise<ServerProcess> {
  const launched = launch(program, options);
  return { ...launched, origin: await launched.listening };
}

export async function kill({ child, ended }: Pick<Launched, 'child' | 'ended'>): Promise<Ended> {
  child.kill('SIGKILL');
  return ended;
}
