import { basename, dirname, extname } from 'node:path';
import { fold } from '../../runtime/protocol/fold.js';
import { eventNames } from '../source/vocabulary.js';
import type { Accessor, EventName } from './classes.js';
import { SourceFiles, type SourceText } from './files.js';
import { ImportStop, type Notes } from './messages.js';
import type { Project } from './project.js';
import { objectOf, parsedJson } from './roles.js';
import type {
  FunctionLevel,
  Identity,
  SourceAlias,
  SourceComputed,
  SourceField,
  SourceFunction,
  SourceModel,
  SourceRelation,
  SourceRoles,
  SourceTable,
  StorageType,
} from './source-model.js';
import { childrenNamed, parseXml, type Element } from './xml.js';

const skippedFolders =
  /^(?:\..*|node_modules|bower_components|Logs|Backups|DataFolder|WebFolder)$/i;

interface WakandaOptions {
  readonly withoutRoles: boolean;
}

/** Whether a folder holds a Wakanda model, and no catalog of 4D. */
export async function isWakanda(path: string): Promise<boolean> {
  if (/\.4D(?:Catalog|Project|B)$/i.test(path)) return false;
  const files = await SourceFiles.open(path);
  const found = await files.find(/\.waModel$|^catalog\.4DCatalog$/i, skippedFolders);
  return (
    found.some((each) => /\.waModel$/i.test(each)) &&
    !found.some((each) => /\.4DCatalog$/i.test(each))
  );
}

/** Reads the model of a Wakanda solution or project: JSON, or XML with the same words. */
export async function readWakanda(
  path: string,
  options: WakandaOptions,
  notes: Notes,
): Promise<Project> {
  const isFile = /\.(?:waModel|waProject|waSolution)$/i.test(path);
  const files = await SourceFiles.open(isFile ? dirname(path) : path);
  const modelPath = await modelOf(files, path);
  const root = contentOf(await files.read(modelPath, 64));
  const content = readDataclasses(root, modelPath, notes);
  if (content.tables.length === 0) {
    const reason =
      'its model holds no dataclass; drs-gen runs no code of a source, so a model that is written in JavaScript is imported from the running server: npx drs-gen import http://host:port';
    throw new ImportStop('import/empty', modelPath, reason);
  }
  const roles = options.withoutRoles ? undefined : await rolesOf(files, notes);
  const names = [basename(modelPath, extname(modelPath)), basename(files.root)];
  return {
    model: {
      kind: 'wakanda',
      names: fold(names[0] ?? '') === 'model' ? names.toReversed() : names,
      protocol: { compatibility: 'wakanda' },
      ...content,
      ...(roles?.roles === undefined ? {} : { roles: roles.roles }),
      remarks: roles?.remarks ?? [],
    },
    oldCode: new Map(),
    shown: path,
  };
}

async function modelOf(files: SourceFiles, path: string): Promise<string> {
  if (/\.waModel$/i.test(path)) return basename(path);
  const found = await files.find(/\.waModel$/i, skippedFolders);
  const [first, second] = found;
  if (first === undefined) throw new ImportStop('import/empty', path, 'it holds no *.waModel');
  if (second === undefined) return first;
  const list = found
    .slice(0, 20)
    .map((each) => `\n  ${each}`)
    .join('');
  throw new ImportStop(
    'usage',
    path,
    `it holds several models, each a datastore of its own; name one:${list}`,
  );
}

/** An object of a model file, or of a catalog in its words. */
export type Content = Readonly<Record<string, unknown>>;

/** What `dataClasses`, `methods` and `singletons` of a model say. */
export function readDataclasses(
  root: Content,
  file: string,
  notes: Notes,
): Pick<SourceModel, 'tables' | 'relations' | 'functions' | 'singletons'> {
  const reader = new WakandaReader(listOf(root['dataClasses']), file, notes);
  return {
    tables: reader.tables(),
    relations: reader.relations(),
    ...reader.others(root),
  };
}

function contentOf(file: SourceText): Content {
  if (file.text.trimStart().startsWith('<')) return ofElement(parseXml(file));
  return objectOf(parsedJson(file, 'import/unreadable')) ?? {};
}

/** XML has the words of JSON: attributes are texts, and repeated elements are lists. */
function ofElement(element: Element): Content {
  const content: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of element.attributes) content[key] = value;
  for (const child of element.children) {
    const before = content[child.name];
    const list = Array.isArray(before) ? (before as unknown[]) : [];
    content[child.name] = [...list, ofElement(child)];
  }
  return content;
}

export function listOf(value: unknown): readonly Content[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.flatMap((each): Content[] => {
    const content = objectOf(each);
    return content === undefined ? [] : [content];
  });
}

export function textOf(content: Content | undefined, key: string): string | undefined {
  const value = content !== undefined && Object.hasOwn(content, key) ? content[key] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

export function isTrue(content: Content, key: string): boolean {
  return Object.hasOwn(content, key) && (content[key] === true || content[key] === 'true');
}

function numberOf(content: Content, key: string): number | undefined {
  const text = textOf(content, key);
  const value = text === undefined || text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Dates and exact decimals are texts. */
function boundOf(content: Content, key: string, type: StorageType): string | number | undefined {
  const text = textOf(content, key)?.trim();
  if (text === undefined || text === '' || type === 'string') return undefined;
  return type === 'decimal' ? text : (numberOf(content, key) ?? text);
}

interface Dataclass {
  readonly content: Content;
  readonly name: string;
  readonly collection: string;
  readonly id: Identity;
  readonly place: string;
  readonly attributes: readonly Attribute[];
}

interface Attribute {
  readonly content: Content;
  readonly name: string;
  readonly kind: string;
  readonly isInherited: boolean;
  readonly id: Identity;
  readonly place: string;
}

class WakandaReader {
  readonly #dataclasses: readonly Dataclass[];
  readonly #byName = new Map<string, Dataclass>();
  #any = 0;

  constructor(
    contents: readonly Content[],
    private readonly file: string,
    private readonly notes: Notes,
  ) {
    this.#dataclasses = contents.map((content, index) => this.#dataclass(content, index, contents));
    for (const each of this.#dataclasses) {
      for (const name of [each.name, each.collection]) {
        if (!this.#byName.has(fold(name))) this.#byName.set(fold(name), each);
      }
    }
  }

  tables(): readonly SourceTable[] {
    return this.#dataclasses.map((each) => this.#table(each));
  }

  /** What belongs to no dataclass; and the count of all functions, so this is read last. */
  others(root: Content): Pick<SourceModel, 'functions' | 'singletons'> {
    const functions = this.#functions(root, 'ds', this.file);
    const named = new Map(
      listOf(root['singletons']).map((each) => [textOf(each, 'name') ?? '', each]),
    );
    const singletons = [...named].map(([name, each]) => {
      const id = `singleton:${name}`;
      const place = `${this.file}: ${name}`;
      return {
        id,
        name,
        place,
        scope: 'shared',
        functions: this.#functions(each, id, place),
      } as const;
    });
    if (this.#any > 0) this.notes.add('import/any', '', { count: this.#any });
    return { functions, singletons };
  }

  #dataclass(content: Content, index: number, all: readonly Content[]): Dataclass {
    const name = classNameOf(content);
    const id = `table:${textOf(content, 'uuid') ?? name}#${String(all.slice(0, index).filter((each) => classNameOf(each) === name).length)}`;
    const place = `${this.file}: ${name}`;
    return {
      content,
      name,
      collection: textOf(content, 'collectionName') ?? `${name}Collection`,
      id,
      place,
      attributes: this.#attributes(content, { id, name, place }, all),
    };
  }

  /** Its own attributes behind those of the dataclass that it extends. */
  #attributes(
    content: Content,
    owner: { readonly id: Identity; readonly name: string; readonly place: string },
    all: readonly Content[],
  ): readonly Attribute[] {
    const chain = [content];
    for (let at = content; ;) {
      const base = textOf(at, 'extends');
      const found =
        base === undefined ? undefined : all.find((each) => fold(classNameOf(each)) === fold(base));
      if (found === undefined || chain.includes(found)) break;
      chain.push(found);
      at = found;
    }
    const [, base] = chain;
    if (base !== undefined) {
      this.notes.add('import/extends', owner.place, { name: owner.name, base: classNameOf(base) });
    }
    const merged = new Map<string, { content: Content; isInherited: boolean }>();
    for (const level of chain.toReversed()) {
      for (const each of listOf(level['attributes'])) {
        const name = textOf(each, 'name') ?? '';
        const kind = textOf(each, 'kind');
        const before = merged.get(name);
        if (kind === 'removed') merged.delete(name);
        else if (kind === 'altered') {
          if (before === undefined) continue;
          const changed = { ...before.content, ...each, kind: before.content['kind'] };
          merged.set(name, { content: changed, isInherited: before.isInherited });
        } else merged.set(name, { content: each, isInherited: level !== content });
      }
    }
    const ids = new Set<string>();
    return [...merged].map(([name, { content: each, isInherited }]) => {
      const known = textOf(each, 'uuid');
      const id = known === undefined || ids.has(known) || merged.has(known) ? name : known;
      ids.add(id);
      return {
        content: each,
        name,
        kind: textOf(each, 'kind') ?? 'storage',
        isInherited,
        id: `attribute:${owner.id}:${id}`,
        place: `${owner.place}.${name}`,
      };
    });
  }

  #table({ content, name, id, place, attributes }: Dataclass): SourceTable {
    const fields = attributes.flatMap((each) => (each.kind === 'storage' ? this.#field(each) : []));
    const keyNames = listOf(content['key']).flatMap((each) => textOf(each, 'name') ?? []);
    const marked = (word: string): readonly string[] =>
      attributes.filter((each) => isTrue(each.content, word)).map((each) => each.name);
    const key =
      [keyNames, marked('primKey'), marked('identifying')].find((each) => each.length > 0) ?? [];
    const restricting =
      objectOf(content['restrictingQuery']) ?? listOf(content['restrictingQuery'])[0];
    const statement = textOf(restricting, 'queryStatement');
    if (statement !== undefined) {
      const reason = 'the method restrict of the class of the dataclass must return its filter';
      this.notes.add('import/rule-lost', place, {
        rule: `The restricting query ${statement}`,
        reason,
      });
    }
    const { events, isRestricted } = this.#events(content, place);
    const collection = textOf(content, 'collectionName') ?? `${name}Collection`;
    const [table] = (textOf(content, 'matchTable') ?? '').split(',').map((each) => each.trim());
    return {
      id,
      name,
      place,
      exposed: isPublic(content),
      collectionName: collection,
      table: table === '' ? undefined : table,
      fields,
      key: key.map((each) => attributes.find((known) => known.name === each)?.id ?? ''),
      indexes: [],
      computed: attributes.flatMap((each) =>
        each.kind === 'calculated' ? this.#computed(each) : [],
      ),
      aliases: attributes.flatMap((each): SourceAlias[] =>
        each.kind === 'alias' || isDotted(each)
          ? [
              {
                id: each.id,
                name: each.name,
                place: each.place,
                path: (textOf(each.content, 'path') ?? '').split('.'),
                exposed: isPublic(each.content),
              },
            ]
          : [],
      ),
      functions: this.#functions(content, id, place),
      events,
      restrict: isRestricted || statement !== undefined,
    };
  }

  #field({ content, name, id, place }: Attribute): readonly SourceField[] {
    const written = (textOf(content, 'type') ?? '').toLowerCase();
    const type = Object.hasOwn(types, written) ? types[written] : undefined;
    if (type === undefined) {
      this.notes.add('import/type', place, { type: written, became: `${name} is left out` });
      return [];
    }
    if (written === 'long64') this.notes.add('import/integer64', place, {});
    const values = listOf(
      listOf(content['enumeration'])[0]?.['item'] ?? content['enumeration'],
    ).flatMap((each): (string | number)[] => {
      const value = textOf(each, 'value') ?? textOf(each, 'name');
      if (value === undefined) return [];
      if (type === 'string' || type === 'decimal') return [value];
      return Number.isFinite(Number(value)) ? [Number(value)] : [];
    });
    const index = textOf(content, 'indexKind');
    const [column] = (textOf(content, 'matchColumn') ?? '').split(',').map((each) => each.trim());
    return [
      {
        id,
        name,
        place,
        type,
        dateOnly: isTrue(content, 'simpleDate'),
        precision: numberOf(content, 'precision'),
        scale: numberOf(content, 'scale'),
        dimensions: numberOf(content, 'dimensions'),
        generated: isTrue(content, 'autosequence')
          ? type === 'uuid'
            ? 'uuid'
            : 'sequence'
          : isTrue(content, 'autogenerate')
            ? 'uuid'
            : undefined,
        unique: isTrue(content, 'unique'),
        indexed: isTrue(content, 'indexed') || ['btree', 'cluster', 'auto'].includes(index ?? ''),
        mandatory: isTrue(content, 'not_null') || isTrue(content, 'mandatory'),
        readOnly: isTrue(content, 'readOnly'),
        exposed: isPublic(content),
        column: column === '' ? undefined : column,
        description: textOf(content, 'comment'),
        default: defaultOf(content, type),
        enum: values.length === 0 ? undefined : values,
        minLength: numberOf(content, 'minLength'),
        maxLength: numberOf(content, 'limiting_length') ?? numberOf(content, 'maxLength'),
        min: boundOf(content, 'minValue', type),
        max: boundOf(content, 'maxValue', type),
        pattern: type === 'string' ? textOf(content, 'pattern') : undefined,
      },
    ];
  }

  #computed({ content, name, id, place }: Attribute): readonly SourceComputed[] {
    if (textOf(content, 'behavior') !== undefined) {
      this.notes.add('import/accessor-lost', place, { name, reason: 'it yields entities' });
      return [];
    }
    const written = (textOf(content, 'type') ?? '').toLowerCase();
    const type = (Object.hasOwn(types, written) ? types[written] : undefined) ?? 'object';
    const has = (word: string): boolean => content[word] !== undefined;
    const found: readonly (readonly [Accessor, boolean])[] = [
      ['get', true],
      ['set', has('onSet')],
      ['query', has('onQuery')],
      ['orderBy', has('onSort')],
    ];
    const accessors = found.flatMap(([accessor, isThere]) => (isThere ? [accessor] : []));
    const dateOnly = isTrue(content, 'simpleDate') && type === 'date';
    return [{ id, name, place, type, dateOnly, accessors, exposed: isPublic(content) }];
  }

  #functions(content: Content, owner: Identity, place: string): readonly SourceFunction[] {
    return listOf(content['methods']).flatMap((each): SourceFunction[] => {
      const name = textOf(each, 'name') ?? '';
      if ((textOf(each, 'scope') ?? 'publicOnServer') !== 'public') return [];
      const applyTo = textOf(each, 'applyTo') ?? '';
      const level = (Object.hasOwn(levels, applyTo) ? levels[applyTo] : undefined) ?? 'entity';
      this.#any += 1;
      return [
        {
          id: `function:${owner}:${level}:${name}`,
          name,
          place: `${place}.${name}`,
          level,
          onHTTPGet: isTrue(each, 'allowedOnHTTPGET'),
          params: [],
          returns: { kind: 'plain', type: 'any' },
        },
      ];
    });
  }

  #events(
    content: Content,
    place: string,
  ): { readonly events: readonly EventName[]; readonly isRestricted: boolean } {
    const events = new Set<EventName>();
    let isRestricted = false;
    for (const each of listOf(content['events'])) {
      const kind = (textOf(each, 'kind') ?? '').replace(/^on/, '').toLowerCase();
      const event = Object.hasOwn(eventOf, kind) ? eventOf[kind] : undefined;
      if (kind === 'restrict' || kind === 'restrictingquery') isRestricted = true;
      else if (event !== undefined) events.add(event);
      else this.notes.add('import/event-lost', place, { name: textOf(each, 'kind') ?? 'an event' });
    }
    return { events: eventNames.filter((each) => events.has(each)), isRestricted };
  }

  relations(): readonly SourceRelation[] {
    const used = new Set<Attribute>();
    const relations = this.#dataclasses.flatMap((dataclass) =>
      dataclass.attributes.flatMap((each) =>
        each.kind === 'relatedEntity' && !isDotted(each)
          ? this.#relation(dataclass, each, used)
          : [],
      ),
    );
    for (const { attributes } of this.#dataclasses) {
      for (const each of attributes) {
        if (each.kind === 'relatedEntities' && !used.has(each) && !isDotted(each)) {
          this.#lost(each, 'it is not the other side of one to-one relation');
        }
      }
    }
    return relations;
  }

  #relation(
    dataclass: Dataclass,
    attribute: Attribute,
    used: Set<Attribute>,
  ): readonly SourceRelation[] {
    const { content, name, id, place } = attribute;
    const path = textOf(content, 'path') ?? textOf(content, 'type') ?? '';
    const target =
      this.#byName.get(fold(textOf(content, 'type') ?? '')) ?? this.#byName.get(fold(path));
    if (target === undefined) {
      this.#lost(attribute, `there is no dataclass ${path}`);
      return [];
    }
    const inverse = attribute.isInherited
      ? undefined
      : target.attributes.find(
          (each) =>
            each.kind === 'relatedEntities' &&
            !used.has(each) &&
            !each.isInherited &&
            (isTrue(each.content, 'reversePath') || isTrue(each.content, 'composition')) &&
            textOf(each.content, 'path') === name &&
            (this.#byName.get(fold(textOf(each.content, 'type') ?? '')) ?? dataclass) === dataclass,
        );
    if (inverse !== undefined) used.add(inverse);
    const foreignKey = storageOf(dataclass, (each) => each.name === textOf(content, 'foreignKey'));
    const referenced = foreignKey && inverse && referencedOf(target, inverse, foreignKey);
    return [
      {
        id,
        place,
        from: { table: dataclass.id, fields: foreignKey === undefined ? [] : [foreignKey.id] },
        to: { table: target.id, fields: referenced === undefined ? [] : [referenced.id] },
        name,
        inverse: inverse?.name,
        exposed: isPublic(content),
      },
    ];
  }

  #lost({ name, place }: Attribute, reason: string): void {
    this.notes.add('import/relation-lost', place, { relation: name, reason });
  }
}

function storageOf(
  { attributes }: Dataclass,
  isWanted: (attribute: Attribute) => boolean,
): Attribute | undefined {
  return attributes.find((each) => each.kind === 'storage' && isWanted(each));
}

/** A catalog gives a to-many relation the position of the field that foreign keys refer to. */
function referencedOf(
  target: Dataclass,
  { content }: Attribute,
  foreignKey: Attribute,
): Attribute | undefined {
  const position = numberOf(content, 'fieldPos');
  const found = storageOf(target, (each) => numberOf(each.content, 'fieldPos') === position);
  const isLike =
    found !== undefined && textOf(found.content, 'type') === textOf(foreignKey.content, 'type');
  return position !== undefined && isLike ? found : undefined;
}

function classNameOf(content: Content): string {
  const name = textOf(content, 'className');
  return name ?? (textOf(content, 'name') ?? '').replace(/s$/, '');
}

/** A relation whose path leads over other relations is an alias. */
function isDotted({ kind, content }: Attribute): boolean {
  const isRelation = kind === 'relatedEntity' || kind === 'relatedEntities';
  return isRelation && (textOf(content, 'path') ?? '').includes('.');
}

function isPublic(content: Content): boolean {
  return (textOf(content, 'scope') ?? 'public') === 'public';
}

function defaultOf(content: Content, type: StorageType): SourceField['default'] {
  const value = Object.hasOwn(content, 'defaultValue') ? content['defaultValue'] : undefined;
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  if (value === '' && type !== 'string') return undefined;
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  const isNumber = type === 'number' || type === 'integer' || type === 'duration';
  return isNumber && Number.isFinite(Number(value)) ? Number(value) : value;
}

const types: Readonly<Record<string, StorageType>> = {
  string: 'string',
  text: 'string',
  uuid: 'uuid',
  long: 'integer',
  word: 'integer',
  byte: 'integer',
  long64: 'integer',
  number: 'number',
  float: 'number',
  bool: 'boolean',
  boolean: 'boolean',
  date: 'date',
  decimal: 'decimal',
  vector: 'vector',
  duration: 'duration',
  image: 'image',
  blob: 'blob',
  object: 'object',
};

const levels: Readonly<Record<string, FunctionLevel>> = {
  dataClass: 'dataclass',
  entity: 'entity',
  entityCollection: 'selection',
};

const eventOf: Readonly<Record<string, EventName>> = {
  init: 'init',
  save: 'saving',
  validate: 'validateSave',
  remove: 'dropping',
  validateremove: 'validateDrop',
  clientrefresh: 'clientRefresh',
};

/** Groups of a *.waDirectory are privileges, and a *.waPerm says what they may do. */
async function rolesOf(
  files: SourceFiles,
  notes: Notes,
): Promise<{ readonly roles: SourceRoles | undefined; readonly remarks: readonly string[] }> {
  const [directoryPath] = await files.find(/\.waDirectory$/i, skippedFolders);
  const [permissionPath] = await files.find(/\.waPerm$/i, skippedFolders);
  if (permissionPath === undefined) return { roles: undefined, remarks: [] };
  const directory =
    directoryPath === undefined ? undefined : parseXml(await files.read(directoryPath, 8));
  const groups = directory === undefined ? [] : childrenNamed(directory, 'group');
  const nameOf = new Map(
    groups.map((each) => [each.attributes.get('ID') ?? '', each.attributes.get('name') ?? '']),
  );
  const groupName = (id: string | undefined, name: string | undefined): string =>
    (id === undefined ? undefined : nameOf.get(id)) ?? name ?? '';
  const own = groups.flatMap((each) => {
    const name = each.attributes.get('name') ?? '';
    return name === '' || name === 'Debugger' ? [] : [name];
  });
  // Members of an included group are in the including one, too.
  const includes = new Map<string, string[]>();
  for (const group of groups) {
    for (const each of childrenNamed(group, 'include')) {
      const id = each.attributes.get('groupID') ?? each.attributes.get('ID');
      const included = groupName(id, each.attributes.get('group'));
      const name = group.attributes.get('name') ?? '';
      if (own.includes(included)) includes.set(included, [...(includes.get(included) ?? []), name]);
    }
  }
  const permissions = parseXml(await files.read(permissionPath, 8));
  const used = new Set(own);
  const allowed = childrenNamed(permissions, 'allow').flatMap((each) => {
    const { attributes, place } = each;
    const resource = attributes.get('resource') ?? '';
    const typeWord = attributes.get('type') ?? '';
    const type = Object.hasOwn(permissionTypes, typeWord) ? permissionTypes[typeWord] : undefined;
    const written = attributes.get('action') ?? '';
    const action = written === 'remove' ? 'drop' : written;
    const group = groupName(attributes.get('groupID'), attributes.get('groupName'));
    const isOdd =
      attributes.get('temporaryForcePermissions') === 'true' || !dataActions.includes(action);
    if (type === undefined || isOdd || group === '') {
      const reason = 'nothing of the model is like it';
      notes.add('import/permission-lost', place, { applyTo: resource, reason });
      return [];
    }
    used.add(group);
    const applyTo = type === 'datastore' ? 'ds' : resource.split('.').slice(1).join('.');
    return [{ place, applyTo, type, actions: { [action]: [group] } }];
  });
  const users = directory === undefined ? [] : childrenNamed(directory, 'user');
  const list = users.map(
    (each) => `- \`${(each.attributes.get('name') ?? '').replaceAll(/[`\p{C}]/gu, '')}\``,
  );
  return {
    roles: {
      file: permissionPath,
      forceLogin: false,
      restrictedByDefault: false,
      privileges: [...used].map((privilege) => ({
        privilege,
        includes: includes.get(privilege) ?? [],
      })),
      roles: [],
      permissions: allowed,
    },
    remarks:
      list.length === 0
        ? []
        : [
            `## Users\n\nTheir passwords cannot be taken over; \`npm run users -- add\` in the server adds users.\n\n${list.join('\n')}`,
          ],
  };
}

const dataActions = ['create', 'read', 'update', 'drop', 'execute', 'describe', 'promote'];

const permissionTypes: Readonly<Record<string, string>> = {
  model: 'datastore',
  dataClass: 'dataclass',
  attribute: 'attribute',
  method: 'method',
};
