import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { DataclassObject } from '../class/dataclass.js';
import type { Entity } from '../class/entity.js';
import { stateOf } from '../class/entity-state.js';
import type { DataclassCode } from '../class/class-host.js';
import { AttributeError, SaveError } from '../class/failure.js';
import { typedStored } from '../class/typed-value.js';
import { referredValue } from '../class/related-entity.js';
import type { EntityTypes } from '../class/types.js';
import { TransactionIdleError } from '../access/scope-executor.js';
import { boundValue } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, column, From } from '../dataclass/source.js';
import { DatabaseUnavailableError } from '../dialect/executor.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { TransactionEndedError } from '../dialect/transaction-scope.js';
import { isSettable } from '../entity/decode.js';
import type {
  AttributeDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { errorCodes, RequestError } from '../protocol/errors.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import { queryOf } from '../protocol/queries.js';
import { storageOf, type StoredValue, storedValue } from '../protocol/values.js';
import { type SeedRow, unknownName } from './data-files.js';

/** What became of the entities of one dataclass. */
export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
  /** Stored, without a relation that was to be set at the end. */
  incomplete: number;
}

/** `app.datastore`, whose dataclasses are known by name only. */
export type SeededDatastore = Readonly<Record<string, DataclassObject<EntityTypes>>>;

interface LoaderOptions {
  readonly datastore: SeededDatastore;
  /** The attribute by which entities that exist already are found; by dataclass. */
  readonly upsertBy: ReadonlyMap<string, StorageDefinition>;
  readonly onRefused: (row: SeedRow, reasons: readonly string[]) => void;
}

/** An attribute by which entities are found, and a value of it as it is compared. */
interface Place {
  readonly dataclass: Dataclass;
  readonly by: StorageDefinition;
  readonly value: string | number;
  /** The value as it is written. */
  readonly shown: string | number;
  /** The same for the same place. */
  readonly id: string;
}

/** A related entity that a row names. */
interface Reference {
  readonly relation: RelatedEntityDefinition;
  readonly place: Place;
}

/** A row on its way into the database. */
interface PendingRow {
  readonly row: SeedRow;
  /** By attribute, in the order of the row; what relations hold is added when it is known. */
  readonly values: [string, unknown][];
  /** Entities that do not exist yet, by the id of their place. */
  readonly missing: Map<string, Reference[]>;
  /** Relations that are set when all entities are stored, because they lead in a circle. */
  readonly later: Reference[];
}

/** Why a row is refused. */
class Refused extends Error {
  constructor(readonly reasons: readonly string[]) {
    super(reasons.join(' '));
  }
}

/**
 * Stores the rows of data files as class code stores entities: with all rules and events. A row
 * that names an entity which does not exist yet waits for it. Rows that wait for each other in a
 * circle are stored without one of their relations, which is set at the end.
 */
export class Loader {
  readonly counts = new Map<string, Counts>();
  readonly #codes = new Map<string, DataclassCode>();
  /** By the attribute that they compare, and the one that they read. */
  readonly #statements = new Map<StorageDefinition, Map<StorageDefinition, Statement>>();
  /** In the order of the files. */
  readonly #unsaved = new Set<PendingRow>();
  /** Rows by the ids of the places that they wait for. */
  readonly #waiting = new Map<string, Set<PendingRow>>();
  /** By dataclass, the attributes by which rows wait for its entities. */
  readonly #awaited = new Map<string, Set<StorageDefinition>>();
  /** Ids of the places of entities that were refused. */
  readonly #refused = new Set<string>();
  readonly #later: { readonly pending: PendingRow; readonly key: string | number }[] = [];

  constructor(private readonly options: LoaderOptions) {}

  get isAnyRefused(): boolean {
    return [...this.counts.values()].some(({ refused, incomplete }) => refused + incomplete > 0);
  }

  /** Stores a row, or keeps it until the entities exist that it names. */
  async load(row: SeedRow): Promise<void> {
    const pending: PendingRow = { row, values: [], missing: new Map(), later: [] };
    try {
      const references = await this.#read(pending);
      for (const reference of references) await this.#follow(pending, reference);
    } catch (error) {
      this.#refuse(pending, error);
      return;
    }
    if (pending.missing.size === 0) await this.#saveWith(pending);
    else this.#unsaved.add(pending);
  }

  /** Stores the rows that still wait, or refuses them; then sets the relations that were left out. */
  async finish(): Promise<void> {
    await this.#untangle();
    for (const { pending, key } of this.#later.splice(0)) {
      const { entities } = this.#code(pending.row.dataclass);
      const entity = (await entities.load(key)) as Entity<EntityTypes> | undefined;
      if (entity === undefined) {
        this.#refuse(pending, new Refused(['it was deleted while others were stored.']));
        continue;
      }
      try {
        const values: [string, unknown][] = [];
        for (const reference of pending.later) {
          const { relation, place } = reference;
          const held = await this.#held(pending.row.dataclass, reference);
          if (held === undefined) throw new Refused([this.#notFound(relation, place)]);
          values.push([relation.name, held]);
        }
        setAll(entity, values);
        await entity.save();
      } catch (error) {
        // Others may refer to the entity by now, so it stays.
        const names = pending.later.map(({ relation }) => relation.name).join(', ');
        const [first = '', ...others] = reasonsOf(error);
        this.#countsOf(pending.row.dataclass).incomplete += 1;
        this.options.onRefused(pending.row, [`stored without ${names}. ${first}`, ...others]);
      }
    }
  }

  #code(dataclass: Dataclass): DataclassCode {
    return getOrInsertComputed(this.#codes, dataclass.name, () => {
      const object = this.options.datastore[dataclass.name] as DataclassObject<EntityTypes>;
      return stateOf(object.new()).code;
    });
  }

  #countsOf({ name }: Dataclass): Counts {
    const none = (): Counts => ({
      created: 0,
      updated: 0,
      unchanged: 0,
      refused: 0,
      incomplete: 0,
    });
    return getOrInsertComputed(this.counts, name, none);
  }

  /**
   * Reads the values of a row.
   * @returns the related entities that it names
   * @throws Refused with all that is wrong
   */
  async #read({ row, values }: PendingRow): Promise<readonly Reference[]> {
    const { dataclass, problem } = row;
    if (problem !== undefined) throw new Refused([problem]);
    const references: Reference[] = [];
    const given = new Set<RelatedEntityDefinition>();
    const reasons: string[] = [];
    for (const [name, json] of Object.entries(row.values)) {
      const attribute = dataclass.allAttributes.get(name);
      const relation = relationOf(dataclass, attribute);
      try {
        if (attribute === undefined) throw new Refused([unknownName(dataclass, name)]);
        if (relation === undefined) {
          values.push([name, await valueOf(attribute, json, row.file)]);
          continue;
        }
        if (given.has(relation)) {
          const both = `${relation.name} and ${relation.foreignKey}`;
          throw new Refused([`${both} are the same value: give one of them.`]);
        }
        given.add(relation);
        const target = dataclass.target(relation);
        const plain = attribute === relation ? target.key : dataclass.referenced(relation);
        const place = this.#named(target, name, json, plain);
        if (place === undefined) values.push([relation.name, null]);
        else references.push({ relation, place });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        reasons.push(...error.reasons);
      }
    }
    if (reasons.length > 0) throw new Refused(reasons);
    return references;
  }

  /**
   * The entity that the value of a relation names: a plain value, or an object with one unique
   * attribute.
   * @param plain the attribute of the target that a plain value belongs to
   * @returns `undefined` for null
   */
  #named(
    target: Dataclass,
    name: string,
    json: unknown,
    plain: StorageDefinition,
  ): Place | undefined {
    const isPlain = typeof json !== 'object' || json === null;
    const named = isPlain ? { [plain.name]: json } : json;
    const [[by, value] = ['', null], ...others] = Object.entries(named) as [string, unknown][];
    const attribute = target.allAttributes.get(by);
    if (attribute?.kind !== 'storage' || !isUnique(attribute) || others.length > 0) {
      const known = uniqueAttributes(target).map((each) => each.name);
      throw new Refused([
        `${name} must name an entity of ${target.name} by its key or by one unique attribute (${known.join(', ')}).`,
      ]);
    }
    return value === null ? undefined : this.#placeOf(target, attribute, value, name);
  }

  /** @param name in errors */
  #placeOf(dataclass: Dataclass, by: StorageDefinition, json: unknown, name: string): Place {
    return this.#place(dataclass, by, stored(by, json, name) as string | number);
  }

  #place(dataclass: Dataclass, by: StorageDefinition, shown: string | number): Place {
    const { dialect } = this.#code(dataclass).host.context.database;
    const value = by.type === 'string' ? dialect.foldText(String(shown)) : shown;
    return { dataclass, by, value, shown, id: JSON.stringify([dataclass.name, by.name, value]) };
  }

  /** Adds what a relation holds to the values of a row, or what the row waits for. */
  async #follow(pending: PendingRow, reference: Reference): Promise<void> {
    const { relation, place } = reference;
    const held = await this.#held(pending.row.dataclass, reference);
    if (held !== undefined) {
      pending.values.push([relation.name, held]);
      return;
    }
    getOrInsertComputed(pending.missing, place.id, () => []).push(reference);
    getOrInsertComputed(this.#waiting, place.id, () => new Set()).add(pending);
    getOrInsertComputed(this.#awaited, place.dataclass.name, () => new Set()).add(place.by);
  }

  /**
   * What a relation to the entity at a place holds: its key, or what the relation references.
   * @throws Refused if the entity has no such value
   */
  async #held(
    dataclass: Dataclass,
    { relation, place }: Reference,
  ): Promise<string | number | undefined> {
    const value = await this.#find(place, dataclass.referenced(relation));
    if (value === null) throw new Refused([withoutReferred(relation, place)]);
    return value;
  }

  /** The value of an attribute of the entity at a place; `undefined` if there is no entity. */
  async #find(
    { dataclass, by, value }: Place,
    wanted: StorageDefinition,
  ): Promise<string | number | null | undefined> {
    const { host } = this.#code(dataclass);
    const { dialect } = host.context.database;
    const none = (): Map<StorageDefinition, Statement> => new Map();
    const statements = getOrInsertComputed(this.#statements, by, none);
    const statement = getOrInsertComputed(statements, wanted, () => {
      const from = new From(new Aliases(), dataclass, 'table');
      const { queries } = dataclass;
      const query = by.key === true ? queries.byKey : queryOf(queries.by, by.name);
      if (query === undefined) throw new Error(`${dataclass.name} has no query for ${by.name}.`);
      const value = boundValue(dialect, by, new Slot(0));
      const select = from.selecting(column(from.root, wanted.column));
      return dialect.compile(query(dialect.db, value, select));
    });
    const [row] = await host.reading().rows(statement, [value]);
    return row && ((row[0] ?? null) as string | number | null);
  }

  /** Saves a row, then those that have waited for it only, and so on. */
  async #saveWith(first: PendingRow): Promise<void> {
    const ready = [first];
    for (const pending of ready) {
      this.#unsaved.delete(pending);
      let entity: Entity<EntityTypes>;
      try {
        entity = await this.#save(pending);
      } catch (error) {
        this.#refuse(pending, error);
        continue;
      }
      if (pending.later.length > 0) {
        this.#later.push({ pending, key: entity.key as string | number });
      }
      ready.push(...this.#woken(pending.row.dataclass, entity));
    }
  }

  async #save({ row, values }: PendingRow): Promise<Entity<EntityTypes>> {
    const counts = this.#countsOf(row.dataclass);
    const object = this.options.datastore[row.dataclass.name] as DataclassObject<EntityTypes>;
    const existing = await this.#existing(row);
    const entity = existing ?? (object.new() as Entity<EntityTypes>);
    const { stamp } = entity;
    setAll(entity, values);
    await entity.save();
    if (existing === undefined) counts.created += 1;
    else if (entity.stamp === stamp) counts.unchanged += 1;
    else counts.updated += 1;
    return entity;
  }

  /** The entity that the row changes; none if the row creates one. */
  async #existing({ dataclass, values }: SeedRow): Promise<Entity<EntityTypes> | undefined> {
    const by = this.options.upsertBy.get(dataclass.name);
    if (by === undefined) return undefined;
    const json = values[by.name] ?? null;
    if (json === null) {
      throw new Refused([`${by.name} must have a value, because --upsert-by names it.`]);
    }
    const key = await this.#find(this.#placeOf(dataclass, by, json, by.name), dataclass.key);
    if (key === undefined || key === null) return undefined;
    return (await this.#code(dataclass).entities.load(key)) as Entity<EntityTypes> | undefined;
  }

  /** The rows that wait for nothing but this entity. */
  #woken(dataclass: Dataclass, entity: Entity<EntityTypes>): readonly PendingRow[] {
    const ready: PendingRow[] = [];
    const state = stateOf(entity);
    for (const by of this.#awaited.get(dataclass.name) ?? []) {
      const value = state.stored(state.code.layout.field(by.name));
      if (value === null) continue;
      const { id } = this.#place(dataclass, by, value as string | number);
      const waiting = this.#waiting.get(id) ?? [];
      this.#waiting.delete(id);
      for (const pending of waiting) {
        const references = pending.missing.get(id) ?? [];
        pending.missing.delete(id);
        const without = references.filter(
          ({ relation }) => referredValue(state, relation) === null,
        );
        if (without.length > 0) {
          const reasons = without.map(({ relation, place }) => withoutReferred(relation, place));
          if (this.#unsaved.has(pending)) this.#refuse(pending, new Refused(reasons));
          continue;
        }
        for (const { relation } of references) {
          pending.values.push([relation.name, referredValue(state, relation)]);
        }
        if (pending.missing.size === 0 && this.#unsaved.has(pending)) ready.push(pending);
      }
    }
    return ready;
  }

  /** Goes from each row that waits to the one that it waits for, until a circle or an entity that does not come. */
  async #untangle(): Promise<void> {
    const providers = new Map<string, PendingRow>();
    for (const pending of this.#unsaved) {
      for (const { id } of this.#placesOf(pending.row)) providers.set(id, pending);
    }
    const provider = (id: string): PendingRow | undefined => {
      const found = providers.get(id);
      return found !== undefined && this.#unsaved.has(found) ? found : undefined;
    };
    const path: PendingRow[] = [];
    const depths = new Map<PendingRow, number>();
    const shorten = (depth: number): void => {
      for (const left of path.splice(depth)) depths.delete(left);
    };
    for (;;) {
      const [first] = this.#unsaved;
      const pending = path.at(-1) ?? first;
      if (pending === undefined) return;
      const ids = [...pending.missing.keys()];
      const [nextId = ''] = ids;
      const next = provider(nextId);
      if (!this.#unsaved.has(pending)) {
        shorten(path.length - 1);
      } else if (next === undefined || ids.some((id) => provider(id) === undefined)) {
        await this.#doWithout(
          pending,
          ids.filter((id) => provider(id) === undefined),
        );
      } else {
        if (path.length === 0) append(pending);
        const start = depths.get(next);
        if (start === undefined) {
          append(next);
          continue;
        }
        const circle = path.slice(start);
        shorten(start);
        await this.#cut(circle);
      }
    }

    function append(pending: PendingRow): void {
      depths.set(pending, path.length);
      path.push(pending);
    }
  }

  /**
   * A relation without integrity may lead to nothing: it takes the value that its foreign key holds.
   * Any other refuses the row.
   * @param lost ids of the places of entities that do not come
   */
  async #doWithout(pending: PendingRow, lost: readonly string[]): Promise<void> {
    const references = lost.flatMap((id) => pending.missing.get(id) ?? []);
    const needed = references.filter(
      ({ relation, place }) =>
        relation.onDelete !== 'none' || place.by !== pending.row.dataclass.referenced(relation),
    );
    if (needed.length > 0) {
      const reasons = needed.map(({ relation, place }) => this.#notFound(relation, place));
      this.#refuse(pending, new Refused(reasons));
      return;
    }
    for (const { relation, place } of references) {
      pending.values.push([relation.name, place.shown]);
    }
    for (const id of lost) {
      pending.missing.delete(id);
      this.#waiting.get(id)?.delete(pending);
    }
    if (pending.missing.size === 0) await this.#saveWith(pending);
  }

  /** @param circle rows, each of which waits for the next, and the last one for the first */
  async #cut(circle: readonly PendingRow[]): Promise<void> {
    const links = circle.map((pending) => {
      const [id = ''] = pending.missing.keys();
      return { pending, id, references: pending.missing.get(id) ?? [] };
    });
    const link = links.find(({ pending, references }) =>
      references.every(({ relation }) => isOptional(pending.row.dataclass, relation)),
    );
    if (link === undefined) {
      const names = links.flatMap(({ pending, references }) =>
        references.map(({ relation }) => `${pending.row.dataclass.name}.${relation.name}`),
      );
      const reason = `mandatory relations lead in a circle: ${[...new Set(names)].join(', ')}.`;
      for (const { pending } of links) this.#refuse(pending, new Refused([reason]));
      return;
    }
    const { pending, id, references } = link;
    pending.later.push(...references);
    pending.missing.delete(id);
    this.#waiting.get(id)?.delete(pending);
    if (pending.missing.size === 0) await this.#saveWith(pending);
  }

  #refuse(pending: PendingRow, error: unknown): void {
    const { row } = pending;
    const reasons = reasonsOf(error);
    this.#unsaved.delete(pending);
    this.#countsOf(row.dataclass).refused += 1;
    for (const { id } of this.#placesOf(row)) this.#refused.add(id);
    this.options.onRefused(row, reasons);
  }

  /** Where others find the entity of a row. */
  #placesOf({ dataclass, values }: SeedRow): readonly Place[] {
    return uniqueAttributes(dataclass).flatMap((by) => {
      const json = values[by.name] ?? null;
      const result = storedValue(by, json);
      if (json === null || !result.ok || result.value === null) return [];
      return [this.#place(dataclass, by, result.value as string | number)];
    });
  }

  #notFound(relation: RelatedEntityDefinition, place: Place): string {
    const named = shownPlace(place);
    return this.#refused.has(place.id)
      ? `${relation.name}: the ${named} was refused.`
      : `${relation.name}: there is no ${named}.`;
  }
}

function shownPlace({ dataclass, by, shown }: Place): string {
  return `${dataclass.name} with the ${by.name} ${JSON.stringify(shown)}`;
}

function withoutReferred(relation: RelatedEntityDefinition, place: Place): string {
  return `${relation.name}: the ${shownPlace(place)} has no ${relation.references ?? 'key'}.`;
}

export function isOptional(dataclass: Dataclass, relation: RelatedEntityDefinition): boolean {
  return relation.mandatory !== true && dataclass.foreignKey(relation).mandatory !== true;
}

/** Whether one entity at most has a value of the attribute. */
function isUnique({ key, unique }: StorageDefinition): boolean {
  return key === true || unique === true;
}

export function uniqueAttributes({ attributes }: Dataclass): readonly StorageDefinition[] {
  return attributes.filter(
    (each): each is StorageDefinition => each.kind === 'storage' && isUnique(each),
  );
}

/** The to-one relation that an attribute is, or whose key it holds. */
function relationOf(
  { attributes }: Dataclass,
  attribute: AttributeDefinition | undefined,
): RelatedEntityDefinition | undefined {
  return attributes.find(
    (each): each is RelatedEntityDefinition =>
      each.kind === 'relatedEntity' && (each === attribute || each.foreignKey === attribute?.name),
  );
}

/** A value as `fromObject` takes it. */
async function valueOf(
  attribute: AttributeDefinition,
  json: unknown,
  file: string,
): Promise<unknown> {
  const { name } = attribute;
  switch (attribute.kind) {
    case 'storage':
      if (attribute.type === 'image' || attribute.type === 'blob') return bytesOf(name, json, file);
      stored(attribute, json);
      return json;
    case 'computed': {
      if (!isSettable(attribute)) break;
      const definition = storageOf(attribute);
      const value = stored(definition, json);
      return value instanceof Uint8Array ? json : typedStored(definition, value);
    }
    case 'relatedEntities':
      throw new Refused([
        `${name} leads to many entities: set ${attribute.target}.${attribute.inverse} of each of them.`,
      ]);
    case 'alias':
    case 'relationAlias':
    case 'expression':
    case 'relatedEntity':
      break;
  }
  throw new Refused([`${name} is computed, so it cannot be set.`]);
}

/** @throws Refused for what is no value of the attribute */
function stored(attribute: StorageDefinition, json: unknown, name = attribute.name): StoredValue {
  const result = storedValue(attribute, json);
  if (result.ok) return result.value;
  throw new Refused([`${name} ${result.message}.`]);
}

/** The bytes of a file that is named as seen from the data file. */
async function bytesOf(name: string, json: unknown, file: string): Promise<Uint8Array | null> {
  if (json === null) return null;
  if (typeof json !== 'string') throw new Refused([`${name} must be null or the path of a file.`]);
  try {
    // Files of others, and pipes, which may never end, are none of the data.
    const folder = await realpath(dirname(file));
    const path = await realpath(resolve(folder, json));
    if (!path.startsWith(join(folder, '/'))) {
      throw new Refused([`${name} must name a file below the folder of the data file.`]);
    }
    if (!(await stat(path)).isFile()) throw new Refused([`${name} must name a file.`]);
    return await readFile(path);
  } catch (error) {
    if (error instanceof Refused) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new Refused([`${name} names a file that cannot be read: ${why}.`]);
  }
}

/** @throws Refused with all that is wrong */
function setAll(entity: Entity<EntityTypes>, values: readonly [string, unknown][]): void {
  const reasons: string[] = [];
  for (const [name, value] of values) {
    try {
      entity.fromObject(Object.fromEntries([[name, value]]));
    } catch (error) {
      reasons.push(...reasonsOf(error));
    }
  }
  if (reasons.length > 0) throw new Refused(reasons);
}

/** Those that only say that an entity was not saved. */
const summaries: ReadonlySet<number> = new Set([
  errorCodes.validationFailed.code,
  errorCodes.cannotSave.code,
  errorCodes.newEntityNotSaved.code,
  errorCodes.entityNotSaved.code,
]);

/** @throws what ends the whole transaction */
function reasonsOf(error: unknown): readonly string[] {
  if (error instanceof Refused) return error.reasons;
  if (error instanceof AttributeError) return [`${error.attribute} ${error.predicate}.`];
  if (error instanceof SaveError || error instanceof RequestError) {
    const { errors } = error;
    const own = errors.filter(({ errCode }) => !summaries.has(errCode));
    return (own.length === 0 ? errors : own).map(({ message }) => message);
  }
  if (
    error instanceof DatabaseUnavailableError ||
    error instanceof TransactionEndedError ||
    error instanceof TransactionIdleError ||
    !(error instanceof Error)
  ) {
    throw error;
  }
  // A mistake in class code: with its line.
  const [message = error.message, place = ''] = (error.stack ?? '').split('\n');
  return [`${message} ${place.trim()}`.trim()];
}
