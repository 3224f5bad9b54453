import { basename, posix, resolve } from 'node:path';
import type { CheckedModel } from '../../check/check-model.js';
import type { ClassFiles } from '../../emit/classes/user-classes.js';
import type { UsersParts } from '../../emit/context.js';
import type { EmittedFile } from '../../emit/file.js';
import type { MigrationReview, WantedMigration } from '../../migration/migrations.js';
import { changesOf } from '../../evolution/compare.js';
import type { Comparison } from '../../evolution/change.js';
import type { Model } from '../../model/model.js';
import { clientModule, modelLockPath } from '../../output/paths.js';
import { changesAnything, conflictsOf, type Plan } from '../../output/plan.js';
import { Refusal } from '../../output/refusal.js';
import { type UserFolder, withEdits } from '../../output/user-edits.js';
import { planOutput, writeOutput, type OutputRequest } from '../../output/write-output.js';
import { ClassRefusal, classReview, type ClassReview } from '../class-review.js';
import { comparisonJson, locator, renderShort } from '../comparison-text.js';
import { diagnosticsJson } from '../diagnostics-json.js';
import { exitCode } from '../exit-code.js';
import { Interruption, isSystemError, UsageError } from '../failure.js';
import { missingPackages, renderMissingPackages, type MissingPackage } from '../package-review.js';
import {
  migrationJson,
  planJson,
  renderChanges,
  renderMigration,
  renderOpenSteps,
  renderPlan,
  renderRefusal,
  renderSummary,
} from '../plan-text.js';
import { readModel } from '../read-model.js';
import { print, printJson, tell, tellProblems, type Session } from '../session.js';
import { shellWord } from '../shell-word.js';
import {
  editsOnTop,
  type OldLine,
  renderUpgrade,
  upgradeReview,
  type UpgradeReview,
} from '../upgrade-review.js';
import { hasFailed } from './check.js';

export interface GenerateOptions {
  readonly output?: string;
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly upgrade?: boolean;
  readonly json?: boolean;
  readonly warnAsError?: boolean;
  /** Writes a migration for the changes that a start does not make by itself. */
  readonly migration?: WantedMigration;
}

/** `drs-gen <model> -o <dir>`: generates the server of a model in a folder. */
export async function generate(
  session: Session,
  file: string,
  options: GenerateOptions,
): Promise<number> {
  const checked = await readModel(session.world, file);
  const folder = options.output;
  if (folder === undefined || folder === '') {
    throw new UsageError(`Name the folder of the server: npx drs-gen ${shellWord(file)} -o server`);
  }
  const { value: model } = checked;
  if (options.json !== true) tellProblems(session, checked);
  if (model === undefined || hasFailed(checked, options)) {
    if (options.json === true) printReport(session, checked, { ok: false });
    return exitCode.failed;
  }
  const review = classReview(
    session.world,
    { model, checked, folder },
    {
      refuses: ({ severity }) => severity === 'error' || options.warnAsError === true,
      isWritten: !isDry(options),
    },
  );
  const all = (): CheckedModel => withReview(checked, review);
  const command = `npx drs-gen migrate ${shellWord(file)} -o ${shellWord(folder)}`;
  try {
    const emit = await emitter(session, { file, model });
    let comparison: Comparison | undefined;
    let files: readonly EmittedFile[] = [];
    let missing: readonly MissingPackage[] = [];
    let classFiles: ClassFiles = new Map();
    let migrations: MigrationReview = { names: [], files: [], open: [], doubts: [] };
    let upgrade: UpgradeReview = { lines: [], edits: [], unused: [] };
    const request: OutputRequest = {
      folder: resolve(session.world.cwd, folder),
      files: async (users) => {
        if (users?.owns(clientModule) === true) {
          throw new Refusal(`${folder} holds a client; name another folder for the server.`);
        }
        if (comparison === undefined && users !== undefined) {
          comparison = await compareWithLast(session, { model, folder, users });
          if (options.json !== true) tellComparison(session, { comparison, folder, file });
        }
        classFiles = await review.find(users);
        migrations = await session.world.compiler.reviewMigrations({
          model,
          users,
          packageRoot: session.world.package.root,
          command,
          ...(options.migration === undefined ? {} : { wanted: options.migration }),
        });
        const emitted = await emit({ classFiles, migrations: migrations.names });
        files = [...emitted, ...migrations.files];
        return files;
      },
      generatorVersion: session.world.package.version,
      force: options.force === true,
      editUserFiles: async (read) => {
        const renames = review.renames();
        const renamed = withEdits(renames, read);
        upgrade = await upgradeReview(files, classFiles, renamed);
        const upgraded = withEdits(upgrade.edits, renamed);
        missing = await missingPackages(files, upgraded);
        if (options.upgrade !== true) return editsOnTop(renames, await review.edit(renamed));
        const edits = editsOnTop(upgrade.edits, await review.edit(upgraded));
        return editsOnTop(renames, edits);
      },
    };
    const { plan, interruption } = await carryOut(session, request, options);
    if (options.json === true) {
      const found = { missing, oldLines: options.upgrade === true ? [] : upgrade.lines };
      const ok = isFine(plan, options);
      printReport(session, all(), { ok, plan, comparison, migrations, ...found });
    } else {
      tellProblems(session, review.found());
      const next = `cd ${shellWord(folder)} && npm install && npm run build && npm start`;
      await tellPlan(session, { plan, folder, options, next });
      if (missing.length > 0) tell(session, renderMissingPackages(missing, folder));
      const isDone = options.upgrade === true && conflictsOf(plan).length === 0;
      const upgrading = renderUpgrade(upgrade, { file, folder, isDone });
      if (upgrading !== '') tell(session, upgrading);
      const render = options.migration === undefined ? renderOpenSteps : renderMigration;
      const migrating = render(migrations, { folder, command, isDry: isDry(options) });
      if (migrating !== '' && conflictsOf(plan).length === 0) tell(session, migrating);
    }
    if (interruption instanceof Interruption) return exitCode.interrupted[interruption.signal];
    return codeFor(plan, options);
  } catch (error) {
    if (options.json === true && error instanceof Refusal) {
      printReport(session, all(), { ok: false, error: error.message });
    } else if (error instanceof ClassRefusal) {
      tellProblems(session, review.found());
    }
    if (error instanceof ClassRefusal && !hasError(review)) return exitCode.failed;
    throw error;
  }
}

const nothing: Comparison = { data: [], clients: [], classCode: [] };

/** Compares the model with that of the last run. */
async function compareWithLast(
  session: Session,
  { model, folder, users }: { model: Model; folder: string; users: UserFolder },
): Promise<Comparison> {
  const { compiler } = session.world;
  const lock = await users.read(modelLockPath);
  if (lock.kind === 'absent') return nothing;
  const parsed =
    lock.kind === 'file'
      ? await compiler.parse(lock.text)
      : { problem: 'it is no ordinary file of text' };
  if ('model' in parsed) return compiler.compare(parsed.model, model);
  const path = posix.join(folder, modelLockPath);
  tell(session, `${path} cannot be compared with the model: ${parsed.problem}.`);
  return nothing;
}

function tellComparison(
  session: Session,
  { comparison, folder, file }: { comparison: Comparison; folder: string; file: string },
): void {
  const command = `npx drs-gen diff ${shellWord(folder)} ${shellWord(file)}`;
  const text = renderShort(comparison, command, session.err);
  if (text !== '') tell(session, text);
}

/** The problems of the model and those of the users' classes. */
function withReview(checked: CheckedModel, review: ClassReview): CheckedModel {
  const { problems, sources } = review.found();
  return {
    ...checked,
    problems: [...checked.problems, ...problems],
    sources: new Map([...checked.sources, ...sources]),
  };
}

function hasError(review: ClassReview): boolean {
  return review.found().problems.some(({ severity }) => severity === 'error');
}

/** Emits the files of the server. The plan may be made twice, although the places of classes rarely differ. */
async function emitter(
  { world }: Session,
  { file, model }: { readonly file: string; readonly model: Model },
): Promise<(users: UsersParts) => Promise<readonly EmittedFile[]>> {
  const lock: EmittedFile = {
    path: modelLockPath,
    owner: 'generator',
    text: await world.compiler.serialize(model),
  };
  const emitted = new Map<string, readonly EmittedFile[]>();
  return async (users) => {
    const key = JSON.stringify([[...(users.classFiles ?? [])], users.migrations]);
    const input = { packageRoot: world.package.root, modelFileName: basename(file), ...users };
    const files = emitted.get(key) ?? [...(await world.compiler.emit(model, input)), lock];
    emitted.set(key, files);
    return files;
  };
}

/** What the options of commands that write have in common. */
type WriteOptions = Pick<GenerateOptions, 'check' | 'dryRun'>;

function isDry({ check, dryRun }: WriteOptions): boolean {
  return check === true || dryRun === true;
}

interface Outcome {
  readonly plan: Plan;
  /** Set if the user interrupted the run when it was too late to stop. */
  readonly interruption: unknown;
}

/** Writes the files of a request, or with `--check` and `--dry-run` plans to. */
export async function carryOut(
  { world }: Session,
  request: OutputRequest,
  options: WriteOptions,
): Promise<Outcome> {
  const controller = new AbortController();
  const { signal } = controller;
  const host = { ...world.host, signal };
  const release = world.onInterrupt((name) => {
    controller.abort(new Interruption(name));
  });
  try {
    const plan = await (isDry(options) ? planOutput(request, host) : writeOutput(request, host));
    return { plan, interruption: signal.reason };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new Refusal(
      `${request.folder} could not be written: ${error.message}. Nothing was changed.`,
      { cause: error },
    );
  } finally {
    release();
  }
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

export interface Report {
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
