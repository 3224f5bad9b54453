import { posix } from 'node:path';
import { ts } from 'ts-morph';
import type { ReadUserText } from '../output/user-edits.js';

/** A user's file that could be read. */
export interface UserFile {
  /** The path in the output, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly syntax: ts.SourceFile;
  /** The first syntax error. */
  readonly syntaxError?: { readonly start: number; readonly message: string };
}

/** The users' files, read and parsed once each. */
export class UserFiles {
  readonly #files = new Map<string, Promise<UserFile | undefined>>();
  readonly #unreadable = new Set<string>();

  constructor(private readonly read: ReadUserText) {}

  /** `undefined` if no file can be read. */
  open(path: string): Promise<UserFile | undefined> {
    const known = this.#files.get(path) ?? this.#open(path);
    this.#files.set(path, known);
    return known;
  }

  /** Whether there is something at the path that is not text. */
  isUnreadable(path: string): boolean {
    return this.#unreadable.has(path);
  }

  /**
   * The file that a module of another file names; `undefined` for packages, and for missing files.
   */
  async imported(from: UserFile, module: string): Promise<UserFile | undefined> {
    for (const path of candidates(from.path, module)) {
      const file = await this.open(path);
      if (file !== undefined) return file;
    }
    return undefined;
  }

  async #open(path: string): Promise<UserFile | undefined> {
    const found = await this.read(path);
    if (found.kind === 'unreadable') this.#unreadable.add(path);
    return found.kind === 'file' ? parse(path, found.text) : undefined;
  }
}

export function parse(path: string, text: string): UserFile {
  const syntax = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const [error] = parseErrors(syntax);
  const file = { path, text, syntax };
  if (error === undefined) return file;
  const message = ts.flattenDiagnosticMessageText(error.messageText, ' ');
  return { ...file, syntaxError: { start: error.start, message } };
}

/**
 * The parser stores its errors in the tree; a program would report them too, but costs much more.
 */
function parseErrors(file: ts.SourceFile): readonly ts.DiagnosticWithLocation[] {
  const { parseDiagnostics } = file as { readonly parseDiagnostics?: unknown } & ts.SourceFile;
  if (!Array.isArray(parseDiagnostics))
    throw new Error('TypeScript keeps no errors of its parser.');
  return parseDiagnostics as readonly ts.DiagnosticWithLocation[];
}

/** The paths of the output that a relative module can mean. */
export function candidates(from: string, module: string): readonly string[] {
  if (!module.startsWith('./') && !module.startsWith('../')) return [];
  const path = posix.join(posix.dirname(from), module);
  if (path.startsWith('../')) return [];
  if (path.endsWith('.ts')) return [path];
  if (path.endsWith('.js')) return [`${path.slice(0, -3)}.ts`];
  return [`${path}.ts`, `${path}/index.ts`];
}
