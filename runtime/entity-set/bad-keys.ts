import type { KeyType } from './key-list.js';

/** The keys that a database returned break the model, which the server cannot repair. */
export function badKeys(type: KeyType, reason: string): Error {
  return new Error(`the database gave primary keys that are not of type ${type}: ${reason}`);
}
