import { dirname, join } from 'node:path';
import type { Disk } from './disk.js';
import { makeFolders, removeFlatFolder, removeIfEmpty } from './folders.js';
import {
  isStaging,
  journalNames,
  readJournal,
  stagedPath,
  type Journal,
  type Step,
} from './journal.js';
import { isLock, isLockAside } from './lock.js';
import { lookInto } from './look.js';
import { foldersAbove, recordFolder } from './paths.js';
import { Refusal } from './refusal.js';
import { hashText } from './text.js';

/**
 * Whether an earlier run was interrupted and left something to undo or to clean up, or still runs.
 */
export async function needsHealing(disk: Disk, root: string): Promise<boolean> {
  const names = await recordNames(disk, root);
  return names.some((name) => isLock(name) || isJournal(name) || isStaging(name));
}

/** Restores a complete tree after an interrupted run; the lock is held. */
export async function heal(disk: Disk, root: string): Promise<void> {
  const done = await readJournal(disk, root, journalNames.done);
  if (done !== undefined) await finishJournal(disk, root, done);
  const open = await readJournal(disk, root, journalNames.open);
  if (open !== undefined) await undoJournal(disk, root, open);
  for (const name of await recordNames(disk, root)) {
    if (isStaging(name)) await removeFlatFolder(disk, join(root, recordFolder, name));
    if (isLockAside(name)) await disk.removeFile(join(root, recordFolder, name));
  }
}

/** Undoes all steps that were done, the last one first. May itself be interrupted and run again. */
export async function undoJournal(disk: Disk, root: string, journal: Journal): Promise<void> {
  for (const [index, step] of [...journal.steps.entries()].reverse()) {
    const staged = (side: 'new' | 'old') => stagedPath(root, journal, index, side);
    if (step.action === 'create') await undoCreate(disk, root, { step, fresh: staged('new') });
    else await putBack(disk, root, { step, backup: staged('old') });
  }
  for (const folder of [...journal.folders].reverse())
    await removeIfEmpty(disk, join(root, folder));
  await disk.removeFile(join(root, recordFolder, journalNames.open));
  await removeFlatFolder(disk, join(root, recordFolder, journal.staging));
}

/**
 * Cleans up after a completed run: removes what it replaced or deleted, and the folders that became
 * empty.
 */
export async function finishJournal(disk: Disk, root: string, journal: Journal): Promise<void> {
  for (const step of journal.steps) {
    if (step.action !== 'delete') continue;
    for (const folder of [...foldersAbove(step.path)].reverse()) {
      if (!(await removeIfEmpty(disk, join(root, folder)))) break;
    }
  }
  await removeFlatFolder(disk, join(root, recordFolder, journal.staging));
  await disk.removeFile(join(root, recordFolder, journalNames.done));
}

async function undoCreate(
  disk: Disk,
  root: string,
  { step, fresh }: { step: Step & { action: 'create' | 'update' }; fresh: string },
): Promise<void> {
  if ((await disk.kind(fresh)) !== undefined) return;
  const seen = await lookAt(disk, root, step.path);
  // A file that was edited since is kept.
  if (seen.kind === 'file' && hashText(seen.text) === step.hash) {
    await disk.removeFile(join(root, step.path));
  }
}

async function putBack(
  disk: Disk,
  root: string,
  { step, backup }: { step: Step; backup: string },
): Promise<void> {
  if ((await disk.kind(backup)) === undefined) return;
  const path = join(root, step.path);
  const seen = await lookAt(disk, root, step.path);
  const isOurs =
    seen.kind === 'file' && step.action !== 'delete' && hashText(seen.text) === step.hash;
  if (seen.kind !== 'absent' && !isOurs) return;
  if (seen.kind === 'absent') await makeFolders(disk, dirname(path));
  await disk.rename(backup, path);
}

async function lookAt(disk: Disk, root: string, path: string) {
  const seen = await lookInto(disk, root)(path);
  if (seen.kind === 'outside') {
    throw new Refusal(
      `An interrupted run cannot be undone: ${seen.link} is a link that leaves ${root}.`,
    );
  }
  return seen;
}

function isJournal(name: string): boolean {
  return name === journalNames.open || name === journalNames.done;
}

async function recordNames(disk: Disk, root: string): Promise<readonly string[]> {
  const folder = join(root, recordFolder);
  return (await disk.kind(folder)) === 'folder' ? disk.list(folder) : [];
}
