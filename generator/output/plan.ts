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

export interface Update {
  readonly action: 'update';
  readonly path: string;
  /** A file of the user's is only ever added to, or follows new names of the model. */
  readonly owner: Owner;
  readonly text: string;
  /** The text that is replaced. */
  readonly before: string;
}

/** A file of the user's gets another name, and another text. */
export interface Move {
  readonly action: 'rename';
  /** Its new path. */
  readonly path: string;
  readonly from: string;
  readonly owner: 'user';
  readonly text: string;
  readonly before: string;
}

/** A file that the run may not touch unasked. */
export interface Conflict {
  readonly action: 'conflict';
  readonly path: string;
  readonly owner: Owner;
  readonly reason: ConflictReason;
  /** The text that should stand there; absent when the file is no longer wanted. */
  readonly text?: string;
  /** The text that stands there, when it is a file. */
  readonly before?: string;
}

export type Owner = EmittedFile['owner'];

export type ConflictReason =
  /** A file of ours was edited, and would be replaced. */
  | 'edited'
  /** A file of ours was edited, and would be deleted. */
  | 'edited-stale'
  /** A file stands there that no run of ours made. */
  | 'foreign'
  /** A symbolic link stands there. */
  | 'link'
  /** A file stands there whose name differs in case alone. */
  | 'case'
  /** A folder or a device stands there, or a file where a folder is needed. */
  | 'obstacle';

export interface Plan {
  /** Real path of the output folder. */
  readonly root: string;
  /** No manifest was there. */
  readonly isFirst: boolean;
  /** In code-point order of their paths. */
  readonly files: readonly PlannedFile[];
}

/** Whether the run changes anything, or would if it could. */
export function changesAnything(plan: Plan): boolean {
  return plan.files.some((file) => file.action !== 'keep' && file.action !== 'user-kept');
}

export function conflictsOf(plan: Plan): readonly Conflict[] {
  return plan.files.filter((file) => file.action === 'conflict');
}

/** The plan with every conflict decided in our favour that force can decide; user files stay as they are. */
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
