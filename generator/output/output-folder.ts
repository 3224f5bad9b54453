import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { Disk } from './disk.js';
import { decodeText } from './text.js';
import { Refusal } from './refusal.js';

/**
 * Returns the real path of an output folder; parts that do not exist yet stay as they were given.
 */
export async function findOutputFolder(disk: Disk, folder: string): Promise<string> {
  if (dirname(folder) === folder) throw new Refusal(`${folder} is the root of the file system.`);
  const root = await realPathOf(disk, folder);
  const kind = await disk.kind(root);
  if (kind === undefined) {
    await refuseBelowFile(disk, dirname(root));
    return root;
  }
  if (kind !== 'folder') throw new Refusal(`${folder} exists and is not a folder.`);
  if (await isOurPackage(disk, join(root, 'package.json'))) {
    throw new Refusal(`${folder} is the folder of drs-gen itself.`);
  }
  return root;
}

/** Whether a real path is `folder` or below it. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function realPathOf(disk: Disk, path: string): Promise<string> {
  const kind = await disk.kind(path);
  if (kind === 'link') return resolveLink(disk, path);
  if (kind !== undefined) return disk.resolve(path);
  const above = dirname(path);
  return above === path ? path : join(await realPathOf(disk, above), basename(path));
}

async function refuseBelowFile(disk: Disk, path: string): Promise<void> {
  const kind = await disk.kind(path);
  if (kind === undefined) return refuseBelowFile(disk, dirname(path));
  if (kind !== 'folder') throw new Refusal(`${path} exists and is not a folder.`);
}

async function resolveLink(disk: Disk, path: string): Promise<string> {
  try {
    return await disk.resolve(path);
  } catch {
    throw new Refusal(`${path} is a symbolic link that leads nowhere.`);
  }
}

async function isOurPackage(disk: Disk, path: string): Promise<boolean> {
  if ((await disk.kind(path)) !== 'file') return false;
  try {
    const content: unknown = JSON.parse(decodeText(await disk.read(path)));
    return (
      typeof content === 'object' &&
      content !== null &&
      'name' in content &&
      content.name === 'drs-gen'
    );
  } catch {
    // A package.json that is no JSON is not our concern.
    return false;
  }
}
