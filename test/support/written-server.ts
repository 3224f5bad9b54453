import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { madeOnce } from './made-once.js';

interface WrittenFile {
  /** In the server. */
  readonly path: string;
  readonly text: string;
}

const runtimeFolder = 'runtime';

/**
 * Writes the files of a server to a separate folder, once. Servers with the same runtime share it,
 * so that a test process loads it once.
 * @param scratch folder for such folders
 * @returns the folder; the same for the same files
 */
export function writeFiles(scratch: string, files: readonly WrittenFile[]): string {
  return madeOnce(join(scratch, 'servers', hashOf(files)), (folder) => {
    const runtime: WrittenFile[] = [];
    for (const file of files) {
      if (file.path.startsWith(`${runtimeFolder}/`)) runtime.push(file);
      else write(folder, file);
    }
    const shared = writeRuntime(scratch, runtime);
    symlinkSync(join(shared, runtimeFolder), join(folder, runtimeFolder), 'junction');
  });
}

function writeRuntime(scratch: string, files: readonly WrittenFile[]): string {
  return madeOnce(join(scratch, 'runtimes', hashOf(files)), (folder) => {
    for (const file of files) write(folder, file);
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
