import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  keepFresh,
  makeStateFolder,
  removeStateFolder,
  stateFilesIn,
  uploadsIn,
} from './state-folder.js';

/** The folder of what the processes of a server share, as the first one keeps it. */
export class KeptState {
  #folder: string;
  /** What the folder must hold. */
  #files: readonly string[] = [];
  #stopKeepingFresh: () => void;

  /** @throws Error when the folder cannot be made */
  constructor() {
    this.#folder = makeStateFolder();
    this.#stopKeepingFresh = keepFresh(this.#folder);
  }

  get folder(): string {
    return this.#folder;
  }

  /** To be called when a process listens: its state is there. */
  noteFiles(): void {
    this.#files = stateFilesIn(this.#folder);
  }

  /** Whether somebody has removed some of it: a process that starts would share nothing with those that run. */
  get isLost(): boolean {
    const { folder } = this;
    const whole = [uploadsIn(folder), ...this.#files.map((name) => join(folder, name))];
    return !whole.every((path) => existsSync(path));
  }

  /**
   * Goes on with an empty one in another folder.
   * @throws Error when that cannot be made
   */
  renew(): void {
    const before = this.#folder;
    this.#folder = makeStateFolder();
    this.#files = [];
    this.#stopKeepingFresh();
    this.#stopKeepingFresh = keepFresh(this.#folder);
    removeStateFolder(before);
  }

  stopKeepingFresh(): void {
    this.#stopKeepingFresh();
  }

  remove(): void {
    removeStateFolder(this.#folder);
  }
}
