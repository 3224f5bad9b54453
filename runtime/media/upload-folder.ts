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

/** Creates the files of uploads. */
export interface UploadFiles {
  /** A new empty file. Its name does not reveal the ID that a client knows. */
  create(): Promise<UploadFile>;
  /** Removes everything that only this process knows. */
  remove(): Promise<void>;
}

/**
 * A folder for the files of one server, which only its user can enter. It is created for the first
 * file and removed at the end; `TMPDIR` says where it is.
 */
export class UploadFolder implements UploadFiles {
  #made: Promise<string> | undefined;
  #files = 0;

  constructor(private readonly parent: string = tmpdir()) {}

  async create(): Promise<UploadFile> {
    try {
      return await this.#open();
    } catch (error) {
      // Some systems delete old folders.
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

/** The files that one process creates for uploads; a complete one belongs to all processes. */
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

  /** They are removed with the folder. */
  async remove(): Promise<void> {
    return Promise.resolve();
  }
}
