import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder unless it exists. Tests run in parallel, so it appears complete or not at all.
 * @returns the folder
 */
export function madeOnce(folder: string, make: (staging: string) => void): string {
  if (existsSync(folder)) return folder;
  const staging = emptyStaging(folder);
  make(staging);
  return inPlace(staging, folder);
}

/** Creates a folder by asynchronous work, unless it exists. */
export async function madeOnceLater(
  folder: string,
  make: (staging: string) => Promise<void>,
): Promise<string> {
  if (existsSync(folder)) return folder;
  const staging = emptyStaging(folder);
  await make(staging);
  return inPlace(staging, folder);
}

function emptyStaging(folder: string): string {
  const staging = `${folder}-${String(process.pid)}`;
  // It is from a killed process with the same process ID.
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(dirname(staging), { recursive: true });
  return staging;
}

function inPlace(staging: string, folder: string): string {
  try {
    renameSync(staging, folder);
  } catch (error) {
    rmSync(staging, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
