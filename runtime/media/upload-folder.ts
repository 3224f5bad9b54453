import { createHash } from 'node:crypto';
import { lstat, mkdtemp, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new file, open for writing. */
export interface UploadFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/**
 * A folder for the files of one server, which only its user can enter. It is created for the first
 * file and removed at the end; `TMPDIR` says where it is.
 */
export class UploadFolder {
  #made: Promise<string> | undefined;
  #files = 0;

  constructor(private readonly parent: string = tmpdir()) {}

  /** A new empty file. Its name does not reveal the ID that a client knows. */
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

const prefix = 'drs-uploads-';
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/** When this process began, which distinguishes it from a later one with the same number. */
const start = Math.floor(performance.timeOrigin);

/** Longer than an upload can live; timers of Node hold 31 bits of milliseconds. */
const longestLife = 25 * 24 * 3600 * 1000;

/**
 * The beginning of the name of a folder of this process, by which {@link removeLeftovers} finds
 * folders that nobody needs.
 */
function folderName(): string {
  return `${prefix}${host}-${process.pid}-${start}-`;
}

/** Removes the folders of servers that crashed. What cannot be removed stays. */
export async function removeLeftovers(parent: string = tmpdir()): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    if (await isLeft(path, name.slice(prefix.length)).catch(() => false)) {
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

async function isLeft(path: string, name: string): Promise<boolean> {
  const [, madeBy, pid, madeAt] = /^([0-9a-f]{8})-(\d+)-(\d+)-[^-]+$/.exec(name) ?? [];
  if (pid === undefined) return false;
  // Links, and folders of another user, do not belong to a server of this user.
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) return false;
  if (Date.now() - found.mtimeMs > longestLife) return true;
  if (madeBy !== host) return false;
  return Number(pid) === process.pid ? Number(madeAt) !== start : !isRunning(Number(pid));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
