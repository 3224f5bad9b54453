import { classNames } from '../emit/classes/class-names.js';
import { type ClassFiles, type UserClass, userClasses } from '../emit/classes/user-classes.js';
import type { Model } from '../model/model.js';
import { renamesBetween } from '../evolution/renames.js';
import type { UserEdit, UserFolder } from '../output/user-edits.js';
import { type ChangedNames, changedNames } from './changed-names.js';
import type { FoundClasses } from './class-files.js';
import type { StubInput, StubPlan } from './plan-stubs.js';
import { StubProblems } from './problems.js';
import { freePath } from './free-path.js';
import { jobFile } from '../emit/classes/job-files.js';
import type { RenamePlan } from './rename-classes.js';
import type { FilesAtOnce } from './user-program.js';

/** The model, and that of the last run. */
interface Models {
  readonly model: Model;
  readonly older: Model | undefined;
}

export interface ReviewInput extends Models, Pick<StubInput, 'read' | 'shown' | 'modelPlace'> {
  /** What {@link findClasses} has found. */
  readonly classFiles: ClassFiles;
}

export interface RenameInput extends Models, Pick<StubInput, 'shown'> {
  readonly users: UserFolder;
  readonly files: FilesAtOnce;
}

/**
 * Applies names that the model changed since the last run to the users' classes.
 *
 * Like {@link findClasses}, it loads the TypeScript compiler only when a name has changed.
 */
export async function renameClasses({
  model,
  older,
  users,
  ...input
}: RenameInput): Promise<RenamePlan> {
  const names = older === undefined ? undefined : changesSince(older, model);
  if (older === undefined || names === undefined) {
    const none = { problems: [], sources: new Map<string, string>() };
    return { edits: [], ...none, before: none };
  }
  const previous = userClasses(older, classNames(older));
  const folders = await Promise.all(['src', 'test'].map((folder) => usersFiles(users, folder)));
  const { renameInClasses } = await import('./rename-classes.js');
  return renameInClasses({ names, previous, users, paths: folders.flat(), ...input });
}

/** The names that have changed since the last run; `undefined` if there are none. */
function changesSince(older: Model, model: Model): ChangedNames | undefined {
  const renames = renamesBetween(older, model);
  const isNone = Object.values(renames).every((each: readonly unknown[]) => each.length === 0);
  return isNone ? undefined : changedNames(older, model, renames);
}

export interface FindInput extends Models, Pick<StubInput, 'shown'> {
  readonly users: UserFolder;
}

/**
 * The users' classes that are no longer in the files of their stubs.
 *
 * Like {@link reviewClasses}, it loads the TypeScript compiler only when there is a class to look
 * at.
 */
export async function findClasses({
  model,
  older,
  users,
  shown,
}: FindInput): Promise<FoundClasses> {
  const classes = userClasses(model, classNames(model));
  const previous = previousClasses({ model, older }, new Map());
  const wanted = new Set(classes.map(({ name }) => name));
  const unused = previous.filter(({ name }) => !wanted.has(name));
  const stubs = new Set([...classes, ...unused].map(({ path }) => path));
  const others = (await usersFiles(users, 'src')).filter((path) => !stubs.has(path));
  if (stubs.size === 0 || others.length === 0)
    return { files: new Map(), problems: [], sources: new Map() };
  const { classFiles } = await import('./class-files.js');
  return classFiles({ classes, unused, others, read: users.read, shown });
}

/**
 * Compares the users' classes with the model. It loads {@link file://./plan-stubs.ts}, and with it
 * the TypeScript compiler, only when there is a class to look at.
 */
export async function reviewClasses({
  model,
  older,
  classFiles,
  ...input
}: ReviewInput): Promise<StubPlan> {
  const classes = userClasses(model, classNames(model), classFiles);
  const previous = previousClasses({ model, older }, classFiles);
  const jobs = await unusedJobs({ model, older, ...input });
  for (const { path } of [...classes, ...previous]) {
    const { kind } = await input.read(path);
    if (kind === 'absent') continue;
    const { planStubs } = await import('./plan-stubs.js');
    const { edits, problems, sources } = await planStubs({ ...input, classes, previous });
    return {
      edits: [...edits, ...jobs.edits],
      problems: [...problems, ...jobs.problems],
      sources: new Map([...sources, ...jobs.sources]),
    };
  }
  return jobs;
}

/** Moves aside the code of jobs that the model no longer declares, which would not compile. */
async function unusedJobs({
  model,
  older,
  read,
  shown,
}: Omit<ReviewInput, 'classFiles'>): Promise<StubPlan> {
  const problems = new StubProblems(shown);
  const edits: UserEdit[] = [];
  const sources = new Map<string, string>();
  const wanted = new Set(model.jobs?.map(({ name }) => name));
  for (const job of older?.jobs ?? []) {
    const path = jobFile(job);
    const found = wanted.has(job.name) ? undefined : await read(path);
    if (found?.kind !== 'file') continue;
    const aside = await freePath(read, `${path}.unused`);
    const message = `The model no longer declares the job ${job.name}: its file is moved to ${shown(aside)}, which is not compiled.`;
    edits.push({ from: path, path: aside, before: found.text, text: found.text });
    sources.set(shown(path), found.text);
    problems.add('stub/unused-job', message, { path, start: 0, end: 0 });
  }
  return { edits, problems: problems.all, sources };
}

/** The classes of the model of the last run, by their present names. */
function previousClasses({ model, older }: Models, classFiles: ClassFiles): readonly UserClass[] {
  if (older === undefined) return [];
  const names = changesSince(older, model);
  try {
    return userClasses(older, classNames(older)).map(({ name, base, path, members }) => {
      const now = names?.types.get(name) ?? name;
      const newMembers = names?.members.get(base);
      return {
        name: now,
        base: names?.types.get(base) ?? base,
        path: classFiles.get(now) ?? (now === name ? path : `src/classes/${now}.ts`),
        members: members.map((each) => ({
          ...each,
          name: newMembers?.get(each.name) ?? each.name,
        })),
      };
    });
  } catch {
    // The file belongs to drs-gen, and may be of another version. Without it only the report about
    // removed members is missing.
    return [];
  }
}

const emittedFolder = 'src/generated';

/** TypeScript files below a folder, except those that every run writes. */
async function usersFiles({ list, owns }: UserFolder, folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const { path, kind } of await list(next)) {
      if (kind === 'folder' && path !== emittedFolder) folders.push(path);
      if (kind === 'file' && path.endsWith('.ts') && !path.endsWith('.d.ts') && !owns(path)) {
        found.push(path);
      }
    }
  }
  return found.sort((a, b) => Number(a > b) - Number(a < b));
}
