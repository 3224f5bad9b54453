import { basename, posix, resolve } from 'node:path';
import type { CheckedModel } from '../../check/check-model.js';
import type { EmittedFile } from '../../emit/file.js';
import type { Comparison } from '../../evolution/change.js';
import type { MigrationReview, WantedMigration } from '../../migration/migrations.js';
import type { Model } from '../../model/model.js';
import type { Host } from '../../output/host.js';
import { clientModule, modelLockPath } from '../../output/paths.js';
import { conflictsOf, type Plan } from '../../output/plan.js';
import { handedOver, type OutputFolder, type WantedOutput } from '../../output/plan-files.js';
import { Refusal } from '../../output/refusal.js';
import { withEdits, type UserFolder } from '../../output/user-edits.js';
import { openOutput } from '../../output/write-output.js';
import type { Diagnostic } from '../../source/diagnostic.js';
import { lineStarts, positionAt } from '../../source/position.js';
import { renderShort } from '../comparison-text.js';
import { exitCode } from '../exit-code.js';
import { UsageError } from '../failure.js';
import {
  carryOut,
  codeFor,
  interruptible,
  isDry,
  isFine,
  printReport,
  reporting,
  tellPlan,
  type WriteOptions,
} from '../output.js';
import { missingPackages, renderMissingPackages, type MissingPackage } from '../package-review.js';
import { renderMigration, renderOpenSteps } from '../plan-text.js';
import { readModel } from '../read-model.js';
import type { Sources } from '../render-diagnostics.js';
import { tell, tellProblems, type Session } from '../session.js';
import { shellWord } from '../shell-word.js';
import { renderUpgrade, upgradeReview, type UpgradeReview } from '../upgrade-review.js';
import { hasFailed } from './check.js';

export interface GenerateOptions extends WriteOptions {
  readonly output?: string;
  readonly upgrade?: boolean;
  readonly warnAsError?: boolean;
  /** Writes a migration for the changes that a start does not make by itself. */
  readonly migration?: WantedMigration;
}

/** A model without errors, and where its server is to be. */
interface Task {
  readonly file: string;
  readonly model: Model;
  readonly checked: CheckedModel;
  /** The folder as the user names it. */
  readonly folder: string;
  readonly options: GenerateOptions;
}

/** `drs-gen <model> -o <dir>`: generates the server of a model in a folder. */
export async function generate(
  session: Session,
  file: string,
  options: GenerateOptions,
): Promise<number> {
  const checked = await readModel(session.world, file);
  const { output: folder, json } = options;
  if (folder === undefined || folder === '') {
    throw new UsageError(`Name the folder of the server: npx drs-gen ${shellWord(file)} -o server`);
  }
  const { value: model } = checked;
  if (json !== true) tellProblems(session, checked);
  if (model === undefined || hasFailed(checked, options)) {
    if (json === true) printReport(session, checked, { ok: false });
    return exitCode.failed;
  }
  const task: Task = { file, model, checked, folder, options };
  const path = resolve(session.world.cwd, folder);
  return interruptible(session, async (host) => {
    const draft = await reporting(session, { path, checked, options }, () =>
      prepare(session, task, path, host),
    );
    const all = withNotices(checked, draft.notices);
    if (draft.isRefused) return refuse(session, draft.notices, all, options);
    const plan = await reporting(session, { path, checked: all, options }, () =>
      carryOut(draft.output, draft.wanted, options, host),
    );
    if (json === true) reportJson(session, { task, all, draft, plan });
    else await tellAll(session, { task, draft, plan });
    return codeFor(plan, options);
  });
}

/** What a run is to write, and what it tells. */
interface Draft {
  readonly output: OutputFolder;
  readonly wanted: WantedOutput;
  readonly comparison: Comparison;
  readonly migrations: MigrationReview;
  readonly upgrade: UpgradeReview;
  readonly missing: readonly MissingPackage[];
  /** The problems of the users' classes. */
  readonly notices: Notices;
  /** Whether they prevent writing. */
  readonly isRefused: boolean;
}

/**
 * Compares the model with that of the last run, emits the server, and edits the users' files: each
 * step sees these as the steps before it leave them. Writes none of it.
 */
async function prepare(
  session: Session,
  { file, model, checked, folder, options }: Task,
  path: string,
  host: Host,
): Promise<Draft> {
  const { world } = session;
  const { compiler, package: own } = world;
  const output = await openOutput(path, host, { isDry: isDry(options) });
  const { users } = output;
  if (users.owns(clientModule)) {
    throw new Refusal(`${folder} holds a client; name another folder for the server.`);
  }
  const older = await lastModel(session, folder, users);
  const comparison = older === undefined ? nothing : await compiler.compare(older, model);
  if (options.json !== true) tellComparison(session, { comparison, folder, file });

  const shown = (each: string): string => posix.join(folder, each);
  const renames = await compiler.renameClasses({ model, older, users, shown, files: world });
  const renamed = withEdits({ users, edits: [] }, renames.edits);
  const found = await compiler.findClasses({ model, older, users: renamed.users, shown });

  const migrations = await compiler.reviewMigrations({
    model,
    older,
    users,
    packageRoot: own.root,
    command: migrateCommand(file, folder),
    ...(options.migration === undefined ? {} : { wanted: options.migration }),
  });
  const emitted = await compiler.emit(model, {
    packageRoot: own.root,
    modelFileName: basename(file),
    classFiles: found.files,
    migrations: migrations.names,
  });
  const lock: EmittedFile = {
    path: modelLockPath,
    owner: 'generator',
    text: await compiler.serialize(model),
  };
  const files = [...emitted, lock, ...migrations.files];

  const handed = withEdits(renamed, await handedOver(output, files));
  const upgrade = await upgradeReview(files, found.files, handed.users.read);
  const upgraded = withEdits(handed, upgrade.edits);
  const missing = await missingPackages(files, upgraded.users.read);
  const kept = options.upgrade === true ? upgraded : handed;
  const stubs = await compiler.reviewClasses({
    model,
    older,
    read: kept.users.read,
    shown,
    classFiles: found.files,
    modelPlace: (each) => modelPlace(checked, each),
  });
  const { edits } = withEdits(kept, stubs.edits);

  const isRefused = [renames, found, stubs].some(({ problems }) =>
    problems.some(({ severity }) => severity === 'error' || options.warnAsError === true),
  );
  const isWritten = !isRefused && !isDry(options);
  const notices = noticesOf(isWritten ? renames : renames.before, found, stubs);
  const { version: generatorVersion } = own;
  const wanted = { files, edits, generatorVersion, force: options.force === true };
  return { output, wanted, comparison, migrations, upgrade, missing, notices, isRefused };
}

function migrateCommand(file: string, folder: string): string {
  return `npx drs-gen migrate ${shellWord(file)} -o ${shellWord(folder)}`;
}

const nothing: Comparison = { data: [], clients: [], classCode: [] };

/** The model of the last run; one that cannot be read is reported. */
async function lastModel(
  session: Session,
  folder: string,
  users: UserFolder,
): Promise<Model | undefined> {
  const lock = await users.read(modelLockPath);
  if (lock.kind === 'absent') return undefined;
  const parsed =
    lock.kind === 'file'
      ? await session.world.compiler.parse(lock.text)
      : { problem: 'it is no ordinary file of text' };
  if ('model' in parsed) return parsed.model;
  const path = posix.join(folder, modelLockPath);
  tell(session, `${path} cannot be compared with the model: ${parsed.problem}.`);
  return undefined;
}

function tellComparison(
  session: Session,
  { comparison, folder, file }: { comparison: Comparison; folder: string; file: string },
): void {
  const command = `npx drs-gen diff ${shellWord(folder)} ${shellWord(file)}`;
  const text = renderShort(comparison, command, session.err);
  if (text !== '') tell(session, text);
}

/** `model.yaml:12:7`. */
function modelPlace({ places, sources }: CheckedModel, modelPath: string): string {
  const place = places.get(modelPath);
  if (place === undefined) return modelPath;
  const { line, column } = positionAt(lineStarts(sources.get(place.file) ?? ''), place.start);
  return `${place.file}:${line}:${column}`;
}

interface Notices {
  readonly problems: readonly Diagnostic[];
  readonly sources: Sources;
}

/** @param renames their texts are the latest ones */
function noticesOf(renames: Notices, found: Notices, stubs: Notices): Notices {
  return {
    problems: [...renames.problems, ...found.problems, ...stubs.problems],
    sources: new Map([...found.sources, ...stubs.sources, ...renames.sources]),
  };
}

/** The problems of the model and those of the users' classes. */
function withNotices(checked: CheckedModel, { problems, sources }: Notices): CheckedModel {
  return {
    ...checked,
    problems: [...checked.problems, ...problems],
    sources: new Map([...checked.sources, ...sources]),
  };
}

/** @throws Refusal unless there are only warnings */
function refuse(
  session: Session,
  notices: Notices,
  all: CheckedModel,
  { json }: GenerateOptions,
): number {
  const error = new Refusal('Some of your classes prevent this. Nothing was changed.');
  if (json === true) printReport(session, all, { ok: false, error: error.message });
  else tellProblems(session, notices);
  if (notices.problems.some(({ severity }) => severity === 'error')) throw error;
  return exitCode.failed;
}

function reportJson(
  session: Session,
  {
    task: { options },
    all,
    draft: { comparison, migrations, missing, upgrade },
    plan,
  }: { task: Task; all: CheckedModel; draft: Draft; plan: Plan },
): void {
  const oldLines = options.upgrade === true ? [] : upgrade.lines;
  const ok = isFine(plan, options);
  printReport(session, all, { ok, plan, comparison, migrations, missing, oldLines });
}

async function tellAll(
  session: Session,
  {
    task: { file, folder, options },
    draft: { notices, missing, upgrade, migrations },
    plan,
  }: { task: Task; draft: Draft; plan: Plan },
): Promise<void> {
  tellProblems(session, notices);
  const next = `cd ${shellWord(folder)} && npm install && npm run build && npm start`;
  await tellPlan(session, { plan, folder, options, next });
  if (missing.length > 0) tell(session, renderMissingPackages(missing, folder));
  const hasConflicts = conflictsOf(plan).length > 0;
  const isDone = options.upgrade === true && !hasConflicts;
  const upgrading = renderUpgrade(upgrade, { file, folder, isDone });
  if (upgrading !== '') tell(session, upgrading);
  const render = options.migration === undefined ? renderOpenSteps : renderMigration;
  const command = migrateCommand(file, folder);
  const migrating = render(migrations, { folder, command, isDry: isDry(options) });
  if (migrating !== '' && !hasConflicts) tell(session, migrating);
}
