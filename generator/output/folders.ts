import { dirname } from 'node:path';
import type { Disk } from './disk.js';

/** Creates a folder and its parents; returns the new ones, outermost first. */
export async function makeFolders(disk: Disk, path: string): Promise<readonly string[]> {
  if ((await disk.kind(path)) !== undefined || dirname(path) === path) return [];
  const above = await makeFolders(disk, dirname(path));
  await disk.makeFolder(path);
  return [...above, path];
}

/** Removes a folder if it is a real folder and empty; returns whether it did. */
export async function removeIfEmpty(disk: Disk, path: string): Promise<boolean> {
  if ((await disk.kind(path)) !== 'folder') return false;
  if ((await disk.list(path)).length > 0) return false;
  await disk.removeFolder(path);
  return true;
}

/** Removes a folder that contains only files. */
export async function removeFlatFolder(disk: Disk, path: string): Promise<void> {
  if ((await disk.kind(path)) !== 'folder') return;
  for (const name of await disk.list(path)) await disk.removeFile(`${path}/${name}`);
  await disk.removeFolder(path);
}
