import { basename, dirname, extname, join } from 'node:path';
import { fold } from '../../runtime/protocol/fold.js';
import { readCatalog, type Catalog } from './catalog.js';
import {
  computedType,
  isEvent,
  readClass,
  typeOf,
  type Accessor,
  type ClassFile,
  type Declaration,
  type EventName,
} from './classes.js';
import { SourceFiles } from './files.js';
import { ImportStop, type Notes } from './messages.js';
import { nameFrom } from './names.js';
import { readRoles } from './roles.js';
import type {
  FunctionLevel,
  Identity,
  SourceAlias,
  SourceComputed,
  SourceFunction,
  SourceModel,
  SourceRoles,
  SourceSingleton,
  SourceTable,
  SourceType,
} from './source-model.js';

interface ProjectOptions {
  readonly blankDefaults: boolean;
  readonly withoutRoles: boolean;
}

/** The code of a class as it was, by what it belongs to: `<table>:<level>`, `datastore` or a singleton. */
export type OldCode = ReadonlyMap<string, OldClass>;

export interface OldClass {
  readonly file: ClassFile;
  /** Sources of triggers, each with its path. */
  readonly triggers: readonly { readonly path: string; readonly text: string }[];
}

export interface Project {
  readonly model: SourceModel;
  readonly oldCode: OldCode;
  readonly shown: string;
}

const skippedFolders =
  /^(?:\..*|node_modules|Components|Data|Logs|Backups|Build|Builds|Trash|DerivedData|userPreferences\..*|.*\.4dbase)$/i;

/** Reads a 4D or Qodly project: catalog, roles and classes. */
export async function readProject(
  path: string,
  options: ProjectOptions,
  notes: Notes,
): Promise<Project> {
  const isFile = /\.(?:4DCatalog|4DProject|4DB)$/i.test(path);
  if (/\.4DB$/i.test(path)) throw binary(path);
  const files = await SourceFiles.open(isFile ? dirname(path) : path);
  const catalogPath = await catalogOf(files, isFile ? basename(path) : undefined);
  const sources = dirname(catalogPath);
  const catalog = readCatalog(await files.read(catalogPath, 64), notes, options.blankDefaults);
  const classes = await classesOf(files, join(sources, 'Classes'), notes);
  const project = await files.find(/\.4DProject$/i, skippedFolders);
  const names = [
    catalog.name,
    ...project.map((each) => basename(each, extname(each))),
    basename(dirname(join(files.root, sources))),
    basename(files.root),
  ];
  const reader = new ClassReader(catalog, classes, notes);
  const triggers = await triggersOf(files, sources, catalog, notes);
  const roles = options.withoutRoles ? undefined : await rolesOf(files, sources);
  const model: SourceModel = {
    kind: classes.some((each) => each.path.endsWith('.4qs')) ? 'qodly' : '4d',
    names,
    protocol: { dateOnlyFormat: 'bang', accentInsensitive: true, wildcard: true },
    ...reader.read(triggers),
    relations: catalog.relations,
    ...(roles === undefined ? {} : { roles }),
    remarks: [...catalog.remarks, ...reader.remarks],
  };
  return { model, oldCode: reader.oldCode(triggers), shown: path };
}

function binary(path: string): ImportStop {
  const reason =
    'a binary structure cannot be read; convert it to a project, or write its catalog with the 4D command EXPORT STRUCTURE into a file *.4DCatalog';
  return new ImportStop('import/unreadable', path, reason);
}

async function catalogOf(files: SourceFiles, named: string | undefined): Promise<string> {
  if (named !== undefined && /\.4DCatalog$/i.test(named)) return named;
  const found = await files.find(/^catalog\.4DCatalog$/i, skippedFolders);
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  if (first !== undefined) {
    const list = found
      .slice(0, 20)
      .map((each) => `\n  ${each}`)
      .join('');
    throw new ImportStop(
      'usage',
      files.root,
      `it holds several projects; name one of their catalogs:${list}`,
    );
  }
  const [structure] = await files.find(/\.4DB$/i, skippedFolders);
  if (structure !== undefined) throw binary(structure);
  throw new ImportStop('import/empty', files.root, 'it holds no catalog.4DCatalog');
}

async function classesOf(
  files: SourceFiles,
  folder: string,
  notes: Notes,
): Promise<readonly ClassFile[]> {
  const found = await files.find(/\.(?:4dm|4qs)$/i, skippedFolders, folder).catch(() => []);
  const classes: ClassFile[] = [];
  for (const path of found) {
    const name = basename(path, extname(path));
    const twin = found.some(
      (each) => each !== path && fold(basename(each, extname(each))) === fold(name),
    );
    if (twin && /\.4qs$/i.test(path)) continue;
    try {
      classes.push(readClass(name, await files.read(path, 4)));
    } catch (error) {
      if (!(error instanceof ImportStop)) throw error;
      // One class that cannot be read keeps no model from being made.
      notes.add('import/class-orphan', path, {
        name: `${name}, which cannot be read (${error.reason})`,
      });
    }
  }
  return classes;
}

async function rolesOf(files: SourceFiles, sources: string): Promise<SourceRoles | undefined> {
  const path = join(sources, 'roles.json');
  return (await files.has(path)) ? readRoles(await files.read(path, 8)) : undefined;
}

interface Trigger {
  readonly events: readonly EventName[];
  readonly path: string;
  readonly text: string;
}

async function triggersOf(
  files: SourceFiles,
  sources: string,
  { numbers, triggers, tables }: Catalog,
  notes: Notes,
): Promise<ReadonlyMap<Identity, Trigger>> {
  const found = new Map<Identity, Trigger>();
  for (const [id, when] of triggers) {
    const table = tables.find((each) => each.id === id);
    const events: EventName[] = [];
    if (when.includes('insert') || when.includes('update')) events.push('saving');
    if (when.includes('delete')) events.push('dropping');
    const path = join(
      sources,
      'Triggers',
      `table_${(numbers.get(id) ?? '').replaceAll(/\D/g, '')}.4dm`,
    );
    const text = (await files.has(path)) ? (await files.read(path, 4)).text : '';
    found.set(id, { events, path, text });
    notes.add('import/trigger', table?.place ?? '', {
      what: `The trigger of ${table?.name ?? ''} (${when.join(', ')})`,
      became:
        events.length === 0
          ? 'it has no equal and is left out'
          : `class code has the events ${events.join(' and ')} instead, with the old source as a comment`,
    });
  }
  return found;
}

interface Placed {
  readonly table: SourceTable;
  readonly level: FunctionLevel;
  readonly file: ClassFile;
}

class ClassReader {
  readonly #placed: Placed[] = [];
  readonly #singletons: {
    readonly id: Identity;
    readonly scope: SourceSingleton['scope'];
    readonly file: ClassFile;
  }[] = [];
  #datastore: ClassFile | undefined;
  #any = 0;
  readonly remarks: string[] = [];

  constructor(
    private readonly catalog: Catalog,
    classes: readonly ClassFile[],
    private readonly notes: Notes,
  ) {
    for (const file of classes) this.#place(file);
  }

  #place(file: ClassFile): void {
    const base = fold(file.extends ?? '');
    if (base === 'datastoreimplementation') this.#datastore = file;
    const level = levels[base];
    if (level !== undefined) {
      const suffix = level === 'entity' ? /Entity$/i : level === 'selection' ? /Selection$/i : /$^/;
      const name = fold(file.name.replace(suffix, ''));
      const table =
        this.catalog.tables.find((each) => fold(each.name) === name) ??
        this.catalog.tables.find((each) => fold(nameFrom(each.name)) === name);
      if (table === undefined)
        this.notes.add('import/class-orphan', file.path, { name: file.name });
      else this.#placed.push({ table, level, file });
      return;
    }
    const constructor = file.declarations.find(({ kind }) => kind === 'constructor');
    const isExposed = file.declarations.some(
      ({ kind, modifiers }) => kind === 'function' && modifiers.has('exposed'),
    );
    if (constructor?.modifiers.has('singleton') === true && isExposed) {
      const { modifiers } = constructor;
      if (modifiers.has('shared') || modifiers.has('session')) {
        const scope = modifiers.has('session') ? 'session' : 'shared';
        this.#singletons.push({ id: `singleton:${file.name}`, scope, file });
      } else
        this.notes.add('import/class-orphan', file.path, {
          name: `${file.name}, a singleton of each process,`,
        });
    }
  }

  read(
    triggers: ReadonlyMap<Identity, Trigger>,
  ): Pick<SourceModel, 'tables' | 'functions' | 'singletons'> {
    const tables = this.catalog.tables.map((table) => this.#table(table, triggers.get(table.id)));
    const functions =
      this.#datastore === undefined ? [] : this.#functions('datastore', this.#datastore);
    const singletons = this.#singletons.map(({ id, scope, file }) => ({
      id,
      name: file.name,
      place: file.path,
      scope,
      functions: this.#functions(id, file),
    }));
    if (this.#any > 0) this.notes.add('import/any', '', { count: this.#any });
    const logins =
      this.#datastore?.declarations.filter(({ source }) => /setprivileges/i.test(source)) ?? [];
    const list = logins.map(
      ({ name, place }) => `- \`${name.replaceAll('`', '')}\` (${place.replaceAll(/[`<>]/g, '')})`,
    );
    if (list.length > 0) {
      this.remarks.push(
        `## Login\n\nThese functions gave privileges to sessions; that belongs into \`src/login.ts\`:\n\n${list.join('\n')}`,
      );
    }
    return { tables, functions, singletons };
  }

  /** The old code by what it belongs to. */
  oldCode(triggers: ReadonlyMap<Identity, Trigger>): OldCode {
    const code = new Map<string, OldClass>();
    for (const { table, level, file } of this.#placed) {
      code.set(`${table.id}:${level}`, { file, triggers: [] });
    }
    for (const [id, { path, text, events }] of triggers) {
      if (text === '' || events.length === 0) continue;
      const key = `${id}:entity`;
      const file = code.get(key)?.file ?? {
        name: '',
        path,
        extends: undefined,
        declarations: [],
        head: '',
      };
      code.set(key, { file, triggers: [{ path, text }] });
    }
    if (this.#datastore !== undefined)
      code.set('datastore', { file: this.#datastore, triggers: [] });
    for (const { id, file } of this.#singletons) code.set(id, { file, triggers: [] });
    return code;
  }

  #table(table: SourceTable, trigger: Trigger | undefined): SourceTable {
    const placed = this.#placed.filter((each) => each.table === table);
    const ofLevel = (level: FunctionLevel): ClassFile | undefined =>
      placed.find((each) => each.level === level)?.file;
    const entity = ofLevel('entity');
    const events = new Set<EventName>(trigger?.events);
    let restrict = false;
    for (const { level, file } of placed) {
      for (const each of file.declarations) {
        if (each.kind !== 'event') continue;
        const name = each.name;
        if (level === 'dataclass' && fold(name) === 'restrict') restrict = true;
        else if (level === 'entity' && isEvent(name)) events.add(name);
        else
          this.notes.add('import/event-lost', each.place, { name: [name, ...each.path].join(' ') });
      }
    }
    return {
      ...table,
      computed: entity === undefined ? [] : this.#computed(table, entity),
      aliases: entity === undefined ? [] : this.#aliases(table, entity),
      functions: placed.flatMap(({ level, file }) =>
        this.#functions(`${table.id}:${level}`, file).map((each) => ({ ...each, level })),
      ),
      events: eventOrder.filter((each) => events.has(each)),
      restrict,
    };
  }

  #functions(owner: string, { declarations }: ClassFile): readonly SourceFunction[] {
    const seen = new Set<string>();
    return declarations.flatMap((each): SourceFunction[] => {
      const { kind, name, place, modifiers } = each;
      if (kind !== 'function' || !(modifiers.has('exposed') || modifiers.has('onhttpget')))
        return [];
      if (seen.has(fold(name))) {
        this.notes.add('import/function-lost', place, { name, reason: 'it is declared twice' });
        return [];
      }
      seen.add(fold(name));
      return [
        {
          id: `function:${owner}:${name}`,
          name,
          place,
          onHTTPGet: modifiers.has('onhttpget'),
          params: each.params.map((param) => ({
            name: param.name,
            type: this.#type(param.type, false),
          })),
          returns: this.#type(each.returns, true),
        },
      ];
    });
  }

  #type(written: string | undefined, isResult: boolean): SourceType {
    const type = typeOf(written, isResult);
    if (type.kind === 'plain') {
      if (type.type.startsWith('any')) this.#any += 1;
      return type;
    }
    const wanted = fold(type.table);
    const table = this.catalog.tables.find(
      (each) => fold(each.name) === wanted || fold(nameFrom(each.name)) === wanted,
    );
    if (table !== undefined) return { kind: type.kind, table: table.name };
    this.#any += 1;
    return { kind: 'plain', type: 'any' };
  }

  #computed(table: SourceTable, { declarations }: ClassFile): readonly SourceComputed[] {
    const byName = new Map<string, Declaration[]>();
    for (const each of declarations) {
      if (!['get', 'set', 'query', 'orderBy'].includes(each.kind)) continue;
      byName.set(fold(each.name), [...(byName.get(fold(each.name)) ?? []), each]);
    }
    return [...byName.values()].flatMap((found): SourceComputed[] => {
      const [first] = found;
      if (first === undefined) return [];
      const get = found.find(({ kind }) => kind === 'get');
      const { name, place } = get ?? first;
      const written = get?.returns;
      const type = computedType(written);
      return [
        {
          id: `computed:${table.id}:${name}`,
          name,
          place,
          type,
          accessors: accessorOrder.filter((each) => found.some(({ kind }) => kind === each)),
          exposed: found.some(({ modifiers }) => modifiers.has('exposed')),
        },
      ];
    });
  }

  #aliases(table: SourceTable, { declarations }: ClassFile): readonly SourceAlias[] {
    return declarations.flatMap(({ kind, name, path, place, modifiers }) =>
      kind === 'alias'
        ? [
            {
              id: `alias:${table.id}:${name}`,
              name,
              path,
              place,
              exposed: modifiers.has('exposed'),
            },
          ]
        : [],
    );
  }
}

const accessorOrder: readonly Accessor[] = ['get', 'set', 'query', 'orderBy'];
const eventOrder: readonly EventName[] = [
  'validateSave',
  'saving',
  'afterSave',
  'validateDrop',
  'dropping',
  'afterDrop',
];

const levels: Readonly<Record<string, FunctionLevel>> = {
  dataclass: 'dataclass',
  entityselection: 'selection',
  entity: 'entity',
};
