import {
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import type { Disk, DiskKind } from './disk.js';
import { errorCode } from './error-code.js';

/** The disk of the machine. */
export const nodeDisk: Disk = {
  kind: kindOf,
  resolve: (path) => realpath(path),
  list: (folder) => readdir(folder),
  read: (path) => readFile(path),
  create: createFlushed,
  makeFolder: async (path) => {
    await mkdir(path);
  },
  rename,
  removeFile: unlink,
  removeFolder: rmdir,
  flush: flushFolder,
};

async function kindOf(path: string): Promise<DiskKind | undefined> {
  try {
    const found = await lstat(path);
    if (found.isFile()) return 'file';
    if (found.isDirectory()) return 'folder';
    return found.isSymbolicLink() ? 'link' : 'other';
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function createFlushed(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text, 'utf8');
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Windows opens no folders, and some network systems flush none; names are safe there without it. */
const cannotFlush = new Set(['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'EBADF']);

async function flushFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!cannotFlush.has(errorCode(error) ?? '')) throw error;
  }
}
