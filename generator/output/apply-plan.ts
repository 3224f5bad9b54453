import { dirname, join } from 'node:path';
import type { Disk } from './disk.js';
import { makeFolders, removeFlatFolder } from './folders.js';
import type { Host } from './host.js';
import {
  journalNames,
  printJournal,
  stagedPath,
  stagingFor,
  type Journal,
  type Step,
} from './journal.js';
import { mapInBatches } from './map-in-batches.js';
import { foldersAbove, manifestPath, recordFolder } from './paths.js';
import type { Plan, PlannedFile } from './plan.js';
import { Refusal } from './refusal.js';
import { hashText } from './text.js';
import { exactText } from './user-edits.js';
import { finishJournal, undoJournal } from './heal.js';

type Write = Extract<PlannedFile, { action: 'create' | 'update' }>;

/** A change of one path; `before` is the text of a user's file that is moved. */
type Change =
  Write | { readonly action: 'delete'; readonly path: string; readonly before?: string };

/**
 * Carries out a plan without conflicts; the lock is held and the folder healed. Either all of it
 * happens or nothing: new texts are staged, a journal describes the steps, files are exchanged by
 * renames, and renaming the journal is the moment at which the new tree counts.
 */
export async function applyPlan(plan: Plan, host: Host): Promise<void> {
  const { disk, signal } = host;
  const { root } = plan;
  const changes = orderedChanges(plan);
  const journal: Journal = {
    staging: stagingFor(host.pid),
    folders: await missingFolders(disk, root, changes),
    steps: changes.map(stepOf),
  };
  try {
    await stage(root, changes, journal, host);
    await openJournal(disk, root, journal);
    for (const folder of journal.folders) await disk.makeFolder(join(root, folder));
    for (const [index, step] of journal.steps.entries()) {
      signal.throwIfAborted();
      await takeStep(disk, root, { journal, step, index });
      await assertUnchanged(disk, changes[index], stagedPath(root, journal, index, 'old'));
    }
    await flushTouched(disk, root, journal);
    signal.throwIfAborted();
    await disk.rename(recordPath(root, journalNames.open), recordPath(root, journalNames.done));
  } catch (error) {
    await takeBack(disk, root, journal, error);
  }
  await tidy(disk, root, journal);
}

/**
 * Deletions come first, because a new name may differ from a deleted one only in case; the manifest
 * comes last.
 */
function orderedChanges(plan: Plan): readonly Change[] {
  const rank = (change: Change) =>
    change.action === 'delete' ? 0 : change.path === manifestPath ? 2 : 1;
  return changesOf(plan).sort((a, b) => rank(a) - rank(b));
}

/** A moved file leaves one path, which another file may take, and arrives at another. */
function changesOf({ files }: Plan): Change[] {
  const left = new Map(
    files.flatMap((file) => (file.action === 'rename' ? [[file.from, file.before] as const] : [])),
  );
  const writes = files.flatMap((file): readonly Write[] => {
    if (file.action === 'update') return [file];
    if (file.action !== 'create' && file.action !== 'rename') return [];
    const { path, owner, text } = file;
    const before = left.get(path);
    return before === undefined
      ? [{ action: 'create', path, owner, text }]
      : [{ action: 'update', path, owner, text, before }];
  });
  const written = new Set(writes.map(({ path }) => path));
  const emptied = [...left].filter(([path]) => !written.has(path));
  return [
    ...files
      .filter((file) => file.action === 'delete')
      .map(({ action, path }) => ({ action, path })),
    ...emptied.map(([path, before]) => ({ action: 'delete', path, before }) as const),
    ...writes,
  ];
}

function stepOf(change: Change): Step {
  const { action, path } = change;
  return action === 'delete' ? { action, path } : { action, path, hash: hashText(change.text) };
}

async function missingFolders(
  disk: Disk,
  root: string,
  changes: readonly Change[],
): Promise<readonly string[]> {
  const created = changes.filter((change) => change.action === 'create');
  const needed = [...new Set(created.flatMap((change) => foldersAbove(change.path)))];
  const kinds = await Promise.all(needed.map((folder) => disk.kind(join(root, folder))));
  return needed.filter((folder, index) => folder !== recordFolder && kinds[index] === undefined);
}

async function stage(
  root: string,
  changes: readonly Change[],
  journal: Journal,
  { disk, signal }: Host,
): Promise<void> {
  const folder = recordPath(root, journal.staging);
  await makeFolders(disk, folder);
  await mapInBatches(changes, async (change, index) => {
    signal.throwIfAborted();
    if (change.action === 'delete') return;
    await disk.create(stagedPath(root, journal, index, 'new'), change.text);
  });
  await disk.flush(folder);
}

/** A journal must be complete or absent, so it is written under another name first. */
async function openJournal(disk: Disk, root: string, journal: Journal): Promise<void> {
  const draft = join(recordPath(root, journal.staging), journalNames.open);
  await disk.create(draft, printJournal(journal));
  await disk.rename(draft, recordPath(root, journalNames.open));
  await disk.flush(join(root, recordFolder));
}

async function takeStep(
  disk: Disk,
  root: string,
  { journal, step, index }: { journal: Journal; step: Step; index: number },
): Promise<void> {
  const path = join(root, step.path);
  if (step.action !== 'create') await disk.rename(path, stagedPath(root, journal, index, 'old'));
  if (step.action === 'delete') return;
  if ((await disk.kind(path)) !== undefined) {
    throw new Refusal(`${step.path} appeared while the files were being written.`);
  }
  await disk.rename(stagedPath(root, journal, index, 'new'), path);
}

/** A user's file may have been saved since it was read; its new text must not be lost. */
async function assertUnchanged(
  disk: Disk,
  change: Change | undefined,
  backup: string,
): Promise<void> {
  const isUsers =
    change?.action === 'delete'
      ? change.before !== undefined
      : change?.action === 'update' && change.owner === 'user';
  if (change === undefined || change.action === 'create' || !isUsers) return;
  if (exactText(await disk.read(backup)) === change.before) return;
  throw new Refusal(`${change.path} was changed while the files were being written.`);
}

async function flushTouched(disk: Disk, root: string, journal: Journal): Promise<void> {
  const folders = new Set(journal.steps.map((step) => dirname(join(root, step.path))));
  for (const folder of journal.folders) folders.add(dirname(join(root, folder)));
  folders.add(recordPath(root, journal.staging));
  for (const folder of folders) await disk.flush(folder);
}

/** Undoes a failed run and throws the cause, unless the failure came after the new tree counted. */
async function takeBack(disk: Disk, root: string, journal: Journal, cause: unknown): Promise<void> {
  try {
    if ((await disk.kind(recordPath(root, journalNames.done))) !== undefined) return;
    const isOpen = (await disk.kind(recordPath(root, journalNames.open))) !== undefined;
    if (isOpen) await undoJournal(disk, root, journal);
    else await removeFlatFolder(disk, recordPath(root, journal.staging));
  } catch (error) {
    throw new Refusal(
      `${root} could not be written (${textOf(cause)}), and could not be restored (${textOf(error)}). The next run tries again to restore it.`,
      { cause },
    );
  }
  throw cause;
}

async function tidy(disk: Disk, root: string, journal: Journal): Promise<void> {
  try {
    await disk.flush(join(root, recordFolder));
    await finishJournal(disk, root, journal);
  } catch (error) {
    throw new Refusal(
      `The new files are in place, but ${root} could not be cleaned up (${textOf(error)}). The next run tries again.`,
      { cause: error },
    );
  }
}

function recordPath(root: string, name: string): string {
  return join(root, recordFolder, name);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
