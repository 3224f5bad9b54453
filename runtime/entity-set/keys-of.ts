import type { Key, KeyList, KeyType } from './key-list.js';
import { compactNumbers } from './number-keys.js';
import { textsOf } from './parse-texts.js';
import { parseUuids } from './parse-uuids.js';
import { UuidKeys } from './uuid-keys.js';

/**
 * A list of the given keys. Repeated keys are left out.
 *
 * @throws TypeError if a key is not of the type: a number that is not finite, or not an exact
 * integer, or a UUID that is not 32 upper-case hexadecimal digits
 */
export function keysOf(type: KeyType, keys: Iterable<Key>): KeyList {
  const once = [...new Set(keys)];
  switch (type) {
    case 'integer':
    case 'number':
      return compactNumbers(type, Float64Array.from(checked(type, once, isNumberOf(type))));
    case 'uuid': {
      const uuids = checked(type, once, isUuid);
      return uuids.length === 0
        ? new UuidKeys(new Uint32Array())
        : parseUuids(Buffer.from(uuids.join(',')));
    }
    case 'string':
      return textsOf(checked(type, once, isText));
  }
}

function checked<K extends Key>(
  type: KeyType,
  keys: readonly Key[],
  isOfType: (key: Key) => key is K,
): readonly K[] {
  if (keys.every(isOfType)) return keys;
  const wrong = keys.find((key) => !isOfType(key));
  const shown = typeof wrong === 'string' ? JSON.stringify(wrong) : String(wrong);
  throw new TypeError(`${shown} is no key of type ${type}`);
}

function isNumberOf(type: 'integer' | 'number'): (key: Key) => key is number {
  const isOfType = type === 'integer' ? Number.isSafeInteger : Number.isFinite;
  return (key): key is number => isOfType(key);
}

function isUuid(key: Key): key is string {
  return typeof key === 'string' && /^[0-9A-F]{32}$/.test(key);
}

function isText(key: Key): key is string {
  return typeof key === 'string';
}
