import { posix } from 'node:path';
import { ts } from 'ts-morph';
import type { Insertion } from './insertions.js';
import { apiPath, importOf, type NamesInFile } from './names-in-file.js';
import { indentAt, type Style } from './style.js';
import { candidates, type UserFile } from './user-files.js';

/** The names of `src/generated/api.ts` that additions to a file need. */
export interface Need {
  readonly name: string;
  readonly use: 'type' | 'value';
}

export interface AddedImports {
  /** The file's name for each name that it needs. */
  readonly local: ReadonlyMap<string, string>;
  readonly insertions: readonly Insertion[];
}

/** Imports the names that a file lacks, beside its other imports of the same module. */
export function insertImports(
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

/** Behind the last name that the file imports from the API. */
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

/** Behind what must come first: a byte order mark, a line for the shell. */
function startOf(text: string): number {
  const mark = text.startsWith('\ufeff') ? 1 : 0;
  return ts.getShebang(text.slice(mark)) === undefined
    ? mark
    : Math.max(text.indexOf('\n') + 1, mark);
}
