import { dirname, resolve } from 'node:path';
import type { CheckedModel } from '../check/check-model.js';
import { isSystemError, textOf, UsageError } from './failure.js';
import type { World } from './world.js';

/** Reads and checks a model file; a file that cannot be read is an error of the command line. */
export async function readModel(world: World, file: string): Promise<CheckedModel> {
  const path = resolve(world.cwd, file);
  const text = readNamed(world, file, path);
  return world.compiler.check({
    file,
    text,
    readBeside: (relative) => readNear(world, resolve(dirname(path), relative)),
  });
}

function readNamed(world: World, file: string, path: string): Uint8Array {
  try {
    return world.readFile(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const hint = /^[a-z]+$/.test(file) ? ', and no command has that name' : '';
    throw new UsageError(`Cannot read ${file}: ${reasonOf(error)}${hint}.`);
  }
}

/**
 * A model can name anything; what cannot be read counts as absent, and the checks report it with
 * its place.
 */
function readNear(world: World, path: string): Uint8Array | undefined {
  try {
    return world.isFile(path) ? world.readFile(path) : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(error: Error): string {
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    ENOTDIR: 'there is no such file',
    EISDIR: 'it is a folder',
    EACCES: 'permission denied',
  };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return reasons[code] ?? textOf(error);
}
