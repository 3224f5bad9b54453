import { basename, join, posix, resolve } from 'node:path';
import type { CheckedModel } from '../check/check-model.js';
import type { Model } from '../model/model.js';
import { modelLockPath } from '../output/paths.js';
import { UsageError } from './failure.js';
import { readModel } from './read-model.js';
import type { World } from './world.js';

/** One side of a comparison: a model, or the file that has errors. */
export interface Side {
  readonly model: Model | undefined;
  /** The checked model of a model file; absent for the model of an earlier run, which has no problems and no places. */
  readonly checked?: CheckedModel;
}

/**
 * Reads one side of `drs-gen diff`: a model file, a server's folder, or `<revision>:<path>` of Git.
 * @throws UsageError if it is none of them, or cannot be read
 */
export async function readSide(world: World, named: string): Promise<Side> {
  const path = resolve(world.cwd, named);
  if (world.isFile(path)) {
    return isLock(named)
      ? readLock(world, named, world.readFile(path))
      : checkedSide(readModel(world, named));
  }
  if (world.isFile(join(path, modelLockPath))) {
    const lock = join(named, modelLockPath);
    return readLock(world, lock, world.readFile(join(path, modelLockPath)));
  }
  if ((await world.host.disk.kind(path)) !== undefined) {
    throw new UsageError(
      `${named} is no server that drs-gen has generated: it holds no ${modelLockPath}. Name a model file, the folder of a server, or <revision>:<path> of git.`,
    );
  }
  const [, revision, inside] = /^([^:]*):(.+)$/s.exec(named) ?? [];
  const isDrive = /^[A-Za-z]:[\\/]/.test(named);
  if (revision === undefined || inside === undefined || isDrive || named.startsWith('-')) {
    throw new UsageError(
      `Cannot read ${named}: there is no such file or folder. A model of an earlier revision is named as git does: HEAD~3:model.yaml.`,
    );
  }
  return readRevision(world, revision, inside);
}

async function checkedSide(reading: Promise<CheckedModel>): Promise<Side> {
  const checked = await reading;
  return { model: checked.value, checked };
}

function isLock(path: string): boolean {
  return basename(path) === basename(modelLockPath);
}

async function readLock(world: World, file: string, bytes: Uint8Array): Promise<Side> {
  const parsed = await world.compiler.parse(new TextDecoder().decode(bytes));
  if ('model' in parsed) return { model: parsed.model };
  throw new UsageError(`Cannot read ${file}: ${parsed.problem}.`);
}

/** A path begins at the root of the repository, unless it begins with `./`, as in git. */
async function readRevision(world: World, revision: string, path: string): Promise<Side> {
  const type = git(world, ['cat-file', '-t', `${revision}:${path}`]);
  const isTree = new TextDecoder().decode(type).trim() === 'tree';
  const inside = isTree ? `${path.replace(/\/+$/, '')}/${modelLockPath}` : path;
  const file = `${revision}:${inside}`;
  const text = git(world, ['cat-file', 'blob', file]);
  if (isLock(inside)) return readLock(world, file, text);
  const folder = inside.slice(0, inside.lastIndexOf('/') + 1);
  return checkedSide(
    world.compiler.check({
      file,
      text,
      readBeside: (relative) => {
        const beside = `${revision}:${folder}${posix.normalize(relative)}`;
        const found = world.git(['cat-file', 'blob', beside]);
        return found?.code === 0 ? found.stdout : undefined;
      },
    }),
  );
}

function git(world: World, args: readonly string[]): Uint8Array {
  const found = world.git(args);
  const named = args.at(-1) ?? '';
  if (found === undefined) throw new UsageError(`Cannot read ${named}: git is not installed.`);
  if (found.code === 0) return found.stdout;
  const reason = (found.stderr.trim().split('\n')[0] ?? '').replace(/^fatal: |\.$/g, '');
  throw new UsageError(`Cannot read ${named} from git: ${reason}.`);
}
