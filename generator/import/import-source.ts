import { extname, resolve } from 'node:path';
import type { RestLogin } from './connection.js';
import { type DatabaseOptions, matches } from './database.js';
import { isDatabase, makeDraft, type DraftOptions } from './draft.js';
import { ImportStop, Notes } from './messages.js';
import type { Draft } from './render.js';
import type { OldCode, Project } from './project.js';
import type { Product } from './served.js';
import type { SourceKind, SourceModel } from './source-model.js';

interface ImportOptions extends Omit<DraftOptions, 'keyless'>, DatabaseOptions {
  readonly from: SourceKind | undefined;
  /** The login at a running server. */
  readonly login: RestLogin;
  readonly withoutRoles: boolean;
  /** `undefined`: as the source wants it. */
  readonly keyless: DraftOptions['keyless'] | undefined;
}

export interface Imported {
  readonly kind: SourceKind;
  /** The source as people may see it. */
  readonly shown: string;
  readonly draft: Draft;
  readonly notes: Notes;
  readonly remarks: readonly string[];
  readonly oldCode: OldCode;
}

/**
 * Reads a source and makes a model of it; changes nothing.
 * @throws ImportStop
 */
export async function importSource(
  source: string,
  options: ImportOptions,
  cwd: string,
): Promise<Imported> {
  const notes = new Notes();
  const kind = await kindOf(source, options.from, cwd);
  refuseOthers(kind, options);
  const { model: whole, shown, oldCode } = await read(kind, source, { options, cwd, notes });
  const model = isDatabase(kind) ? whole : withTables(whole, options.tables);
  const keyless = options.keyless ?? (isDatabase(kind) ? 'add' : 'skip');
  const { draft, unknown } = makeDraft(model, { ...options, keyless }, notes);
  const [first] = unknown;
  if (first !== undefined) {
    throw new ImportStop('usage', shown, `${first} names nothing in the source`);
  }
  if (draft.dataclasses.length === 0) {
    throw new ImportStop('import/empty', shown, emptyReason(model, options));
  }
  return { kind: model.kind, shown, draft, notes, remarks: model.remarks, oldCode };
}

/** Refuses options that have no effect on the kind of source, because users would rely on them. */
function refuseOthers(kind: SourceKind, options: ImportOptions): void {
  const { user, authentify, cookie } = options.login;
  const database = ['sqlite', 'postgres'];
  const rules: readonly (readonly [option: string, isGiven: boolean, kinds: readonly string[]])[] =
    [
      ['--schema', options.schemas.length > 0, ['postgres']],
      ['--names camel', options.names === 'camel', database],
      ['--image', options.images.length > 0, database],
      ['--blank-defaults', options.blankDefaults, ['4d', 'qodly']],
      ['--user', user !== undefined, ['server']],
      ['--authentify', authentify !== undefined, ['server']],
      ['--cookie', cookie !== undefined, ['server']],
    ];
  for (const [option, isGiven, kinds] of rules) {
    if (!isGiven || kinds.includes(kind)) continue;
    const reason = `it has an effect on ${kinds.join(' and ')}, and this source is ${kind}`;
    throw new ImportStop('usage', option, reason);
  }
}

/** Readers of databases leave the other tables out by themselves. */
function withTables(model: SourceModel, patterns: readonly string[]): SourceModel {
  if (patterns.length === 0) return model;
  const tables = model.tables.filter(({ name }) =>
    patterns.some((pattern) => matches(pattern, name)),
  );
  return { ...model, tables };
}

function emptyReason({ tables }: SourceModel, { tables: patterns }: ImportOptions): string {
  if (tables.length > 0) return 'no table has a key; --keyless add gives them one';
  return patterns.length === 0 ? 'it has no tables' : 'no table has a name that --tables names';
}

async function kindOf(
  source: string,
  from: SourceKind | undefined,
  cwd: string,
): Promise<SourceKind> {
  if (/^https?:/i.test(source)) return 'server';
  if (from !== undefined) return from;
  if (/^postgres(?:ql)?:/i.test(source)) return 'postgres';
  if (/^sqlite:/i.test(source) || /^\.(?:sqlite3?|db|db3)$/i.test(extname(source))) return 'sqlite';
  if (/^\.(?:waSolution|waProject|waModel)$/i.test(extname(source))) return 'wakanda';
  const { isWakanda } = await import('./wakanda.js');
  return (await isWakanda(resolve(cwd, source))) ? 'wakanda' : '4d';
}

interface Reading {
  readonly options: ImportOptions;
  readonly cwd: string;
  readonly notes: Notes;
}

async function read(
  kind: SourceKind,
  source: string,
  { options, cwd, notes }: Reading,
): Promise<Project> {
  switch (kind) {
    case 'sqlite': {
      const path = source.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
      const { readSqlite } = await import('./sqlite.js');
      return {
        model: readSqlite(resolve(cwd, path), options, notes),
        shown: path,
        oldCode: new Map(),
      };
    }
    case 'postgres': {
      const { readPostgres, shownUrl } = await import('./postgres.js');
      return {
        model: await readPostgres(source, options, notes),
        shown: shownUrl(source),
        oldCode: new Map(),
      };
    }
    case '4d':
    case 'qodly': {
      const { readProject } = await import('./project.js');
      const project = await readProject(resolve(cwd, source), options, notes);
      return { ...project, shown: source };
    }
    case 'wakanda': {
      const { readWakanda } = await import('./wakanda.js');
      const project = await readWakanda(resolve(cwd, source), options, notes);
      return { ...project, shown: source };
    }
    case 'server': {
      const { readServed } = await import('./served.js');
      return readServed(source, { login: options.login, product: productOf(options.from) }, notes);
    }
  }
}

function productOf(from: SourceKind | undefined): Product | undefined {
  if (from === undefined || from === '4d' || from === 'qodly' || from === 'wakanda') return from;
  throw new ImportStop(
    'usage',
    `--from ${from}`,
    'an address leads to a server, not to a database',
  );
}
