import type { KeyType } from './key-list.js';

/** What a database gave as keys breaks the model, which the server cannot make good. */
export function badKeys(type: KeyType, reason: string): Error {
  return new Error(`the database gave primary keys that are not of type ${type}: ${reason}`);
}
