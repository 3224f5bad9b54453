import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Model } from '../../../generator/model/model.js';
import { compiledServer } from '../../support/compiled-server.js';
import { madeOnce } from '../../support/made-once.js';
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
  return join(compiledServer(server), 'src/main.js');
}

/** As {@link compiledProgram}, in the few files that `npm run build` of a server makes: what users run. */
export function bundledProgram(
  yaml: string | Model,
  written: Readonly<Record<string, string>> = {},
): string {
  const server = writeServer(typeof yaml === 'string' ? modelOf(yaml) : yaml, written);
  const bundled = madeOnce(join(server, 'bundled'), (folder) => {
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    const options = ['-p', server, '--outDir', join(folder, 'dist')];
    execFileSync(process.execPath, [tsc, ...options], { stdio: 'pipe' });
    copyFileSync(join(server, 'package.json'), join(folder, 'package.json'));
    execFileSync(process.execPath, [join(server, 'bundle.mjs')], { cwd: folder, stdio: 'pipe' });
  });
  return join(bundled, 'dist/server/main.js');
}
