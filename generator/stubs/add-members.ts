import type { WrittenMember } from '../emit/classes/abstract-members.js';
import { stubMember, stubUses } from '../emit/classes/stub-member.js';
import type { UserClass } from '../emit/classes/user-classes.js';
import type { FoundClass } from './find-class.js';
import { type Insertion, withInsertions } from './insertions.js';
import { type NamesInFile, apiPath, importOf } from './names-in-file.js';
import { parse, type UserFile, candidates } from './user-files.js';
import { posix } from 'node:path';
import { ts } from 'ts-morph';

/** Members that a user's class lacks. */
export interface Addition {
  readonly userClass: UserClass;
  readonly found: FoundClass;
  readonly members: readonly WrittenMember[];
}

/**
 * The text of a file with members added to some of its classes, and the imports that these need.
 * Everything else stays as it is.
 * @param names the file's names for those of the API
 * @param own the file's names for classes of the model that it contains itself
 */
export function addMembers(
  file: UserFile,
  additions: readonly Addition[],
  names: NamesInFile,
  own: ReadonlyMap<string, string>,
): string {
  const style = styleOf(file.text);
  const members = additions.flatMap((each) => each.members);
  const needs: readonly Need[] = [
    { name: 'notWritten', use: 'value' },
    ...members.flatMap(stubUses).map((name) => ({ name, use: 'type' }) as const),
  ];
  const known = {
    local: (name: string, use: Need['use']) => own.get(name) ?? names.local(name, use),
    taken: names.taken,
  };
  const imports = insertImports(file, known, needs, style);
  const local = (name: string): string => imports.local.get(name) ?? name;
  const insertions = additions.flatMap(
    ({ userClass, found, members: missing }): readonly Insertion[] => {
      const place = { name: userClass.name, path: file.path };
      const code = missing.map((each) => stubMember(place, each, local));
      return insertMembers(found, code, style);
    },
  );
  const text = withInsertions(file.text, [...imports.insertions, ...insertions]);
  const { syntaxError } = parse(file.path, text);
  if (syntaxError !== undefined) {
    throw new Error(`What was added to ${file.path} is not TypeScript: ${syntaxError.message}`);
  }
  return text;
}

/** The names of `src/generated/api.ts` that additions to a file need. */
interface Need {
  readonly name: string;
  readonly use: 'type' | 'value';
}

interface AddedImports {
  /** The file's name for each name that it needs. */
  readonly local: ReadonlyMap<string, string>;
  readonly insertions: readonly Insertion[];
}

/** Imports missing names, together with the other imports of the same module. */
function insertImports(
  file: UserFile,
  names: Pick<NamesInFile, 'local' | 'taken'>,
  needs: readonly Need[],
  style: Style,
): AddedImports {
  const local = new Map<string, string>();
  const taken = new Set(names.taken);
  const added: string[] = [];
  for (const { name, use } of needs) {
    if (local.has(name)) continue;
    const known = names.local(name, use);
    const called = known ?? freeName(name, taken);
    local.set(name, called);
    taken.add(called);
    if (known !== undefined) continue;
    const renamed = called === name ? name : `${name} as ${called}`;
    added.push(use === 'type' ? `type ${renamed}` : renamed);
  }
  if (added.length === 0) return { local, insertions: [] };
  return { local, insertions: [besideOthers(file, added, style) ?? ownLine(file, added, style)] };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let candidate = name;
  for (let i = 2; taken.has(candidate); i += 1) candidate = `${name}${i}`;
  return candidate;
}

/** Inserts names behind the last name that the file imports from the API. */
function besideOthers(
  file: UserFile,
  added: readonly string[],
  { newline }: Style,
): Insertion | undefined {
  for (const statement of file.syntax.statements) {
    const imported = importOf(statement);
    if (imported === undefined || imported.isTypeOnly) continue;
    if (!candidates(file.path, imported.module).includes(apiPath)) continue;
    if (!ts.isNamedImports(imported.bindings)) continue;
    const last = imported.bindings.elements.at(-1);
    if (last === undefined) continue;
    const start = last.getStart();
    const indent = indentAt(file.text, start);
    const isFirstInLine = file.text.slice(0, start).endsWith(`\n${indent}`);
    const separator = isFirstInLine ? `,${newline}${indent}` : ', ';
    return { at: last.end, text: added.map((each) => `${separator}${each}`).join('') };
  }
  return undefined;
}

/** A statement of its own: behind the other imports, else at the beginning. */
function ownLine(file: UserFile, added: readonly string[], { newline }: Style): Insertion {
  const { syntax, text, path } = file;
  const imports = syntax.statements.filter(ts.isImportDeclaration);
  const quote = imports.at(-1)?.moduleSpecifier.getText().startsWith('"') === true ? '"' : "'";
  const module = posix.relative(posix.dirname(path), apiPath).replace(/\.ts$/, '.js');
  const code = `import { ${added.join(', ')} } from ${quote}${module.startsWith('.') ? module : `./${module}`}${quote};`;
  const last = imports.at(-1);
  if (last !== undefined) {
    const [rest = ''] = /^[ \t]*(?:\/\/[^\r\n]*)?(?=\r?\n|$)/.exec(text.slice(last.end)) ?? [];
    return { at: last.end + rest.length, text: `${newline}${code}` };
  }
  return { at: startOf(text), text: `${code}${newline}` };
}

/** The offset behind what must come first: a byte order mark, a line for the shell. */
function startOf(text: string): number {
  const mark = text.startsWith('\ufeff') ? 1 : 0;
  return ts.getShebang(text.slice(mark)) === undefined
    ? mark
    : Math.max(text.indexOf('\n') + 1, mark);
}

/**
 * Adds members behind those of a class.
 * @param members as code, indented by two spaces
 */
function insertMembers(
  { file, node }: FoundClass,
  members: readonly string[],
  style: Style,
): readonly Insertion[] {
  const { text } = file;
  const { newline } = style;
  const close = node.end - 1;
  const classIndent = indentAt(text, node.getStart());
  const code = members
    .map((each) => restyled(each, memberStyle(text, node, style, classIndent), classIndent))
    .join(newline + newline);
  const lineStart = text.lastIndexOf('\n', close - 1) + 1;
  const inside = text.slice(node.members.pos, close);
  const isOnOwnLine = lineStart > node.members.pos && text.slice(lineStart, close).trim() === '';
  const separators = missingSemicolon(node, members);
  if (isOnOwnLine) {
    const above = text.slice(node.members.pos, lineStart);
    const hasGap = above.trim() === '' || /\n[ \t]*\r?\n$/.test(above);
    return [...separators, { at: lineStart, text: `${hasGap ? '' : newline}${code}${newline}` }];
  }
  const gap = inside.trim() === '' ? newline : newline + newline;
  return [...separators, { at: close, text: `${gap}${code}${newline}${classIndent}` }];
}

/** Members follow the indentation of the existing ones. */
function memberStyle(
  text: string,
  node: ts.ClassLikeDeclaration,
  style: Style,
  classIndent: string,
): Style {
  for (const member of node.members) {
    const start = member.getStart();
    const indent = indentAt(text, start);
    const isFirstInLine = text.slice(0, start).endsWith(`\n${indent}`);
    if (isFirstInLine && indent.length > classIndent.length && indent.startsWith(classIndent)) {
      return { ...style, indent: indent.slice(classIndent.length) };
    }
  }
  return style;
}

/** A property without a semicolon would absorb what follows. */
function missingSemicolon(
  { members }: ts.ClassLikeDeclaration,
  added: readonly string[],
): readonly Insertion[] {
  const last = members.at(-1);
  if (last === undefined || !ts.isPropertyDeclaration(last)) return [];
  if (last.getText().endsWith(';')) return [];
  const begins = (added[0] ?? '').replace(/^\s*\/\*\*.*?\*\/\s*/s, '').trimStart();
  const isBare = last.initializer === undefined && last.type === undefined;
  return isBare || /^[['"]/.test(begins) ? [{ at: last.end, text: ';' }] : [];
}

/** The style of a file, which insertions follow. */
interface Style {
  readonly newline: '\n' | '\r\n';
  /** One level of indentation. */
  readonly indent: string;
}

function styleOf(text: string): Style {
  const lines = text.split('\n');
  const windows = lines.filter((line) => line.endsWith('\r')).length;
  return {
    newline: windows * 2 >= lines.length - 1 && windows > 0 ? '\r\n' : '\n',
    indent: indentOf(lines),
  };
}

/**
 * The least indentation of a line; lines of comments that begin with a star are indented by one
 * more blank.
 */
function indentOf(lines: readonly string[]): string {
  const found = lines
    .map((line) => /^([ \t]+)[^\s*]/.exec(line)?.[1])
    .filter((each) => each !== undefined)
    .sort((a, b) => a.length - b.length);
  return found[0] ?? '  ';
}

/** Code that is indented by two spaces a level, in the style of a file and indented by `before`. */
function restyled(code: string, { newline, indent }: Style, before: string): string {
  return code
    .split('\n')
    .map((line) => {
      const spaces = line.length - line.trimStart().length;
      if (spaces === line.length) return '';
      const level = Math.floor(spaces / 2);
      return `${before}${indent.repeat(level)}${line.slice(level * 2)}`;
    })
    .join(newline);
}

/** The blanks at the beginning of an offset's line. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}
