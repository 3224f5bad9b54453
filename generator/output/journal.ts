import { join } from 'node:path';
import type { Disk } from './disk.js';
import { isSafePath, recordFolder } from './paths.js';
import { Refusal } from './refusal.js';
import { decodeText } from './text.js';

/**
 * What a run is about to do, so that a later one can undo it. Step `n` puts `<staging>/n.new` in
 * its place, after moving what was there to `<staging>/n.old`; which of the two exist shows how far
 * the run came.
 */
export interface Journal {
  /** Name of the staging folder, next to the journal. */
  readonly staging: string;
  /** Folders that the run creates, outermost first. */
  readonly folders: readonly string[];
  readonly steps: readonly Step[];
}

export type Step =
  | { readonly action: 'create' | 'update'; readonly path: string; readonly hash: string }
  | { readonly action: 'delete'; readonly path: string };

/**
 * Under `open` the run can be undone; renamed to `done`, it has happened and only the clean-up is
 * left.
 */
export const journalNames = { open: 'journal.json', done: 'journal.done.json' } as const;

const stagingName = /^staging-\d+$/;

export function stagingFor(pid: number): string {
  return `staging-${pid}`;
}

export function isStaging(name: string): boolean {
  return stagingName.test(name);
}

export function stagedPath(
  root: string,
  journal: Journal,
  step: number,
  side: 'new' | 'old',
): string {
  return join(root, recordFolder, journal.staging, `${step}.${side}`);
}

export function printJournal(journal: Journal): string {
  return `${JSON.stringify({ format: 1, ...journal }, null, 2)}\n`;
}

/** Reads a journal if there is one; a journal that drs-gen did not write must not move files. */
export async function readJournal(
  disk: Disk,
  root: string,
  name: string,
): Promise<Journal | undefined> {
  const path = join(root, recordFolder, name);
  const kind = await disk.kind(path);
  if (kind === undefined) return undefined;
  const content = kind === 'file' ? parseJson(decodeText(await disk.read(path))) : undefined;
  if (isJournal(content)) return content;
  throw new Refusal(
    `${path} describes how to undo an interrupted run, but cannot be read. Restore the folder from version control, then delete that file.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isJournal(value: unknown): value is Journal {
  return (
    isRecord(value) &&
    value['format'] === 1 &&
    typeof value['staging'] === 'string' &&
    isStaging(value['staging']) &&
    isListOf(value['folders'], isPath) &&
    isListOf(value['steps'], isStep)
  );
}

function isStep(value: unknown): value is Step {
  if (!isRecord(value) || !isPath(value['path'])) return false;
  if (value['action'] === 'delete') return true;
  const isWrite = value['action'] === 'create' || value['action'] === 'update';
  return isWrite && typeof value['hash'] === 'string';
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && isSafePath(value);
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isItem);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
