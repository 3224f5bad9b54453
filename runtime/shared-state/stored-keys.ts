import type { KeyList } from '../entity-set/key-list.js';
import { NumberKeys } from '../entity-set/number-keys.js';
import { TextKeys } from '../entity-set/text-keys.js';
import { UuidKeys } from '../entity-set/uuid-keys.js';

/** A list of keys as bytes, for processes of one machine. */
export interface StoredKeys {
  /** What the bytes are: `integer:4`, `integer:8`, `number:4`, `number:8`, `uuid`, `string`. */
  readonly format: string;
  readonly content: Uint8Array;
  readonly length: number;
}

export function storedKeys(keys: KeyList): StoredKeys {
  const { length } = keys;
  if (keys instanceof NumberKeys) {
    const { type, values } = keys;
    return { format: `${type}:${values.BYTES_PER_ELEMENT}`, content: bytesOf(values), length };
  }
  if (keys instanceof UuidKeys) return { format: 'uuid', content: bytesOf(keys.words), length };
  if (keys instanceof TextKeys) {
    const content = Buffer.concat([bytesOf(keys.starts), keys.bytes]);
    return { format: 'string', content, length };
  }
  throw new TypeError(`Keys of type ${keys.type} cannot be shared by processes.`);
}

/** @throws Error for a format that none is */
export function keysFrom({ format, content, length }: StoredKeys): KeyList {
  // The numbers of a list stand at places that are multiples of their size.
  const bytes = new Uint8Array(content);
  const numbers = new Uint32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
  switch (format) {
    case 'integer:4':
      return new NumberKeys('integer', numbers);
    case 'number:4':
      return new NumberKeys('number', numbers);
    case 'integer:8':
      return new NumberKeys('integer', new Float64Array(bytes.buffer));
    case 'number:8':
      return new NumberKeys('number', new Float64Array(bytes.buffer));
    case 'uuid':
      return new UuidKeys(numbers);
    case 'string': {
      const starts = numbers.slice(0, length + 1);
      return new TextKeys(Buffer.from(bytes.subarray(starts.byteLength)), starts);
    }
    default:
      throw new Error(`There are no keys of the format ${format}.`);
  }
}

function bytesOf(values: Uint32Array | Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
