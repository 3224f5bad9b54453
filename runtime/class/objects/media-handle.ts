import { contentTypeOf, contentTypes, imageType } from '../../protocol/image-types.js';
import { memberName, type StorageDefinition } from '../../protocol/definition.js';
import type { StoredValue } from '../../protocol/values.js';
import { AttributeError } from './failure.js';
import type { Field } from './entity-rows.js';
import type { EntityState } from './entity-state.js';
import type { Media } from './types.js';

/** An image or BLOB of one entity object. */
export class MediaHandle implements Media {
  readonly #state: EntityState;
  readonly #field: Field;

  constructor(state: EntityState, field: Field) {
    this.#state = state;
    this.#field = field;
  }

  get size(): number | null {
    const value = this.#stored();
    return value instanceof Uint8Array ? value.length : value === null ? null : Number(value);
  }

  get contentType(): Promise<string | null> {
    return this.#contentType();
  }

  async read(): Promise<Uint8Array | null> {
    const value = this.#stored();
    if (value instanceof Uint8Array) return Buffer.from(value);
    if (value === null) return null;
    const { allRows, layout } = this.#state.code;
    return allRows.bytes(this.#field, this.#state.read(layout.key) as string | number);
  }

  set(bytes: Uint8Array | null, type?: string): void {
    setMedia(this.#state, this.#field, bytes, type);
  }

  #stored(): StoredValue {
    this.#state.requireField(this.#field);
    return this.#state.stored(this.#field);
  }

  async #contentType(): Promise<string | null> {
    if (this.size === null) return null;
    if (this.#field.end.type === 'blob') return 'application/octet-stream';
    const bytes = await this.read();
    // Bytes that another program stored may be no image.
    return bytes === null ? null : contentTypeOf(imageType(bytes));
  }
}

/** An image or BLOB that a client sent as an argument: an upload whose bytes are read. */
export class GivenMedia implements Media {
  readonly #bytes: Uint8Array;
  readonly #isImage: boolean;

  constructor(bytes: Uint8Array, isImage: boolean) {
    this.#bytes = bytes;
    this.#isImage = isImage;
  }

  get size(): number {
    return this.#bytes.length;
  }

  get contentType(): Promise<string> {
    return Promise.resolve(contentTypeOf(this.#isImage ? imageType(this.#bytes) : undefined));
  }

  read(): Promise<Uint8Array> {
    return Promise.resolve(this.#bytes);
  }

  /** @throws TypeError always: it belongs to no entity */
  set(): never {
    throw new TypeError('An argument belongs to no entity: set its bytes in an attribute of one.');
  }
}

/** Whether this is an image or BLOB of an entity, or one that a client sent. */
export function isMedia(value: unknown): boolean {
  return value instanceof MediaHandle || value instanceof GivenMedia;
}

/**
 * Sets an image or BLOB.
 * @param value bytes, or null
 * @param type see {@link Media.set}
 * @throws AttributeError
 */
export function setMedia(state: EntityState, field: Field, value: unknown, type?: string): void {
  const { attribute } = field;
  const { name } = state.code.dataclass;
  if (attribute.kind !== 'storage') {
    throw new AttributeError(name, memberName(attribute), 'is an alias, so it cannot be set');
  }
  if (value !== null && !(value instanceof Uint8Array)) {
    throw new AttributeError(name, memberName(attribute), 'must be bytes (a Uint8Array) or null');
  }
  if (value !== null) checkType(name, attribute, value, type);
  // The caller may reuse its array before the entity is saved.
  state.setByCode(field, value === null ? null : Buffer.from(value));
}

function checkType(
  dataclass: string,
  attribute: StorageDefinition,
  bytes: Uint8Array,
  type: string | undefined,
): void {
  if (attribute.type !== 'image') return;
  const name = memberName(attribute);
  const found = imageType(bytes);
  if (found === undefined) {
    throw new AttributeError(dataclass, name, 'must be an image, and these bytes are none');
  }
  if (type === undefined || type.toLowerCase() === contentTypes[found]) return;
  const predicate = `is said to be ${type}, and the bytes are ${contentTypes[found]}`;
  throw new AttributeError(dataclass, name, predicate);
}
