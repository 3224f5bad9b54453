import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Model } from '../../../generator/model/model.js';
import { compiledServer } from '../../support/compiled-server.js';
import { madeOnce } from '../../support/made-once.js';
import { modelOf, writeServer } from '../../support/server.js';

/**
 * Generates the server of a model and compiles it to the few files that users run, once for all tests that want it.
 * @param written files that a user has written, by their paths in the server
 * @returns its main file
 */
export function bundledProgram(
  yaml: string | Model,
  written: Readonly<Record<string, string>> = {},
): string {
  const server = writeServer(typeof yaml === 'string' ? modelOf(yaml) : yaml, written);
  const compiled = compiledServer(server);
  const bundled = madeOnce(join(server, 'bundled'), (folder) => {
    mkdirSync(join(folder, 'dist'), { recursive: true });
    symlinkSync(join(compiled, 'src'), join(folder, 'dist/src'), 'junction');
    copyFileSync(join(server, 'package.json'), join(folder, 'package.json'));
    execFileSync(process.execPath, [join(server, 'bundle.mjs')], { cwd: folder, stdio: 'pipe' });
  });
  return join(bundled, 'dist/server/main.js');
}
