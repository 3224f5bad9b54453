import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../server.js';
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

  constructor(private readonly program: string) {
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
