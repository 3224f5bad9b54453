import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { EmittedFile } from '../emit/file.js';
import { migrationView } from '../emit/views/migration.js';
import { Templates } from '../emit/templates.js';
import type { Model } from '../model/model.js';
import { parseModel, serializeModel } from '../model/serialize.js';
import { beforeLockPath } from '../output/paths.js';
import { Refusal } from '../output/refusal.js';
import type { UserFolder } from '../output/user-edits.js';
import { doubtsOf, storedModel, type Doubt } from './stored-model.js';
import { plannedSteps, stepWords, type PlannedStep } from './steps.js';

/** Migrations belong to the user: drs-gen writes each once and lists the existing ones. */
export interface MigrationReview {
  /** Names of all migrations without extension, in order. */
  readonly names: readonly string[];
  /** A new migration, and the model that existing data may still have. */
  readonly files: readonly EmittedFile[];
  /** Steps that a start does not run by itself and that no earlier migration contains. */
  readonly open: readonly PlannedStep[];
  /** What the new migration does not drop, because it may have another name now. */
  readonly doubts: readonly Doubt[];
  /** The path of the new migration. */
  readonly written?: string;
}

export interface MigrationInput {
  readonly model: Model;
  /** The model of the last run. */
  readonly older: Model | undefined;
  readonly users: UserFolder;
  /** The root of this package. */
  readonly packageRoot: string;
  /** Set if a migration is requested. */
  readonly wanted?: WantedMigration;
  /** The command that writes a migration, for messages. */
  readonly command: string;
}

export interface WantedMigration {
  /** Follows its number. */
  readonly name: string | undefined;
  /** Parts that were removed, although they look renamed: `Shop`, `Shop.fax`. */
  readonly removed: readonly string[];
}

const folder = 'src/migrations';
const filePattern = /^(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * Reviews the migrations of a server and writes one on request.
 * @throws Refusal for conflicting migrations of two branches, and for values that would not be found
 */
export async function reviewMigrations(input: MigrationInput): Promise<MigrationReview> {
  const { model, older, users, packageRoot, wanted, command } = input;
  const names = await migrationNames(users);
  const before = (await modelBefore(users)) ?? older;
  if (before === undefined) return { names, files: [], open: [], doubts: [] };
  const last = older ?? model;
  const stored = storedModel(before, last, { open: plannedSteps(before, last), written: [] });
  const all = plannedSteps(stored, model);
  if (wanted === undefined) {
    refuseMoves(all, command);
    const record = recordOf(stored, model, { open: all, written: [] });
    return { names, files: record, open: all, doubts: [] };
  }
  const found = doubtsOf(stored, model, all);
  refuseUnknown(wanted.removed, found, command);
  const doubts = found.filter(({ name }) => !wanted.removed.includes(name));
  const isDoubtful = (step: PlannedStep): boolean =>
    step.kind === 'drop' &&
    doubts.some(({ table, column }) => table === step.table && column === step.column);
  const open = all.filter((each) => !isDoubtful(each));
  const record = recordOf(stored, model, { open: all.filter(isDoubtful), written: open });
  if (open.length === 0) return { names, files: record, open, doubts };
  const name = nextName(names, wanted.name ?? nameOf(open));
  // A model may be that of an earlier migration again.
  const span = { from: dataHash(stored, names.at(-1)), to: dataHash(model) };
  const templates = new Templates(join(packageRoot, 'templates'));
  const text = templates.render('src/migrations/migration.ts', migrationView(open, span));
  const path = `${folder}/${name}.ts`;
  const file = { path, owner: 'user', text } as const;
  return { names: [...names, name], files: [file, ...record], open, doubts, written: path };
}

/** What the next run has to know about stored data: parts with open steps, and those that a migration drops. */
function recordOf(
  stored: Model,
  model: Model,
  steps: Parameters<typeof storedModel>[2],
): readonly EmittedFile[] {
  const next = storedModel(stored, model, steps);
  const isDropped = next.dataclasses.some(({ recorded, attributes }) =>
    [recorded, ...attributes.map((each) => each.recorded)].includes('dropped'),
  );
  if (steps.open.length === 0 && !isDropped) return [];
  return [{ path: beforeLockPath, owner: 'generator', text: serializeModel(next) }];
}

/**
 * A server of the new model would look for values in the wrong place and start without them.
 * @throws Refusal
 */
function refuseMoves(open: readonly PlannedStep[], command: string): void {
  // What was generated under a new name for a while is in few databases, and moves whenever the step runs.
  const moves = open.filter((each) => each.kind === 'rename' && each.mayExist !== true);
  if (moves.length === 0) return;
  throw new Refusal(
    `The model looks for values under other names than the database may have for its tables and columns. Run ${command}: it writes a migration with these steps: ${moves.map(stepWords).join(', ')}. Or leave renamedFrom, table and column in the model as they were.`,
  );
}

/** @throws Refusal for parts that are in no doubt */
function refuseUnknown(
  removed: readonly string[],
  doubts: readonly Doubt[],
  command: string,
): void {
  const unknown = removed.filter((each) => !doubts.some(({ name }) => name === each));
  if (unknown.length === 0) return;
  const known = doubts.map(({ name }) => name);
  throw new Refusal(
    `--removed ${unknown.join(' --removed ')}: no migration waits for that. ${known.length === 0 ? `Run ${command} without it.` : `It can be: ${known.join(', ')}.`}`,
  );
}

/** @throws Refusal */
async function migrationNames(users: UserFolder): Promise<readonly string[]> {
  const files = (await users.list(folder)).filter(
    ({ path, kind }) => kind === 'file' && path.endsWith('.ts'),
  );
  const names: string[] = [];
  const byNumber = new Map<string, string>();
  const byFrom = new Map<string, string>();
  for (const { path } of files) {
    const name = path.slice(folder.length + 1, -'.ts'.length);
    const number = filePattern.exec(name)?.[1];
    // A module that migrations import.
    if (number === undefined) continue;
    names.push(name);
    const read = await users.read(path);
    const from =
      read.kind === 'file' ? /\bfrom: ['"]([0-9a-f]+)['"]/.exec(read.text)?.[1] : undefined;
    refuseTwo(byNumber, number, path, 'have the same number');
    if (from !== undefined) refuseTwo(byFrom, from, path, 'lead from the same model');
  }
  return names;
}

/** @throws Refusal */
function refuseTwo(known: Map<string, string>, key: string, path: string, what: string): void {
  const other = known.get(key);
  if (other === undefined) {
    known.set(key, path);
    return;
  }
  throw new Refusal(
    `${other} and ${path} ${what}: they come from two branches. Keep the one that ran somewhere, delete the other one, and write it again with npx drs-gen migrate.`,
  );
}

/** The model that data may still have, if that is not the one of the last run. */
async function modelBefore(users: UserFolder): Promise<Model | undefined> {
  const read = await users.read(beforeLockPath);
  const parsed = read.kind === 'file' ? parseModel(read.text) : { problem: '' };
  return 'model' in parsed ? parsed.model : undefined;
}

function nextName(names: readonly string[], name: string): string {
  const last = Math.max(0, ...names.map((each) => Number(each.slice(0, 4))));
  return `${String(last + 1).padStart(4, '0')}-${name}`;
}

/** A name for the migration, after its first step. */
function nameOf([first]: readonly PlannedStep[]): string {
  if (first === undefined) return 'change';
  const what = first.column ?? first.table;
  const slug = what
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return slug === '' ? first.kind : `${first.kind}-${slug}`;
}

/**
 * Identifies models by the form of their data.
 * @param last the migration that leads to it
 */
function dataHash(model: Model, last?: string): string {
  const parts = model.dataclasses.map(({ table, attributes, uniqueIndexes = [] }) => [
    table,
    uniqueIndexes,
    attributes.filter(({ kind }) => kind === 'storage'),
  ]);
  const text = JSON.stringify(last === undefined ? parts : [...parts, last]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
