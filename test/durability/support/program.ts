import { execFileSync } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
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
  const compiled = join(server, 'program');
  const main = join(compiled, 'src/main.js');
  if (existsSync(main)) return main;
  // Tests run side by side: the folder appears whole or not at all.
  const staging = join(server, `program-${process.pid}`);
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', server, '--outDir', staging], { stdio: 'pipe' });
  try {
    renameSync(staging, compiled);
  } catch (error) {
    rmSync(staging, { recursive: true });
    if (!existsSync(main)) throw error;
  }
  return main;
}
