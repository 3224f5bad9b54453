import { posix } from 'node:path';
import type { ts } from 'ts-morph';
import type { UserClass } from '../emit/classes/user-classes.js';
import type { UserEdit, UserFolder } from '../output/user-edits.js';
import type { ChangedNames } from './changed-names.js';
import { classFiles } from './class-files.js';
import { extendsBase } from './class-members.js';
import { exportedClass, type FoundClass, UnreadableClassError } from './find-class.js';
import { type Replacement, withReplacements } from './insertions.js';
import { apiPath } from './names-in-file.js';
import type { StubCode } from './messages.js';
import type { StubInput, StubPlan } from './plan-stubs.js';
import { StubProblems } from './problems.js';
import { type FileUses, usesIn } from './rename-uses.js';
import { parse, type UserFile, UserFiles } from './user-files.js';
import { type FilesAtOnce, userProgram } from './user-program.js';

interface RenameRequest extends Pick<StubInput, 'shown'> {
  readonly names: ChangedNames;
  /** The classes of the model before the change. */
  readonly previous: readonly UserClass[];
  readonly users: UserFolder;
  /** The user's TypeScript files. */
  readonly paths: readonly string[];
  readonly files: FilesAtOnce;
}

export interface RenamePlan extends StubPlan {
  /** Findings at their positions before the change, for a run that writes nothing. */
  readonly before: Pick<StubPlan, 'problems' | 'sources'>;
}

/** A class of the user under its name before the change. */
interface OldClass {
  readonly name: string;
  readonly found: FoundClass;
}

/**
 * Renames in class code and reports uncertain places. Class code that is not TypeScript is an error, because a
 * second stub would be written for its classes.
 */
export async function renameInClasses(request: RenameRequest): Promise<RenamePlan> {
  const { names, users, shown } = request;
  const files = new UserFiles(users.read);
  const opened = await Promise.all(request.paths.map((path) => files.open(path)));
  const all = opened.filter((each) => each !== undefined);
  const notes = new Notes(shown);
  const classes = await oldClasses(request, { files, all, notes });
  const oldNames = namesBefore(names);
  const concerned = all.filter((file) => oldNames.some((each) => file.text.includes(each)));
  for (const file of concerned) {
    if (file.syntaxError === undefined || notes.isOf(file)) continue;
    const { message } = file.syntaxError;
    const text = `${shown(file.path)} is not TypeScript (${message}), so names that the model changed are not looked for here.`;
    notes.syntaxError('stub/not-searched', text, file);
  }
  const sound = concerned.filter(({ syntaxError }) => syntaxError === undefined);
  if (sound.length === 0) return { edits: [], ...notes.after, before: notes.before };

  const moves = await movedFiles(names, classes, users);
  const holders = new Set(classes.map(({ found }) => found.file.path));
  const uses = searched(request, sound, classes, moves);
  const edits: UserEdit[] = [];
  if (uses.size > 0 && !hasTypes(request)) {
    const text = `${shown(apiPath)} is missing, so the types of the server are unknown. drs-gen renames classes, imports and members of classes, and lists other uses for you to change.`;
    notes.add('stub/no-types', text, { path: apiPath, start: 0, end: 0 });
  }
  for (const [file, { replacements, doubts, taken }] of uses) {
    const isOurs = file.path.startsWith('src/classes/') || holders.has(file.path);
    const path = moves.get(file.path) ?? file.path;
    const done = isOurs ? replacements : [];
    const text = replaced(file, done);
    if (text !== file.text || path !== file.path) {
      const from = path === file.path ? {} : { from: file.path };
      edits.push({ path, before: file.text, text, ...from });
    }
    const tell = (code: StubCode, message: string, { start, end }: Stretch): void => {
      notes.move(file, { path, text });
      const [first, last] = [shifted(start, done), shifted(end, done)];
      const at = { path: file.path, start, end };
      notes.add(code, message, at, { path, start: first, end: last });
    };
    for (const { word, ...at } of taken) {
      const now = names.types.get(word) ?? word;
      const message = `The class ${word} is ${now} now, and this file calls something else ${now}. Rename that, then run drs-gen again.`;
      tell('stub/not-renamed', message, at);
    }
    for (const { word, ...at } of doubts) {
      const meanings = names.words.get(word) ?? [`${word}, which has another name now`];
      tell('stub/old-name', `This may mean ${meanings.join(', or ')}.`, at);
    }
    for (const each of isOurs ? [] : replacements) {
      const before = file.text.slice(each.start, each.end);
      const message = `The model renames ${before}: write ${each.text}. Code outside of src/classes is not changed.`;
      tell('stub/renamed-outside', message, each);
    }
  }
  return { edits, ...notes.after, before: notes.before };
}

interface Stretch {
  readonly start: number;
  readonly end: number;
}

type Place = Stretch & { readonly path: string };

/** Collects findings with positions before and after the change. */
class Notes {
  readonly #before: StubProblems;
  readonly #after: StubProblems;
  readonly #textsBefore = new Map<string, string>();
  readonly #textsAfter = new Map<string, string>();

  constructor(private readonly shown: (path: string) => string) {
    this.#before = new StubProblems(shown);
    this.#after = new StubProblems(shown);
  }

  add(code: StubCode, message: string, before: Place, after = before): void {
    this.#before.add(code, message, before);
    this.#after.add(code, message, after);
  }

  /** Records both texts of a file with findings. */
  move(file: UserFile, after: { readonly path: string; readonly text: string } = file): void {
    this.#textsBefore.set(this.shown(file.path), file.text);
    this.#textsAfter.set(this.shown(after.path), after.text);
  }

  syntaxError(code: StubCode, message: string, file: UserFile): void {
    this.move(file);
    const { start = 0 } = file.syntaxError ?? {};
    this.add(code, message, { path: file.path, start, end: start + 1 });
  }

  isOf({ path }: UserFile): boolean {
    return this.#textsBefore.has(this.shown(path));
  }

  get before(): RenamePlan['before'] {
    return { problems: this.#before.all, sources: this.#textsBefore };
  }

  get after(): RenamePlan['before'] {
    return { problems: this.#after.all, sources: this.#textsAfter };
  }
}

interface Search {
  readonly files: UserFiles;
  readonly all: readonly UserFile[];
  readonly notes: Notes;
}

/** Locates the user's classes, except those that the user has already renamed. */
async function oldClasses(
  { names, previous, users, shown, paths }: RenameRequest,
  { files, all, notes }: Search,
): Promise<readonly OldClass[]> {
  const stubs = new Set(previous.map(({ path }) => path));
  const others = paths.filter((path) => !stubs.has(path));
  const places = await classFiles({
    classes: previous,
    unused: [],
    others,
    read: users.read,
    shown,
  });
  const classes: OldClass[] = [];
  for (const { name, base, path: stub } of previous) {
    const path = places.files.get(name) ?? stub;
    const now = names.types.get(name);
    // If two classes swap names, the other one exists and is renamed, too.
    const isFree = now !== undefined && !names.types.has(now);
    if (isFree && (await isThere(files, all, now, names.types.get(base) ?? base))) continue;
    const file = await files.open(path);
    if (now !== undefined && files.isUnreadable(path)) {
      const message = `${shown(path)} is not an ordinary file with UTF-8 text, so the class ${name} cannot be renamed. Rename it to ${now}, and its file too.`;
      notes.add('stub/not-renamed', message, { path, start: 0, end: 0 });
    }
    if (file === undefined) continue;
    try {
      const found = await exportedClass(files, file, name);
      if (found !== undefined) classes.push({ name, found });
    } catch (error) {
      if (!(error instanceof UnreadableClassError)) throw error;
      // Adding stubs reports a class that keeps its name.
      if (now === undefined) continue;
      const { file: broken } = error;
      const message = `${shown(broken.path)} is not TypeScript: ${broken.syntaxError?.message ?? ''}`;
      notes.syntaxError('stub/not-typescript', message, broken);
    }
  }
  return classes;
}

/** Whether the user has a class with the new name. */
async function isThere(
  files: UserFiles,
  all: readonly UserFile[],
  name: string,
  base: string,
): Promise<boolean> {
  for (const file of all) {
    if (file.syntaxError !== undefined || !file.text.includes(name)) continue;
    const found = await exportedClass(files, file, name).catch(() => undefined);
    if (found !== undefined && (await extendsBase(files, found, base))) return true;
  }
  return false;
}

/** A file named after its class is renamed, too, if the new name is free. */
async function movedFiles(
  { types }: ChangedNames,
  classes: readonly OldClass[],
  users: UserFolder,
): Promise<ReadonlyMap<string, string>> {
  const moves = new Map<string, string>();
  for (const { name, found } of classes) {
    const { path } = found.file;
    const now = types.get(name);
    if (now === undefined || posix.basename(path) !== `${name}.ts`) continue;
    moves.set(path, posix.join(posix.dirname(path), `${now}.ts`));
  }
  for (let size = -1; size !== moves.size;) {
    size = moves.size;
    for (const [from, to] of moves) {
      if (!moves.has(to) && (await users.read(to)).kind !== 'absent') moves.delete(from);
    }
  }
  return moves;
}

/** The uses in the affected files, by the types before the change. */
function searched(
  { names, users, files }: RenameRequest,
  concerned: readonly UserFile[],
  classes: readonly OldClass[],
  moves: ReadonlyMap<string, string>,
): ReadonlyMap<UserFile, FileUses> {
  const root = users.root.replaceAll('\\', '/');
  const texts = new Map(concerned.map(({ path, text }) => [posix.join(root, path), text]));
  const program = userProgram(root, texts, files);
  const own = new Map(classes.map(({ name, found }) => [key(found.file.path, found.node), name]));
  const context = {
    checker: program.getTypeChecker(),
    names,
    oldNames: new Set(namesBefore(names)),
    pathOf: ({ fileName }: ts.SourceFile) => posix.relative(root, fileName),
    modelClass: (path: string, node: ts.Node) => own.get(key(path, node)),
    moved: new Map([...moves, ...names.modules]),
  };
  const uses = new Map<UserFile, FileUses>();
  for (const file of concerned) {
    const source = program.getSourceFile(posix.join(root, file.path));
    if (source?.text !== file.text) throw new Error(`The compiler reads ${file.path} differently.`);
    const found = usesIn(source, context);
    const isMoved = moves.has(file.path);
    if (isMoved || found.replacements.length + found.doubts.length + found.taken.length > 0) {
      uses.set(file, found);
    }
  }
  return uses;
}

function hasTypes({ users, files }: RenameRequest): boolean {
  return files.isFile(posix.join(users.root.replaceAll('\\', '/'), apiPath));
}

function key(path: string, node: ts.Node): string {
  return `${path}:${String(node.pos)}`;
}

function namesBefore({ types, members, words }: ChangedNames): readonly string[] {
  const ofMembers = [...members.values()].flatMap((each) => [...each.keys()]);
  return [...new Set([...types.keys(), ...ofMembers, ...words.keys()])];
}

function replaced({ path, text }: UserFile, replacements: readonly Replacement[]): string {
  const after = withReplacements(text, replacements);
  const { syntaxError } = parse(path, after);
  if (syntaxError === undefined) return after;
  throw new Error(`${path} is no TypeScript after names were changed: ${syntaxError.message}`);
}

/** The position of an offset after replacements. */
function shifted(offset: number, replacements: readonly Replacement[]): number {
  return replacements
    .filter(({ end }) => end <= offset)
    .reduce((at, { start, end, text }) => at + text.length - (end - start), offset);
}
