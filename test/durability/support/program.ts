import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Model } from '../../../generator/model/model.js';
import { modelOf, writeServer } from '../../support/server.js';

/**
 * Generates and compiles the server of a model, once for all tests that want it.
 * @param written files that a user has written, by their paths in the server
 * @returns its main file
 */
export function compiledProgram(
  yaml: string | Model,
  written: Readonly<Record<string, string>> = {},
): string {
  const server = writeServer(typeof yaml === 'string' ? modelOf(yaml) : yaml, written);
  return madeOnce(server, 'program', 'src/main.js', (folder) => {
    compile(server, folder);
  });
}

/** As {@link compiledProgram}, in the few files that `npm run build` of a server makes: what users run. */
export function bundledProgram(
  yaml: string | Model,
  written: Readonly<Record<string, string>> = {},
): string {
  const server = writeServer(typeof yaml === 'string' ? modelOf(yaml) : yaml, written);
  return madeOnce(server, 'bundled', 'dist/server/main.js', (folder) => {
    compile(server, join(folder, 'dist'));
    copyFileSync(join(server, 'package.json'), join(folder, 'package.json'));
    execFileSync(process.execPath, [join(server, 'bundle.mjs')], { cwd: folder, stdio: 'pipe' });
  });
}

function compile(server: string, folder: string): void {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', server, '--outDir', folder], { stdio: 'pipe' });
}

/** @returns the path of the main file in a folder of the server */
function madeOnce(
  server: string,
  name: string,
  mainFile: string,
  make: (folder: string) => void,
): string {
  const made = join(server, name);
  const main = join(made, mainFile);
  if (existsSync(main)) return main;
  // Tests run side by side: the folder appears whole or not at all.
  const staging = `${made}-${process.pid}`;
  make(staging);
  try {
    renameSync(staging, made);
  } catch (error) {
    rmSync(staging, { recursive: true });
    if (!existsSync(main)) throw error;
  }
  return main;
}
