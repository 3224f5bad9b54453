import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, statSync, existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nodeDisk } from '../output/node-disk.js';
import { lazyCompiler } from './compiler.js';
import type { GitAnswer, Program, RunningProgram, Stream, World } from './world.js';
import { dirname, join } from 'node:path';

// The only file that touches the process, except for the start in `main.ts`.

function onInterrupt(listener: (signal: 'SIGINT' | 'SIGTERM') => void): () => void {
  process.on('SIGINT', listener);
  process.on('SIGTERM', listener);
  return () => {
    process.off('SIGINT', listener);
    process.off('SIGTERM', listener);
  };
}

function streamOf(stream: NodeJS.WriteStream): Stream {
  // A reader such as `head` may close the stream early.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    write: (text) => {
      stream.write(text);
    },
    isTTY: stream.isTTY,
    columns: stream.isTTY ? stream.columns : undefined,
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** A model is some megabytes at most. */
const maxOutput = 256 * 1024 * 1024;

function git(args: readonly string[]): GitAnswer | undefined {
  const { error, status, stdout, stderr } = spawnSync('git', args, {
    maxBuffer: maxOutput,
    // Its messages are shown, and parsed by tests.
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return undefined;
  if (error !== undefined) throw error;
  return { code: status ?? 1, stdout, stderr: stderr.toString() };
}

const isWindows = process.platform === 'win32';

/** A server has 20 seconds to stop. */
const longestStop = 25_000;

/**
 * The program leads a process group of its own, so that what it has started ends with it: npm, for
 * instance, does not pass on every signal. Its output comes through pipes, which are closed when the
 * last of them has ended.
 */
function start({ command, args, folder, environment }: Program): RunningProgram {
  const child = spawn(command === 'node' ? process.execPath : command, args, {
    cwd: folder,
    detached: !isWindows,
    // On Windows, npm is a script.
    shell: isWindows && command !== 'node',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment, ...(process.stderr.isTTY ? { FORCE_COLOR: '1' } : {}) },
  });
  child.stdout.pipe(process.stdout, { end: false });
  child.stderr.pipe(process.stderr, { end: false });
  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    if (isWindows) spawnSync('taskkill', ['/pid', String(child.pid), '/t', '/f']);
    else {
      try {
        process.kill(-child.pid, signal);
      } catch {
        // All of them have ended.
      }
    }
  };
  const killAtExit = (): void => {
    kill('SIGTERM');
  };
  // The terminal was closed.
  const hangUp = (): void => {
    process.exit(129);
  };
  process.once('exit', killAtExit);
  process.once('SIGHUP', hangUp);
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  return {
    ended: new Promise((resolve) => {
      const over = (code: number | undefined): void => {
        isOver = true;
        clearTimeout(timer);
        process.off('exit', killAtExit);
        process.off('SIGHUP', hangUp);
        resolve(code);
      };
      child.once('error', ({ message }) => {
        process.stderr.write(`${command} cannot be run: ${message}\n`);
        over(127);
      });
      child.once('close', (code) => {
        over(code ?? undefined);
      });
    }),
    stop: () => {
      if (isOver) return;
      kill(timer === undefined ? 'SIGTERM' : 'SIGKILL');
      timer ??= setTimeout(kill, longestStop, 'SIGKILL');
    },
  };
}

/** The machine, as this process sees it. */
export const processWorld: World = {
  cwd: process.cwd(),
  env: process.env,
  stdout: streamOf(process.stdout),
  stderr: streamOf(process.stderr),
  host: {
    disk: nodeDisk,
    pid: process.pid,
    isAlive,
    pause: async (milliseconds) => {
      await pause(milliseconds);
    },
  },
  onInterrupt,
  readFile: (path) => readFileSync(path),
  isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
  git,
  start,
  package: findPackage(fileURLToPath(import.meta.url)),
  compiler: lazyCompiler,
};

/**
 * Finds the folder of this package, above one of its files: compiled sources are one level deeper
 * than written ones.
 */
function findPackage(file: string): { root: string; version: string } {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path)) {
      const content: unknown = JSON.parse(readFileSync(path, 'utf8'));
      if (isOurs(content)) return { root: folder, version: content.version };
    }
    if (dirname(folder) === folder) throw new Error(`${file} is in no folder of drs-gen.`);
  }
}

function isOurs(content: unknown): content is { readonly version: string } {
  return (
    typeof content === 'object' &&
    content !== null &&
    'name' in content &&
    content.name === 'drs-gen' &&
    'version' in content &&
    typeof content.version === 'string'
  );
}
