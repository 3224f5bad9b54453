import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Model } from '../../generator/model/model.js';
import { modelOf, packageRoot } from './server.js';

/** The model of a file of `test/support/models`. */
export function modelFile(name: string): Model {
  const path = join(packageRoot, 'test/support/models', `${name}.yaml`);
  return modelOf(readFileSync(path, 'utf8'));
}
