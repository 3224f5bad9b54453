import { fold } from '../../runtime/protocol/fold.js';
import {
  datastoreMembers,
  entityMembers,
  functionNames,
  protocolNames,
  selectionMembers,
} from '../check/reserved.js';
import { wrongRestName } from '../check/names.js';
import { isIndexable } from '../check/storage.js';
import { sharedMembers } from '../model/lookup.js';
import { defined, descriptionOf, storageValue } from './fields.js';
import type { Notes } from './messages.js';
import { datastoreName, isSqlName, isTableName, nameFrom, Scope } from './names.js';
import { draftRoles, type Lookup } from './roles.js';
import {
  functionsOf,
  type Draft,
  type DraftDataclass,
  type DraftMapping,
  type DraftPart,
  type DraftValue,
  type Reference,
} from './render.js';
import type {
  FunctionLevel,
  Identity,
  SourceField,
  SourceFunction,
  SourceModel,
  SourceRelation,
  SourceTable,
  SourceType,
  StorageType,
} from './source-model.js';

export interface DraftOptions {
  /** What becomes of tables without a key of one field. */
  readonly keyless: 'skip' | 'add';
  /** Fields that take the place of keys, by table. */
  readonly keys: ReadonlyMap<string, string>;
  /** Dimensions, by `Table.field`. */
  readonly vectors: ReadonlyMap<string, number>;
  readonly blankDefaults: boolean;
}

/** The most relations that `check` accepts in an alias to a relation. */
const maxAliasRelations = 10;

type AliasPath =
  | { readonly steps: readonly Identity[]; readonly isRelation: boolean }
  | { readonly reason: string };

/** A table of the source, and what the model has of it so far. */
interface Mapped {
  readonly table: SourceTable;
  readonly name: string;
  readonly fields: ReadonlyMap<Identity, SourceField>;
  /** The field of the key; none if a key is made. */
  readonly key: SourceField | undefined;
  readonly keyId: Identity;
  /** Names of the attributes, by identity. */
  readonly names: Map<Identity, string>;
  /** Names for clients that are not those of the attributes. */
  readonly restNames: Map<Identity, string>;
  readonly scope: Scope;
  /** The relations that lead from the table, and to it. */
  readonly linksFrom: Link[];
  readonly linksTo: Link[];
}

/** The name of an attribute in the source. */
interface WantedName {
  readonly id: Identity;
  readonly name: string;
  readonly place: string;
  readonly isRelation: boolean;
}

/** Characters that a model may have in the name of an attribute for clients. */
const longestRestName = 63;

interface Link {
  readonly relation: SourceRelation;
  readonly from: Mapped;
  readonly to: Mapped;
  /** The field that holds the key of the related entity; none if an attribute is made for it. */
  readonly field: SourceField | undefined;
  /** The unique field whose values that field holds; none for the key. */
  readonly referenced: SourceField | undefined;
  readonly isExposed: boolean;
}

/** Makes a model of a source, by rules that are the same for all sources. */
export function makeDraft(source: SourceModel, options: DraftOptions, notes: Notes): Drafted {
  return new Drafter(source, options, notes).draft();
}

interface Drafted {
  readonly draft: Draft;
  /** Options that name nothing in the source. */
  readonly unknown: readonly string[];
}

class Drafter {
  readonly #mapped = new Map<Identity, Mapped>();
  readonly #byName = new Map<string, Mapped>();
  /** Tables by the folded names of their dataclasses. */
  readonly #byDataclass = new Map<string, Mapped>();
  readonly #linkOf = new Map<Identity, Link>();
  readonly #tables = new Scope();
  readonly #used = new Set<string>();

  constructor(
    private readonly source: SourceModel,
    private readonly options: DraftOptions,
    private readonly notes: Notes,
  ) {}

  draft(): Drafted {
    const countsBytes = this.source.database === 'postgres';
    const classes = new Scope({
      isReserved: (name) => datastoreMembers.has(name) || fold(name) === 'ds' || !isTableName(name),
      countsBytes,
    });
    for (const table of this.source.tables) this.#map(table, classes);
    for (const relation of this.source.relations) this.#link(relation);
    for (const mapped of this.#mapped.values()) this.#nameAttributes(mapped);
    const dataclasses = [...this.#mapped.values()].map((each) => this.#dataclass(each));
    const datastore = new Scope({ isReserved: (name) => functionNames.datastore.has(name) });
    for (const { name } of this.#mapped.values()) datastore.take(name);
    const { names, database, protocol, roles } = this.source;
    const model = {
      dataclasses,
      functions: this.#functions(this.source.functions, datastore),
      singletons: this.source.singletons.map((each) => {
        const name = classes.nameFor(each.name);
        this.#tellName(each.name, name, each.place);
        const scope = new Scope({ isReserved: (wanted) => functionNames.singleton.has(wanted) });
        return {
          id: each.id,
          name,
          value: { scope: each.scope },
          functions: this.#functions(each.functions, scope),
        };
      }),
    };
    const properties = defined({
      drs: 1,
      name: datastoreName(names),
      database,
      protocol,
      roles: roles === undefined ? undefined : 'roles.json',
    });
    const draft: Draft = {
      properties,
      ...model,
      ...(roles === undefined
        ? {}
        : { roles: draftRoles(roles, this.#resources(model), this.notes) }),
    };
    return { draft, unknown: this.#unknownOptions() };
  }

  /** What permissions can apply to, by the names of the source, without regard to case. */
  #resources(model: Pick<Draft, 'dataclasses' | 'functions' | 'singletons'>): Lookup {
    const found = new Map<string, Reference | string>([['datastore ds', 'ds']]);
    const add = (type: string, name: string, value: Reference): void => {
      const key = `${type} ${fold(name)}`;
      if (!found.has(key)) found.set(key, value);
    };
    const member = (owner: Identity, id: Identity): Reference => ({
      $ref: [owner === 'ds' ? owner : { id: owner }, '.', { id }],
    });
    for (const dataclass of model.dataclasses) {
      const mapped = this.#mapped.get(dataclass.id);
      if (mapped === undefined) continue;
      const { table } = mapped;
      add('dataclass', table.name, refTo(table.id));
      const sourceNames = new Map<Identity, string>([
        ...[...table.fields, ...table.computed, ...table.aliases].map(
          ({ id, name }): [string, string] => [id, name],
        ),
        ...mapped.linksFrom.map(({ relation }): [string, string] => [
          `${relation.id}:one`,
          relation.name,
        ]),
        ...mapped.linksTo.map(({ relation }): [string, string] => [
          `${relation.id}:many`,
          relation.inverse ?? '',
        ]),
      ]);
      // The engine finds the relation where a field has the same name.
      for (const { id } of dataclass.attributes.toReversed()) {
        const name = sourceNames.get(id);
        if (name !== undefined) add('attribute', `${table.name}.${name}`, member(table.id, id));
      }
      for (const { id, name } of functionsOf(dataclass)) {
        add('method', `${table.name}.${name}`, member(table.id, id));
      }
    }
    for (const { id, name } of model.functions) add('method', `ds.${name}`, member('ds', id));
    for (const singleton of model.singletons) {
      const owner = this.source.singletons.find(({ id }) => id === singleton.id)?.name ?? '';
      add('singleton', owner, refTo(singleton.id));
      for (const { id, name } of singleton.functions) {
        add('singletonMethod', `${owner}.${name}`, member(singleton.id, id));
      }
    }
    return (type, applyTo) => found.get(`${type} ${fold(applyTo)}`);
  }

  #map(table: SourceTable, classes: Scope): void {
    const fields = new Map(table.fields.map((each) => [each.id, each]));
    const key = this.#keyOf(table, fields);
    if (key === undefined && this.options.keyless === 'skip') {
      this.notes.add('import/no-key', table.place, { table: table.name });
      return;
    }
    const name = classes.nameFor(table.name);
    this.#tellName(table.name, name, table.place);
    const mapped: Mapped = {
      table,
      name,
      fields,
      key,
      keyId: key?.id ?? `${table.id}:key`,
      names: new Map(),
      restNames: new Map(),
      scope: new Scope(),
      linksFrom: [],
      linksTo: [],
    };
    this.#mapped.set(table.id, mapped);
    this.#byDataclass.set(fold(name), mapped);
    this.#selections.add(fold(`${name}Selection`));
    if (!this.#byName.has(table.name)) this.#byName.set(table.name, mapped);
  }

  #keyOf(table: SourceTable, fields: ReadonlyMap<Identity, SourceField>): SourceField | undefined {
    const chosen = this.#chosenKey(table);
    const key = chosen ?? (table.key.length === 1 ? fields.get(table.key[0] ?? '') : undefined);
    if (key === undefined) return undefined;
    if (keyTypes.includes(key.type)) return key;
    this.notes.add('import/key-type', key.place, { field: key.name, type: key.type });
    return undefined;
  }

  #chosenKey({ name, fields }: SourceTable): SourceField | undefined {
    for (const [table, field] of this.options.keys) {
      if (fold(table) !== fold(name)) continue;
      const found = fields.find((each) => fold(each.name) === fold(field));
      if (found !== undefined) this.#used.add(`--key ${table}=${field}`);
      return found;
    }
    return undefined;
  }

  #unknownOptions(): readonly string[] {
    const given = [
      ...[...this.options.keys].map(([table, field]) => `--key ${table}=${field}`),
      ...[...this.options.vectors].map(([path, size]) => `--vector ${path}=${String(size)}`),
    ];
    return given.filter((each) => !this.#used.has(each));
  }

  #link(relation: SourceRelation): void {
    const { notes } = this;
    const from = this.#mapped.get(relation.from.table);
    const to = this.#mapped.get(relation.to.table);
    const lost = (reason: string): void => {
      notes.add('import/relation-lost', relation.place, { relation: relation.name, reason });
    };
    if (from === undefined || to === undefined) {
      lost('a table at one of its ends is not in the model');
      return;
    }
    const fields = relation.from.fields.map((each) => from.fields.get(each));
    const targets = relation.to.fields.map((each) => to.fields.get(each));
    if (fields.length > 1 || targets.length > 1) {
      lost('it is over several columns, which stay as attributes');
      return;
    }
    const [field] = fields;
    const [target] = targets;
    if (
      (fields.length > 0 && field === undefined) ||
      (targets.length > 0 && target === undefined)
    ) {
      lost('a field at one of its ends is not in the model');
      return;
    }
    const leadsToKey = to.key !== undefined && (target === undefined || target.id === to.key.id);
    const isFree = field === undefined || !this.#linkOf.has(field.id);
    const referenced =
      !leadsToKey && target !== undefined && isReferable(to, target) ? target : undefined;
    const isByValue = (!leadsToKey && referenced === undefined) || !isFree;
    const isExposed =
      relation.exposed &&
      from.table.exposed &&
      to.table.exposed &&
      field?.exposed !== false &&
      target?.exposed !== false;
    const link = {
      relation,
      from,
      to,
      field: isByValue ? undefined : field,
      referenced: isByValue ? undefined : referenced,
      isExposed,
    };
    from.linksFrom.push(link);
    to.linksTo.push(link);
    if (!isByValue && field !== undefined) this.#linkOf.set(field.id, link);
  }

  /** Names stand in this order: key, other fields, N→1, 1→N, computed attributes, aliases. */
  #nameAttributes(mapped: Mapped): void {
    const { table, names, scope } = mapped;
    const toOne = mapped.linksFrom;
    const toMany = mapped.linksTo.filter(({ relation }) => relation.inverse !== undefined);
    const events = new Set<string>(table.events);
    const isReserved = (name: string): boolean =>
      entityMembers.has(name) || protocolNames.has(name) || events.has(name);
    const own = new Scope({ isReserved, countsBytes: this.source.database === 'postgres' });
    const relations = new Set(
      [
        ...toOne.map(({ relation }) => relation.name),
        ...toMany.map((each) => each.relation.inverse ?? ''),
      ].map((each) => fold(nameFrom(each))),
    );
    // A database names its columns; its relations are named here.
    const isOfDatabase = isDatabase(this.source.kind);
    const wishes: WantedName[] = [];
    const nameField = (field: SourceField): void => {
      const isTaken = !isOfDatabase && relations.has(fold(nameFrom(field.name)));
      const wanted = isTaken ? `${field.name}_value` : field.name;
      const property = `${nameFrom(wanted)}_`;
      const isShared =
        sharedMembers.has(nameFrom(wanted)) &&
        ![nameFrom(wanted), property].some((each) => own.has(each));
      for (const each of isShared ? [nameFrom(wanted), property] : []) own.take(each);
      if (isShared) scope.take(property);
      const name = isShared ? nameFrom(wanted) : own.nameFor(wanted);
      names.set(field.id, name);
      wishes.push({ ...field, isRelation: false });
    };
    if (mapped.key !== undefined) nameField(mapped.key);
    for (const field of table.fields) if (field !== mapped.key) nameField(field);
    if (mapped.key === undefined) names.set(mapped.keyId, own.nameFor('ID'));
    const nameRelation = (id: Identity, wanted: string, place: string): void => {
      let name = own.nameFor(wanted);
      while (selectionMembers.has(name)) name = own.nameFor(wanted);
      names.set(id, name);
      if (!isOfDatabase) wishes.push({ id, name: wanted, place, isRelation: true });
    };
    for (const { relation } of toOne)
      nameRelation(`${relation.id}:one`, relation.name, relation.place);
    for (const { relation } of toMany) {
      nameRelation(`${relation.id}:many`, relation.inverse ?? '', relation.place);
    }
    for (const { relation, field } of toOne) {
      if (field !== undefined) continue;
      const name = own.nameFor(
        `${names.get(`${relation.id}:one`) ?? ''}${relation.from.fields.length === 0 ? '_id' : '_ref'}`,
      );
      names.set(`${relation.id}:ref`, name);
    }
    for (const each of [...table.computed, ...table.aliases]) {
      if (own.has(nameFrom(each.name))) continue;
      let name = own.nameFor(each.name);
      const followed = 'path' in each ? this.#aliasPath(mapped, each.path) : undefined;
      const isRelation = followed !== undefined && 'steps' in followed && followed.isRelation;
      while (isRelation && selectionMembers.has(name)) name = own.nameFor(each.name);
      names.set(each.id, name);
      wishes.push({ ...each, isRelation });
    }
    for (const name of names.values()) scope.take(name);
    this.#nameForClients(mapped, wishes);
  }

  /** Clients of a project keep the names that they know, where no other part has them. */
  #nameForClients({ table, names, restNames }: Mapped, wishes: readonly WantedName[]): void {
    const taken = new Scope();
    for (const name of names.values()) taken.take(name);
    for (const { name } of table.functions) taken.take(name);
    for (const { id, name: given, place, isRelation } of wishes) {
      const wanted = given.normalize('NFC');
      const name = names.get(id) ?? '';
      if (name === wanted) continue;
      const isFree = !taken.has(wanted) || fold(wanted) === fold(name);
      const isReserved =
        entityMembers.has(wanted) ||
        protocolNames.has(wanted) ||
        (isRelation && selectionMembers.has(wanted));
      const isLong = Array.from(wanted).length > longestRestName;
      const isKept = isFree && !isReserved && !isLong && wrongRestName(wanted) === undefined;
      if (isDatabase(this.source.kind) || !isKept) {
        this.#tellName(wanted, name, place);
        continue;
      }
      taken.take(wanted);
      restNames.set(id, wanted);
      this.notes.add('import/rest-name', place, { from: wanted, to: name });
    }
  }

  #tellName(from: string, to: string, place: string): void {
    if (from !== to) this.notes.add('import/renamed', place, { from, to });
  }

  #dataclass(mapped: Mapped): DraftDataclass {
    const { table, name } = mapped;
    const tableName = this.#tableOf(mapped);
    // Clients of a project never saw a table without a key.
    const isHidden = !table.exposed || (mapped.key === undefined && !isDatabase(this.source.kind));
    const attributes = [
      ...this.#storage(mapped),
      ...this.#toOne(mapped),
      ...this.#toMany(mapped),
      ...this.#computed(mapped),
      ...this.#aliases(mapped),
    ].map((part): DraftPart => {
      const restName = mapped.restNames.get(part.id);
      return restName === undefined ? part : { ...part, value: { ...part.value, restName } };
    });
    const indexes = this.#indexes(mapped);
    const events = new Set<string>(table.events);
    const functions = (level: FunctionLevel): readonly DraftPart[] => {
      const members = functionNames[level];
      const accessors = new Set(level === 'dataclass' ? this.#accessorNames(mapped) : []);
      const scope = new Scope({
        isReserved: (each) =>
          members.has(each) ||
          events.has(each) ||
          accessors.has(each) ||
          (level === 'dataclass' && each === 'restrict'),
      });
      for (const each of mapped.names.values()) scope.take(each);
      const ofLevel = table.functions.filter((each) => each.level === level);
      return this.#functions(ofLevel, scope);
    };
    return {
      id: table.id,
      name,
      value: defined({
        table: tableName,
        exposed: isHidden ? false : undefined,
        description: descriptionOf(table.description),
        collectionName: this.#collectionName(mapped),
        indexes: indexes.length === 0 ? undefined : indexes,
        events: table.events.length === 0 ? undefined : table.events,
        restrict: table.restrict ? { writes: true } : undefined,
      }),
      attributes,
      functions: this.#withoutCaseTwins(table.place, {
        dataclass: functions('dataclass'),
        selection: functions('selection'),
        entity: functions('entity'),
      }),
    };
  }

  /** Functions of several classes may have one name, and must not differ in case alone. */
  #withoutCaseTwins(
    place: string,
    functions: DraftDataclass['functions'],
  ): DraftDataclass['functions'] {
    const seen = new Map<string, string>();
    const filtered = (parts: readonly DraftPart[]): readonly DraftPart[] =>
      parts.filter(({ name }) => {
        const other = seen.get(fold(name));
        seen.set(fold(name), other ?? name);
        if (other === undefined || other === name) return true;
        const reason = `it differs from ${other} in case alone`;
        this.notes.add('import/function-lost', place, { name, reason });
        return false;
      });
    return {
      dataclass: filtered(functions.dataclass),
      selection: filtered(functions.selection),
      entity: filtered(functions.entity),
    };
  }

  #accessorNames({ table, names }: Mapped): readonly string[] {
    return table.computed.flatMap(({ id, accessors }) => {
      const name = names.get(id) ?? '';
      const suffix = name.slice(0, 1).toUpperCase() + name.slice(1);
      return accessors
        .filter((each) => each === 'query' || each === 'orderBy')
        .map((each) => `${each}${suffix}`);
    });
  }

  readonly #collections = new Scope();
  /** The folded names that collections have by themselves. */
  readonly #selections = new Set<string>();

  #collectionName({ table, name }: Mapped): string | undefined {
    const { collectionName } = table;
    if (collectionName === undefined) return undefined;
    const wanted = nameFrom(collectionName);
    const isOther = this.#selections.has(fold(wanted));
    if (wanted !== collectionName || isOther || this.#collections.has(wanted)) return undefined;
    this.#collections.take(wanted);
    return wanted === `${name}Selection` ? undefined : wanted;
  }

  /** The SQL table of a dataclass, if it has another name. */
  #tableOf({ table, name }: Mapped): string | undefined {
    const wanted = table.table ?? table.name;
    const other = this.#byDataclass.get(fold(wanted));
    const isOther = other !== undefined && other.name !== name;
    if (wanted !== name && isTableName(wanted) && !this.#tables.has(wanted) && !isOther) {
      this.#tables.take(wanted);
      return wanted;
    }
    this.#tables.take(name);
    return undefined;
  }

  /** Names of columns that are not those of their attributes. */
  #columnsOf({ table, names }: Mapped): ReadonlyMap<Identity, string> {
    const taken = new Scope();
    // Relations have no column, and a field may have the one that its relation is called after.
    for (const [id, name] of names) if (!/:(?:one|many)$/.test(id)) taken.take(name);
    const columns = new Map<Identity, string>();
    for (const field of table.fields) {
      const name = names.get(field.id) ?? '';
      const column = field.column ?? field.name;
      if (
        column !== name &&
        isSqlName(column) &&
        (!taken.has(column) || fold(column) === fold(name))
      ) {
        taken.take(column);
        columns.set(field.id, column);
      }
      if (this.source.database !== 'postgres') continue;
      // PostgreSQL takes 63 bytes, and an index on text has a column with a prefix.
      const used = columns.get(field.id) ?? name;
      const isSystem = ['cmax', 'cmin', 'ctid', 'tableoid', 'xmax', 'xmin'].includes(used);
      if (!isSystem && Buffer.byteLength(used) <= longestColumn) continue;
      columns.set(field.id, taken.nameFor(isSystem ? `${used}_` : cutBytes(used, longestColumn)));
    }
    return columns;
  }

  #storage(mapped: Mapped): readonly DraftPart[] {
    const { table, names, key, keyId } = mapped;
    const columns = this.#columnsOf(mapped);
    const made: DraftPart[] = [];
    if (key === undefined) {
      const name = names.get(keyId) ?? 'ID';
      made.push({ id: keyId, name, value: { type: 'uuid', key: true, generated: 'uuid' } });
      const list = table.key.map((each) => mapped.fields.get(each)?.name ?? '').join(', ');
      this.notes.add('import/composite-key', table.place, {
        table: table.name,
        key: name,
        columns: list,
      });
    }
    const ordered =
      key === undefined ? table.fields : [key, ...table.fields.filter((each) => each !== key)];
    const stored = ordered.map((each): DraftPart => {
      const isKey = each === key;
      const link = this.#linkOf.get(each.id);
      const isFormerKey =
        !isKey && key !== undefined && table.key.length === 1 && table.key[0] === each.id;
      const field = this.#vectorOf(mapped, isFormerKey ? { ...each, unique: true } : each);
      const type = this.#typeOf(field);
      return {
        id: field.id,
        name: names.get(field.id) ?? '',
        value: storageValue(
          field,
          {
            type,
            isKey,
            isForeignKey: link !== undefined,
            column: columns.get(field.id),
            isHidden: field.exposed === false,
            blankDefault: this.options.blankDefaults,
          },
          this.notes,
        ),
      };
    });
    const references = mapped.linksFrom.flatMap((link): DraftPart[] => {
      const id = `${link.relation.id}:ref`;
      const name = names.get(id);
      if (link.field !== undefined || name === undefined) return [];
      // The generator makes this one.
      if (name === `${names.get(`${link.relation.id}:one`) ?? ''}_id`) return [];
      return [{ id, name, value: { type: this.#keyType(link.to), exposed: false } }];
    });
    return [...made, ...stored, ...references];
  }

  #vectorOf({ table }: Mapped, field: SourceField): SourceField {
    if (field.type !== 'vector') return field;
    const path = `${table.name}.${field.name}`;
    const [given] = [...this.options.vectors].filter(([each]) => fold(each) === fold(path));
    if (given !== undefined) this.#used.add(`--vector ${given[0]}=${String(given[1])}`);
    const dimensions = given?.[1] ?? field.dimensions;
    if (dimensions !== undefined && dimensions >= 1 && dimensions <= 65_535) {
      return { ...field, dimensions };
    }
    this.notes.add('import/vector', field.place, { attribute: path });
    return { ...field, type: 'object' };
  }

  /** A foreign key has the type of the key at the end of its chain; in a circle that of one of them. */
  #typeOf(field: SourceField): StorageType {
    const chain = [field];
    for (let at = field; ;) {
      const link = this.#linkOf.get(at.id);
      if (link === undefined) return at.type;
      const next = link.referenced ?? link.to.key;
      if (next === undefined) return 'uuid';
      const circle = chain.indexOf(next);
      if (circle !== -1) {
        const [first] = chain.slice(circle).sort((a, b) => (a.id < b.id ? -1 : 1));
        return first?.type ?? next.type;
      }
      chain.push(next);
      at = next;
    }
  }

  #keyType(mapped: Mapped): StorageType {
    return mapped.key === undefined ? 'uuid' : this.#typeOf(mapped.key);
  }

  #toOne(mapped: Mapped): readonly DraftPart[] {
    return mapped.linksFrom.map(({ relation, from, to, field, referenced, isExposed }) => {
      const id = `${relation.id}:one`;
      const name = from.names.get(id) ?? '';
      const reference = field?.id ?? `${relation.id}:ref`;
      if (field === undefined && relation.from.fields.length > 0) {
        const [target] = relation.to.fields;
        this.notes.add('import/by-value', relation.place, {
          relation: `${from.table.name}.${relation.name}`,
          target: `${to.table.name}.${to.fields.get(target ?? '')?.name ?? ''}`,
          foreignKey: from.names.get(reference) ?? '',
        });
      }
      const isMandatory = field !== undefined && (field.mandatory === true || field === from.key);
      return {
        id,
        name,
        value: defined({
          to: refTo(to.table.id),
          foreignKey:
            from.names.get(reference) === `${name}_id` && field === undefined
              ? undefined
              : refTo(reference),
          references: referenced === undefined ? undefined : refTo(referenced.id),
          inverse: relation.inverse === undefined ? undefined : refTo(`${relation.id}:many`),
          onDelete: deleteRule(relation, isMandatory),
          exposed: isExposed ? undefined : false,
          description: descriptionOf(relation.description),
        }),
      };
    });
  }

  #toMany(mapped: Mapped): readonly DraftPart[] {
    return mapped.linksTo
      .filter(({ relation }) => relation.inverse !== undefined)
      .map(({ relation, from, isExposed }) => {
        const id = `${relation.id}:many`;
        const value: DraftMapping = defined({
          to: refTo(from.table.id),
          many: true,
          inverse: refTo(`${relation.id}:one`),
          exposed: isExposed ? undefined : false,
        });
        return { id, name: mapped.names.get(id) ?? '', value };
      });
  }

  #computed({ table, names }: Mapped): readonly DraftPart[] {
    return table.computed.flatMap(({ id, name, place, type, dateOnly, accessors, exposed }) => {
      const called = names.get(id);
      const reason =
        called === undefined
          ? 'an attribute of that name is there already'
          : ['image', 'blob', 'vector'].includes(type)
            ? `class code computes no ${type}`
            : !accessors.includes('get')
              ? 'it has no get'
              : undefined;
      if (reason !== undefined || called === undefined) {
        this.notes.add('import/accessor-lost', place, {
          name: `${table.name}.${name}`,
          reason: reason ?? '',
        });
        return [];
      }
      const value = defined({
        computed: type,
        dateOnly: dateOnly === true ? true : undefined,
        accessors: accessors.length === 1 ? undefined : accessors,
        exposed: exposed ? undefined : false,
      });
      return [{ id, name: called, value }];
    });
  }

  #aliases(mapped: Mapped): readonly DraftPart[] {
    return mapped.table.aliases.flatMap(({ id, name, place, path, exposed }) => {
      const called = mapped.names.get(id);
      const followed = this.#aliasPath(mapped, path);
      if ('reason' in followed || called === undefined) {
        const taken = 'an attribute of that name is there already';
        this.notes.add('import/alias-lost', place, {
          name: `${mapped.table.name}.${name}`,
          path: path.join('.'),
          reason: called !== undefined && 'reason' in followed ? followed.reason : taken,
        });
        return [];
      }
      const parts = followed.steps.flatMap((step, index) =>
        index === 0 ? [{ id: step }] : ['.', { id: step }],
      );
      const value = defined({ alias: { $ref: parts }, exposed: exposed ? undefined : false });
      return [{ id, name: called, value }];
    });
  }

  /** The parts of the model on the path of an alias, or why it leads nowhere. */
  #aliasPath(start: Mapped, path: readonly string[]): AliasPath {
    const steps: Identity[] = [];
    let at = start;
    let toMany: string | undefined;
    for (const [index, step] of path.entries()) {
      const dataclass = at;
      const one = dataclass.linksFrom.find((each) => fold(each.relation.name) === fold(step));
      const many = dataclass.linksTo.find(
        (each) => each.relation.inverse !== undefined && fold(each.relation.inverse) === fold(step),
      );
      if (one !== undefined) {
        steps.push(`${one.relation.id}:one`);
        at = one.to;
      } else if (many !== undefined) {
        steps.push(`${many.relation.id}:many`);
        at = many.from;
        toMany ??= step;
      } else {
        if (index < path.length - 1) return { reason: `${step} is no relation there` };
        const field = dataclass.table.fields.find((each) => fold(each.name) === fold(step));
        if (field === undefined) return { reason: `${step} is no stored attribute there` };
        if (index === 0) return { reason: 'it follows no relation' };
        if (toMany !== undefined) {
          return { reason: `it leads over the to-many relation ${toMany} to an attribute` };
        }
        return { steps: [...steps, field.id], isRelation: false };
      }
    }
    return steps.length > maxAliasRelations
      ? { reason: `it follows more than ${String(maxAliasRelations)} relations` }
      : { steps, isRelation: true };
  }

  #indexes(mapped: Mapped): readonly DraftValue[] {
    const seen = new Set<string>();
    const { key } = mapped.table;
    const composite =
      mapped.key === undefined && key.length > 1 ? [{ fields: key, unique: true }] : [];
    // Of two indexes over the same fields, the unique one says more.
    const indexes = [...composite, ...mapped.table.indexes].toSorted(
      (a, b) => Number(b.unique) - Number(a.unique),
    );
    return indexes.flatMap(({ fields: index, unique }): DraftValue[] => {
      const fields = [...new Set(index)].map((each) => mapped.fields.get(each));
      const known = fields.flatMap((each) => (each === undefined ? [] : [each]));
      const name = known.map((each) => each.name).join(', ');
      const identity = known.map(({ id }) => id).join('\n');
      const wrong = known.find((each) => !isIndexable(this.#typeOf(this.#vectorOf(mapped, each))));
      if (wrong !== undefined || known.length !== index.length || known.length < 2) {
        const reason =
          wrong === undefined
            ? 'it names a column that is not there, or twice'
            : `no index can hold ${wrong.name}`;
        const code = unique ? 'import/unique-left-out' : 'import/index-left-out';
        this.notes.add(code, mapped.table.place, { name, reason });
        return [];
      }
      if (seen.has(identity)) return [];
      seen.add(identity);
      const attributes = known.map(({ id }) => refTo(id));
      return [unique ? { unique: true, attributes } : attributes];
    });
  }

  #functions(functions: readonly SourceFunction[], scope: Scope): readonly DraftPart[] {
    return functions.flatMap((each): DraftPart[] => {
      const { id, name, place } = each;
      const isFree = nameFrom(name) === name && !scope.has(name);
      if (!isFree || scope.nameFor(name) !== name) {
        const reason = isFree
          ? 'the name is reserved'
          : 'its name is taken or cannot stand in a model';
        this.notes.add('import/function-lost', place, { name, reason });
        return [];
      }
      const names = new Scope();
      const params = Object.fromEntries(
        each.params.map((param) => [
          names.nameFor(param.name),
          { type: this.#type(param.type), optional: true },
        ]),
      );
      const returns = this.#type(each.returns);
      const value = defined({
        exposed: true,
        onHTTPGet: each.onHTTPGet ? true : undefined,
        params: each.params.length === 0 ? undefined : params,
        returns: returns === 'any' ? undefined : returns,
      });
      return [{ id, name, value }];
    });
  }

  #type(type: SourceType): DraftValue {
    if (type.kind === 'plain') return type.type;
    const mapped = this.#byName.get(type.table);
    if (mapped === undefined) return 'any';
    const { id } = mapped.table;
    return { $ref: type.kind === 'entity' ? [{ id }] : [{ id }, '.selection'] };
  }
}

/** Whether foreign keys can hold the values of a field that is no key. */
function isReferable({ table }: Mapped, field: SourceField): boolean {
  const isFormerKey = table.key.length === 1 && table.key[0] === field.id;
  return (field.unique === true || isFormerKey) && keyTypes.includes(field.type);
}

/** The rule if it is not the one that the relation has anyway. */
function deleteRule(
  { onDelete }: SourceRelation,
  isMandatory: boolean,
): SourceRelation['onDelete'] {
  // The key of a mandatory relation cannot become null.
  const rule = isMandatory && onDelete === 'setNull' ? undefined : onDelete;
  return rule === (isMandatory ? 'restrict' : 'setNull') ? undefined : rule;
}

export function isDatabase(kind: SourceModel['kind']): boolean {
  return kind === 'sqlite' || kind === 'postgres';
}

const keyTypes: readonly StorageType[] = ['string', 'uuid', 'integer', 'number'];

/** What `__unaccented_` leaves of the 63 bytes of a name. */
const longestColumn = 50;

function cutBytes(text: string, length: number): string {
  let cut = text;
  while (Buffer.byteLength(cut) > length) cut = Array.from(cut).slice(0, -1).join('');
  return cut;
}

function refTo(id: Identity): Reference {
  return { $ref: [{ id }] };
}
