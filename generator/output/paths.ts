/** Folder of our records inside an output folder. */
export const recordFolder = '.drs-gen';
export const manifestPath = `${recordFolder}/manifest.json`;
export const modelLockPath = `${recordFolder}/model.lock.json`;
/** The model that data may still have, as long as no migration leads from it. */
export const beforeLockPath = `${recordFolder}/before.lock.json`;

/** A file that only the folder of a server has, and one that only the folder of a client has. */
export const serverModule = 'src/generated/app.ts';
export const clientModule = 'client.js';

/** Control characters, and what Windows allows in no file name. */
const forbidden = /[\p{Cc}\\<>:"|?*]/u;

/** Whether a path is relative, stays inside its folder and means the same on every system. */
export function isSafePath(path: string): boolean {
  if (path === '' || forbidden.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Throws if emitted paths are unsafe or collide: that is a bug of an emit unit, not of a model. */
export function assertSoundPaths(paths: readonly string[]): void {
  const seen = new Map<string, string>();
  for (const path of paths) {
    if (!isSafePath(path)) throw new Error(`The emitted path ${JSON.stringify(path)} is not safe.`);
    if (path.startsWith(`${recordFolder}/`) && path !== modelLockPath && path !== beforeLockPath) {
      throw new Error(`The emitted path ${path} is in the folder of the records.`);
    }
    const other = seen.get(foldCase(path));
    if (other !== undefined) throw new Error(`The emitted paths ${other} and ${path} collide.`);
    seen.set(foldCase(path), path);
  }
  for (const path of paths) {
    for (const folder of foldersAbove(path)) {
      const file = seen.get(foldCase(folder));
      if (file !== undefined)
        throw new Error(`The emitted path ${path} is below the file ${file}.`);
    }
  }
}

/**
 * One spelling for all paths that a system without regard to case or Unicode form treats as the
 * same.
 */
export function foldCase(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

/** `a/b/c.ts` → `a`, `a/b`. */
export function foldersAbove(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

export function compareCodePoints(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
