import { constants } from 'node:fs';
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { decodeText } from '../source/decode-text.js';
import { ImportStop } from './messages.js';

/** A text of the source. */
export interface SourceText {
  /** The path for messages: relative to the folder that is imported. */
  readonly path: string;
  readonly text: string;
}

const mebibyte = 1024 * 1024;
const mostEntries = 50_000;
const deepestFolder = 12;

/** The files of a project. Links are not followed, so nothing outside of its folder is read. */
export class SourceFiles {
  private constructor(readonly root: string) {}

  static async open(path: string): Promise<SourceFiles> {
    try {
      const root = await realpath(path);
      if ((await stat(root)).isDirectory()) return new SourceFiles(root);
      throw new ImportStop('import/unreadable', path, 'it is no folder');
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  /** Paths of the files below a folder whose names match, in order; folders that match `skipped` are passed over. */
  async find(name: RegExp, skipped = /^$/, folder = '.'): Promise<readonly string[]> {
    const found: string[] = [];
    const open = [{ path: folder, depth: 0 }];
    let entries = 0;
    for (let at = open.shift(); at !== undefined; at = open.shift()) {
      for (const entry of await this.#list(at.path)) {
        entries += 1;
        if (entries > mostEntries) {
          const reason = `it holds more than ${String(mostEntries)} files; name the project itself`;
          throw new ImportStop('import/unreadable', this.root, reason);
        }
        const path = join(at.path, entry.name);
        if (entry.isDirectory() && at.depth < deepestFolder) {
          if (!skipped.test(entry.name)) open.push({ path, depth: at.depth + 1 });
        } else if (entry.isFile() && name.test(entry.name)) found.push(path);
      }
    }
    return found.map((each) => each.split(sep).join('/')).sort();
  }

  async #list(folder: string) {
    try {
      return await readdir(join(this.root, folder), { withFileTypes: true });
    } catch (error) {
      throw unreadable(folder, error);
    }
  }

  async has(path: string): Promise<boolean> {
    const found = await lstat(join(this.root, path)).catch(() => undefined);
    return found?.isFile() === true;
  }

  /**
   * @param limit in MiB
   * @throws ImportStop if it is no ordinary file of UTF-8 text, or too large
   */
  async read(path: string, limit: number): Promise<SourceText> {
    const full = join(this.root, path);
    try {
      const inside = relative(this.root, await realpath(full));
      if (inside.startsWith('..')) throw new ImportStop('import/unreadable', path, 'it is a link');
      // A pipe would never end. Windows has neither flag, and takes what is not there for 0.
      const file = await open(
        full,
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      try {
        const { size } = await ordinary(file, path);
        if (size > limit * mebibyte) {
          const reason = `it has more than ${String(limit)} MiB`;
          throw new ImportStop('import/unreadable', path, reason);
        }
        const { text, problem } = decodeText(await file.readFile());
        if (problem !== undefined) {
          throw new ImportStop('import/unreadable', path, 'it is not UTF-8 text');
        }
        return { path, text };
      } finally {
        await file.close();
      }
    } catch (error) {
      throw unreadable(path, error);
    }
  }
}

async function ordinary(
  file: { stat: () => Promise<{ isFile(): boolean; size: number }> },
  path: string,
): Promise<{ readonly size: number }> {
  const found = await file.stat();
  if (!found.isFile()) throw new ImportStop('import/unreadable', path, 'it is no ordinary file');
  return found;
}

function unreadable(path: string, error: unknown): unknown {
  if (error instanceof ImportStop || !(error instanceof Error) || !('code' in error)) return error;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file or folder',
    ENOTDIR: 'there is no such file or folder',
    EACCES: 'permission denied',
    ELOOP: 'it is a link',
  };
  const reason = reasons[String(error.code)] ?? error.message;
  return new ImportStop('import/unreadable', path, reason);
}
