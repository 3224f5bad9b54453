import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { EmittedFile } from './file.js';

/** The runtime as source, as every server carries it. */
export function runtimeFiles(runtimeFolder: string): EmittedFile[] {
  return readdirSync(runtimeFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const path = relative(runtimeFolder, file).split(sep).join('/');
      return { path: `src/runtime/${path}`, owner: 'generator', text: readFileSync(file, 'utf8') };
    });
}
