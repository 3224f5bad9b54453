import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { MissingDriver } from '../../check/missing-driver.js';
import { classFiles } from '../../import/class-files.js';
import { importSource, type Imported } from '../../import/import-source.js';
import { mergeModel, otherNames, readBase, type Base, type Merged } from '../../import/merge.js';
import { ImportStop, type Note } from '../../import/messages.js';
import { modelText, namesOf, rendered } from '../../import/render.js';
import { changesText, codesOf, counted, reportText } from '../../import/report.js';
import type { SourceKind } from '../../import/source-model.js';
import type { Model } from '../../model/model.js';
import { makeFolders } from '../../output/folders.js';
import { Refusal } from '../../output/refusal.js';
import { exitCode } from '../exit-code.js';
import { isSystemError, UsageError } from '../failure.js';
import { printJson, tell, type Session } from '../session.js';
import { shellWord } from '../shell-word.js';
import { listed, loginOf, type LoginOptions } from '../source-options.js';
import { printable } from '../terminal-text.js';

export interface ImportCommandOptions extends LoginOptions {
  readonly output: string;
  readonly from?: SourceKind;
  readonly schema?: string;
  readonly tables?: string;
  readonly keyless?: 'skip' | 'add';
  readonly key: readonly string[];
  readonly vector: readonly string[];
  readonly image: readonly string[];
  readonly blankDefaults?: boolean;
  readonly withoutRoles?: boolean;
  readonly names: 'keep' | 'camel';
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly force?: boolean;
}

/** `drs-gen import <source>`: writes a model of a project or database, and a report of what it lacks. */
export async function importModel(
  session: Session,
  source: string,
  options: ImportCommandOptions,
): Promise<number> {
  let imported: Imported;
  try {
    imported = await read(session, source, options);
  } catch (error) {
    if (!(error instanceof ImportStop)) throw error;
    const { code, place, reason } = error;
    if (code === 'usage') throw new UsageError(`${place}: ${reason}.`);
    return tellStop(session, options, error);
  }
  const folder = resolve(session.world.cwd, options.output);
  const before = options.force === true ? undefined : await lastImport(session, folder, imported);
  const files = await filesOf(session, imported, before);
  if (options.force !== true && before === undefined) await refuseTaken(session, folder, files);
  if (options.dryRun !== true) await write(session, folder, files);
  tellDone(session, { imported, options, files });
  return exitCode.ok;
}

async function read(
  { world }: Session,
  source: string,
  options: ImportCommandOptions,
): Promise<Imported> {
  const vectors = pairs('--vector', options.vector).map(([path, size]): [string, number] => {
    if (!/^[1-9]\d{0,4}$/.test(size)) {
      throw new UsageError(
        `--vector ${path}=${size}: write the number of dimensions behind the =.`,
      );
    }
    return [path, Number(size)];
  });
  try {
    return await importSource(
      source,
      {
        from: options.from,
        login: loginOf(world.env, options),
        keyless: options.keyless,
        keys: new Map(pairs('--key', options.key)),
        vectors: new Map(vectors),
        blankDefaults: options.blankDefaults === true,
        withoutRoles: options.withoutRoles === true,
        tables: listed(options.tables),
        schemas: listed(options.schema),
        names: options.names,
        images: options.image,
      },
      world.cwd,
    );
  } catch (error) {
    if (error instanceof MissingDriver) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** `Class=field`, split at the last `=`, which no name of a model holds. */
function pairs(option: string, values: readonly string[]): readonly [string, string][] {
  return values.map((value) => {
    const at = value.lastIndexOf('=');
    if (at < 1 || at === value.length - 1) {
      throw new UsageError(`${option} ${value} has no name on one side of the =.`);
    }
    return [value.slice(0, at), value.slice(at + 1)];
  });
}

interface WrittenFile {
  readonly path: string;
  readonly text: string;
}

const modelFile = 'model.yaml';
const rolesFile = 'roles.json';
const reportFile = 'import-report.md';
const lockFile = '.drs-gen/import.lock.json';

/** What an earlier import left in the folder, and what became of it. */
interface Before {
  readonly base: Base & { readonly roles?: string };
  readonly model: string;
  readonly roles: string | undefined;
  /** Class files that are there, which belong to the user. */
  readonly has: (path: string) => Promise<boolean>;
}

async function lastImport(
  { world }: Session,
  folder: string,
  { kind }: Imported,
): Promise<Before | undefined> {
  const { disk } = world.host;
  const textOf = async (path: string): Promise<string | undefined> => {
    const full = join(folder, path);
    if ((await disk.kind(full)) !== 'file') return undefined;
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await disk.read(full));
  };
  const [lock, model] = [await textOf(lockFile), await textOf(modelFile)];
  if (lock === undefined || model === undefined) return undefined;
  const base = readBase(lock);
  if (base === undefined) {
    throw new Refusal(
      `${lockFile} in ${folder} is not what an import has written. Restore it, or replace the model with --force.`,
    );
  }
  const projects = ['4d', 'qodly'];
  if (base.source !== kind && !(projects.includes(base.source) && projects.includes(kind))) {
    throw new Refusal(
      `The model in ${folder} was imported from ${base.source}, and this source is ${kind}. Name another folder with -o.`,
    );
  }
  const has = async (path: string): Promise<boolean> =>
    (await disk.kind(join(folder, path))) !== undefined;
  return { base, model, roles: await textOf(rolesFile), has };
}

/** The files of an import, the lock last. */
async function filesOf(
  session: Session,
  imported: Imported,
  before: Before | undefined,
): Promise<readonly WrittenFile[]> {
  const { draft, shown, remarks } = imported;
  const { text: model, names } = modelOf(imported, before);
  const made = draft.roles === undefined ? undefined : jsonText(rendered(draft.roles, names));
  const roles = rolesOf(imported, made, before);
  const checked = await checkResult(session, model, { roles, isMerged: before !== undefined });
  const classes: WrittenFile[] = [];
  if (before === undefined) {
    classes.push(...classFiles(checked, draft, imported.oldCode, session.world.package.root));
  }
  const other = otherNames(draft, names);
  const lock = {
    format: 1,
    source: imported.kind,
    ...(made === undefined ? {} : { roles: hashOf(made) }),
    ...(Object.keys(other).length === 0 ? {} : { names: other }),
    draft,
  };
  const notes = imported.notes.all;
  const changes = before === undefined ? [] : await changesOfRows(session, before, checked);
  const chapters = [...changes, ...remarks];
  return [
    { path: modelFile, text: model },
    ...(roles === undefined || roles === before?.roles ? [] : [{ path: rolesFile, text: roles }]),
    ...classes,
    { path: reportFile, text: reportText({ source: shown, draft, notes, remarks: chapters }) },
    { path: lockFile, text: jsonText(lock) },
  ];
}

/** What the changes of the source mean for stored rows, losses first. */
async function changesOfRows(
  { world: { compiler } }: Session,
  { model, roles }: Before,
  now: Model,
): Promise<readonly string[]> {
  const readBeside = (path: string): string | undefined => (path === rolesFile ? roles : undefined);
  const { value: older } = await compiler.check({ file: modelFile, text: model, readBeside });
  if (older === undefined) return [];
  const { data } = await compiler.compare(older, now);
  return data.length === 0 ? [] : [changesText(data)];
}

function modelOf({ draft, shown, notes }: Imported, before: Before | undefined): Merged {
  if (before === undefined) {
    const names = namesOf(draft);
    return { text: modelText(draft, names, headOf(shown)), names };
  }
  const merged = mergeModel(before.model, before.base, draft, notes);
  if (merged !== undefined) return merged;
  throw new Refusal(
    `${modelFile} is not YAML; npx drs-gen check shows where. Nothing was written.`,
  );
}

/** A roles file that somebody has edited stays. */
function rolesOf(
  { notes }: Imported,
  made: string | undefined,
  before: Before | undefined,
): string | undefined {
  const theirs = before?.roles;
  if (made === undefined || theirs === undefined || theirs === made) return theirs ?? made;
  if (hashOf(theirs) === before?.base.roles) return made;
  if (hashOf(made) !== before?.base.roles) {
    notes.add('import/kept', rolesFile, { part: rolesFile, what: 'other roles' });
  }
  return theirs;
}

function headOf(shown: string): string {
  return ` Imported from ${printable(shown).replaceAll('\n', ' ')}. ${reportFile} lists what could not be taken over.`;
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A new model with errors is a bug of ours; a merged one has what the user wrote in it. */
async function checkResult(
  { world }: Session,
  model: string,
  { roles, isMerged }: { readonly roles: string | undefined; readonly isMerged: boolean },
): Promise<Model> {
  const { value, problems } = await world.compiler.check({
    file: modelFile,
    text: model,
    readBeside: (path) => (path === rolesFile ? roles : undefined),
  });
  if (value !== undefined) return value;
  const errors = problems.filter(({ severity }) => severity === 'error');
  const list = errors.map(({ code, path, message }) => `  ${code} at ${path}: ${message}`);
  if (isMerged) {
    throw new Refusal(
      `${modelFile} with the changes of the source has errors. Change it so that they fit; nothing was written.\n${list.join('\n')}`,
    );
  }
  throw new Error(`The imported model has errors; nothing was written:\n${list.join('\n')}`);
}

/** Refuses to replace what somebody has written or edited. */
async function refuseTaken(
  { world }: Session,
  folder: string,
  files: readonly WrittenFile[],
): Promise<void> {
  const { disk } = world.host;
  const taken: string[] = [];
  for (const { path, text } of files) {
    const target = join(folder, path);
    const kind = await disk.kind(target);
    if (kind === undefined) continue;
    const isSame =
      kind === 'file' && Buffer.from(await disk.read(target)).equals(Buffer.from(text));
    if (!isSame) taken.push(path);
  }
  if (taken.length === 0) return;
  throw new Refusal(
    `${taken.join(', ')} in ${folder} would be replaced, and no import has written them. Name another folder with -o, or replace the files with --force. Nothing was written.`,
  );
}

/** Writes all files beside their places first, so that a full disk changes nothing. */
async function write(
  { world }: Session,
  folder: string,
  files: readonly WrittenFile[],
): Promise<void> {
  const { disk } = world.host;
  const made: { readonly from: string; readonly to: string }[] = [];
  try {
    for (const { path, text } of files) {
      const to = join(folder, path);
      await makeFolders(disk, dirname(to));
      const from = `${to}.new-${String(world.host.pid)}`;
      made.push({ from, to });
      await disk.create(from, text);
    }
    for (const { from, to } of made) await disk.rename(from, to);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    for (const { from } of made) {
      if ((await disk.kind(from)) === 'file') await disk.removeFile(from);
    }
    throw new Refusal(`${folder} could not be written: ${error.message}.`, { cause: error });
  }
}

function tellDone(
  session: Session,
  {
    imported,
    options,
    files,
  }: {
    readonly imported: Imported;
    readonly options: ImportCommandOptions;
    readonly files: readonly WrittenFile[];
  },
): void {
  const { draft } = imported;
  const notes = imported.notes.all;
  if (options.json === true) {
    const written = files.map(({ path }) => path);
    printJson(session, { ok: true, files: options.dryRun === true ? [] : written, notes });
    return;
  }
  for (const [code, found] of codesOf(notes)) {
    const [first] = found;
    const more = found.length === 1 ? '' : ` and ${String(found.length - 1)} more`;
    const paint = first?.severity === 'warning' ? session.err.yellow : session.err.dim;
    tell(session, `${paint(code)}  ${placed(first)}${more}`);
  }
  const model = join(options.output, modelFile);
  const count = counted(draft.dataclasses.length, 'dataclass', 'dataclasses');
  const ending = options.dryRun === true ? ' (dry run: nothing was written)' : '';
  tell(session, `${model}: ${count}${ending}`);
  if (options.dryRun === true) return;
  tell(session, `${join(options.output, reportFile)}: what could not be taken over`);
  const server = join(options.output, 'server');
  if (files.some(({ path }) => path.startsWith('classes/'))) {
    const target = join(options.output, 'server/src');
    tell(
      session,
      `${join(options.output, 'classes')}: the old code; copy the folder into ${target}`,
    );
  }
  tell(session, `For a picture of it: npx drs-gen inspect ${shellWord(model)} --diagram`);
  tell(session, `Next: npx drs-gen ${shellWord(model)} -o ${shellWord(server)}`);
  if (imported.kind !== 'sqlite' && imported.kind !== 'postgres') return;
  const ofModel = model === modelFile ? '' : ` --model ${shellWord(model)}`;
  // The name of a user is shown nowhere.
  const [before, source] =
    imported.kind === 'sqlite'
      ? ['', shellWord(imported.shown)]
      : ['set DATABASE_URL to a new, empty database, and run: ', '<the same source>'];
  const build = `(cd ${shellWord(server)} && npm install && npm run build)`;
  tell(
    session,
    `Then, for the rows: ${before}${build} && npx drs-gen import-data ${source}${ofModel}`,
  );
}

function placed(note: Note | undefined): string {
  if (note === undefined) return '';
  return printable(note.place === '' ? note.message : `${note.place}: ${note.message}`);
}

function tellStop(
  session: Session,
  { json }: ImportCommandOptions,
  { code, place, reason }: ImportStop,
): number {
  const message = `${reason.replace(/\.$/, '')}.`;
  if (json === true) {
    printJson(session, {
      ok: false,
      files: [],
      notes: [{ code, severity: 'error', place, message }],
    });
  } else {
    tell(session, `${session.err.red('error')}  ${code}  ${printable(place)}`);
    tell(session, `  ${printable(message)}\nNothing was written.`);
  }
  return exitCode.failed;
}
