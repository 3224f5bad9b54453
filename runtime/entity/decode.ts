import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Fold } from '../protocol/fold.js';
import { decodeKey } from '../protocol/key.js';
import {
  type Author,
  type Body,
  type Decoded,
  type Existing,
  type ComputedValue,
  isSettable,
} from './decoded.js';
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
import { checkRules, hasRules } from '../protocol/rules.js';
import { newUuid } from '../protocol/uuid.js';
import { storageOf, type StoredValue, storedValue } from '../protocol/values.js';
import { denialStatus, graver, isKeptBack } from './denials.js';

/** The key in a `__KEY`; `undefined` for what cannot be one. */
export function keyOf(dataclass: Dataclass, json: unknown): string | number | undefined {
  if (typeof json !== 'string' && typeof json !== 'number') return undefined;
  return decodeKey(dataclass.key.type, String(json));
}

/**
 * Makes the stored values of a new entity from an object of a body: given values, then defaults and
 * generated ones, checked against every rule. All errors of an entity are reported together
 * (protocol P7.7 to P7.11, P7.19).
 */
export function decodeNewEntity(dataclass: Dataclass, body: Body, author: Author): Decoded {
  const decoding = new Decoding(dataclass, author);
  decoding.giveAll(body);
  const { __KEY: key } = body;
  if (key !== undefined && key !== null) decoding.giveNewKey(key);
  decoding.complete();
  return decoding;
}

/**
 * Makes the stored values of the attributes that a body sends for an existing entity; others keep
 * their values (protocol P7.8).
 * @param key of the entity; the body may repeat it, and cannot change it
 */
export function decodeChanges(
  dataclass: Dataclass,
  body: Body,
  key: string | number,
  fold: Fold,
  author: Author,
): Decoded {
  const decoding = new Decoding(dataclass, author, { key, fold });
  decoding.giveAll(body);
  for (const attribute of ruledAttributes(dataclass)) decoding.checkRules(attribute);
  return decoding;
}

/**
 * Reads what a body says about an entity, and nothing else: whether the entity may be stored is
 * checked after its events have run.
 * @param existing the entity that is changed; none for a new one
 */
export function decodeReceived(
  dataclass: Dataclass,
  body: Body,
  existing: Existing | undefined,
): Decoded {
  const decoding = new Decoding(dataclass, { writer: 'client' }, existing);
  decoding.giveAll(body);
  const { __KEY: key } = body;
  if (existing === undefined && key !== undefined && key !== null) decoding.giveNewKey(key);
  return decoding;
}

/** Which entity a body names, and which stamp of it (protocol P7.1, P7.12). */
interface Address {
  /** `undefined` for a new entity whose key the body does not name by `__KEY`. */
  readonly key: string | number | undefined;
  /** `undefined` if none was sent: then an existing entity is never overwritten. */
  readonly stamp: number | undefined;
}

export function addressOf(dataclass: Dataclass, refusals: Refusals, body: Body): Address | Refusal {
  const { __KEY: sentKey = null, __STAMP: sentStamp = null } = body;
  if (sentStamp === null) return { key: keyOf(dataclass, sentKey), stamp: undefined };
  if (sentKey === null) return refusals.stampWithoutKey();
  const stamp = typeof sentStamp === 'string' ? integerFromText(sentStamp) : sentStamp;
  if (!Number.isSafeInteger(stamp)) return refusals.badStamp();
  const key = keyOf(dataclass, sentKey);
  return key === undefined ? refusals.unknownKey(sentKey) : { key, stamp: Number(stamp) };
}

const noValues: ReadonlyMap<string, StoredValue> = new Map();
const noList: readonly never[] = Object.freeze([]);

/** The longest part of an attribute's name in messages: the longest name that a model can have. */
const longestTold = 63;

/** Reads the members of one body, one after the other, and collects what is wrong with them. */
class Decoding implements Decoded {
  readonly values = new Map<string, StoredValue>();
  // These are made when they are needed: each entity of a list makes one of these objects, and most
  // bodies need none.
  #readOnly: Map<string, StoredValue> | undefined;
  #computed: ComputedValue[] | undefined;
  #problems: ProtocolError[] | undefined;
  #faulty: Set<string> | undefined;
  readonly #names: Dataclass['allAttributes'];
  status = 0;

  /** @param existing the entity that is changed; none for a new one */
  constructor(
    private readonly dataclass: Dataclass,
    private readonly author: Author,
    private readonly existing?: Existing,
  ) {
    this.#names = author.writer === 'code' ? dataclass.allAttributes : dataclass.exposedAttributes;
  }

  get readOnly(): ReadonlyMap<string, StoredValue> {
    return this.#readOnly ?? noValues;
  }

  get computed(): readonly ComputedValue[] {
    return this.#computed ?? noList;
  }

  get problems(): readonly ProtocolError[] {
    return this.#problems ?? noList;
  }

  giveAll(body: Body): void {
    for (const name of Object.keys(body)) this.#give(name, body[name], body);
  }

  /**
   * One member of the body. A whole entity may be sent as it was read: what no client can write is
   * ignored.
   */
  #give(name: string, json: unknown, body: Body): void {
    if (name.startsWith('__') || name === 'uri') return;
    const attribute = this.#names.get(name) ?? this.#onlyCreated(name);
    if (attribute === undefined) {
      const text = `The "${shortened(name)}" attribute cannot be found in the "${this.dataclass.name}" dataclass`;
      this.#refuse('attributeNotFound', name, text, name.length > longestTold ? undefined : name);
    } else if (attribute.kind === 'storage') {
      this.#set(attribute, json, name);
    } else if (attribute.kind === 'relatedEntity') {
      this.#giveRelation(attribute, json, body);
    } else if (isSettable(attribute)) {
      this.#giveComputed(attribute, json);
    }
  }

  #giveComputed(attribute: ComputedDefinition, json: unknown): void {
    const { name } = attribute;
    const exists = this.existing !== undefined;
    const isDenied = isKeptBack(this.dataclass.permissions, name, json, exists);
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

  /** An attribute that a client may set in a new entity and not read. */
  #onlyCreated(name: string): AttributeDefinition | undefined {
    return this.existing === undefined
      ? this.dataclass.permissions?.onlyCreated.get(name)
      : undefined;
  }

  giveNewKey(json: unknown): void {
    this.#set(this.dataclass.key, json, '__KEY');
  }

  /** Adds to a new entity what its body leaves out. */
  complete(): void {
    for (const attribute of this.dataclass.attributes) {
      if (attribute.kind !== 'storage' || this.#isFaulty(attribute.name)) continue;
      const value = this.values.get(attribute.name) ?? this.#unset(attribute);
      this.values.set(attribute.name, value);
    }
    for (const attribute of ruledAttributes(this.dataclass)) {
      const isDrawnLater =
        attribute.generated !== undefined && this.values.get(attribute.name) === null;
      if (!isDrawnLater) this.checkRules(attribute);
    }
  }

  checkRules(attribute: StorageDefinition): void {
    const { name } = attribute;
    const value = this.values.get(name);
    if (value === undefined) return;
    for (const rule of checkRules(attribute, value)) {
      const text = `${shownName(this.dataclass, attribute)} ${rule}.`;
      this.#refuse('valueRule', name, text, knownName(this.dataclass, attribute));
    }
  }

  /** A key, `{"__KEY": key}`, a deferred relation as it was read, or null. */
  #giveRelation(relation: RelatedEntityDefinition, json: unknown, body: Body): void {
    const foreignKey = this.dataclass.foreignKey(relation);
    // Null is what a read shows if the related entity is hidden; the foreign key beside it shows
    // what is stored.
    const isHidden = json === null && this.dataclass.target(relation).restriction !== undefined;
    if (isHidden && this.#names.has(foreignKey.name) && (body[foreignKey.name] ?? null) !== null) {
      return;
    }
    const key = relatedKey(json);
    if (typeof key === 'object' && key !== null) {
      const text = `${relation.name} must be a key, {"__KEY": key} or null.`;
      this.#refuse('valueRule', foreignKey.name, text, this.#named(relation.name));
      return;
    }
    this.#set(foreignKey, key, relation.name);
  }

  /** @param given the name that the client used: the attribute's, `__KEY`, or a relation's */
  #set(attribute: StorageDefinition, json: unknown, given: string): void {
    if (isDeferredFile(attribute, json)) return;
    const { writer, granted } = this.author;
    const isClient = writer === 'client';
    const { permissions } = this.dataclass;
    const isDenied =
      granted?.has(attribute.name) !== true &&
      isKeptBack(permissions, attribute.name, json, this.existing !== undefined, given);
    const isReadOnly = isDenied || (attribute.readOnly === true && isClient);
    // Null for a read-only attribute of a new entity is the same as nothing.
    if (isReadOnly && json === null && this.existing === undefined) return;
    const result = storedValue(attribute, json);
    if (!result.ok) {
      const name = result.error ?? (result.malformed ? 'badBody' : 'valueRule');
      const reason = isReadOnly && !result.malformed ? 'is read-only' : result.message;
      if (isDenied) this.#deny(attribute, given);
      else this.#refuse(name, attribute.name, `${given} ${reason}.`, this.#named(given));
    } else if (attribute.key === true && this.existing !== undefined) {
      this.#compareKey(result.value, given);
    } else if (!isReadOnly) {
      this.#keep(this.values, attribute, result.value, given);
    } else if (this.existing !== undefined) {
      this.#keep(
        (this.#readOnly ??= new Map<string, StoredValue>()),
        attribute,
        result.value,
        given,
      );
    } else if (result.value !== defaultOf(attribute)) {
      if (isDenied) this.#deny(attribute, given);
      else {
        const text = `${given} is read-only.`;
        this.#refuse('valueRule', attribute.name, text, this.#named(given));
      }
    }
  }

  /** The session lacks the privilege for the value (`access.md#what-roles-do`). */
  #deny({ name }: Pick<AttributeDefinition, 'name'>, given: string): void {
    const { errorName, text } = this.#denied(given);
    this.#refuse(errorName, name, text, this.#named(given));
  }

  #denial(given: string): ProtocolError {
    const { errorName, text } = this.#denied(given);
    return protocolError(errorName, text, this.#named(given));
  }

  #denied(given: string): { readonly errorName: ErrorName; readonly text: string } {
    const isNew = this.existing === undefined;
    const what = isNew ? 'create an entity with' : 'update';
    return {
      errorName: isNew ? 'createDenied' : 'updateDenied',
      text: `No permission to ${what} "${given}".`,
    };
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
    const { key, exposedAttributes, permissions } = this.dataclass;
    if (given === '__KEY') return knownName(this.dataclass, key);
    const isKnown = exposedAttributes.has(given) || permissions?.onlyCreated.has(given) === true;
    return isKnown ? given : undefined;
  }

  /** @param known how the client knows the attribute, if it does */
  #refuse(name: ErrorName, attribute: string, message: string, known: string | undefined): void {
    (this.#faulty ??= new Set()).add(attribute);
    this.values.delete(attribute);
    (this.#problems ??= []).push(protocolError(name, message, known));
    const status = denialStatus(name, this.dataclass) ?? errorCodes[name].status;
    this.status = graver(this.status, status);
  }
}

/** The stored form of an attribute that the body leaves out. */
function defaultOf(attribute: StorageDefinition): StoredValue {
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
function relatedKey(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  const { __KEY: key, __deferred: deferred } = json as { __KEY?: unknown; __deferred?: unknown };
  if (typeof deferred !== 'object' || deferred === null) return key ?? deferred ?? json;
  return key ?? (deferred as { __KEY?: unknown }).__KEY ?? json;
}

/** By the attributes of a dataclass, which all its views share. */
const known = new WeakMap<readonly AttributeDefinition[], readonly StorageDefinition[]>();

/** The attributes that the model has rules for, in model order. */
function ruledAttributes({ attributes }: Dataclass): readonly StorageDefinition[] {
  let ruled = known.get(attributes);
  if (ruled === undefined) {
    ruled = attributes.filter(
      (each): each is StorageDefinition => each.kind === 'storage' && hasRules(each),
    );
    known.set(attributes, ruled);
  }
  return ruled;
}
