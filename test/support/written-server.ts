import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { madeOnce } from './made-once.js';

interface WrittenFile {
  /** In the server. */
  readonly path: string;
  readonly text: string;
}

/**
 * A folder for `emitServer` with the files of a runtime, each of which holds its path only: to read
 * and hash the four megabytes of a runtime for each server takes longer than anything else.
 * {@link writeFiles} puts the file in the place of its path.
 */
export function runtimePaths(runtime: string): string {
  return madeOnce(`${runtime}-paths`, (folder) => {
    for (const entry of readdirSync(runtime, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      write(folder, { path: relative(runtime, file), text: file });
    }
  });
}

/**
 * Writes the files of a server to a separate folder, once. All servers link to the same runtime, so
 * that a test process loads it once.
 * @param scratch folder for such folders
 * @param files those of the runtime hold paths, see {@link runtimePaths}
 * @returns the folder; the same for the same files
 */
export function writeFiles(scratch: string, files: readonly WrittenFile[]): string {
  return madeOnce(join(scratch, 'servers', hashOf(files)), (folder) => {
    for (const file of files) {
      if (/^runtime\/.*\.(?:js|ts|map|html|css)$/.test(file.path)) link(folder, file);
      else write(folder, file);
    }
  });
}

function hashOf(files: readonly WrittenFile[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file.path).update('\0').update(file.text).update('\0');
  return hash.digest('hex').slice(0, 24);
}

function write(folder: string, { path, text }: WrittenFile): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function link(folder: string, { path, text: target }: WrittenFile): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  // Windows lets only administrators link to files.
  if (process.platform === 'win32') linkSync(target, file);
  else symlinkSync(target, file);
}
