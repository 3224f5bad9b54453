import type { Host } from '../output/host.js';
import type { Compiler } from './compiler.js';

/** Everything that the command line sees of the machine. */
export interface World {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The output of data. */
  readonly stdout: Stream;
  /** The output of messages. */
  readonly stderr: Stream;
  readonly host: Omit<Host, 'signal' | 'warn'>;
  /**
   * Calls back instead of dying when the user interrupts the program, until the returned function
   * is called.
   */
  onInterrupt(listener: (signal: 'SIGINT' | 'SIGTERM') => void): () => void;
  /** Reads a file synchronously; throws the system's errors. */
  readFile(path: string): Uint8Array;
  /** Whether a path leads to a regular file. */
  isFile(path: string): boolean;
  /** Runs git in the current folder; `undefined` if git is not installed. */
  git(args: readonly string[]): GitAnswer | undefined;
  /** Starts a program; what it prints is printed as it comes. */
  start(program: Program): RunningProgram;
  /** This package. */
  readonly package: { readonly root: string; readonly version: string };
  readonly compiler: Compiler;
}

export interface Program {
  /** `node` is the Node that runs drs-gen. */
  readonly command: string;
  readonly args: readonly string[];
  /** The folder that it runs in. */
  readonly folder: string;
  /** Variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface RunningProgram {
  /**
   * Resolves when the program and all that it has started have ended: to its exit code, or to none
   * if a signal ended it.
   */
  readonly ended: Promise<number | undefined>;
  /** Tells the program and all that it has started to end; a second call ends them at once. */
  stop(): void;
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

export interface Stream {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Width of the terminal. */
  readonly columns?: number | undefined;
}
