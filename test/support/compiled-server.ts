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
 * Imports a module of a server that `writeServer` has written, as JavaScript, or a JSON file.
 * @param path in the server, without an extension unless it is `.json`
 */
export async function importFrom(server: string, path: string): Promise<object> {
  const place = path.startsWith('runtime/') ? path : `dist/${path}`;
  if (path.endsWith('.json')) {
    const text = readFileSync(join(compiledServer(server), place), 'utf8');
    return { default: JSON.parse(text) as object };
  }
  const { href } = pathToFileURL(join(compiledServer(server), `${place}.js`));
  return (await import(/* @vite-ignore */ href)) as object;
}

function compile(from: string, to: string, ...folders: readonly string[]): void {
  const files = folders.flatMap((folder) =>
    readdirSync(join(from, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:ts|json)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const file of files) {
    const compiled = join(to, relative(from, file).replace(/\.ts$/, '.js'));
    mkdirSync(dirname(compiled), { recursive: true });
    if (file.endsWith('.json')) {
      cpSync(file, compiled);
      continue;
    }
    // In this process: a compiler of its own takes longer to start than it compiles.
    const { code, errors } = transformSync(file, readFileSync(file, 'utf8'), {
      lang: 'ts',
      target: 'es2023',
      tsconfig: false,
    });
    if (errors.length > 0) throw new Error(`${file}: ${errors.map(String).join('\n')}`);
    writeFileSync(compiled, code);
  }
}
