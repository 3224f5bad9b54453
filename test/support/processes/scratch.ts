import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { packageRoot } from '../server.js';
import { compiledProgram } from './program.js';
import {
  kill,
  type Launched,
  launch,
  type LaunchOptions,
  type ServerProcess,
} from './server-process.js';

/** The folder of one test, and the servers that run in it. */
export class Scratch {
  readonly folder: string;
  readonly #launched: Launched[] = [];

  constructor(readonly program: string) {
    mkdirSync(join(packageRoot, '.tmp'), { recursive: true });
    this.folder = mkdtempSync(join(packageRoot, '.tmp', 'durability-'));
    // Some servers run as another user.
    chmodSync(this.folder, 0o755);
  }

  get file(): string {
    return join(this.folder, 'data.sqlite');
  }

  launch(options: Omit<LaunchOptions, 'folder'> = {}): Launched {
    const launched = launch(this.program, { folder: this.folder, ...options });
    this.#launched.push(launched);
    return launched;
  }

  async start(options: Omit<LaunchOptions, 'folder'> = {}): Promise<ServerProcess> {
    const launched = this.launch(options);
    return { ...launched, origin: await launched.listening };
  }

  async remove(): Promise<void> {
    for (const launched of this.#launched) await kill(launched);
    chmodSync(this.folder, 0o755);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * A folder for each test of a file, for servers of one model.
 * @returns the folder of the test that runs
 */
export function scratchOfEach(yaml: string): () => Scratch {
  let program: string;
  let scratch: Scratch;
  beforeAll(() => {
    program = compiledProgram(yaml);
  });
  beforeEach(() => {
    scratch = new Scratch(program);
  });
  afterEach(async () => {
    await scratch.remove();
  });
  return () => scratch;
}
