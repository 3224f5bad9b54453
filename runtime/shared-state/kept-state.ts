import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  keepFresh,
  makeStateFolder,
  removeStateFolder,
  stateFilesIn,
  uploadsIn,
} from './state-folder.js';

/** The folder that the processes of a server share, as the first process maintains it. */
export class KeptState {
  #folder: string;
  /** The files that must be in the folder. */
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

  /** Call it when a process listens: its files exist then. */
  noteFiles(): void {
    this.#files = stateFilesIn(this.#folder);
  }

  /**
   * Whether somebody has removed a file: a new process would share nothing with the running ones.
   */
  get isLost(): boolean {
    const { folder } = this;
    const whole = [uploadsIn(folder), ...this.#files.map((name) => join(folder, name))];
    return !whole.every((path) => existsSync(path));
  }

  /**
   * Continues with an empty state in another folder.
   * @throws Error if the folder cannot be created
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
