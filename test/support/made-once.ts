import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * Makes a folder, unless it is there. Tests run side by side: it appears whole or not at all.
 * @returns the folder
 */
export function madeOnce(folder: string, make: (staging: string) => void): string {
  if (existsSync(folder)) return folder;
  const staging = `${folder}-${String(process.pid)}`;
  // Of a process that had the same number, and was killed.
  rmSync(staging, { recursive: true, force: true });
  make(staging);
  try {
    renameSync(staging, folder);
  } catch (error) {
    rmSync(staging, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
