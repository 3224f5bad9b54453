import type { EmittedFile } from '../../generator/emit/file.js';
import type { Disk } from '../../generator/output/disk.js';
import type { Host } from '../../generator/output/host.js';
import type { Plan } from '../../generator/output/plan.js';
import {
  handedOver,
  planFiles,
  type OutputFolder,
  type WantedOutput,
} from '../../generator/output/plan-files.js';
import { type ReadUserText, type UserEdit, withEdits } from '../../generator/output/user-edits.js';
import { openOutput, writeOutput as write } from '../../generator/output/write-output.js';

export type EditUserFiles = (read: ReadUserText) => Promise<readonly UserEdit[]>;

/** A run into a folder. */
export interface OutputRequest extends Omit<WantedOutput, 'edits'> {
  readonly folder: string;
  /** Changes files of the user, if the folder has been generated before. */
  readonly editUserFiles?: EditUserFiles;
}

export function ours(path: string, text = `${path}\n`): EmittedFile {
  return { path, owner: 'generator', text };
}

export function theirs(path: string, text = `${path}\n`): EmittedFile {
  return { path, owner: 'user', text };
}

export function request(
  files: readonly EmittedFile[],
  changes: Partial<OutputRequest> = {},
): OutputRequest {
  return { folder: '/home/server', files, generatorVersion: '1.0.0', force: false, ...changes };
}

export function host(disk: Disk, changes: Partial<Host> = {}): Host {
  return {
    disk,
    pid: 10,
    isAlive: () => false,
    pause: () => Promise.resolve(),
    signal: new AbortController().signal,
    warn: (message) => {
      throw new Error(message);
    },
    ...changes,
  };
}

/** What {@link writeOutput} would do. */
export async function planOutput(request: OutputRequest, host: Host): Promise<Plan> {
  const folder = await openOutput(request.folder, host, { isDry: true });
  return planFiles(folder, await wantedIn(folder, request));
}

/** A run as the commands do it: plans, and writes unless there are conflicts. */
export async function writeOutput(request: OutputRequest, host: Host): Promise<Plan> {
  const folder = await openOutput(request.folder, host, { isDry: false });
  const wanted = await wantedIn(folder, request);
  const plan = await planFiles(folder, wanted);
  await write(plan, folder, wanted, host);
  return plan;
}

async function wantedIn(
  folder: OutputFolder,
  { files, generatorVersion, force, editUserFiles }: OutputRequest,
): Promise<WantedOutput> {
  const kept = { users: folder.users, edits: [] };
  const handed = withEdits(kept, await handedOver(folder, files));
  const more = folder.last === undefined ? [] : await editUserFiles?.(handed.users.read);
  return { files, generatorVersion, force, edits: withEdits(handed, more ?? []).edits };
}
