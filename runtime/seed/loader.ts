import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { DataclassObject } from '../class/objects/dataclass.js';
import type { Entity } from '../class/objects/entity.js';
import { stateOf } from '../class/objects/entity-state.js';
import type { DataclassContext } from '../class/objects/context.js';
import { AttributeError, SaveError } from '../class/objects/failure.js';
import { selectionOf } from '../class/objects/selection.js';
import { typedStored } from '../class/objects/typed-value.js';
import type { EntityTypes } from '../class/objects/types.js';
import { TransactionIdleError } from '../access/scope-executor.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { DatabaseUnavailableError } from '../dialect/executor.js';
import { TransactionEndedError } from '../dialect/transaction-scope.js';
import { isSettable } from '../write/decode.js';
import { Finder, isUnique } from '../write/finder.js';
import type {
  AttributeDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { errorCodes, RequestError } from '../protocol/errors.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
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

/** An attribute by which entities are found, and a value of it. */
interface Place {
  readonly dataclass: Dataclass;
  readonly by: StorageDefinition;
  readonly shown: string | number;
  /** Equal places have equal ids. */
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
  /** Values by attribute, in the order of the row. Values of relations are added when they are known. */
  readonly values: [string, unknown][];
  /** Related entities that did not exist when they were last looked for: the row waits for the first. */
  missing: readonly Reference[];
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
  readonly #codes = new Map<string, DataclassContext>();
  #finder: Finder | undefined;
  /** Rows that are not saved yet, in the order of the files. */
  readonly #unsaved = new Set<PendingRow>();
  /** Rows by the id of the place that they wait for. */
  readonly #waiting = new Map<string, PendingRow[]>();
  /** Ids of the places of entities that were refused. */
  readonly #refused = new Set<string>();
  readonly #later: { readonly pending: PendingRow; readonly key: string | number }[] = [];

  constructor(private readonly options: LoaderOptions) {}

  get isAnyRefused(): boolean {
    return [...this.counts.values()].some(({ refused, incomplete }) => refused + incomplete > 0);
  }

  /** Stores a row, or keeps it until the entities exist that it names. */
  async load(row: SeedRow): Promise<void> {
    const pending: PendingRow = { row, values: [], missing: [], later: [] };
    try {
      pending.missing = await this.#read(pending);
    } catch (error) {
      this.#refuse(pending, error);
      return;
    }
    this.#unsaved.add(pending);
    await this.#advance(pending);
  }

  /** Stores the rows that still wait, or refuses them; then sets the relations that were left out. */
  async finish(): Promise<void> {
    await this.#untangle();
    for (const { pending, key } of this.#later.splice(0)) {
      const { row, later } = pending;
      const entity = (await this.#code(row.dataclass).load(key)) as Entity<EntityTypes> | undefined;
      if (entity === undefined) {
        this.#refuse(pending, new Refused(['it was deleted while others were stored.']));
        continue;
      }
      try {
        const added = { ...pending, values: [], missing: later };
        await this.#lookUp(added);
        if (added.missing.length > 0) throw this.#notFound(added.missing);
        setAll(entity, added.values);
        await entity.save();
      } catch (error) {
        // Others may refer to the entity by now, so it stays.
        const names = later.map(({ relation }) => relation.name).join(', ');
        const [first = '', ...others] = reasonsOf(error);
        this.#countsOf(row.dataclass).incomplete += 1;
        this.options.onRefused(row, [`stored without ${names}. ${first}`, ...others]);
      }
    }
  }

  #code(dataclass: Dataclass): DataclassContext {
    return getOrInsertComputed(this.#codes, dataclass.name, () => {
      const object = this.options.datastore[dataclass.name] as DataclassObject<EntityTypes>;
      return selectionOf(object.newSelection()).code;
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
    const value = this.#finderOf(dataclass).comparable(by, shown);
    return { dataclass, by, shown, id: JSON.stringify([dataclass.name, by.name, value]) };
  }

  #finderOf(dataclass: Dataclass): Finder {
    return (this.#finder ??= new Finder(this.#code(dataclass).host.model.database.dialect));
  }

  /** The value of an attribute of the entity at a place; `undefined` if there is no entity. */
  async #find(
    { dataclass, by, shown }: Place,
    wanted: StorageDefinition,
  ): Promise<string | number | null | undefined> {
    const reader = this.#code(dataclass).host.model.database.executor;
    const search = { dataclass, by, wanted };
    const found = await this.#finderOf(dataclass).find(reader, search, [shown]);
    const [[value] = []] = found.values();
    return value as string | number | null | undefined;
  }

  /**
   * Adds what relations hold whose entities are there: their keys, or what the relations reference.
   * @throws Refused if an entity has no such value
   */
  async #lookUp(pending: PendingRow): Promise<void> {
    const { dataclass } = pending.row;
    const missing: Reference[] = [];
    for (const reference of pending.missing) {
      const { relation, place } = reference;
      const held = await this.#find(place, dataclass.referenced(relation));
      if (held === undefined) missing.push(reference);
      else if (held !== null) pending.values.push([relation.name, held]);
      else {
        const what = relation.references ?? 'key';
        throw new Refused([`${relation.name}: the ${shownPlace(place)} has no ${what}.`]);
      }
    }
    pending.missing = missing;
  }

  /** Saves a row if the entities are there that it names, then those that have waited for it, and so on. */
  async #advance(first: PendingRow): Promise<void> {
    const ready = [first];
    for (const pending of ready) {
      const { row, later } = pending;
      // It may have waited for two values of one entity.
      if (!this.#unsaved.has(pending)) continue;
      try {
        await this.#lookUp(pending);
        const [missing] = pending.missing;
        if (missing !== undefined) {
          getOrInsertComputed(this.#waiting, missing.place.id, () => []).push(pending);
          continue;
        }
        this.#unsaved.delete(pending);
        const entity = await this.#save(pending);
        if (later.length > 0) this.#later.push({ pending, key: entity.key as string | number });
        ready.push(...this.#woken(row.dataclass, entity));
      } catch (error) {
        this.#refuse(pending, error);
      }
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
    return (await this.#code(dataclass).load(key)) as Entity<EntityTypes> | undefined;
  }

  /** The rows that have waited for an entity. */
  #woken(dataclass: Dataclass, entity: Entity<EntityTypes>): readonly PendingRow[] {
    if (this.#waiting.size === 0) return [];
    const state = stateOf(entity);
    return uniqueAttributes(dataclass).flatMap((by) => {
      const value = state.stored(state.code.layout.field(by.name));
      if (value === null) return [];
      const { id } = this.#place(dataclass, by, value as string | number);
      const waiting = this.#waiting.get(id) ?? [];
      this.#waiting.delete(id);
      return waiting;
    });
  }

  /**
   * Follows waiting rows, each to the row that it waits for, until it finds a circle or an entity
   * that no row creates.
   */
  async #untangle(): Promise<void> {
    const providers = new Map<string, PendingRow>();
    for (const pending of this.#unsaved) {
      for (const { id } of this.#placesOf(pending.row)) providers.set(id, pending);
    }
    const provider = ({ place }: Reference): PendingRow | undefined => {
      const found = providers.get(place.id);
      return found !== undefined && this.#unsaved.has(found) ? found : undefined;
    };
    const path: PendingRow[] = [];
    const depths = new Map<PendingRow, number>();
    for (;;) {
      const [first] = this.#unsaved;
      const pending = path.at(-1) ?? first;
      if (pending === undefined) return;
      if (path.length === 0) append(pending);
      if (!this.#unsaved.has(pending)) {
        shorten(path.length - 1);
        continue;
      }
      if (pending.missing.some((each) => provider(each) === undefined)) {
        await this.#doWithout(pending, (each) => provider(each) === undefined);
        continue;
      }
      const next = pending.missing[0] && provider(pending.missing[0]);
      const start = next && depths.get(next);
      if (start !== undefined) await this.#cut(shorten(start));
      else if (next !== undefined) append(next);
    }

    function append(pending: PendingRow): void {
      depths.set(pending, path.length);
      path.push(pending);
    }

    function shorten(depth: number): readonly PendingRow[] {
      const left = path.splice(depth);
      for (const each of left) depths.delete(each);
      return left;
    }
  }

  /**
   * A relation without integrity may lead to nothing: it takes the value that its foreign key holds.
   * Any other refuses the row.
   */
  async #doWithout(pending: PendingRow, isLost: (reference: Reference) => boolean): Promise<void> {
    try {
      // Others may have been stored since the last look.
      await this.#lookUp(pending);
      const lost = pending.missing.filter(isLost);
      const needed = lost.filter(
        ({ relation, place }) =>
          relation.onDelete !== 'none' || place.by !== pending.row.dataclass.referenced(relation),
      );
      if (needed.length > 0) throw this.#notFound(needed);
      pending.missing = pending.missing.filter((each) => !lost.includes(each));
      for (const { relation, place } of lost) pending.values.push([relation.name, place.shown]);
    } catch (error) {
      this.#refuse(pending, error);
      return;
    }
    await this.#advance(pending);
  }

  /** @param circle rows, each of which waits for the next, and the last one for the first */
  async #cut(circle: readonly PendingRow[]): Promise<void> {
    const links = circle.flatMap((pending) =>
      pending.missing.slice(0, 1).map((reference) => ({ pending, ...reference })),
    );
    const link = links.find(({ pending, relation }) => isOptional(pending.row.dataclass, relation));
    if (link === undefined) {
      const names = links.map(
        ({ pending, relation }) => `${pending.row.dataclass.name}.${relation.name}`,
      );
      const reason = `mandatory relations lead in a circle: ${[...new Set(names)].join(', ')}.`;
      for (const { pending } of links) this.#refuse(pending, new Refused([reason]));
      return;
    }
    const { pending } = link;
    const [first, ...others] = pending.missing;
    if (first !== undefined) pending.later.push(first);
    pending.missing = others;
    await this.#advance(pending);
  }

  #refuse(pending: PendingRow, error: unknown): void {
    const { row } = pending;
    const reasons = reasonsOf(error);
    this.#unsaved.delete(pending);
    this.#countsOf(row.dataclass).refused += 1;
    for (const { id } of this.#placesOf(row)) this.#refused.add(id);
    this.options.onRefused(row, reasons);
  }

  /** The places at which others find the entity of a row. */
  #placesOf({ dataclass, values }: SeedRow): readonly Place[] {
    return uniqueAttributes(dataclass).flatMap((by) => {
      const json = values[by.name] ?? null;
      const result = storedValue(by, json);
      if (json === null || !result.ok || result.value === null) return [];
      return [this.#place(dataclass, by, result.value as string | number)];
    });
  }

  #notFound(references: readonly Reference[]): Refused {
    const reasons = references.map(({ relation, place }) =>
      this.#refused.has(place.id)
        ? `${relation.name}: the ${shownPlace(place)} was refused.`
        : `${relation.name}: there is no ${shownPlace(place)}.`,
    );
    return new Refused(reasons);
  }
}

function shownPlace({ dataclass, by, shown }: Place): string {
  return `${dataclass.name} with the ${by.name} ${JSON.stringify(shown)}`;
}

export function isOptional(dataclass: Dataclass, relation: RelatedEntityDefinition): boolean {
  return relation.mandatory !== true && dataclass.foreignKey(relation).mandatory !== true;
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
    case 'aggregate':
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
    // Only files below the folder of the data file belong to the data. A pipe might never end.
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

/** Codes of errors that only say that an entity was not saved. */
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
