import { join } from 'node:path';
import { applyPlan } from './apply-plan.js';
import { errorCode } from './error-code.js';
import { makeFolders, removeIfEmpty } from './folders.js';
import { heal, needsHealing } from './heal.js';
import type { Host } from './host.js';
import { withLock } from './lock.js';
import { lookInto } from './look.js';
import { findOutputFolder } from './output-folder.js';
import { changesAnything, conflictsOf, forced, type Plan } from './plan.js';
import { planFiles, type PlanInput } from './plan-files.js';
import { recordFolder } from './paths.js';
import { Refusal } from './refusal.js';

export type OutputRequest = Omit<PlanInput, 'disk'> & {
  /**
   * Replace or delete generated files that were edited, and replace files of others that are in the
   * way.
   */
  readonly force: boolean;
};

/** Returns what {@link writeOutput} would do. */
export async function planOutput(request: OutputRequest, host: Host): Promise<Plan> {
  const root = await findOutputFolder(host.disk, request.folder);
  if (await needsHealing(host.disk, root)) {
    throw new Refusal(
      `A run was interrupted while it wrote into ${request.folder}, or is still writing. Run drs-gen again to repair the folder.`,
    );
  }
  return planNow(request, host);
}

/** Writes the files into the folder. A plan with conflicts is returned and not carried out. */
export async function writeOutput(request: OutputRequest, host: Host): Promise<Plan> {
  const { disk } = host;
  const root = await findOutputFolder(disk, request.folder);
  const plan = await planUnlocked(request, host, root);
  if (plan !== undefined && isSettled(plan)) return plan;
  await refuseForeignRecords(request, host, root);
  const made = await makeFolders(disk, join(root, recordFolder));
  try {
    return await withLock(root, host, async () => {
      await heal(disk, root);
      const current = await planNow(request, host);
      if (changesAnything(current) && conflictsOf(current).length === 0) {
        await applyPlan(current, host);
      }
      return current;
    });
  } catch (error) {
    for (const folder of [...made].reverse()) await removeIfEmpty(disk, folder);
    throw error;
  }
}

/**
 * Plans before the lock is taken, because taking it would already change the folder. Another run
 * may be active, so only a plan without any work can be trusted.
 */
async function planUnlocked(
  request: OutputRequest,
  host: Host,
  root: string,
): Promise<Plan | undefined> {
  if (await needsHealing(host.disk, root)) return undefined;
  try {
    return await planNow(request, host);
  } catch (error) {
    // A listed file does not exist any longer.
    if (errorCode(error) === 'ENOENT') return undefined;
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

async function planNow(request: OutputRequest, host: Host): Promise<Plan> {
  const plan = await planFiles({ ...request, disk: host.disk });
  return request.force ? forced(plan) : plan;
}

/** The lock and the journal are written too, so their folder must be inside as well. */
async function refuseForeignRecords(
  request: OutputRequest,
  { disk }: Host,
  root: string,
): Promise<void> {
  // No run makes this file, so inspecting it only shows its folder, also while another run is
  // active.
  const seen = await lookInto(disk, root)(`${recordFolder}/none`);
  if (seen.kind !== 'outside' && seen.kind !== 'obstacle') return;
  throw new Refusal(`${join(request.folder, recordFolder)} is not an ordinary folder.`);
}
