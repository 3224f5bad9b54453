import type { EmittedFile } from '../emit/file.js';

/** What a run does with one file. */
export type PlannedFile =
  | {
      readonly action: 'create';
      readonly path: string;
      readonly owner: Owner;
      readonly text: string;
    }
  | Update
  | Move
  | { readonly action: 'keep'; readonly path: string; readonly owner: 'generator' }
  | { readonly action: 'user-kept'; readonly path: string; readonly owner: 'user' }
  | { readonly action: 'delete'; readonly path: string; readonly owner: 'generator' }
  | Conflict;

interface Update {
  readonly action: 'update';
  readonly path: string;
  /** A user's file only gets additions, or follows new names of the model. */
  readonly owner: Owner;
  readonly text: string;
  /** The replaced text. */
  readonly before: string;
}

/** A user's file gets another name and another text. */
export interface Move {
  readonly action: 'rename';
  /** Its new path. */
  readonly path: string;
  readonly from: string;
  readonly owner: 'user';
  readonly text: string;
  readonly before: string;
}

/** A file that the run may not change without `--force`. */
export interface Conflict {
  readonly action: 'conflict';
  readonly path: string;
  readonly owner: Owner;
  readonly reason: ConflictReason;
  /** The text that the file should have; absent if the file is no longer needed. */
  readonly text?: string;
  /** The text that the file has, if it is a file. */
  readonly before?: string;
}

export type Owner = EmittedFile['owner'];

type ConflictReason =
  /** A generated file was edited, and would be replaced. */
  | 'edited'
  /** A generated file was edited, and would be deleted. */
  | 'edited-stale'
  /** There is a file that drs-gen did not generate. */
  | 'foreign'
  /** There is a symbolic link. */
  | 'link'
  /** There is a file whose name differs only in case. */
  | 'case'
  /** There is a folder or a device, or a file in place of a folder. */
  | 'obstacle';

export interface Plan {
  /** Real path of the output folder. */
  readonly root: string;
  /** Whether there was no manifest. */
  readonly isFirst: boolean;
  /** Files in code-point order of their paths. */
  readonly files: readonly PlannedFile[];
}

/** Whether the run changes anything, or would if it could. */
export function changesAnything(plan: Plan): boolean {
  return plan.files.some((file) => file.action !== 'keep' && file.action !== 'user-kept');
}

export function conflictsOf(plan: Plan): readonly Conflict[] {
  return plan.files.filter((file) => file.action === 'conflict');
}

/** The plan with every conflict resolved that force can resolve; user files stay as they are. */
export function forced(plan: Plan): Plan {
  return {
    ...plan,
    files: plan.files.map((file) => (file.action === 'conflict' ? force(file) : file)),
  };
}

function force(conflict: Conflict): PlannedFile {
  const { path, owner, reason, text, before = '' } = conflict;
  if (reason === 'case' || reason === 'obstacle') return conflict;
  if (owner === 'user') return { action: 'user-kept', path, owner };
  if (text === undefined) return { action: 'delete', path, owner };
  return { action: 'update', path, owner, text, before };
}
