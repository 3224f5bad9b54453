import type { CheckedModel } from '../check/check-model.js';
import type { Comparison } from '../evolution/change.js';
import { changesOf } from '../evolution/compare.js';
import type { MigrationReview } from '../migration/migrations.js';
import type { Host } from '../output/host.js';
import { changesAnything, conflictsOf, type Plan } from '../output/plan.js';
import { planFiles, type OutputFolder, type WantedOutput } from '../output/plan-files.js';
import { Refusal } from '../output/refusal.js';
import { writeOutput } from '../output/write-output.js';
import { comparisonJson, locator } from './comparison-text.js';
import { diagnosticsJson } from './diagnostics-json.js';
import { exitCode } from './exit-code.js';
import { Interruption, isSystemError } from './failure.js';
import type { MissingPackage } from './package-review.js';
import {
  migrationJson,
  planJson,
  renderChanges,
  renderPlan,
  renderRefusal,
  renderSummary,
} from './plan-text.js';
import { hostOf, print, printJson, tell, type Session } from './session.js';
import type { OldLine } from './upgrade-review.js';

// What the commands that write a folder have in common.

/** Their common options. */
export interface WriteOptions {
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

export function isDry({ check, dryRun }: WriteOptions): boolean {
  return check === true || dryRun === true;
}

/**
 * Runs work that the user can interrupt until files are exchanged.
 * @returns the exit code of the work, or that of an interruption that came too late
 */
export async function interruptible(
  session: Session,
  work: (host: Host) => Promise<number>,
): Promise<number> {
  const { world } = session;
  const controller = new AbortController();
  const { signal } = controller;
  const release = world.onInterrupt((name) => {
    controller.abort(new Interruption(name));
  });
  try {
    const code = await work(hostOf(session, signal));
    const reason: unknown = signal.reason;
    return reason instanceof Interruption ? exitCode.interrupted[reason.signal] : code;
  } finally {
    release();
  }
}

/**
 * Runs a step that reads or writes a folder. With `--json`, its refusal is reported with the
 * problems that are known before it.
 * @param path absolute
 */
export async function reporting<T>(
  session: Session,
  known: { readonly path: string; readonly checked: CheckedModel; readonly options: WriteOptions },
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    const error = isSystemError(cause)
      ? new Refusal(`${known.path} could not be written: ${cause.message}. Nothing was changed.`, {
          cause,
        })
      : cause;
    if (known.options.json === true && error instanceof Refusal) {
      printReport(session, known.checked, { ok: false, error: error.message });
    }
    throw error;
  }
}

/** Plans the content of a folder and writes it, unless the run is dry. */
export async function carryOut(
  folder: OutputFolder,
  wanted: WantedOutput,
  options: WriteOptions,
  host: Host,
): Promise<Plan> {
  const plan = await planFiles(folder, wanted);
  if (!isDry(options)) await writeOutput(plan, folder, wanted, host);
  return plan;
}

/** @param next the command for a folder that is new */
export async function tellPlan(
  session: Session,
  {
    plan,
    folder,
    options,
    next,
  }: { plan: Plan; folder: string; options: WriteOptions; next: string },
): Promise<void> {
  if (options.check === true) {
    if (!changesAnything(plan)) return;
    tell(session, `${folder} differs from the model. These files would change:`);
    print(session, renderPlan(plan, session.out));
    return;
  }
  if (options.dryRun === true) {
    const text = [renderPlan(plan, session.out), await renderChanges(plan, session.out)];
    const shown = text.filter((part) => part !== '').join('\n');
    if (shown !== '') print(session, shown);
    tell(session, `${renderSummary(plan, folder)} (dry run: nothing was written)`);
    return;
  }
  if (conflictsOf(plan).length > 0) {
    tell(session, await renderRefusal(plan, folder, session.err));
    return;
  }
  tell(session, session.err.bold(renderSummary(plan, folder)));
  if (plan.isFirst) tell(session, `Next: ${next}`);
}

export function isFine(plan: Plan, options: WriteOptions): boolean {
  return codeFor(plan, options) === exitCode.ok;
}

export function codeFor(plan: Plan, options: WriteOptions): number {
  if (options.check === true) return changesAnything(plan) ? exitCode.failed : exitCode.ok;
  return conflictsOf(plan).length > 0 ? exitCode.refused : exitCode.ok;
}

interface Report {
  readonly ok: boolean;
  readonly plan?: Plan;
  readonly comparison?: Comparison | undefined;
  readonly migrations?: MigrationReview;
  readonly missing?: readonly MissingPackage[];
  readonly oldLines?: readonly OldLine[];
  readonly error?: string;
}

export function printReport(
  session: Session,
  checked: CheckedModel,
  { ok, plan, comparison, migrations, missing = [], oldLines = [], error }: Report,
): void {
  const { problems, sources } = checked;
  printJson(session, {
    ok,
    diagnostics: diagnosticsJson(problems, sources),
    plan: plan === undefined ? [] : planJson(plan),
    ...(comparison === undefined || changesOf(comparison).length === 0
      ? {}
      : { changes: comparisonJson(comparison, locator(checked)) }),
    ...(migrations === undefined || migrations.open.length + migrations.doubts.length === 0
      ? {}
      : { migration: migrationJson(migrations) }),
    ...(missing.length === 0 ? {} : { missingPackages: missing }),
    ...(oldLines.length === 0 ? {} : { oldLines }),
    ...(error === undefined ? {} : { error }),
  });
}
