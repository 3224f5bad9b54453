import { isSendable } from '../dataclass/permissions.js';
import { type Dataclass, mayLeadNowhere } from '../dataclass/dataclasses.js';
import type { Fold } from '../protocol/fold.js';
import { decodeKey } from '../protocol/key.js';
import { integerFromText } from '../protocol/numbers.js';
import { type Refusal, type Refusals, knownName, shownName } from './refusals.js';
import type {
  AttributeDefinition,
  ComputedDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import {
  errorCodes,
  type ErrorName,
  type ProtocolError,
  protocolError,
} from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import { checkRules } from '../protocol/rules.js';
import { newUuid } from '../protocol/uuid.js';
import { storageOf, type StoredValue, storedValue } from '../protocol/values.js';
import { denialStatus, graver, isKeptBack } from './denials.js';

/** The key in a `__KEY`; `undefined` for what cannot be one. */
export function keyOf(dataclass: Dataclass, json: unknown): string | number | undefined {
  if (typeof json !== 'string' && typeof json !== 'number') return undefined;
  return decodeKey(dataclass.key.type, String(json));
}

/** A body's entity. */
export type Body = Readonly<Record<string, unknown>>;

/** What a body or class code says about an entity, and everything that is wrong with it. */
export interface Decoded {
  /** By attribute name, in stored form; values with errors are left out. */
  readonly values: ReadonlyMap<string, StoredValue>;
  /**
   * Values for read-only attributes: if they differ from the stored ones, the entity is refused.
   */
  readonly readOnly: ReadonlyMap<string, StoredValue>;
  /** Values for setters of class code, in the order of the body. */
  readonly computed: readonly ComputedValue[];
  /** Relations to entities that do not exist, as far as that is known already. */
  readonly unrelated: readonly RelatedEntityDefinition[];
  /** Names of foreign keys that are null because the body says so of the relation alone. */
  readonly nullRelations: ReadonlySet<string>;
  readonly problems: readonly ProtocolError[];
  /** HTTP status of the problems; 0 without any. */
  readonly status: number;
  /**
   * What is left to be stored if some values are kept as they are. Foreign keys of
   * {@link nullRelations} that are left are checked only then.
   * @param kept names of foreign keys
   */
  without(kept: ReadonlySet<string>): Decoded;
}

/** A decoded entity whose values are not checked against the model's rules. */
export interface Received extends Decoded {
  /**
   * Adds to a new entity what was not given: defaults and generated values. Then checks every value
   * against the rules (protocol P7.7 to P7.11, P7.19).
   */
  checked(): Decoded;
}

/** A value for a setter of class code. */
interface ComputedValue {
  readonly attribute: ComputedDefinition;
  readonly value: StoredValue;
  /** Why the session may not set it, if it differs from the result of the getter. */
  readonly denial: ProtocolError | undefined;
}

/** An entity that is changed, and how texts are compared. */
export interface Existing {
  readonly key: string | number;
  readonly fold: Fold;
}

/** Whether class code has a setter for an attribute that it computes. */
export function isSettable(attribute: AttributeDefinition): attribute is ComputedDefinition {
  return attribute.kind === 'computed' && attribute.accessors.includes('set');
}

/**
 * Makes the stored values of the attributes that a client's body sends; others of an existing entity
 * keep their values (protocol P7.8). A client names what is exposed, and cannot change what is
 * read-only. All errors of an entity are reported together.
 * @param existing the entity that is changed; none for a new one. The body may repeat its key, and
 * cannot change it
 * @param referred what the body's relations reference
 */
export function decodeBody(
  dataclass: Dataclass,
  body: Body,
  existing: Existing | undefined,
  referred: ReferredValues,
): Received {
  const decoding = new Decoding(dataclass, existing, undefined, referred);
  decoding.giveAll(body);
  return decoding;
}

/**
 * Checks values in stored form that class code has set: it writes every attribute.
 * @param granted names of attributes that may be written whatever the session may
 */
export function decodeStored(
  dataclass: Dataclass,
  values: ReadonlyMap<string, StoredValue>,
  existing: Existing | undefined,
  granted: ReadonlySet<string>,
): Received {
  const decoding = new Decoding(dataclass, existing, granted);
  for (const [name, value] of values) decoding.giveStored(name, value);
  return decoding;
}

/**
 * For relations that reference another attribute than the key: its value in the entity whose key the body gives, by the name
 * of the relation; `undefined` if there is no such entity.
 */
export type ReferredValues = ReadonlyMap<string, StoredValue | undefined>;

export const nothingReferred: ReferredValues = new Map();

/** Which entity is meant, and which stamp of it (protocol P7.1, P7.12). */
export interface Address {
  /** `undefined` for a new entity whose key the body does not name by `__KEY`. */
  readonly key: string | number | undefined;
  /** `undefined` if none was sent: then an existing entity is never overwritten. */
  readonly stamp: number | undefined;
}

/** The address of an entity that does not exist, or is not found yet. */
export const noAddress: Address = { key: undefined, stamp: undefined };

export function addressOf(dataclass: Dataclass, refusals: Refusals, body: Body): Address | Refusal {
  const { __KEY: sentKey = null, __STAMP: sentStamp = null } = body;
  if (sentStamp === null) return { key: keyOf(dataclass, sentKey), stamp: undefined };
  if (sentKey === null) return refusals.stampWithoutKey();
  const stamp = typeof sentStamp === 'string' ? integerFromText(sentStamp) : sentStamp;
  if (!Number.isSafeInteger(stamp)) return refusals.badStamp();
  const key = keyOf(dataclass, sentKey);
  return key === undefined ? refusals.unknownKey(sentKey) : { key, stamp: Number(stamp) };
}

/** A client's body, and which entity it names, or why it can name none. */
export interface SentEntity {
  readonly body: Body;
  readonly address: Address | Refusal;
  /** What the body says, if it was decoded before its save. */
  readonly decoded?: Decoded | undefined;
}

/** Whether a body asks for a new entity without naming its key by `__KEY`. */
export function isCreation({ address }: SentEntity): boolean {
  return !('problems' in address) && address.key === undefined && address.stamp === undefined;
}

const noValues: ReadonlyMap<string, StoredValue> = new Map();
const noNames: ReadonlySet<string> = new Set();
const noList: readonly never[] = Object.freeze([]);

/** The longest part of an attribute's name in messages: the longest name that a model can have. */
const longestShown = 63;

/** Takes the values of one entity, one after the other, and collects what is wrong with them. */
class Decoding implements Received {
  // These are made when they are needed: each entity of a list makes one of these objects, and most
  // bodies need none.
  #readOnly: Map<string, StoredValue> | undefined;
  #computed: ComputedValue[] | undefined;
  #nullRelations: Set<string> | undefined;
  #unchecked: StorageDefinition[] | undefined;
  #unrelated: RelatedEntityDefinition[] | undefined;
  #problems: ProtocolError[] | undefined;
  #faulty: Set<string> | undefined;
  status = 0;

  /**
   * @param existing the entity that is changed; none for a new one
   * @param granted see {@link decodeStored}; none for a client
   */
  constructor(
    private readonly dataclass: Dataclass,
    private readonly existing?: Existing,
    private readonly granted?: ReadonlySet<string>,
    private readonly referred: ReferredValues = nothingReferred,
    readonly values = new Map<string, StoredValue>(),
  ) {}

  get readOnly(): ReadonlyMap<string, StoredValue> {
    return this.#readOnly ?? noValues;
  }

  get computed(): readonly ComputedValue[] {
    return this.#computed ?? noList;
  }

  get nullRelations(): ReadonlySet<string> {
    return this.#nullRelations ?? noNames;
  }

  get unrelated(): readonly RelatedEntityDefinition[] {
    return this.#unrelated ?? noList;
  }

  get problems(): readonly ProtocolError[] {
    return this.#problems ?? noList;
  }

  giveAll(body: Body): void {
    for (const name of Object.keys(body)) this.#give(name, body[name], body);
    const { __KEY: key } = body;
    if (this.existing !== undefined || key === undefined || key === null) return;
    this.#set(this.dataclass.key, key, '__KEY');
  }

  giveStored(name: string, value: StoredValue): void {
    const attribute = this.dataclass.allAttributes.get(name) as StorageDefinition;
    const isDenied = this.granted?.has(name) !== true && this.#isDenied(name, value, name);
    // As for a body: null for a new entity is the same as nothing.
    if (isDenied && value === null && this.existing === undefined) return;
    this.#take(attribute, value, name, isDenied, isDenied);
  }

  /**
   * One member of the body. A whole entity may be sent as it was read: what no client can write is
   * ignored.
   */
  #give(name: string, json: unknown, body: Body): void {
    if (name.startsWith('__') || name === 'uri') return;
    const attribute = this.dataclass.allAttributes.get(name);
    const isNew = this.existing === undefined;
    if (attribute === undefined || !isSendable(this.dataclass, attribute, isNew)) {
      const text = `The "${shortened(name)}" attribute cannot be found in the "${this.dataclass.name}" dataclass`;
      this.#refuse('attributeNotFound', name, text, name.length > longestShown ? undefined : name);
    } else if (attribute.kind === 'storage') {
      this.#set(attribute, json, name);
    } else if (attribute.kind === 'relatedEntity') {
      this.#giveRelation(attribute, json, body);
    } else if (isSettable(attribute)) {
      this.#giveComputed(attribute, json);
    } else if (attribute.kind === 'relatedEntities') {
      this.#checkList(name, json);
    } else if (attribute.kind === 'relationAlias' && !isAsRead(json)) {
      this.#refuse('valueRule', name, `${name} is an alias, which is read-only.`, name);
    }
  }

  /** Entities in the list of a to-many relation are decoded on their own (protocol P7.31). */
  #checkList(name: string, json: unknown): void {
    if (isAsRead(json)) return;
    if (!Array.isArray(json)) {
      this.#refuse('valueRule', name, `${name} must be a list of entities.`, name);
    } else if (json.length > 0) {
      const exists = this.existing !== undefined;
      if (isKeptBack(this.dataclass, name, json, exists)) this.#deny({ name }, name);
    }
  }

  #giveComputed(attribute: ComputedDefinition, json: unknown): void {
    const { name } = attribute;
    const exists = this.existing !== undefined;
    const isDenied = isKeptBack(this.dataclass, name, json, exists);
    // Null for an attribute of a new entity that may not be set is the same as nothing.
    if (isDenied && !exists && json === null) return;
    const result = storedValue(storageOf(attribute), json);
    if (result.ok) {
      const denial = isDenied ? this.#denial(name) : undefined;
      (this.#computed ??= []).push({ attribute, value: result.value, denial });
    } else if (isDenied) {
      this.#deny(attribute, name);
    } else {
      const error = result.error ?? (result.malformed ? 'badBody' : 'valueRule');
      this.#refuse(error, name, `${name} ${result.message}.`, name);
    }
  }

  checked(): Decoded {
    if (this.existing === undefined) this.#complete();
    for (const attribute of this.dataclass.ruled) {
      const isDrawnLater =
        attribute.generated !== undefined &&
        this.existing === undefined &&
        this.values.get(attribute.name) === null;
      if (isDrawnLater) continue;
      if (this.#mayBeKept(attribute)) (this.#unchecked ??= []).push(attribute);
      else this.#checkRules(attribute);
    }
    return this;
  }

  without(kept: ReadonlySet<string>): Decoded {
    if (kept.size === 0 && this.#unchecked === undefined) return this;
    const { dataclass, existing, granted, referred } = this;
    const left = new Decoding(dataclass, existing, granted, referred, new Map(this.values));
    left.#readOnly = this.#readOnly;
    left.#computed = this.#computed;
    left.#nullRelations = this.#nullRelations;
    left.#unrelated = this.#unrelated;
    left.#problems = this.#problems && [...this.#problems];
    left.#faulty = this.#faulty && new Set(this.#faulty);
    left.status = this.status;
    for (const name of kept) left.values.delete(name);
    for (const attribute of this.#unchecked ?? noList) left.#checkRules(attribute);
    return left;
  }

  /** Whether null may be what a read shows of a foreign key that leads nowhere. */
  #mayBeKept({ name }: StorageDefinition): boolean {
    if (this.existing === undefined || this.#nullRelations?.has(name) !== true) return false;
    return this.dataclass.attributes.some(
      (each) =>
        each.kind === 'relatedEntity' &&
        each.foreignKey === name &&
        mayLeadNowhere(this.dataclass, each),
    );
  }

  /** Adds to a new entity what was left out. */
  #complete(): void {
    for (const attribute of this.dataclass.attributes) {
      if (attribute.kind !== 'storage' || this.#isFaulty(attribute.name)) continue;
      const value = this.values.get(attribute.name) ?? this.#unset(attribute);
      this.values.set(attribute.name, value);
    }
  }

  #checkRules(attribute: StorageDefinition): void {
    const { name } = attribute;
    const value = this.values.get(name);
    if (value === undefined) return;
    for (const rule of checkRules(attribute, value)) {
      const text = `${shownName(this.dataclass, attribute)} ${rule}.`;
      this.#refuse('valueRule', name, text, knownName(this.dataclass, attribute));
    }
  }

  #isNamed(attribute: AttributeDefinition): boolean {
    return isSendable(this.dataclass, attribute, false);
  }

  /** A key, `{"__KEY": key}`, a deferred relation as it was read, or null. */
  #giveRelation(relation: RelatedEntityDefinition, json: unknown, body: Body): void {
    const foreignKey = this.dataclass.foreignKey(relation);
    // Null is what a read shows if the foreign key leads nowhere; the foreign key beside it shows what
    // is stored.
    const mayBeKept = json === null && mayLeadNowhere(this.dataclass, relation);
    if (mayBeKept && this.#isNamed(foreignKey) && (body[foreignKey.name] ?? null) !== null) {
      return;
    }
    const key = relatedKey(json);
    if (this.#isFoldedTo(relation, foreignKey, key, body)) return;
    if (typeof key === 'object' && key !== null) {
      const text = `${relation.name} must be a key, {"__KEY": key} or null.`;
      this.#refuse('valueRule', foreignKey.name, text, this.#named(relation.name));
      return;
    }
    if (key === null && !Object.hasOwn(body, foreignKey.name)) {
      (this.#nullRelations ??= new Set()).add(foreignKey.name);
    }
    if (key === null || relation.references === undefined) {
      this.#set(foreignKey, key, relation.name);
    } else this.#giveReferred(relation, foreignKey);
  }

  /**
   * Without a foreign key constraint, the foreign key may hold the related key in another case; a
   * body as it was read contains both.
   */
  #isFoldedTo(
    { name, onDelete, references }: RelatedEntityDefinition,
    foreignKey: StorageDefinition,
    key: unknown,
    body: Body,
  ): boolean {
    if (onDelete !== 'none' || this.existing === undefined) return false;
    const { fold } = this.existing;
    const given = this.#isNamed(foreignKey) ? body[foreignKey.name] : undefined;
    const related = references === undefined ? key : this.referred.get(name);
    const areTexts = typeof given === 'string' && typeof related === 'string';
    return areTexts && fold(given) === fold(related);
  }

  /** A relation that references another attribute than the key. */
  #giveReferred(relation: RelatedEntityDefinition, foreignKey: StorageDefinition): void {
    const { name } = relation;
    const value = this.referred.get(name);
    if (value !== undefined && value !== null) this.#set(foreignKey, value, name);
    else if (this.#isDenied(foreignKey.name, '', name)) this.#deny(foreignKey, name);
    else if (value === null) {
      const text = `${name} names an entity without the value by which it is referred to.`;
      this.#refuse('valueRule', foreignKey.name, text, this.#named(name));
    } else {
      this.#invalidate(foreignKey.name);
      (this.#unrelated ??= []).push(relation);
    }
  }

  /** @param given the name that the client used: the attribute's, `__KEY`, or a relation's */
  #set(attribute: StorageDefinition, json: unknown, given: string): void {
    if (isDeferredFile(attribute, json)) return;
    const isDenied = this.#isDenied(attribute.name, json, given);
    const isReadOnly = isDenied || attribute.readOnly === true;
    // Null for a read-only attribute of a new entity is the same as nothing.
    if (isReadOnly && json === null && this.existing === undefined) return;
    const result = storedValue(attribute, json);
    if (result.ok) {
      this.#take(attribute, result.value, given, isReadOnly, isDenied);
      return;
    }
    const name = result.error ?? (result.malformed ? 'badBody' : 'valueRule');
    const reason = isReadOnly && !result.malformed ? 'is read-only' : result.message;
    if (isDenied) this.#deny(attribute, given);
    else this.#refuse(name, attribute.name, `${given} ${reason}.`, this.#named(given));
  }

  #isDenied(name: string, value: unknown, given: string): boolean {
    return isKeptBack(this.dataclass, name, value, this.existing !== undefined, given);
  }

  #take(
    attribute: StorageDefinition,
    value: StoredValue,
    given: string,
    isReadOnly: boolean,
    isDenied: boolean,
  ): void {
    if (attribute.key === true && this.existing !== undefined) {
      this.#compareKey(value, given);
    } else if (!isReadOnly) {
      this.#keep(this.values, attribute, value, given);
    } else if (this.existing !== undefined) {
      this.#keep((this.#readOnly ??= new Map<string, StoredValue>()), attribute, value, given);
    } else if (value !== defaultOf(attribute)) {
      if (isDenied) this.#deny(attribute, given);
      else {
        const text = `${given} is read-only.`;
        this.#refuse('valueRule', attribute.name, text, this.#named(given));
      }
    }
  }

  /** The session lacks the privilege for the value (`access.md#what-roles-do`). */
  #deny({ name }: Pick<AttributeDefinition, 'name'>, given: string): void {
    this.#refuse(this.#denialName, name, this.#denialText(given), this.#named(given));
  }

  #denial(given: string): ProtocolError {
    return protocolError(this.#denialName, this.#denialText(given), this.#named(given));
  }

  get #denialName(): ErrorName {
    return this.existing === undefined ? 'createDenied' : 'updateDenied';
  }

  #denialText(given: string): string {
    const what = this.existing === undefined ? 'create an entity with' : 'update';
    return `No permission to ${what} "${given}".`;
  }

  #keep(
    values: Map<string, StoredValue>,
    { name }: StorageDefinition,
    value: StoredValue,
    given: string,
  ): void {
    const other = values.get(name);
    if (this.#isFaulty(name)) return;
    if (other === undefined || other === value) values.set(name, value);
    else {
      const text = `${given} contradicts another value of the same body.`;
      this.#refuse('valueRule', name, text, this.#named(given));
    }
  }

  #compareKey(value: StoredValue, given: string): void {
    const { key, fold } = this.existing as Existing;
    const isSame =
      typeof key === 'string' && typeof value === 'string'
        ? fold(value) === fold(key)
        : value === key;
    if (isSame) return;
    const text = `${given} is the key of the entity and cannot be changed.`;
    this.#refuse('valueRule', this.dataclass.key.name, text, this.#named(given));
  }

  #unset(attribute: StorageDefinition): StoredValue {
    if (!this.values.has(attribute.name)) {
      const value = defaultOf(attribute);
      if (value !== null) return value;
    }
    return attribute.generated === 'uuid' ? newUuid() : null;
  }

  #isFaulty(name: string): boolean {
    return this.#faulty?.has(name) === true;
  }

  /**
   * The attribute to name in an error. A client names what it may name; class code may name more
   * than the client whose request runs it.
   * @param given the name of an attribute, or `__KEY`
   */
  #named(given: string): string | undefined {
    const { key, allAttributes } = this.dataclass;
    if (given === '__KEY') return knownName(this.dataclass, key);
    return isSendable(this.dataclass, allAttributes.get(given)) ? given : undefined;
  }

  /** The attribute gets no value, because what was sent is wrong. */
  #invalidate(attribute: string): void {
    (this.#faulty ??= new Set()).add(attribute);
    this.values.delete(attribute);
  }

  /** @param known how the client knows the attribute, if it does */
  #refuse(name: ErrorName, attribute: string, message: string, known: string | undefined): void {
    this.#invalidate(attribute);
    (this.#problems ??= []).push(protocolError(name, message, known));
    const status = denialStatus(name, this.dataclass) ?? errorCodes[name].status;
    this.status = graver(this.status, status);
  }
}

/** The stored form of an attribute that the body leaves out. */
export function defaultOf(attribute: StorageDefinition): StoredValue {
  if (attribute.default === undefined) return null;
  const result = storedValue(attribute, attribute.default);
  return result.ok ? result.value : null;
}

/** The deferred form of an image or BLOB, as an entity is read: it is ignored. */
function isDeferredFile({ type }: StorageDefinition, json: unknown): boolean {
  if (type !== 'image' && type !== 'blob') return false;
  return typeof json === 'object' && json !== null && '__deferred' in json;
}

/**
 * The key in the value of a relation: itself, `{"__KEY": key}`, or a deferred relation as it was
 * read.
 */
export function relatedKey(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  const { __KEY: key, __deferred: deferred } = json as { __KEY?: unknown; __deferred?: unknown };
  if (typeof deferred !== 'object' || deferred === null) return key ?? deferred ?? json;
  return key ?? (deferred as { __KEY?: unknown }).__KEY ?? json;
}

/**
 * Whether the value of a relation that a body cannot set is what a read shows: null, or an object
 * with more members of the protocol than a key.
 */
function isAsRead(json: unknown): boolean {
  if (typeof json !== 'object' || Array.isArray(json)) return false;
  return (
    json === null || Object.keys(json).some((name) => name.startsWith('__') && name !== '__KEY')
  );
}

/**
 * The body of an entity with its to-one relation to the entity whose list contains it.
 * @param owner key of that entity
 * @returns none if the body names another one
 */
export function relatedTo(
  body: Body,
  relation: RelatedEntityDefinition,
  owner: string | number,
  target: Dataclass,
  fold: Fold,
): Body | undefined {
  const { name } = relation;
  if (Object.hasOwn(body, name)) {
    const sent = keyOf(target, relatedKey(body[name]));
    const isSame =
      typeof sent === 'string' && typeof owner === 'string'
        ? fold(sent) === fold(owner)
        : sent === owner;
    if (!isSame) return undefined;
  }
  return { ...body, [name]: owner };
}
