import { join } from 'node:path';
import type { Model } from '../../../generator/model/model.js';
import { compiledServer } from '../compiled-server.js';
import { modelOf, writeServer } from '../server.js';

/**
 * Generates the server of a model and compiles it, once for all tests that want it.
 * @param written files that a user has written, by their paths in the server
 * @returns its main file
 */
export function compiledProgram(
  yaml: string | Model,
  written: Readonly<Record<string, string>> = {},
): string {
  const server = writeServer(typeof yaml === 'string' ? modelOf(yaml) : yaml, written);
  return join(compiledServer(server), 'dist/src/main.js');
}
