import { recordFolder } from '../output/paths.js';
import { conflictsOf, type Conflict, type Plan, type PlannedFile } from '../output/plan.js';
import type { Colors } from './colors.js';
import { printable } from './terminal-text.js';
import { renderDiff, unifiedDiff } from './unified-diff.js';

const maxDiffLines = 60;

//  create    src/generated/app.ts
//  conflict  src/generated/api.ts  edited since it was generated
/** One line for each file that a plan changes or may not change. */
export function renderPlan(plan: Plan, colors: Colors): string {
  const lines = plan.files.flatMap((file) => {
    if (file.action === 'keep' || file.action === 'user-kept') return [];
    const reason = file.action === 'conflict' ? `  ${colors.dim(reasonText[file.reason])}` : '';
    const action = paintOf(file.action, colors)(file.action.padEnd(8));
    const from = file.action === 'rename' ? `${printable(file.from)} → ` : '';
    return [`${action}  ${from}${printable(file.path)}${reason}`];
  });
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** The changes inside files, with those that conflicts forbid; our records follow from the rest. */
export async function renderChanges(plan: Plan, colors: Colors): Promise<string> {
  const blocks: string[] = [];
  for (const file of plan.files) {
    if (file.action === 'rename') {
      const from = { name: `${file.from} (on disk)`, text: file.before };
      const to = { name: `${file.path} (generated)`, text: file.text };
      blocks.push(renderDiff(await unifiedDiff(from, to), colors));
    } else if (file.action === 'update' && !file.path.startsWith(`${recordFolder}/`)) {
      const from = { name: `${file.path} (on disk)`, text: file.before };
      const to = { name: `${file.path} (generated)`, text: file.text };
      blocks.push(renderDiff(await unifiedDiff(from, to), colors));
    } else if (file.action === 'conflict') {
      blocks.push(...(await renderEdit(file, colors)));
    }
  }
  return blocks.join('\n\n');
}

/** Why nothing was written, with the edits that would be lost. */
export async function renderRefusal(plan: Plan, folder: string, colors: Colors): Promise<string> {
  const conflicts = conflictsOf(plan);
  const lines = conflicts.map(
    ({ path, reason }) => `  ${colors.bold(printable(path))}  ${reasonText[reason]}`,
  );
  const blocks = await Promise.all(
    conflicts.map((conflict) => renderEdit(conflict, colors, maxDiffLines)),
  );
  const files = conflicts.length === 1 ? 'one file' : `${conflicts.length} files`;
  return [
    `${colors.red('Refused')}: ${files} in ${printable(folder)} cannot be written. Nothing was changed.`,
    lines.join('\n'),
    ...blocks.flat(),
    adviceFor(conflicts),
  ].join('\n\n');
}

//  server: 40 created, 2 updated, 3 unchanged, 1 deleted, 5 of yours kept
export function renderSummary(plan: Plan, folder: string): string {
  const count = (action: PlannedFile['action']) =>
    plan.files.filter((file) => file.action === action).length;
  const parts: readonly (readonly [number, string])[] = [
    [count('create'), 'created'],
    [count('update'), 'updated'],
    [count('rename'), 'renamed'],
    [count('keep'), 'unchanged'],
    [count('delete'), 'deleted'],
    [count('user-kept'), 'of yours kept'],
  ];
  const told = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`);
  return `${printable(folder)}: ${told.join(', ')}`;
}

/** A plan as `--json` prints it. */
export function planJson(plan: Plan): readonly object[] {
  return plan.files.map((file) => ({
    path: file.path,
    action: file.action,
    owner: file.owner,
    ...(file.action === 'rename' ? { from: file.from } : {}),
    ...(file.action === 'conflict' ? { reason: file.reason } : {}),
  }));
}

const reasonText: Readonly<Record<Conflict['reason'], string>> = {
  edited: 'edited since it was generated',
  'edited-stale': 'no longer wanted, but edited since it was generated',
  foreign: 'exists, and was not made by drs-gen',
  link: 'is a symbolic link',
  case: 'a file exists whose name differs in case alone',
  obstacle: 'something that is not a file is in the way',
};

/** What the user changed in a file of ours, or what stands in its place. */
async function renderEdit(
  { path, text, before }: Conflict,
  colors: Colors,
  maxLines?: number,
): Promise<readonly string[]> {
  if (text === undefined || before === undefined) return [];
  const from = { name: `${path} (generated)`, text };
  const to = { name: `${path} (on disk)`, text: before };
  return [renderDiff(await unifiedDiff(from, to), colors, maxLines)];
}

function adviceFor(conflicts: readonly Conflict[]): string {
  const has = (...reasons: readonly Conflict['reason'][]) =>
    conflicts.some((conflict) => reasons.includes(conflict.reason));
  const advice: string[] = [];
  if (has('edited', 'edited-stale')) {
    advice.push('Code of your own belongs in the files that are yours, src/main.ts for one.');
  }
  if (has('edited', 'foreign', 'link')) {
    advice.push(
      '--force replaces these files, except those that would be yours: they stay as they are.',
    );
  }
  if (has('edited-stale')) advice.push('--force deletes what is no longer wanted.');
  if (has('case', 'obstacle')) advice.push('Move away what is in the way.');
  return advice.join('\n');
}

function paintOf(action: PlannedFile['action'], colors: Colors): (text: string) => string {
  switch (action) {
    case 'create':
      return colors.green;
    case 'update':
    case 'rename':
      return colors.cyan;
    case 'delete':
    case 'conflict':
      return colors.red;
    case 'keep':
    case 'user-kept':
      return colors.dim;
  }
}
