#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nodeDisk } from '../output/node-disk.js';
import { lazyCompiler } from './compiler.js';
import { findPackage } from './package-root.js';
import { run } from './run.js';
import type { GitAnswer, Stream } from './world.js';

// The only file that touches the process.

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

process.exitCode = await run(process.argv.slice(2), {
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
  package: findPackage(fileURLToPath(import.meta.url)),
  compiler: lazyCompiler,
});
