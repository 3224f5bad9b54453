import { join, posix } from 'node:path';
import type { Disk } from './disk.js';
import type { Look } from './look.js';
import { mapInBatches } from './map-in-batches.js';
import { compareCodePoints } from './paths.js';

/** What stands at a path of the output that belongs to the user, as its bytes say: line ends are kept. */
export type UserText =
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'absent' }
  /** A link, a folder, or bytes that are not UTF-8. */
  | { readonly kind: 'unreadable' };

/** @param path relative to the output folder, with forward slashes */
export type ReadUserText = (path: string) => Promise<UserText>;

/** The files of an output folder that was generated before, to look for those of the user. */
export interface UserFolder {
  /** Its real path. */
  readonly root: string;
  /** Whether a run of drs-gen wrote a file, and writes it again. */
  readonly owns: (path: string) => boolean;
  readonly read: ReadUserText;
  /** What stands in a folder of the output, links left out; nothing where there is no such folder. */
  readonly list: (
    folder: string,
  ) => Promise<readonly { readonly path: string; readonly kind: 'file' | 'folder' }[]>;
}

/** A file of the user's that something is added to, or that follows new names of the model. */
export interface UserEdit {
  readonly path: string;
  /** Where it stands before, if that is somewhere else. */
  readonly from?: string;
  /** Its text before, with its own line ends. */
  readonly before: string;
  readonly text: string;
}

/** Says what is added to files of the user's; may be asked more than once. What it throws, nothing is written then. */
export type EditUserFiles = (read: ReadUserText) => Promise<readonly UserEdit[]>;

export function userTextReader(disk: Disk, root: string, look: Look): ReadUserText {
  return async (path) => {
    const { kind } = await look(path);
    if (kind === 'absent' || kind === 'variant') return { kind: 'absent' };
    if (kind !== 'file') return { kind: 'unreadable' };
    const text = exactText(await disk.read(join(root, path)));
    return text === undefined ? { kind: 'unreadable' } : { kind: 'file', text };
  };
}

/** @param owned paths of the files that the last run wrote as its own */
export function userFolder(
  disk: Disk,
  root: string,
  look: Look,
  owned: { readonly has: (path: string) => boolean },
): UserFolder {
  return {
    root,
    owns: (path) => owned.has(path),
    read: userTextReader(disk, root, look),
    list: async (folder) => {
      if ((await disk.kind(join(root, folder))) !== 'folder') return [];
      const names = [...(await disk.list(join(root, folder)))].sort(compareCodePoints);
      const kinds = await mapInBatches(names, (name) => disk.kind(join(root, folder, name)));
      return names.flatMap((name, at) => {
        const kind = kinds[at];
        return kind === 'file' || kind === 'folder' ? [{ path: `${folder}/${name}`, kind }] : [];
      });
    },
  };
}

/** Reads files as they are after edits. */
export function withEdits(edits: readonly UserEdit[], read: ReadUserText): ReadUserText {
  const texts = new Map(edits.map(({ path, text }) => [path, text]));
  const gone = new Set(edits.map(({ from }) => from));
  return async (path) => {
    const text = texts.get(path);
    if (text !== undefined) return { kind: 'file', text };
    return gone.has(path) ? { kind: 'absent' } : read(path);
  };
}

/** A folder as it is after edits. */
export function editedFolder(users: UserFolder, edits: readonly UserEdit[]): UserFolder {
  if (edits.length === 0) return users;
  const added = new Set(edits.map(({ path }) => path));
  const gone = new Set(edits.map(({ from }) => from));
  return {
    ...users,
    read: withEdits(edits, users.read),
    list: async (folder) => {
      const there = await users.list(folder);
      const known = new Set(there.map(({ path }) => path));
      const fresh = [...added].filter((path) => posix.dirname(path) === folder && !known.has(path));
      return [
        ...there.filter(({ path }) => added.has(path) || !gone.has(path)),
        ...fresh.map((path) => ({ path, kind: 'file' as const })),
      ];
    },
  };
}

/** The text of bytes that it can be turned back into; `undefined` when they are not UTF-8. */
export function exactText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
