import type { KeyList } from './key-list.js';
import { NumberKeys } from './number-keys.js';

/** Keys of type `integer` or `number` in key order; a database sorts a million of them in several times the time. */
export function ascending(list: KeyList): KeyList {
  if (!(list instanceof NumberKeys) || list.shape.ascends) return list;
  return new NumberKeys(list.type, list.values.slice().sort());
}
