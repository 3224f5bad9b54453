import { join, posix } from 'node:path';
import type { Disk } from './disk.js';
import { unlessGone, type Look } from './look.js';
import { mapInBatches } from './map-in-batches.js';
import { compareCodePoints } from './paths.js';

/** What is at a path that belongs to the user, as its bytes are: line breaks are kept. */
type UserText =
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'absent' }
  /** A link, a folder, or bytes that are not UTF-8. */
  | { readonly kind: 'unreadable' };

/** @param path relative to the output folder, with forward slashes */
export type ReadUserText = (path: string) => Promise<UserText>;

/** The files of a folder that was generated before, in which to find those of the user. */
export interface UserFolder {
  /** Its real path. */
  readonly root: string;
  /** Whether drs-gen wrote a file, and writes it again. */
  readonly owns: (path: string) => boolean;
  readonly read: ReadUserText;
  /** The content of a folder of the output without links; nothing if there is no such folder. */
  readonly list: (
    folder: string,
  ) => Promise<readonly { readonly path: string; readonly kind: 'file' | 'folder' }[]>;
}

/** A user's file that gets additions, or follows new names of the model. */
export interface UserEdit {
  readonly path: string;
  /** Its path before, if that differs. */
  readonly from?: string;
  /** Its text before, with its own line breaks. */
  readonly before: string;
  readonly text: string;
}

/** The user's files with edits that are to be written. */
interface EditedFolder {
  readonly users: UserFolder;
  readonly edits: readonly UserEdit[];
}

function userTextReader(disk: Disk, root: string, look: Look): ReadUserText {
  return async (path) => {
    const { kind } = await look(path);
    if (kind === 'absent' || kind === 'variant') return { kind: 'absent' };
    if (kind !== 'file') return { kind: 'unreadable' };
    const bytes = await unlessGone(disk.read(join(root, path)));
    if (bytes === undefined) return { kind: 'absent' };
    const text = exactText(bytes);
    return text === undefined ? { kind: 'unreadable' } : { kind: 'file', text };
  };
}

/** @param owned paths of the files that the last run wrote as its own; absent if there was none */
export function userFolder(
  disk: Disk,
  root: string,
  look: Look,
  owned: { readonly has: (path: string) => boolean } | undefined,
): UserFolder {
  if (owned === undefined) {
    return {
      root,
      owns: () => false,
      read: () => Promise.resolve({ kind: 'absent' }),
      list: () => Promise.resolve([]),
    };
  }
  return {
    root,
    owns: (path) => owned.has(path),
    read: userTextReader(disk, root, look),
    list: async (folder) => {
      if ((await disk.kind(join(root, folder))) !== 'folder') return [];
      const listed = (await unlessGone(disk.list(join(root, folder)))) ?? [];
      const names = [...listed].sort(compareCodePoints);
      const kinds = await mapInBatches(names, (name) => disk.kind(join(root, folder, name)));
      return names.flatMap((name, at) => {
        const kind = kinds[at];
        return kind === 'file' || kind === 'folder' ? [{ path: `${folder}/${name}`, kind }] : [];
      });
    },
  };
}

/** More edits, which were made from the files as the earlier edits leave them. */
export function withEdits({ users, edits }: EditedFolder, more: readonly UserEdit[]): EditedFolder {
  if (more.length === 0) return { users, edits };
  return { users: afterEdits(users, more), edits: editsOnTop(edits, more) };
}

function afterEdits(users: UserFolder, edits: readonly UserEdit[]): UserFolder {
  const texts = new Map(edits.map(({ path, text }) => [path, text]));
  const gone = new Set(edits.map(({ from }) => from));
  return {
    ...users,
    read: async (path) => {
      const text = texts.get(path);
      if (text !== undefined) return { kind: 'file', text };
      return gone.has(path) ? { kind: 'absent' } : users.read(path);
    },
    list: async (folder) => {
      const there = await users.list(folder);
      const known = new Set(there.map(({ path }) => path));
      const fresh = [...texts.keys()].filter(
        (path) => posix.dirname(path) === folder && !known.has(path),
      );
      return [
        ...there.filter(({ path }) => texts.has(path) || !gone.has(path)),
        ...fresh.map((path) => ({ path, kind: 'file' as const })),
      ];
    },
  };
}

function editsOnTop(first: readonly UserEdit[], then: readonly UserEdit[]): readonly UserEdit[] {
  const below = new Map(first.map((edit) => [edit.path, edit]));
  const above = new Set(then.map(({ path, from = path }) => from));
  return [
    ...first.filter(({ path }) => !above.has(path)),
    ...then.map((edit) => {
      const under = below.get(edit.from ?? edit.path);
      const from = under?.from ?? edit.from;
      const { before } = under ?? edit;
      return { ...edit, before, ...(from === undefined ? {} : { from }) };
    }),
  ];
}

/** The text of bytes, if it can be turned back into them; `undefined` if they are not UTF-8. */
export function exactText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
