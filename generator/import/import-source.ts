import { extname, resolve } from 'node:path';
import type { DatabaseOptions } from './database.js';
import { isDatabase, makeDraft, type DraftOptions } from './draft.js';
import { ImportStop, Notes } from './messages.js';
import type { Draft } from './render.js';
import type { OldCode, Project } from './project.js';
import type { SourceKind, SourceModel } from './source-model.js';

interface ImportOptions extends Omit<DraftOptions, 'keyless'>, DatabaseOptions {
  readonly from: SourceKind | undefined;
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
  const { model, shown, oldCode } = await read(kind, source, { options, cwd, notes });
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

function emptyReason({ tables }: SourceModel, { tables: patterns }: ImportOptions): string {
  if (tables.length > 0) return 'no table has a key; --keyless add gives them one';
  return patterns.length === 0 ? 'it has no tables' : 'no table has a name that --tables names';
}

async function kindOf(
  source: string,
  from: SourceKind | undefined,
  cwd: string,
): Promise<SourceKind> {
  if (from !== undefined) return from;
  if (/^postgres(?:ql)?:/i.test(source)) return 'postgres';
  if (/^sqlite:/i.test(source) || /^\.(?:sqlite3?|db|db3)$/i.test(extname(source))) return 'sqlite';
  if (/^\.(?:waSolution|waProject|waModel)$/i.test(extname(source))) return 'wakanda';
  if (/^https?:/i.test(source)) {
    throw new ImportStop('usage', source, 'drs-gen cannot import from a running server yet');
  }
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
  }
}
