import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Model } from '../../generator/model/model.js';
import { modelOf, packageRoot } from './server.js';

/** The model of a file of `test/support/models`. */
export function modelFile(name: string): Model {
  return modelOf(modelFileText(name));
}

export function modelFileText(name: string): string {
  return readFileSync(join(packageRoot, 'test/support/models', `${name}.yaml`), 'utf8');
}
