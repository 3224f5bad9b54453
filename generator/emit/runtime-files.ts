import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { Database } from '../model/model.js';
import type { EmittedFile } from './file.js';

/** Where each kind of database has its part of the runtime. */
const databaseFolders: Readonly<Record<Database, string>> = {
  sqlite: 'dialect/sqlite/',
  postgres: 'dialect/postgres/',
};

/** The runtime as source, as every server carries it, with the parts for its databases. */
export function runtimeFiles(runtimeFolder: string, databases: readonly Database[]): EmittedFile[] {
  const others = Object.entries(databaseFolders)
    .filter(([database]) => !databases.some((each) => each === database))
    .map(([, folder]) => folder);
  return readdirSync(runtimeFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return { file, path: relative(runtimeFolder, file).split(sep).join('/') };
    })
    .filter(({ path }) => !others.some((folder) => path.startsWith(folder)))
    .map(({ file, path }) => ({
      path: `src/runtime/${path}`,
      owner: 'generator',
      text: readFileSync(file, 'utf8'),
    }));
}
