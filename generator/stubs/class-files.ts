import type { ts } from 'ts-morph';
import type { ClassFiles, UserClass } from '../emit/classes/user-classes.js';
import type { Diagnostic } from '../source/diagnostic.js';
import { lineStarts, positionAt } from '../source/position.js';
import { extendsBase } from './class-members.js';
import { exportedClass, type FoundClass, UnreadableClassError } from './find-class.js';
import type { StubInput } from './plan-stubs.js';
import { placeOf, StubProblems } from './problems.js';
import { type UserFile, UserFiles } from './user-files.js';

export interface FoundClasses {
  readonly files: ClassFiles;
  readonly problems: readonly Diagnostic[];
  /** Texts of the files in problems, by their names there. */
  readonly sources: ReadonlyMap<string, string>;
}

interface Search extends Pick<StubInput, 'read' | 'shown'> {
  readonly classes: readonly UserClass[];
  /** Classes that the model no longer needs. */
  readonly unused: readonly UserClass[];
  /** The user's files in addition to those where stubs are written. */
  readonly others: readonly string[];
}

/** A class, and the files that export it. */
interface Holder {
  readonly found: FoundClass;
  readonly exporters: readonly UserFile[];
}

/**
 * Finds classes that are not where their stubs are written. A class is identified by its name and
 * by the emitted class that it extends; a file that re-exports it counts as the same place. A class
 * in two places is a problem.
 */
export async function classFiles(search: Search): Promise<FoundClasses> {
  const files = new UserFiles(search.read);
  const problems = new StubProblems(search.shown);
  const sources = new Map<string, string>();
  const moved = new Map<string, string>();
  const opened = await Promise.all(search.others.map((path) => files.open(path)));
  const others = opened.filter((each) => each !== undefined);
  for (const userClass of [...search.classes, ...search.unused]) {
    const mentioning = others.filter(({ text }) => text.includes(userClass.name));
    if (mentioning.length === 0) continue;
    const stub = await files.open(userClass.path);
    const holders = await holdersOf(files, userClass, stub, mentioning);
    const [first, second] = holders;
    if (first !== undefined && second !== undefined && search.classes.includes(userClass)) {
      for (const { file } of [first.found, second.found])
        sources.set(search.shown(file.path), file.text);
      problems.add(
        'stub/two-classes',
        ambiguous(search, userClass, first),
        placeOf(second.found.file.path, second.found.node),
      );
    }
    const path =
      first === undefined ? unreadable(userClass, stub, mentioning) : placeIn(first, stub);
    if (path !== undefined && path !== userClass.path) moved.set(userClass.name, path);
  }
  return { files: moved, problems: problems.all, sources };
}

/** The candidates for the class, the one that the stub's file exports first. */
async function holdersOf(
  files: UserFiles,
  { name, base }: UserClass,
  stub: UserFile | undefined,
  mentioning: readonly UserFile[],
): Promise<readonly Holder[]> {
  const holders = new Map<ts.Node, Holder>();
  for (const file of stub === undefined ? mentioning : [stub, ...mentioning]) {
    const found = await exported(files, file, name);
    if (found === undefined) continue;
    if (file !== stub && !(await extendsBase(files, found, base))) continue;
    const exporters = holders.get(found.node)?.exporters ?? [];
    holders.set(found.node, { found, exporters: [...exporters, file] });
  }
  return [...holders.values()];
}

/** A file that is no TypeScript has no visible exports. */
async function exported(
  files: UserFiles,
  file: UserFile,
  name: string,
): Promise<FoundClass | undefined> {
  try {
    return await exportedClass(files, file, name);
  } catch (error) {
    if (error instanceof UnreadableClassError) return undefined;
    throw error;
  }
}

/**
 * The stub's file while it exports the class, else the file that contains the class, else one that
 * re-exports it.
 */
function placeIn({ found, exporters }: Holder, stub: UserFile | undefined): string | undefined {
  if (stub !== undefined && exporters.includes(stub)) return stub.path;
  if (exporters.includes(found.file)) return found.file.path;
  return exporters[0]?.path;
}

/**
 * The class may be in a file that is not TypeScript: then that file is reported, and no stub is
 * written.
 */
function unreadable(
  { base }: UserClass,
  stub: UserFile | undefined,
  mentioning: readonly UserFile[],
): string | undefined {
  if (stub !== undefined) return undefined;
  return mentioning.find(
    ({ text, syntaxError }) => syntaxError !== undefined && text.includes(base),
  )?.path;
}

function ambiguous({ shown }: Search, { name, base }: UserClass, first: Holder): string {
  const { file, node } = first.found;
  const { line, column } = positionAt(lineStarts(file.text), placeOf(file.path, node).start);
  return `The class ${name}, which extends ${base}, is declared here and at ${shown(file.path)}:${String(line)}:${String(column)}. Delete or rename one of them.`;
}
