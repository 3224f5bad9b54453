import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderName } from './leftovers.js';

/**
 * A folder that the processes of one server share: sessions and sets in a database, uploads in
 * files. Only the server's user can enter it, and it is removed at the end; `TMPDIR` says where it
 * is.
 * @returns its path
 */
export function makeStateFolder(parent: string = tmpdir()): string {
  const folder = mkdtempSync(join(parent, folderName()));
  mkdirSync(uploadsIn(folder), { mode: 0o700 });
  return folder;
}

/** Some systems delete old files, and other servers the folders of processes that no longer run. */
const freshMilliseconds = 3_600_000;

/**
 * @param interval milliseconds
 * @returns what ends it
 */
export function keepFresh(folder: string, interval = freshMilliseconds): () => void {
  const timer = setInterval(() => {
    try {
      const now = new Date();
      for (const name of ['.', ...readdirSync(folder)]) utimesSync(join(folder, name), now, now);
    } catch {
      // Somebody has removed it, or a file that was about to go; the start of a process checks for
      // the files that matter.
    }
  }, interval).unref();
  return () => {
    clearInterval(timer);
  };
}

/** The names of the files that hold the state of all processes; none if there is no folder. */
export function stateFilesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).filter(isStateFile) : [];
}

export function removeStateFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param app the number of apps that the process created before this one: each has a state of its
 * own
 */
export function stateFile(folder: string, app: number): string {
  return join(folder, `state-${app}.sqlite`);
}

/** @param name of a file in the folder */
export function isStateFile(name: string): boolean {
  return /^state-\d+\.sqlite$/.test(name);
}

export function generationsFile(folder: string, app: number): string {
  return join(folder, `generations-${app}`);
}

/** Removes the files of uploads that a process was receiving when it ended. */
export function removeReceived(
  folder: string,
  process: number,
  isKept: (path: string) => boolean,
): void {
  const uploads = uploadsIn(folder);
  for (const name of readdirSync(uploads)) {
    const path = join(uploads, name);
    if (name.startsWith(`${process}-`) && !isKept(path)) rmSync(path, { force: true });
  }
}

export function uploadsIn(folder: string): string {
  return join(folder, 'uploads');
}
