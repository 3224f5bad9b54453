import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './server.js';

/** The class code and the scripts of an example, by their paths in its server. */
export function exampleFiles(name: string): Readonly<Record<string, string>> {
  const server = join(packageRoot, 'examples', name, 'server');
  const folders = ['src/classes', 'src/scripts'].filter((each) => existsSync(join(server, each)));
  const paths = folders.flatMap((folder) =>
    readdirSync(join(server, folder)).map((file) => `${folder}/${file}`),
  );
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(server, path), 'utf8')]));
}
