import { join } from 'node:path';
import type { EmittedFile } from '../emit/file.js';
import type { Disk } from './disk.js';
import { lookInto, type Look, type Seen } from './look.js';
import { parseManifest, printManifest, type Manifest } from './manifest.js';
import { mapInBatches } from './map-in-batches.js';
import { findOutputFolder } from './output-folder.js';
import { assertSoundPaths, compareCodePoints, foldCase, manifestPath } from './paths.js';
import { forced, type Conflict, type Plan, type PlannedFile } from './plan.js';
import { Refusal } from './refusal.js';
import { hashText, withPlainLineEnds } from './text.js';
import { type UserEdit, userFolder, type UserFolder } from './user-edits.js';

/** An output folder as the last run left it. */
export interface OutputFolder {
  /** Its absolute path, as the user names it; it need not exist. */
  readonly path: string;
  /** Its real path. */
  readonly root: string;
  readonly look: Look;
  readonly record: Seen;
  /** What the last run wrote; absent if the folder is not ours yet. */
  readonly last: Manifest | undefined;
  /** The user's files; none if the folder is not ours yet. */
  readonly users: UserFolder;
}

/** What a folder is to hold. */
export interface WantedOutput {
  readonly files: readonly EmittedFile[];
  /** Changes of the user's files, with those of {@link handedOver}. */
  readonly edits: readonly UserEdit[];
  readonly generatorVersion: string;
  /**
   * Replace or delete generated files that were edited, and replace files of others that are in the
   * way.
   */
  readonly force: boolean;
}

export async function readFolder(disk: Disk, path: string): Promise<OutputFolder> {
  const root = await findOutputFolder(disk, path);
  const look = lookInto(disk, root);
  const record = await look(manifestPath);
  const last = readRecord(record, join(root, manifestPath));
  return { path, root, look, record, last, users: userFolder(disk, root, look, last?.files) };
}

/** Compares what a folder is to hold with what it holds; writes nothing. */
export async function planFiles(
  { root, look, record, last }: OutputFolder,
  { files, edits, generatorVersion, force }: WantedOutput,
): Promise<Plan> {
  assertSoundPaths(files.map((file) => file.path));
  const stale = await planStale(look, files, last);
  const gone = new Set(
    stale.flatMap((file) => (file.action === 'delete' ? [foldCase(file.path)] : [])),
  );
  const left = new Set(edits.map(({ from }) => from));
  const writtenOnce = new Set(last?.writtenOnce);
  const wanted = await mapInBatches(files, async (file) => {
    const seen: Seen = left.has(file.path) ? { kind: 'absent' } : await look(file.path);
    const isDeleted =
      seen.kind === 'absent' && file.isOptional === true && writtenOnce.has(file.path);
    if (isDeleted) return [];
    const known = { hasManifest: last !== undefined, hash: last?.files.get(file.path) };
    return [decideWanted(file, withoutGone(file.path, seen, gone), known)];
  });
  const manifest = planManifest(record, printManifest(manifestOf(generatorVersion, files)));
  const planned = [...planEdits([...stale, ...wanted.flat()], edits), manifest];
  const plan: Plan = {
    root,
    isFirst: last === undefined,
    files: planned.sort((a, b) => compareCodePoints(a.path, b.path)),
  };
  return force ? forced(plan) : plan;
}

/** The user's files that the plan keeps, or does not know, may get additions. */
function planEdits(
  planned: readonly PlannedFile[],
  edits: readonly UserEdit[],
): readonly PlannedFile[] {
  const edited = new Set(edits.map(({ path }) => path));
  const moved = new Set(edits.flatMap(({ path, from }) => (from === undefined ? [] : [path])));
  // A file that is moved away leaves no user's file; a stub for its path would be for users without
  // one.
  const others = planned.filter(
    ({ action, owner, path }) =>
      !(edited.has(path) && action === 'user-kept') && !(moved.has(path) && owner === 'user'),
  );
  const changed = others.find(({ path }) => edited.has(path));
  if (changed !== undefined)
    throw new Refusal(
      `Another program has changed ${changed.path} meanwhile. Nothing was changed. Run drs-gen again.`,
    );
  const changes = edits.map(({ from, ...edit }): PlannedFile =>
    from === undefined
      ? { action: 'update', owner: 'user', ...edit }
      : { action: 'rename', owner: 'user', from, ...edit },
  );
  return [...others, ...changes];
}

async function planStale(
  look: Look,
  files: readonly EmittedFile[],
  last: Manifest | undefined,
): Promise<readonly PlannedFile[]> {
  const wanted = new Set(files.map((file) => file.path));
  const stale = [...(last?.files ?? [])].filter(([path]) => !wanted.has(path));
  const planned = await mapInBatches(stale, async ([path, hash]) =>
    decideStale(path, await look(path), hash),
  );
  return planned.filter((file) => file !== undefined);
}

/**
 * Files that belonged to drs-gen when they were written, and now belong to the user. One that was
 * not edited gets its present text a last time, since its old one may no longer work.
 */
export async function handedOver(
  { users, last }: OutputFolder,
  files: readonly EmittedFile[],
): Promise<readonly UserEdit[]> {
  const moved = files.filter(({ owner, path }) => owner === 'user' && users.owns(path));
  const planned = await mapInBatches(moved, async ({ path, text }): Promise<UserEdit[]> => {
    const found = await users.read(path);
    const isOurs = found.kind === 'file' && hashText(found.text) === last?.files.get(path);
    return isOurs && withPlainLineEnds(found.text) !== text
      ? [{ path, before: found.text, text }]
      : [];
  });
  return planned.flat();
}

/**
 * A new name that differs from a deleted one only in case is free, because deletions come first.
 */
function withoutGone(path: string, seen: Seen, gone: ReadonlySet<string>): Seen {
  return seen.kind === 'variant' && gone.has(foldCase(path)) ? { kind: 'absent' } : seen;
}

function readRecord(record: Seen, path: string): Manifest | undefined {
  if (record.kind === 'absent') return undefined;
  if (record.kind === 'file') return parseManifest(record.text);
  throw new Refusal(`${path} is not an ordinary file in an ordinary folder.`);
}

function manifestOf(generator: string, files: readonly EmittedFile[]): Manifest {
  const owned = files.filter((file) => file.owner === 'generator');
  const optional = files.filter((file) => file.isOptional === true);
  return {
    generator,
    files: new Map(owned.map((file) => [file.path, hashText(file.text)])),
    writtenOnce: optional.map(({ path }) => path).sort(compareCodePoints),
  };
}

function planManifest(record: Seen, text: string): PlannedFile {
  const [path, owner] = [manifestPath, 'generator'] as const;
  if (record.kind !== 'file') return { action: 'create', path, owner, text };
  if (record.text === text) return { action: 'keep', path, owner };
  return { action: 'update', path, owner, text, before: record.text };
}

/** What the last run recorded about a file. */
interface Known {
  /** Whether there was a last run. */
  readonly hasManifest: boolean;
  /** The hash in the manifest for the path. */
  readonly hash: string | undefined;
}

/** Decides about a file of the model. */
function decideWanted(file: EmittedFile, seen: Seen, known: Known): PlannedFile {
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
function decideStale(path: string, seen: Seen, hash: string): PlannedFile | undefined {
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
