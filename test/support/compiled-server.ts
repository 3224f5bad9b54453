import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { madeOnce } from './made-once.js';

const runtimeFolder = 'src/runtime';

/**
 * Compiles a server that `writeServer` has written, once for all tests that want it; what it shares with others is compiled
 * once for them. Types are not looked at.
 * @returns the folder of its JavaScript
 */
export function compiledServer(server: string): string {
  return madeOnce(join(server, 'program'), (folder) => {
    const runtime = join(realpathSync(join(server, runtimeFolder)), '../..');
    const shared = madeOnce(join(runtime, 'program'), (staging) => {
      compile(runtime, staging, runtimeFolder);
      cpSync(join(server, 'package.json'), join(staging, 'package.json'));
    });
    compile(server, folder, 'src', 'test');
    cpSync(join(server, 'package.json'), join(folder, 'package.json'));
    symlinkSync(join(shared, runtimeFolder), join(folder, runtimeFolder), 'junction');
  });
}

/**
 * Imports a module of a server that `writeServer` has written, as JavaScript.
 * @param path in the server, without an extension
 */
export async function importFrom(server: string, path: string): Promise<object> {
  const { href } = pathToFileURL(join(compiledServer(server), `${path}.js`));
  return (await import(/* @vite-ignore */ href)) as object;
}

function compile(from: string, to: string, ...folders: readonly string[]): void {
  const files = folders.flatMap((folder) =>
    readdirSync(join(from, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  mkdirSync(to, { recursive: true });
  buildSync({
    entryPoints: files,
    outbase: from,
    outdir: to,
    tsconfigRaw: {},
    target: 'es2023',
    logLevel: 'silent',
  });
}
