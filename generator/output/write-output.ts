import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { applyPlan } from './apply-plan.js';
import { makeFolders, removeIfEmpty } from './folders.js';
import { heal, needsHealing } from './heal.js';
import type { Host } from './host.js';
import { withLock } from './lock.js';
import { findOutputFolder } from './output-folder.js';
import { changesAnything, conflictsOf, type Plan } from './plan.js';
import { planFiles, readFolder, type OutputFolder, type WantedOutput } from './plan-files.js';
import { recordFolder } from './paths.js';
import { Refusal } from './refusal.js';

/**
 * Reads an output folder, after repairing what an interrupted run has left there.
 * @param path absolute
 * @throws Refusal if it needs a repair and the run is to change nothing
 */
export async function openOutput(
  path: string,
  host: Host,
  { isDry }: { readonly isDry: boolean },
): Promise<OutputFolder> {
  const { disk } = host;
  const root = await findOutputFolder(disk, path);
  if (await needsHealing(disk, root)) {
    if (isDry) {
      throw new Refusal(
        `A run was interrupted while it wrote into ${path}, or is still writing. Run drs-gen again to repair the folder.`,
      );
    }
    await withLock(root, host, () => heal(disk, root));
  }
  return readFolder(disk, path);
}

/**
 * Carries out the plan for a folder, unless it has conflicts. Planning takes no lock, because that
 * would change a folder in which there is nothing to do. So the folder is compared with the plan
 * again under the lock: another run may have written since.
 */
export async function writeOutput(
  plan: Plan,
  { path, root, look }: OutputFolder,
  wanted: WantedOutput,
  host: Host,
): Promise<void> {
  const { disk } = host;
  if (isSettled(plan)) return;
  // The lock and the journal are written too, so their folder must be inside as well. No run makes
  // this file, so that looking at it shows only the folder.
  const { kind } = await look(`${recordFolder}/none`);
  if (kind === 'outside' || kind === 'obstacle') {
    throw new Refusal(`${join(path, recordFolder)} is not an ordinary folder.`);
  }
  const made = await makeFolders(disk, join(root, recordFolder));
  try {
    await withLock(root, host, async () => {
      await heal(disk, root);
      const now = await planFiles(await readFolder(disk, path), wanted);
      if (!isDeepStrictEqual(now, plan)) {
        throw new Refusal(
          `Another program is writing into this folder: ${path} has changed since it was read. Run drs-gen again.`,
        );
      }
      if (conflictsOf(plan).length === 0) await applyPlan(plan, host);
    });
  } catch (error) {
    for (const folder of [...made].reverse()) await removeIfEmpty(disk, folder);
    throw error;
  }
}

/**
 * Whether there is nothing to do; or nothing that is allowed, in a folder in which no other run can
 * be active.
 */
function isSettled(plan: Plan): boolean {
  return !changesAnything(plan) || (plan.isFirst && conflictsOf(plan).length > 0);
}
