import { classNames } from '../emit/classes/class-names.js';
import { type ClassFiles, type UserClass, userClasses } from '../emit/classes/user-classes.js';
import type { Model } from '../model/model.js';
import type { ReadUserText, UserFolder } from '../output/user-edits.js';
import { modelLockPath } from '../output/paths.js';
import type { FoundClasses } from './class-files.js';
import type { StubInput, StubPlan } from './plan-stubs.js';

export interface ReviewInput extends Pick<StubInput, 'read' | 'shown' | 'modelPlace'> {
  readonly model: Model;
  /** What {@link findClasses} has found. */
  readonly classFiles: ClassFiles;
}

export interface FindInput extends Pick<StubInput, 'shown'> {
  readonly model: Model;
  readonly users: UserFolder;
}

/**
 * The users' classes that were moved away from where their stubs were written.
 *
 * Like {@link reviewClasses}, it loads the TypeScript compiler only when there is a class to look at.
 */
export async function findClasses({ model, users, shown }: FindInput): Promise<FoundClasses> {
  const classes = userClasses(model, classNames(model));
  const previous = await previousClasses(users.read, new Map());
  const wanted = new Set(classes.map(({ name }) => name));
  const unused = previous.filter(({ name }) => !wanted.has(name));
  const stubs = new Set([...classes, ...unused].map(({ path }) => path));
  const others = (await usersFiles(users, 'src')).filter((path) => !stubs.has(path));
  if (stubs.size === 0 || others.length === 0)
    return { files: new Map(), problems: [], sources: new Map() };
  const { classFiles } = await import('./class-files.js');
  return classFiles({ classes, unused, others, read: users.read, shown });
}

/** As {@link file://./plan-stubs.ts}, which brings the TypeScript compiler: it is loaded when there is a class to look at. */
export async function reviewClasses({
  model,
  classFiles,
  ...input
}: ReviewInput): Promise<StubPlan> {
  const classes = userClasses(model, classNames(model), classFiles);
  const previous = await previousClasses(input.read, classFiles);
  for (const { path } of [...classes, ...previous]) {
    const { kind } = await input.read(path);
    if (kind === 'absent') continue;
    const { planStubs } = await import('./plan-stubs.js');
    return planStubs({ ...input, classes, previous });
  }
  return { edits: [], problems: [], sources: new Map() };
}

/** The classes that the model asked for when the server was generated last. */
async function previousClasses(
  read: ReadUserText,
  classFiles: ClassFiles,
): Promise<readonly UserClass[]> {
  const lock = await read(modelLockPath);
  if (lock.kind !== 'file') return [];
  try {
    const model = JSON.parse(lock.text) as Model;
    return userClasses(model, classNames(model), classFiles);
  } catch {
    // It is ours, and may be of another version; without it nothing is lost but the hint about what was removed.
    return [];
  }
}

const emittedFolder = 'src/generated';

/** TypeScript files below a folder, but for those that every run writes. */
async function usersFiles({ list }: UserFolder, folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const { path, kind } of await list(next)) {
      if (kind === 'folder' && path !== emittedFolder) folders.push(path);
      if (kind === 'file' && path.endsWith('.ts') && !path.endsWith('.d.ts')) found.push(path);
    }
  }
  return found.sort((a, b) => Number(a > b) - Number(a < b));
}
