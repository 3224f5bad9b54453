import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'rolldown/utils';
import { madeOnce } from './made-once.js';

/**
 * Compiles a server that `writeServer` has written, once for all tests that want it. Types are not
 * checked.
 * @returns a folder as that of the server is on a user's machine: `dist/` beside `runtime/` and
 *   `package.json`
 */
export function compiledServer(server: string): string {
  return madeOnce(join(server, 'program'), (folder) => {
    compile(server, join(folder, 'dist'), 'src', 'test');
    cpSync(join(server, 'package.json'), join(folder, 'package.json'));
    symlinkSync(realpathSync(join(server, 'runtime')), join(folder, 'runtime'), 'junction');
  });
}

/**
 * Imports a module of a server that `writeServer` has written, as JavaScript.
 * @param path in the server, without an extension
 */
export async function importFrom(server: string, path: string): Promise<object> {
  const place = path.startsWith('runtime/') ? path : `dist/${path}`;
  const { href } = pathToFileURL(join(compiledServer(server), `${place}.js`));
  return (await import(/* @vite-ignore */ href)) as object;
}

function compile(from: string, to: string, ...folders: readonly string[]): void {
  const files = folders.flatMap((folder) =>
    readdirSync(join(from, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const file of files) {
    // In this process: a compiler of its own takes longer to start than it compiles.
    const { code, errors } = transformSync(file, readFileSync(file, 'utf8'), {
      lang: 'ts',
      target: 'es2023',
      tsconfig: false,
    });
    if (errors.length > 0) throw new Error(`${file}: ${errors.map(String).join('\n')}`);
    const compiled = join(to, relative(from, file).replace(/\.ts$/, '.js'));
    mkdirSync(dirname(compiled), { recursive: true });
    writeFileSync(compiled, code);
  }
}
