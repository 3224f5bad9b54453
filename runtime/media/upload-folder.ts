import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderName } from '../shared-state/leftovers.js';
import { uploadsIn } from '../shared-state/state-folder.js';

/** A new file, open for writing. */
export interface UploadFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/** Where the files of uploads are made. */
export interface UploadFiles {
  /** A new empty file. Its name tells nothing of what a client knows it by. */
  create(): Promise<UploadFile>;
  /** Removes all that this process is the only one to know. */
  remove(): Promise<void>;
}

/**
 * A folder for the files of one server, which its user alone can enter. It is made for the first file and removed at the end;
 * `TMPDIR` says where.
 */
export class UploadFolder implements UploadFiles {
  #made: Promise<string> | undefined;
  #files = 0;

  constructor(private readonly parent: string = tmpdir()) {}

  async create(): Promise<UploadFile> {
    try {
      return await this.#open();
    } catch (error) {
      // Some systems clear old folders away.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      this.#made = undefined;
      return this.#open();
    }
  }

  async remove(): Promise<void> {
    const made = this.#made;
    this.#made = undefined;
    if (made !== undefined) await rm(await made, { recursive: true, force: true });
  }

  async #open(): Promise<UploadFile> {
    this.#made ??= mkdtemp(join(this.parent, folderName()));
    const made = this.#made;
    let folder: string;
    try {
      folder = await made;
    } catch (error) {
      if (this.#made === made) this.#made = undefined;
      throw error;
    }
    this.#files += 1;
    const path = join(folder, String(this.#files));
    return { path, handle: await open(path, 'wx', 0o600) };
  }
}

/** The files that one process makes for uploads; each belongs to all of them when it has come. */
export class SharedUploadFiles implements UploadFiles {
  #files = 0;

  constructor(
    private readonly folder: string,
    private readonly process: number,
  ) {}

  async create(): Promise<UploadFile> {
    this.#files += 1;
    const path = join(uploadsIn(this.folder), `${this.process}-${this.#files}`);
    return { path, handle: await open(path, 'wx', 0o600) };
  }

  /** They go with the folder. */
  async remove(): Promise<void> {
    return Promise.resolve();
  }
}
