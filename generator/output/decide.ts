import type { EmittedFile } from '../emit/file.js';
import type { Seen } from './look.js';
import type { Conflict, PlannedFile } from './plan.js';
import { Refusal } from './refusal.js';
import { hashText, withPlainLineEnds } from './text.js';

/** What the last run recorded about a file. */
export interface Known {
  /** Whether there was a last run. */
  readonly hasManifest: boolean;
  /** The hash in the manifest for the path. */
  readonly hash: string | undefined;
}

/** Decides about a file of the model. */
export function decideWanted(file: EmittedFile, seen: Seen, known: Known): PlannedFile {
  if (file.owner === 'user') return decideUser(file, seen, known);
  const { path, owner, text } = file;
  switch (seen.kind) {
    case 'absent':
      return { action: 'create', path, owner, text };
    case 'file':
      return decideOurs({ path, text, before: seen.text }, known);
    case 'link':
    case 'variant':
    case 'obstacle':
      return conflictWith(file, seen);
    case 'outside':
      throw outside(path, seen.link);
  }
}

/**
 * Decides about a file of the last run that the model no longer needs; `undefined` if it is gone
 * already.
 */
export function decideStale(path: string, seen: Seen, hash: string): PlannedFile | undefined {
  const owner = 'generator';
  switch (seen.kind) {
    case 'file':
      return hashText(seen.text) === hash
        ? { action: 'delete', path, owner }
        : { action: 'conflict', path, owner, reason: 'edited-stale', before: seen.text };
    case 'link':
      return { action: 'conflict', path, owner, reason: 'link' };
    case 'absent':
    case 'variant':
    case 'obstacle':
    case 'outside':
      return undefined;
  }
}

function decideOurs(
  file: { path: string; text: string; before: string },
  known: Known,
): PlannedFile {
  const { path, text, before } = file;
  const owner = 'generator';
  if (withPlainLineEnds(text) === before) return { action: 'keep', path, owner };
  if (known.hash === undefined) {
    return { action: 'conflict', path, owner, reason: 'foreign', text, before };
  }
  return known.hash === hashText(before)
    ? { action: 'update', path, owner, text, before }
    : { action: 'conflict', path, owner, reason: 'edited', text, before };
}

function decideUser(file: EmittedFile, seen: Seen, known: Known): PlannedFile {
  const { path, text } = file;
  const owner = 'user';
  switch (seen.kind) {
    case 'absent':
      return { action: 'create', path, owner, text };
    case 'file':
      // Without a manifest the folder is not ours: its files were not generated for this server.
      if (known.hasManifest || withPlainLineEnds(text) === seen.text) {
        return { action: 'user-kept', path, owner };
      }
      return { action: 'conflict', path, owner, reason: 'foreign', text, before: seen.text };
    case 'link':
      return { action: 'user-kept', path, owner };
    case 'variant':
    case 'obstacle':
      return conflictWith(file, seen);
    case 'outside':
      if (seen.present) return { action: 'user-kept', path, owner };
      throw outside(path, seen.link);
  }
}

function conflictWith(
  { path, owner, text }: EmittedFile,
  seen: Extract<Seen, { kind: 'link' | 'variant' | 'obstacle' }>,
): Conflict {
  const reason = seen.kind === 'variant' ? 'case' : seen.kind;
  return { action: 'conflict', path, owner, reason, text };
}

function outside(path: string, link: string): Refusal {
  return new Refusal(
    `${path} would be written outside of the output folder, because ${link} is a symbolic link that leaves it.`,
  );
}
