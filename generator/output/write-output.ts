import { join } from 'node:path';
import { applyPlan } from './apply-plan.js';
import { makeFolders, removeIfEmpty } from './folders.js';
import { heal, needsHealing } from './heal.js';
import type { Host } from './host.js';
import { withLock } from './lock.js';
import { lookInto } from './look.js';
import { findOutputFolder } from './output-folder.js';
import { changesAnything, conflictsOf, forced, type Plan } from './plan.js';
import { planFiles, type PlanInput } from './plan-files.js';
import { manifestPath, recordFolder } from './paths.js';
import { Refusal } from './refusal.js';

export type OutputRequest = Omit<PlanInput, 'disk'> & {
  /** Take over or delete files of ours that were edited, and replace those of others that stand in the way. */
  readonly force: boolean;
};

/** Says what {@link writeOutput} would do. */
export async function planOutput(request: OutputRequest, host: Host): Promise<Plan> {
  const root = await findOutputFolder(host.disk, request.folder);
  if (await needsHealing(host.disk, root)) {
    throw new Refusal(
      `A run was interrupted while it wrote into ${request.folder}, or is still writing. Generate once more to bring the folder in order.`,
    );
  }
  return planNow(request, host);
}

/** Makes the folder hold the files. A plan with conflicts is answered and not carried out. */
export async function writeOutput(request: OutputRequest, host: Host): Promise<Plan> {
  const { disk } = host;
  const root = await findOutputFolder(disk, request.folder);
  if (!(await needsHealing(disk, root))) {
    // Taking the lock would already change the folder.
    const plan = await planNow(request, host);
    if (!changesAnything(plan) || conflictsOf(plan).length > 0) return plan;
  }
  await refuseForeignRecords(request, host, root);
  const made = await makeFolders(disk, join(root, recordFolder));
  try {
    return await withLock(root, host, async () => {
      await heal(disk, root);
      const plan = await planNow(request, host);
      if (changesAnything(plan) && conflictsOf(plan).length === 0) await applyPlan(plan, host);
      return plan;
    });
  } catch (error) {
    for (const folder of [...made].reverse()) await removeIfEmpty(disk, folder);
    throw error;
  }
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
  const seen = await lookInto(disk, root)(manifestPath);
  if (seen.kind === 'file' || seen.kind === 'absent') return;
  throw new Refusal(
    `${join(request.folder, manifestPath)} is not an ordinary file in an ordinary folder.`,
  );
}
