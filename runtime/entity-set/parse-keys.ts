import type { KeyList, KeyType } from './key-list.js';
import { NumberKeys } from './number-keys.js';
import { parseNumbers } from './parse-numbers.js';
import { parseTexts } from './parse-texts.js';
import { parseUuids } from './parse-uuids.js';
import { TextKeys } from './text-keys.js';
import { UuidKeys } from './uuid-keys.js';

/**
 * The keys that a database returns in one value:
 *
 * - `integer`, `number`: decimal numbers with commas between, `group_concat(key, ',')`;
 * - `uuid`: 32 upper-case hexadecimal digits each, with commas between;
 * - `string`: a JSON array of strings, `json_group_array(key)`.
 *
 * Each key appears once. The bytes may be reused afterwards.
 *
 * @param value `undefined` or empty if there are no keys
 * @throws Error if the value is anything else: a database that holds keys of another type, integers
 * beyond 2^53
 */
export function parseKeys(type: KeyType, value: Uint8Array | undefined): KeyList {
  if (value === undefined || value.length === 0) return noKeys(type);
  switch (type) {
    case 'integer':
    case 'number':
      return parseNumbers(type, value);
    case 'uuid':
      return parseUuids(value);
    case 'string':
      return parseTexts(value);
  }
}

function noKeys(type: KeyType): KeyList {
  switch (type) {
    case 'integer':
      return new NumberKeys(type, new Uint32Array());
    case 'number':
      return new NumberKeys(type, new Float64Array());
    case 'uuid':
      return new UuidKeys(new Uint32Array());
    case 'string':
      return new TextKeys(Buffer.alloc(0), new Uint32Array(1));
  }
}
