import { posix } from 'node:path';
import type { MigrationReview } from '../migration/migrations.js';
import type { Doubt } from '../migration/stored-model.js';
import { decisionOf, isContract, stepWords, type PlannedStep } from '../migration/steps.js';
import { recordFolder } from '../output/paths.js';
import { conflictsOf, type Conflict, type Plan, type PlannedFile } from '../output/plan.js';
import type { Colors } from './colors.js';
import { shellWord } from './shell-word.js';
import { printable } from './terminal-text.js';
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

/** The changes inside files, including those that conflicts prevent; the manifest follows from the rest. */
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

interface MigrationTarget {
  readonly folder: string;
  /** The command that writes a migration. */
  readonly command: string;
  readonly isDry: boolean;
}

const migrateCommand = 'node dist/src/migrate.js';

//  server/src/migrations/0001-fill-country.ts is written. The file is yours. Its steps, and what runs them:
//    fill Company.country  the start of the server
//    drop Company.fax      node dist/src/migrate.js, once atMost says how many values may be lost
//  Replace each decide(…) by a value: Company.country.
//  Next: cd server && npm run build && npm start
/** Describes the migration that was written and what the user has to do for it. */
export function renderMigration(
  { names, open, doubts, written }: MigrationReview,
  { folder, command, isDry }: MigrationTarget,
): string {
  const doubtful = doubts.flatMap((each) => doubtLines(each, command));
  if (written === undefined) {
    if (doubts.length > 0) {
      return ['No migration is written.', ...doubtful].map(printable).join('\n');
    }
    return names.length === 0
      ? 'No migration is needed: the start of the server makes all changes.'
      : 'No further migration is needed: the start of the server makes all changes that src/migrations does not contain.';
  }
  const width = Math.max(...open.map((each) => stepWords(each).length));
  const steps = open.map((each) => {
    const waits = each.kind === 'drop' ? ', once atMost says how many values may be lost' : '';
    const doer = doneBy(each, open) === 'start' ? 'the start of the server' : migrateCommand;
    return `  ${stepWords(each).padEnd(width)}  ${doer}${waits}`;
  });
  const verb = isDry ? 'would be' : 'is';
  const head = `${posix.join(folder, written)} ${verb} written. The file is yours. Its steps, and what runs them:`;
  return [head, ...steps, ...doubtful, ...nextLines(open, folder)].map(printable).join('\n');
}

function doubtLines({ name, now, line }: Doubt, command: string): readonly string[] {
  return [
    `${name} is not dropped, because it may be called ${now} now.`,
    `  If it is, write this line into ${now} in the model: ${line}`,
    `  If it was removed, run: ${command} --removed ${shellWord(name)}`,
  ];
}

function nextLines(steps: readonly PlannedStep[], folder: string): readonly string[] {
  const questions = steps.flatMap((each) => decisionOf(each) ?? []);
  const isStopped = steps.some(isContract);
  const build = `cd ${shellWord(folder)} && npm run build`;
  return [
    ...(questions.length === 0
      ? []
      : [`Replace each decide(…) by a value: ${questions.join(', ')}.`]),
    isStopped
      ? `Next: stop the servers of the older model, and run: ${build} && ${migrateCommand} && npm start`
      : `Next: ${build} && npm start`,
    ...(isStopped || !steps.some(({ kind }) => kind === 'drop')
      ? []
      : [`Later, when you no longer need the older model, run: ${migrateCommand}`]),
  ];
}

/** Says that unwritten steps are necessary; empty if there are none. */
export function renderOpenSteps(
  { open, written }: MigrationReview,
  { command }: MigrationTarget,
): string {
  // Unused parts may stay.
  const needed = open.filter(({ kind }) => kind !== 'drop').map(stepWords);
  if (needed.length === 0 || written !== undefined) return '';
  return printable(`The data may need steps that no migration contains: ${needed.join(', ')}.
Write one: ${command}`);
}

/** The review of migrations for `--json`. */
export function migrationJson({ open, doubts, written }: MigrationReview): object {
  return {
    path: written ?? null,
    doubts: doubts.map(({ name, now, line }) => ({ name, now, line })),
    steps: open.map((step) => ({
      kind: step.kind,
      table: step.table,
      column: step.column ?? null,
      words: stepWords(step),
      doneBy: doneBy(step, open),
      decide: decisionOf(step) ?? null,
    })),
  };
}

/** A step that only `migrate.js` runs stops the start, and so the steps after it. */
function doneBy(step: PlannedStep, all: readonly PlannedStep[]): 'start' | 'migrate.js' {
  return step.kind === 'fill' && !all.some(isContract) ? 'start' : 'migrate.js';
}

const reasonText: Readonly<Record<Conflict['reason'], string>> = {
  edited: 'edited since it was generated',
  'edited-stale': 'no longer needed, but edited since it was generated',
  foreign: 'exists, and drs-gen did not create it',
  link: 'is a symbolic link',
  case: 'a file exists whose name differs only in case',
  obstacle: 'something that is not a file has this path',
};

/** What the user changed in a generated file, or what replaces it. */
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
    advice.push('Put your own code into the files that belong to you, such as src/main.ts.');
  }
  if (has('edited', 'foreign', 'link')) {
    advice.push('--force replaces these files, except those that would belong to you.');
  }
  if (has('edited-stale')) advice.push('--force deletes files that are no longer needed.');
  if (has('case', 'obstacle')) advice.push('Move these away.');
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

interface DiffSide {
  readonly name: string;
  readonly text: string;
}

//  --- src/generated/app.ts (generated)
//  +++ src/generated/app.ts (on disk)
//  @@ -1,3 +1,3 @@
//   import { a } from './a.js';
//  -const b = 1;
//  +const b = 2;
/** The unified diff between two texts. */
async function unifiedDiff(from: DiffSide, to: DiffSide): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  return createTwoFilesPatch(from.name, to.name, from.text, to.text, undefined, undefined, {
    headerOptions: FILE_HEADERS_ONLY,
  });
}

/** A diff for a terminal, limited to a number of lines. */
function renderDiff(diff: string, colors: Colors, maxLines = Infinity): string {
  const lines = printable(diff).trimEnd().split('\n');
  const shown = lines.slice(0, maxLines).map((line) => paintLine(line, colors));
  const left = lines.length - shown.length;
  if (left > 0) shown.push(colors.dim(`… ${left} more lines`));
  return shown.join('\n');
}

function paintLine(line: string, colors: Colors): string {
  if (line.startsWith('---') || line.startsWith('+++')) return colors.bold(line);
  if (line.startsWith('@@')) return colors.cyan(line);
  if (line.startsWith('+')) return colors.green(line);
  return line.startsWith('-') ? colors.red(line) : line;
}
