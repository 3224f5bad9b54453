import { join } from 'node:path';
import type { Disk } from './disk.js';
import { errorCode } from './error-code.js';
import { foldCase, foldersAbove } from './paths.js';
import { decodeText } from './text.js';
import { isInside } from './output-folder.js';

/** What is at a path of the output. */
export type Seen =
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'link' }
  /** A file whose name differs only in case, on a disk that ignores case. */
  | { readonly kind: 'variant'; readonly name: string }
  /** A folder or a device is there, or a file in place of a folder. */
  | { readonly kind: 'obstacle'; readonly at: string }
  /** A folder above is a link that leads out of the output. */
  | { readonly kind: 'outside'; readonly link: string; readonly present: boolean };

type Folder = { readonly kind: 'folder' } | Exclude<Seen, { kind: 'file' | 'link' | 'variant' }>;

export type Look = (path: string) => Promise<Seen>;

/** Inspects single paths below `root`, a real path, and caches the folders on the way. */
export function lookInto(disk: Disk, root: string): Look {
  const folders = new Map<string, Promise<Folder>>();
  const names = new Map<string, Promise<ReadonlySet<string>>>();

  function remembered<T>(map: Map<string, Promise<T>>, key: string, make: () => Promise<T>) {
    const known = map.get(key) ?? make();
    map.set(key, known);
    return known;
  }

  async function folderAt(path: string): Promise<Folder> {
    const kind = await disk.kind(join(root, path));
    if (kind === undefined) return { kind: 'absent' };
    if (kind === 'folder') return { kind: 'folder' };
    if (kind !== 'link') return { kind: 'obstacle', at: path };
    const target = await unlessGone(disk.resolve(join(root, path)));
    if (target === undefined) return { kind: 'obstacle', at: path };
    if (!isInside(root, target)) return { kind: 'outside', link: path, present: false };
    return (await disk.kind(target)) === 'folder'
      ? { kind: 'folder' }
      : { kind: 'obstacle', at: path };
  }

  async function namesIn(folder: string): Promise<ReadonlySet<string>> {
    const found = (await unlessGone(disk.list(folder))) ?? [];
    return new Set(found.map((name) => name.normalize('NFC')));
  }

  return async (path) => {
    for (const above of foldersAbove(path)) {
      const folder = await remembered(folders, above, () => folderAt(above));
      if (folder.kind === 'outside') {
        const present = (await disk.kind(join(root, path))) !== undefined;
        return { ...folder, present };
      }
      if (folder.kind !== 'folder') return folder;
    }
    const full = join(root, path);
    const kind = await disk.kind(full);
    if (kind === undefined) return { kind: 'absent' };
    if (kind === 'link') return { kind: 'link' };
    if (kind !== 'file') return { kind: 'obstacle', at: path };
    const [folder, name] = [join(full, '..'), path.slice(path.lastIndexOf('/') + 1)];
    const inFolder = await remembered(names, folder, () => namesIn(folder));
    const variant = [...inFolder].find((other) => foldCase(other) === foldCase(name));
    if (variant !== undefined && !inFolder.has(name.normalize('NFC'))) {
      return { kind: 'variant', name: variant };
    }
    const bytes = await unlessGone(disk.read(full));
    return bytes === undefined ? { kind: 'absent' } : { kind: 'file', text: decodeText(bytes) };
  };
}

/** What a disk answers about a path; `undefined` if nothing is there, maybe because another run has just moved it. */
export async function unlessGone<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
