import type { WrittenMember } from '../emit/classes/abstract-members.js';
import type { UserClass } from '../emit/classes/user-classes.js';
import type { ReadUserText, UserEdit } from '../output/user-edits.js';
import type { Diagnostic } from '../source/diagnostic.js';
import { addMembers, type Addition } from './add-members.js';
import { type ClassMembers, membersOf } from './class-members.js';
import { isAsDeclared, isThere } from './compare.js';
import {
  exportedClass,
  exportedNames,
  type FoundClass,
  UnreadableClassError,
} from './find-class.js';
import { freePath } from './free-path.js';
import { namesIn } from './names-in-file.js';
import { placeOf, StubProblems } from './problems.js';
import { type UserFile, UserFiles } from './user-files.js';

export interface StubInput {
  /** The classes that the model needs. */
  readonly classes: readonly UserClass[];
  /** The classes that it needed when the server was last generated. */
  readonly previous: readonly UserClass[];
  readonly read: ReadUserText;
  /** The form of an output path in messages. */
  readonly shown: (path: string) => string;
  /** Place in the model file, `model.yaml:12:7`, of a path in the model. */
  readonly modelPlace: (modelPath: string) => string;
}

export interface StubPlan {
  readonly edits: readonly UserEdit[];
  readonly problems: readonly Diagnostic[];
  /** Texts of the files in problems, by their names there. */
  readonly sources: ReadonlyMap<string, string>;
}

/**
 * Compares the users' classes with the model. What is missing is added; what differs, or is no
 * longer needed, is reported and left alone. With an error among the problems no file may be
 * written.
 */
export async function planStubs(input: StubInput): Promise<StubPlan> {
  const review = new Review(input);
  for (const userClass of input.classes) await review.look(userClass);
  const wanted = new Set(input.classes.map(({ name }) => name));
  for (const userClass of input.previous) {
    if (!wanted.has(userClass.name)) await review.lookAtUnused(userClass);
  }
  return review.plan();
}

/** One review of all classes. */
class Review {
  readonly #files: UserFiles;
  readonly #problems: StubProblems;
  readonly #classFiles: ReadonlyMap<string, string>;
  readonly #found: { readonly name: string; readonly found: FoundClass }[] = [];
  readonly #additions: Addition[] = [];
  /** Files of classes that nothing uses, which would not compile. */
  readonly #moves: UserEdit[] = [];
  readonly #sources = new Map<string, string>();

  constructor(private readonly input: StubInput) {
    this.#files = new UserFiles(input.read);
    this.#problems = new StubProblems(input.shown);
    this.#classFiles = new Map(input.classes.map(({ name, path }) => [name, path]));
  }

  async look(userClass: UserClass): Promise<void> {
    const found = await this.#find(userClass);
    if (found === undefined) return;
    this.#found.push({ name: userClass.name, found });
    const members = await membersOf(this.#files, found, userClass.base);
    this.#compare(userClass, found, members);
    this.#tellRemoved(userClass, members);
    if (userClass.isStored === true) this.#tellLost(userClass, members);
  }

  async lookAtUnused({ path, name }: UserClass): Promise<void> {
    const file = await this.#open(path);
    if (file?.syntaxError !== undefined || file === undefined) return;
    const found = await exportedClass(this.#files, file, name).catch(() => undefined);
    if (found === undefined) return;
    const place = placeOf(found.file.path, found.node);
    const aside = await freePath(this.input.read, `${path}.unused`);
    const holdsOthers = [...this.#classFiles.values()].includes(path);
    const isMoved = found.file.path === path && !holdsOthers;
    if (isMoved && this.#moves.every(({ from }) => from !== path)) {
      this.#moves.push({ from: path, path: aside, before: file.text, text: file.text });
    }
    const others = exportedNames(file).filter((each) => each !== name);
    const more =
      others.length === 0
        ? ''
        : `. If other files import ${others.join(', ')}, move that to a file of its own`;
    const what = isMoved
      ? `its file is moved to ${this.input.shown(aside)}, which is not compiled${more}`
      : 'the server does not use it, and it may not compile any more';
    const message = `The model no longer declares anything in the class ${name}: ${what}.`;
    this.#problems.add('stub/unused-class', message, place);
  }

  plan(): StubPlan {
    const problems = this.#problems.all;
    const byFile = groupedByFile(this.#additions);
    const edits = [...byFile].map(([file, additions]): UserEdit => {
      const own = new Map<string, string>();
      for (const { name, found } of this.#found) {
        if (found.file === file && found.localName !== undefined) own.set(name, found.localName);
      }
      const text = addMembers(file, additions, namesIn(file, this.#classFiles), own);
      return { path: file.path, before: file.text, text };
    });
    return { edits: [...edits, ...this.#moves], problems, sources: this.#sources };
  }

  async #find({ path, name, base }: UserClass): Promise<FoundClass | undefined> {
    const file = await this.#open(path);
    if (file === undefined) return undefined;
    try {
      const found = await exportedClass(this.#files, file, name);
      if (found === undefined) {
        const message = `${this.input.shown(path)} must export the class ${name}, which extends ${base}.`;
        this.#problems.add('stub/no-class', message, { path, start: 0, end: 0 });
      } else {
        this.#note(found.file);
      }
      return found;
    } catch (error) {
      if (!(error instanceof UnreadableClassError)) throw error;
      this.#note(error.file);
      const { start = 0, message = '' } = error.file.syntaxError ?? {};
      this.#problems.add(
        'stub/not-typescript',
        `${this.input.shown(error.file.path)} is not TypeScript: ${message}`,
        { path: error.file.path, start, end: start + 1 },
      );
      return undefined;
    }
  }

  async #open(path: string): Promise<UserFile | undefined> {
    const file = await this.#files.open(path);
    if (file !== undefined) this.#note(file);
    if (this.#files.isUnreadable(path)) {
      const message = `${this.input.shown(path)} is not an ordinary file with UTF-8 text, so it is left alone.`;
      this.#problems.add('stub/not-text', message, { path, start: 0, end: 0 });
    }
    return file;
  }

  #compare(userClass: UserClass, found: FoundClass, members: ClassMembers): void {
    const missing: WrittenMember[] = [];
    for (const member of userClass.members) {
      const there = members.named(member.name);
      const [first] = there;
      if (first === undefined || !isThere(member, there)) {
        missing.push(member);
      } else if (!isAsDeclared(member, there, namesIn(first.file, this.#classFiles).original)) {
        this.#note(first.file);
        const message = `${userClass.name}.${member.name} is not what the model declares at ${this.input.modelPlace(member.modelPath)}: ${signatureText(member)}.`;
        const at = placeOf(first.file.path, first.node);
        this.#problems.add('stub/signature', message, at, member.modelPath);
      }
    }
    if (missing.length === 0) return;
    if (members.isComplete) {
      this.#additions.push({ userClass, found, members: missing });
      return;
    }
    const list = missing.map(({ name }) => name).join(', ');
    const message = `${userClass.name} lacks ${list}, unless it inherits it from a class that drs-gen cannot read. Nothing is added.`;
    this.#problems.add('stub/not-added', message, placeOf(found.file.path, found.node));
  }

  #tellRemoved(userClass: UserClass, members: ClassMembers): void {
    const { input } = this;
    const before = input.previous.find(({ name }) => name === userClass.name);
    const wanted = new Set(userClass.members.map(({ name }) => name));
    for (const { name } of before?.members ?? []) {
      const [first] = wanted.has(name) ? [] : members.named(name);
      if (first === undefined) continue;
      this.#note(first.file);
      const message = `The model no longer declares ${userClass.name}.${name}. It stays as a method of your own.`;
      this.#problems.add('stub/removed', message, placeOf(first.file.path, first.node));
    }
  }

  #tellLost({ name }: UserClass, { privateFields }: ClassMembers): void {
    for (const { file, node } of privateFields) {
      this.#note(file);
      const field = node.name?.getText() ?? '';
      const message = `${name}.${field} is lost when a call ends on a server with STATE=database: a singleton of scope session is stored as JSON, which holds no #private fields. Declare it as: private ${field.slice(1)}.`;
      this.#problems.add('stub/lost-field', message, placeOf(file.path, node));
    }
  }

  #note(file: UserFile): void {
    this.#sources.set(this.input.shown(file.path), file.text);
  }
}

/** `hire(person: EmployeeEntity): Promise<EmployeeEntity>`, as the model declares it. */
function signatureText({ name, kind, params, returnsFirst }: WrittenMember): string {
  if (kind === 'get' || kind === 'set') return `an accessor of ${name}`;
  const list = params.map((each) => `${each.name}${each.optional ? '?' : ''}: ${each.type}`);
  return `${name}(${list.join(', ')}): ${returnsFirst}`;
}

function groupedByFile(additions: readonly Addition[]): ReadonlyMap<UserFile, readonly Addition[]> {
  const groups = new Map<UserFile, Addition[]>();
  for (const each of additions) {
    const group = groups.get(each.found.file) ?? [];
    groups.set(each.found.file, [...group, each]);
  }
  return groups;
}
