import { bodyOf, type Connection } from './connection.js';
import { isRecord, type JsonRecord, reasonsOf, RestError } from './errors.js';
import type { AttributeTable, DataclassTable } from './table.js';
import type {
  Entity,
  EntityTypes,
  Media,
  RelatedEntity,
  RequestOptions,
  StoredMedia,
} from './types.js';
import { asBlob, decodeValue, encodeValue, entityPath, isSame } from './values.js';

/** A dataclass of one client. */
export interface ClientDataclass {
  readonly name: string;
  readonly key: DataclassTable['key'];
  readonly attributes: ReadonlyMap<string, AttributeTable>;
  readonly connection: Connection;
  /** Another dataclass of the client. */
  readonly dataclass: (name: string) => ClientDataclass;
  readonly make: (state: ClientEntityState) => object;
  /** The selection of a to-many relation. */
  readonly related: (key: ClientKey, relation: string, target: string) => object;
}

export type ClientKey = string | number;

export function decodeKey({ key }: ClientDataclass, value: unknown): ClientKey {
  return key === 'number' ? Number(value) : String(value);
}

const states = new WeakMap<object, ClientEntityState>();

/** The state of an entity object of this module; `undefined` for any other value. */
export function findState(value: unknown): ClientEntityState | undefined {
  return typeof value === 'object' && value !== null ? states.get(value) : undefined;
}

function stateOf(entity: object): ClientEntityState {
  const state = states.get(entity);
  if (state === undefined) throw new TypeError('This is not an entity of a client.');
  return state;
}

/** Forgets what was set since an entity object was read or saved. */
export function discardChanges(entity: object): void {
  stateOf(entity).changes.clear();
}

/** The values of an entity object: as they were read, and what was set since. */
export class ClientEntityState {
  key: ClientKey | null = null;
  stamp = 0;
  readonly changes = new Map<string, unknown>();
  #values: ReadonlyMap<string, unknown> = new Map();
  readonly #related = new Map<string, { readonly key: ClientKey; readonly entity: object }>();

  constructor(readonly dataclass: ClientDataclass) {}

  get isNew(): boolean {
    return this.stamp === 0;
  }

  /** Whether a save creates it, or entities in its lists. */
  get createsEntities(): boolean {
    return this.isNew || [...this.changes.keys()].some((name) => this.#isList(name));
  }

  get(name: string): unknown {
    return this.changes.has(name) ? this.changes.get(name) : (this.#values.get(name) ?? null);
  }

  stored(name: string): unknown {
    return this.#values.get(name) ?? null;
  }

  /** @throws TypeError for what cannot be set */
  set(name: string, value: unknown): void {
    const { attributes, name: dataclass } = this.dataclass;
    const attribute = attributes.get(name);
    const what = `${dataclass}.${name}`;
    if (attribute === undefined) throw new TypeError(`${what} does not exist.`);
    if (attribute.readOnly === true) throw new TypeError(`${what} cannot be set.`);
    if (attribute.many === undefined) this.#change(name, this.#settable(attribute, value, what));
    else this.changes.set(name, this.#newRelated(attribute.many, value, what));
  }

  /** Entities that are created with this one, or with its next change. */
  #newRelated(target: string, value: unknown, what: string): readonly ClientEntityState[] {
    const list = Array.isArray(value) ? (value as readonly unknown[]) : [undefined];
    return list.map((values) => {
      if (!isRecord(values) || findState(values) !== undefined) {
        throw new TypeError(
          `${what} must be set to a list of values of new entities; of entities, set their relation.`,
        );
      }
      const created = new ClientEntityState(this.dataclass.dataclass(target));
      created.setAll(values);
      return created;
    });
  }

  /** `undefined` is ignored. */
  setAll(values: object): void {
    for (const [name, value] of Object.entries(values)) {
      if (value !== undefined) this.set(name, value);
    }
  }

  #settable(attribute: AttributeTable, value: unknown, what: string): unknown {
    if (attribute.one !== undefined) return this.#relatedKey(attribute.one, value, what);
    if (attribute.type !== 'image' && attribute.type !== 'blob') {
      encodeValue(value, what);
      return value;
    }
    const bytes = value === null ? null : asBlob(value);
    if (bytes === undefined)
      throw new TypeError(`${what} must be set to a Blob, a Uint8Array or null.`);
    return bytes;
  }

  #relatedKey(target: string, value: unknown, what: string): ClientKey | null {
    if (value === null || typeof value === 'string' || typeof value === 'number') return value;
    const related = findState(value);
    if (related?.dataclass.name !== target) {
      throw new TypeError(`${what} must be set to an entity of ${target}, its key or null.`);
    }
    if (related.isNew || related.key === null) {
      throw new TypeError(`${what} cannot be set to an entity that is not saved: save it first.`);
    }
    return related.key;
  }

  #change(name: string, value: unknown): void {
    const isBytes = value instanceof Blob;
    if (!this.isNew && !isBytes && isSame(value, this.stored(name))) this.changes.delete(name);
    else this.changes.set(name, value);
  }

  /** Takes the values of an answer. */
  load(answer: JsonRecord): void {
    const { __KEY: key, __STAMP: stamp } = answer;
    this.key = key === null || key === undefined ? null : decodeKey(this.dataclass, key);
    this.stamp = typeof stamp === 'number' ? stamp : 0;
    const values = new Map<string, unknown>();
    for (const [name, attribute] of this.dataclass.attributes) {
      if (Object.hasOwn(answer, name)) {
        values.set(name, decodeAttribute(this.dataclass, attribute, answer[name]));
      }
    }
    this.#values = values;
  }

  /** The values of an entity that is not stored: all of them are to be saved. */
  loadNew(answer: JsonRecord): void {
    this.load(answer);
    this.stamp = 0;
    for (const [name, value] of this.#values) {
      if (value !== null && this.#isSettable(name)) this.changes.set(name, value);
    }
  }

  /**
   * Takes the answer to a save.
   * @param sent what was saved; what was set meanwhile is not
   */
  saved(answer: JsonRecord, sent: ReadonlyMap<string, unknown>): void {
    const before = this.#values;
    this.load(answer);
    // A session that may not read gets no values.
    if (![...this.#values.keys()].length) this.#values = new Map([...before, ...sent]);
    for (const [name, value] of sent) {
      if (this.changes.get(name) === value) this.changes.delete(name);
    }
  }

  /** Takes what somebody else has stored, and the values that are to be stored over it. */
  rebase(theirs: JsonRecord, wanted: object): void {
    // A conflict is about plain values; bytes and lists that were set stay as they are.
    const kept = [...this.changes].filter(([name]) => !this.#isPlain(name));
    this.load(theirs);
    this.changes.clear();
    for (const [name, value] of kept) this.changes.set(name, value);
    for (const [name, value] of Object.entries(wanted)) {
      if (value !== undefined && this.#isSettable(name) && !isSame(value, this.stored(name))) {
        this.set(name, value);
      }
    }
  }

  #isSettable(name: string): boolean {
    const attribute = this.dataclass.attributes.get(name);
    return attribute !== undefined && attribute.readOnly !== true;
  }

  #isList(name: string): boolean {
    return this.dataclass.attributes.get(name)?.many !== undefined;
  }

  /** Whether it is neither bytes nor a list. */
  #isPlain(name: string): boolean {
    const type = this.dataclass.attributes.get(name)?.type;
    return !this.#isList(name) && type !== 'image' && type !== 'blob';
  }

  /** The values that `toObject()` gives. */
  object(): Record<string, unknown> {
    return this.#objectOf((name) => this.get(name));
  }

  #objectOf(valueOf: (name: string) => unknown): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    for (const name of this.dataclass.attributes.keys()) {
      if (this.#isPlain(name)) entries.push([name, valueOf(name)]);
    }
    return Object.fromEntries(entries);
  }

  /** What was set, as a body or an argument has it; bytes are uploaded. */
  async written(options: RequestOptions): Promise<Record<string, unknown>> {
    const entries: [string, unknown][] = [];
    for (const [name, value] of this.changes) {
      entries.push([name, await this.#writtenValue(name, value, options)]);
    }
    return Object.fromEntries(entries);
  }

  async #writtenValue(name: string, value: unknown, options: RequestOptions): Promise<unknown> {
    if (value instanceof Blob) return upload(this.dataclass.connection, value, options);
    if (!this.#isList(name)) return encodeValue(value, `${this.dataclass.name}.${name}`);
    const bodies: object[] = [];
    for (const each of value as readonly ClientEntityState[]) {
      bodies.push(await each.written(options));
    }
    return bodies;
  }

  /** The address of a saved entity. */
  get path(): string {
    if (this.key !== null && !this.isNew) return entityPath(this.dataclass.name, this.key);
    throw new Error(`This entity of ${this.dataclass.name} is not saved yet.`);
  }

  async read(options: RequestOptions): Promise<JsonRecord> {
    const { connection } = this.dataclass;
    return connection.object({ path: this.path, signal: options.signal });
  }

  async relatedEntity(
    relation: string,
    target: string,
    options: RequestOptions,
  ): Promise<object | null> {
    const key = this.get(relation) as ClientKey | null;
    if (key === null) return null;
    const known = this.#related.get(relation);
    if (known?.key === key) return known.entity;
    const entity = await getEntity(this.dataclass.dataclass(target), key, options);
    if (entity !== null) this.#related.set(relation, { key, entity });
    return entity;
  }
}

/** The value of an attribute in an answer: a relation as its key, an image or BLOB as whether there is one. */
function decodeAttribute(
  dataclass: ClientDataclass,
  { type, one }: AttributeTable,
  value: unknown,
): unknown {
  if (value === null) return null;
  if (one !== undefined) {
    const { __deferred: deferred, __KEY: expanded } = value as JsonRecord;
    const key = isRecord(deferred) ? deferred['__KEY'] : expanded;
    return key === undefined ? null : decodeKey(dataclass.dataclass(one), key);
  }
  return type === undefined ? null : decodeValue(type, value);
}

/** Keeps bytes on the server until they are saved. */
export async function upload(
  connection: Connection,
  bytes: Blob,
  { signal }: RequestOptions,
): Promise<unknown> {
  const query = bytes.type.startsWith('image/') ? { $rawPict: 'true' } : { $binary: 'true' };
  const path = '/$upload';
  const { ID } = await connection.object({ method: 'POST', path, query, body: bytes, signal });
  return { ID };
}

/** @returns `null` if there is no entity with the key */
export async function getEntity(
  dataclass: ClientDataclass,
  key: ClientKey,
  { signal }: RequestOptions,
): Promise<object | null> {
  const path = entityPath(dataclass.name, key);
  try {
    return entityOf(dataclass, await dataclass.connection.object({ path, signal }));
  } catch (error) {
    if (error instanceof RestError && error.errCode === unknownEntity) return null;
    throw error;
  }
}

const unknownEntity = 1543;

/** An entity object for a part of an answer. */
export function entityOf(dataclass: ClientDataclass, answer: JsonRecord): object {
  const state = new ClientEntityState(dataclass);
  if (answer['__STAMP'] === 0) state.loadNew(answer);
  else state.load(answer);
  return dataclass.make(state);
}

type AnyTypes = EntityTypes;

/** What is the same for the entities of all dataclasses. */
export class ClientEntity implements Entity<AnyTypes> {
  constructor(state: ClientEntityState) {
    states.set(this, state);
  }

  get key(): ClientKey | null {
    return stateOf(this).key;
  }

  get stamp(): number {
    return stateOf(this).stamp;
  }

  get isNew(): boolean {
    return stateOf(this).isNew;
  }

  touched(attribute?: string): boolean {
    const { changes } = stateOf(this);
    return attribute === undefined ? changes.size > 0 : changes.has(attribute);
  }

  save(options: AnySaveOptions = {}): Promise<void> {
    return saveEntities([stateOf(this)], options, false);
  }

  async drop({ signal }: RequestOptions = {}): Promise<void> {
    const { path, dataclass } = stateOf(this);
    const query = { $method: 'delete' };
    await dataclass.connection.json({ method: 'POST', path, query, signal });
  }

  async reload(options: RequestOptions = {}): Promise<void> {
    const state = stateOf(this);
    state.load(await state.read(options));
    state.changes.clear();
  }

  lock(options: RequestOptions = {}): Promise<boolean> {
    return setLock(stateOf(this), true, options);
  }

  unlock(options: RequestOptions = {}): Promise<boolean> {
    return setLock(stateOf(this), false, options);
  }

  toObject(): object {
    return stateOf(this).object();
  }

  fromObject(values: object): this {
    stateOf(this).setAll(values);
    return this;
  }
}

async function setLock(
  { path, dataclass }: ClientEntityState,
  isLocked: boolean,
  { signal }: RequestOptions,
): Promise<boolean> {
  const query = { $lock: String(isLocked) };
  const request = { method: 'POST', path, query, signal, isKept: !isLocked } as const;
  const answer = await dataclass.connection.object(request);
  return answer['result'] === true;
}

/** Names of attributes that are members of every entity of class code, too. */
const ownMembers: ReadonlySet<string> = new Set(['key', 'session', 'stamp']);

/** The property of an attribute in entities and rows. */
export function memberName(attribute: string): string {
  return ownMembers.has(attribute) ? `${attribute}_` : attribute;
}

/** The class of the entities of a dataclass: each attribute is a property. */
export function entityClass(
  attributes: ClientDataclass['attributes'],
): new (state: ClientEntityState) => object {
  class DataclassEntity extends ClientEntity {}
  for (const [name, attribute] of attributes) {
    Object.defineProperty(DataclassEntity.prototype, memberName(name), {
      get(this: object): unknown {
        return propertyOf(stateOf(this), name, attribute);
      },
      set(this: object, value: unknown): void {
        stateOf(this).set(name, value);
      },
      enumerable: true,
      configurable: true,
    });
  }
  return DataclassEntity;
}

function propertyOf(
  state: ClientEntityState,
  name: string,
  { type, one, many }: AttributeTable,
): unknown {
  if (one !== undefined) return new RelatedHandle(state, name, one);
  if (many !== undefined) {
    if (state.isNew || state.key === null) {
      throw new Error(`Save the entity before its related entities (${name}) are read.`);
    }
    return state.dataclass.related(state.key, name, many);
  }
  return type === 'image' || type === 'blob' ? new MediaHandle(state, name, type) : state.get(name);
}

class RelatedHandle implements RelatedEntity<AnyTypes> {
  readonly #state: ClientEntityState;
  readonly #name: string;
  readonly #target: string;

  constructor(state: ClientEntityState, name: string, target: string) {
    this.#state = state;
    this.#name = name;
    this.#target = target;
  }

  get key(): ClientKey | null {
    return this.#state.get(this.#name) as ClientKey | null;
  }

  get(options: RequestOptions = {}): Promise<object | null> {
    return this.#state.relatedEntity(this.#name, this.#target, options);
  }

  set(related: object | ClientKey | null): void {
    this.#state.set(this.#name, related);
  }
}

/** An image or BLOB as it is stored. */
export function storedMedia(
  state: ClientEntityState,
  name: string,
  type: 'image' | 'blob',
): StoredMedia {
  if (state.isNew || state.stored(name) === null) {
    return { url: null, read: () => Promise.resolve(null) };
  }
  const { connection } = state.dataclass;
  const form =
    type === 'image'
      ? { $imageformat: 'best', $version: String(state.stamp) }
      : { $binary: 'true' };
  const path = `${state.path}/${encodeURIComponent(name)}`;
  const request = { path, query: { ...form, $expand: name } };
  return {
    url: connection.urlOf(request),
    read: async ({ signal } = {}) => {
      const response = await connection.send({ ...request, signal });
      if (!response.ok) {
        throw new RestError(response.status, reasonsOf(await bodyOf(response, request)));
      }
      const bytes = await response.blob();
      return bytes.size === 0 ? null : bytes;
    },
  };
}

class MediaHandle implements Media {
  readonly #state: ClientEntityState;
  readonly #name: string;
  readonly #type: 'image' | 'blob';

  constructor(state: ClientEntityState, name: string, type: 'image' | 'blob') {
    this.#state = state;
    this.#name = name;
    this.#type = type;
  }

  get url(): string | null {
    return this.#stored.url;
  }

  async read(options: RequestOptions = {}): Promise<Blob | null> {
    const set = this.#state.changes.get(this.#name);
    if (set === undefined) return this.#stored.read(options);
    return set instanceof Blob ? set : null;
  }

  set(bytes: Blob | Uint8Array | null): void {
    this.#state.set(this.#name, bytes);
  }

  get #stored(): StoredMedia {
    return storedMedia(this.#state, this.#name, this.#type);
  }
}

/** The options of a save, whatever the dataclass is. */
export interface AnySaveOptions extends RequestOptions {
  readonly onConflict?: (mine: object, theirs: object) => AnyConflictAnswer;
}

type AnyConflictAnswer = object | null | undefined | Promise<object | null | undefined>;

/** Somebody may change an entity again while a conflict is resolved. */
const mostConflicts = 10;

/**
 * Saves one entity, or all of them or none.
 * @throws RestError if one is refused
 */
export async function saveEntities(
  all: readonly ClientEntityState[],
  options: AnySaveOptions,
  isAtomic: boolean,
  upsert?: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const changed = all.filter(({ isNew, changes }) => isNew || changes.size > 0);
    const refused = await sendSave(changed, options, isAtomic, upsert);
    const [first] = refused;
    if (first === undefined) return;
    const { onConflict } = options;
    if (onConflict === undefined || attempt === mostConflicts) throw first.error;
    for (const { state, error, isConflict } of refused) {
      if (!isConflict) throw error;
      const theirs = new ClientEntityState(state.dataclass);
      const stored = await state.read(options);
      theirs.load(stored);
      const wanted = await onConflict(state.object(), theirs.object());
      if (wanted === null || wanted === undefined) throw error;
      state.rebase(stored, wanted);
    }
  }
}

/** An entity that was not saved, and why. */
interface Refused {
  readonly state: ClientEntityState;
  readonly error: RestError;
  /** Whether somebody else has changed it. */
  readonly isConflict: boolean;
}

async function sendSave(
  changed: readonly ClientEntityState[],
  options: RequestOptions,
  isAtomic: boolean,
  upsert: string | undefined,
): Promise<readonly Refused[]> {
  const [first] = changed;
  if (first === undefined) return [];
  const { name, connection } = first.dataclass;
  const sent = changed.map(({ changes }) => new Map(changes));
  const bodies: object[] = [];
  for (const state of changed) {
    const identity = state.isNew ? {} : { __KEY: String(state.key), __STAMP: state.stamp };
    bodies.push({ ...(await state.written(options)), ...identity });
  }
  const request = {
    method: 'POST',
    path: `/${encodeURIComponent(name)}`,
    query: { $method: 'update', $atomic: isAtomic ? 'true' : undefined, $upsert: upsert },
    body: isAtomic ? bodies : bodies[0],
    signal: options.signal,
    // A repeated change is refused because of its stamp; a repeated creation would create two entities.
    isRepeatable: changed.every((state) => !state.createsEntities),
  } as const;
  const response = await connection.send(request);
  const body = await bodyOf(response, request);
  const answers = answersIn(body, isAtomic);
  const refused = changed.flatMap((state, at): readonly Refused[] => {
    const answer = answers[at];
    const errors = reasonsOf(answer);
    if (answer === undefined || errors.length === 0) return [];
    const { __STATUS: status } = answer;
    const isConflict = isRecord(status) && status['status'] === staleStamp;
    const error = new RestError(response.status, errors, { entity: state.dataclass.make(state) });
    return [{ state, error, isConflict }];
  });
  if (refused.length > 0) return refused;
  if (!response.ok || answers.length !== changed.length) {
    throw new RestError(response.status, reasonsOf(body));
  }
  for (const [at, state] of changed.entries()) {
    state.saved(answers[at] ?? {}, sent[at] ?? new Map());
  }
  return [];
}

/** `status` of `__STATUS` if somebody else has changed the entity. */
const staleStamp = 2;

function answersIn(body: unknown, isAtomic: boolean): readonly JsonRecord[] {
  if (!isRecord(body)) return [];
  if (!isAtomic) return [body];
  const { __ENTITIES: entities } = body;
  return Array.isArray(entities) ? entities.filter(isRecord) : [];
}
