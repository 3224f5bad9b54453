import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { matches } from '../../import/database.js';
import { importSource } from '../../import/import-source.js';
import { readBase } from '../../import/merge.js';
import { ImportStop } from '../../import/messages.js';
import type { Draft } from '../../import/render.js';
import type { SourceKind } from '../../import/source-model.js';
import { fileRows } from '../../import-data/file-rows.js';
import { LoaderProcess, LoadStopped } from '../../import-data/loader.js';
import { planOf, type LastNames, type Plan } from '../../import-data/plan.js';
import { withoutRules, type FoundRule } from '../../import-data/relax.js';
import { namesOverRest, restRows } from '../../import-data/rest-rows.js';
import type { RowSource } from '../../import-data/rows.js';
import type { BrokenRule } from '../../import-data/rejects.js';
import { runImport, type Outcome, type RunResult } from '../../import-data/run.js';
import type { Ready } from '../../../runtime/protocol/load-messages.js';
import { withLock } from '../../output/lock.js';
import { recordFolder } from '../../output/paths.js';
import { Refusal } from '../../output/refusal.js';
import { exitCode } from '../exit-code.js';
import { UsageError } from '../failure.js';
import { hostOf, printJson, tell, type Session } from '../session.js';
import { shellWord } from '../shell-word.js';
import { listed, loginOf, type LoginOptions } from '../source-options.js';
import { printable } from '../terminal-text.js';

export interface ImportDataOptions extends LoginOptions {
  readonly model: string;
  readonly output?: string;
  readonly from?: SourceKind;
  readonly schema?: string;
  readonly tables?: string;
  readonly partial?: boolean;
  readonly dangling: 'null' | 'stop';
  readonly oddValues: 'null' | 'refuse';
  readonly restart?: boolean;
  readonly rejects?: boolean;
  readonly relax?: boolean;
  readonly batch: string;
  readonly json?: boolean;
}

/** `drs-gen import-data <source>`: copies the rows of a database into that of a generated server. */
export async function importData(
  session: Session,
  source: string,
  options: ImportDataOptions,
): Promise<number> {
  try {
    return await copied(session, source, options);
  } catch (error) {
    if (error instanceof ImportStop) {
      if (error.code === 'usage') throw new UsageError(`${error.place}: ${error.reason}.`);
      return stopped(session, options, `${error.place}: ${error.reason}`);
    }
    if (!(error instanceof LoadStopped)) throw error;
    return stopped(session, options, error.message);
  }
}

function stopped(session: Session, { json }: ImportDataOptions, reason: string): number {
  const message = `${reason.replace(/\.$/, '')}.`;
  if (json === true) printJson(session, { ok: false, error: message });
  else tell(session, `${session.err.red('error')}  ${printable(message)}`);
  return exitCode.failed;
}

async function copied(
  session: Session,
  source: string,
  options: ImportDataOptions,
): Promise<number> {
  const { world } = session;
  const model = resolve(world.cwd, options.model);
  const folder = dirname(model);
  const server = resolve(world.cwd, options.output ?? join(dirname(options.model), 'server'));
  const program = join(server, 'dist/src/generated/import-data.js');
  if (!world.isFile(model))
    throw new UsageError(`There is no ${options.model}; name the model with --model.`);
  if (!world.isFile(program)) {
    const command = `npx drs-gen ${shellWord(options.model)} -o ${shellWord(server)}`;
    throw new UsageError(
      `${program} is missing. Generate the server with ${command}, then run npm install and npm run build in it.`,
    );
  }
  if (options.restart === true && options.rejects === true) {
    throw new UsageError('--restart and --rejects exclude each other.');
  }
  if (!/^[1-9]\d{0,4}$/.test(options.batch)) {
    throw new UsageError(`--batch ${options.batch} is no number of rows from 1 to 99999.`);
  }
  // Two imports would write the same files of rejects.
  await mkdir(join(folder, recordFolder), { recursive: true });
  const host = hostOf(session, new AbortController().signal);
  return withLock(folder, host, () =>
    copyInto(session, { source, folder, server, program }, options),
  );
}

interface Places {
  readonly source: string;
  /** The folder of the model. */
  readonly folder: string;
  readonly server: string;
  readonly program: string;
}

async function copyInto(
  session: Session,
  { source, folder, server, program }: Places,
  options: ImportDataOptions,
): Promise<number> {
  const { rows, draft, last } = await opened(session, source, options, folder);
  try {
    const { loader, ready } = await LoaderProcess.start(program, {
      cwd: server,
      env: session.world.env,
      tell: (text) => {
        tell(session, printable(text.trimEnd()));
      },
    });
    try {
      const plan = planOf(draft, last, ready);
      if (!isUsable(session, plan, options)) return exitCode.failed;
      return await run(session, { rows, plan, loader, ready }, { folder, options });
    } finally {
      await loader.end();
    }
  } finally {
    await rows.close();
  }
}

interface Opened {
  readonly rows: RowSource;
  /** What the source holds, as a model. */
  readonly draft: Draft;
  readonly last: LastNames | undefined;
}

async function opened(
  session: Session,
  source: string,
  options: ImportDataOptions,
  folder: string,
): Promise<Opened> {
  const { world } = session;
  const lock = importLock(session, folder);
  if (/^https?:/i.test(source)) {
    refuseOthers(options, ['from', 'schema']);
    const { rows, draft: whole } = await restRows(source, loginOf(world.env, options));
    const draft = withTables(whole, options);
    const isProject = lock !== undefined && !isDatabase(lock.source);
    return { rows, draft, last: isProject ? namesOverRest(draft, lock) : undefined };
  }
  if (await isExport(world.cwd, source, options)) {
    refuseOthers(options, ['schema', 'user', 'authentify', 'cookie']);
    const { rows, draft: whole } = await fileRows(resolve(world.cwd, source), source);
    const draft = withTables(whole, options);
    const isProject = lock !== undefined && !isDatabase(lock.source);
    return { rows, draft, last: isProject ? namesOverRest(draft, lock) : undefined };
  }
  const { kind, draft } = await importSource(source, sourceOptions(session, options), world.cwd);
  const rows = await databaseRows(kind, source, world.cwd);
  return { rows, draft, last: lock?.source === kind ? lock : undefined };
}

async function databaseRows(kind: SourceKind, source: string, cwd: string): Promise<RowSource> {
  if (kind === 'postgres') {
    const { postgresRows } = await import('../../import-data/postgres-rows.js');
    return postgresRows(source);
  }
  if (kind !== 'sqlite')
    throw new UsageError(`${source}: a project holds no rows; name a database.`);
  const { sqliteRows } = await import('../../import-data/sqlite-rows.js');
  const path = source.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
  return sqliteRows(resolve(cwd, path), path);
}

/** Refuses options that have no effect on the kind of source, because users would rely on them. */
function refuseOthers(
  options: ImportDataOptions,
  names: readonly ('from' | 'schema' | 'user' | 'authentify' | 'cookie')[],
): void {
  const given = names.find((each) => options[each] !== undefined);
  if (given === undefined) return;
  throw new UsageError(`--${given} has no effect on this source; leave it out.`);
}

function withTables(draft: Draft, { tables }: ImportDataOptions): Draft {
  const patterns = listed(tables);
  if (patterns.length === 0) return draft;
  const dataclasses = draft.dataclasses.filter(({ name }) =>
    patterns.some((pattern) => matches(pattern, name)),
  );
  return { ...draft, dataclasses };
}

async function isExport(
  cwd: string,
  source: string,
  { from }: ImportDataOptions,
): Promise<boolean> {
  if (from !== undefined || /^(?:sqlite|postgres(?:ql)?):/i.test(source)) return false;
  const found = await stat(resolve(cwd, source)).catch(() => undefined);
  return found?.isDirectory() === true;
}

function isDatabase(source: string): boolean {
  return source === 'sqlite' || source === 'postgres';
}

function sourceOptions({ world }: Session, options: ImportDataOptions) {
  const { from, schema, tables } = options;
  return {
    from,
    login: loginOf(world.env, options),
    keyless: undefined,
    keys: new Map<string, string>(),
    vectors: new Map<string, number>(),
    blankDefaults: false,
    withoutRoles: true,
    tables: listed(tables),
    schemas: listed(schema),
    names: 'keep' as const,
    images: [],
  };
}

/** Tells how source and model differ. */
function isUsable(
  session: Session,
  { tables, left, unfilled, needed }: Plan,
  options: ImportDataOptions,
): boolean {
  const list = (names: readonly string[]): string => printable(names.join(', '));
  const problem =
    tables.length === 0
      ? 'no table of the source has a dataclass of the model'
      : needed.length > 0
        ? `the source has nothing for ${list(needed)}, and the model wants a value`
        : left.length > 0 && options.partial !== true
          ? `the model has no place for ${list(left)}: import the source again, or leave these out with --partial`
          : undefined;
  if (problem !== undefined) {
    stopped(session, options, `${problem}; nothing was written`);
    return false;
  }
  if (options.json === true) return true;
  if (unfilled.length > 0) tell(session, `The source has nothing for ${list(unfilled)}.`);
  if (left.length > 0) tell(session, `Left out: ${list(left)}.`);
  return true;
}

/** What `drs-gen import` has left beside the model. */
function importLock({ world }: Session, folder: string) {
  const path = join(folder, '.drs-gen/import.lock.json');
  if (!world.isFile(path)) return undefined;
  return readBase(Buffer.from(world.readFile(path)).toString());
}

async function run(
  session: Session,
  parts: {
    readonly rows: RowSource;
    readonly plan: Plan;
    readonly loader: LoaderProcess;
    readonly ready: Ready;
  },
  { folder, options }: { readonly folder: string; readonly options: ImportDataOptions },
): Promise<number> {
  const result = await runImport(parts.rows, parts.plan, parts.loader, parts.ready, {
    folder,
    restart: options.restart === true,
    takesRejects: options.rejects === true,
    batch: Number(options.batch),
    stopAtDangling: options.dangling === 'stop',
    makesOddNull: options.oddValues === 'null',
    tell: (words) => {
      if (options.json !== true) tell(session, printable(words));
    },
  });
  const isExact = result.outcomes.every(
    ({ rejectedRows, incompleteRows, differences }) =>
      rejectedRows + incompleteRows + differences === 0,
  );
  const { broken, ...told } = result;
  // Printed first: the model file may be read-only.
  if (options.json !== true) tellResult(session, result, join(dirname(options.model), 'rejects'));
  const rules = await brokenRules(session, broken, options);
  if (options.json === true) printJson(session, { ok: isExact, ...told, rules });
  else tellRules(session, rules, options);
  return isExact ? exitCode.ok : exitCode.failed;
}

/** Finds the rules that rows break in the model file; with `--relax` they are taken out of it. */
async function brokenRules(
  session: Session,
  broken: readonly BrokenRule[],
  options: ImportDataOptions,
): Promise<readonly FoundRule[]> {
  if (broken.length === 0) return [];
  const { world } = session;
  const { disk, pid } = world.host;
  const path = resolve(world.cwd, options.model);
  const before = new TextDecoder('utf-8', { ignoreBOM: true }).decode(world.readFile(path));
  const { rules, text } = withoutRules(before, broken);
  if (options.relax !== true || text === before) return rules;
  const { value, problems } = await world.compiler.check({
    file: options.model,
    text,
    readBeside: (beside) => {
      const full = resolve(dirname(path), beside);
      return world.isFile(full) ? world.readFile(full) : undefined;
    },
  });
  if (value === undefined) {
    const errors = problems.filter(({ severity }) => severity === 'error');
    const list = errors.map(({ code, path: at, message }) => `  ${code} at ${at}: ${message}`);
    throw new Refusal(
      `${options.model} without these rules has errors, so it stays as it is:\n${list.join('\n')}`,
    );
  }
  await disk.create(`${path}.new-${String(pid)}`, text);
  await disk.rename(`${path}.new-${String(pid)}`, path);
  return rules;
}

function tellRules(
  session: Session,
  rules: readonly FoundRule[],
  { model, relax, output }: ImportDataOptions,
): void {
  for (const { dataclass, attribute, rule, rows, line } of rules) {
    const count = rows === 1 ? '1 row' : `${String(rows)} rows`;
    const what = `${rule} of ${dataclass}.${attribute} refuses ${count}`;
    const done =
      line === undefined
        ? '; this rule is not in the model file by itself: change the model, or build the server again if you already have'
        : relax === true
          ? ', and is removed'
          : '';
    const place = line === undefined ? model : `${model}:${String(line)}`;
    tell(session, printable(`${place}: ${what}${done}`));
  }
  const found = rules.filter(({ line }) => line !== undefined);
  if (found.length === 0) return;
  if (relax !== true) {
    tell(session, '--relax removes these rules from the model.');
    return;
  }
  const server = output ?? join(dirname(model), 'server');
  tell(
    session,
    `Next: npx drs-gen ${shellWord(model)} -o ${shellWord(server)}, then npm run build in it, then this command with --rejects instead of --relax`,
  );
}

function tellResult(session: Session, { outcomes, differences }: RunResult, rejects: string): void {
  const cells = (each: Outcome): readonly string[] => [
    each.dataclass,
    ...[each.rows, each.entities, each.rejectedRows, each.incompleteRows, each.differences].map(
      String,
    ),
  ];
  const head = ['', 'rows', 'entities', 'rejected', 'incomplete', 'different'];
  const table = [head, ...outcomes.map(cells)];
  const widths = head.map((_, at) => Math.max(...table.map((row) => (row[at] ?? '').length)));
  for (const row of table) {
    const shown = row.map((cell, at) =>
      at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
    );
    tell(session, shown.join('  ').trimEnd());
  }
  for (const each of differences) tell(session, printable(each));
  const sum = (count: (outcome: Outcome) => number): number =>
    outcomes.reduce((all, each) => all + count(each), 0);
  if (sum((each) => each.rejectedRows + each.incompleteRows) > 0) {
    tell(
      session,
      `${rejects}: rows that are not stored, or not with all their values, and why; mend them there, and take them with --rejects`,
    );
  }
  const isExcepted = sum((each) => each.rejectedRows + each.incompleteRows) > 0;
  const same = `Compared value by value: the database holds what the source holds${isExcepted ? ', except for these' : ''}.`;
  tell(
    session,
    sum((each) => each.differences) === 0 ? same : 'The database and the source differ.',
  );
}
