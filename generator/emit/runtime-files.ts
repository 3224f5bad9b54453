import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasVectors } from '../model/columns.js';
import type { Model } from '../model/model.js';
import {
  hasClassCode,
  hasExposedFunctions,
  hasMedia,
  limitsSessions,
} from './classes/class-code.js';
import type { EmittedFile } from './file.js';

/**
 * Which servers have a file of the runtime, by its name up to the first dot; all servers have files
 * that are not listed.
 */
const needed: Readonly<Record<string, (model: Model, migrations: readonly string[]) => boolean>> = {
  access: ({ roles }) => roles !== undefined,
  class: hasClassCode,
  functions: hasExposedFunctions,
  media: hasMedia,
  migrations: (_model, migrations) => migrations.length > 0,
  permissions: limitsSessions,
  postgres: ({ databases }) => databases.includes('postgres'),
  'reader-process': ({ databases }) => databases.includes('sqlite'),
  sqlite: ({ databases }) => databases.includes('sqlite'),
  testing: ({ roles }) => roles !== undefined,
  vectors: hasVectors,
};

/**
 * The compiled runtime, with the parts that the model needs.
 * @throws Error if it does not exist
 */
export function runtimeFiles(
  runtimeFolder: string,
  model: Model,
  migrations: readonly string[] = [],
): EmittedFile[] {
  return readdirSync(runtimeFolder)
    .filter((name) => needed[name.replace(/\..*$/s, '')]?.(model, migrations) !== false)
    .map((name) => ({
      path: `runtime/${name}`,
      owner: 'generator',
      text: readFileSync(join(runtimeFolder, name), 'utf8'),
    }));
}
