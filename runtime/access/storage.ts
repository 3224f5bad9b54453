import type { SessionStorage } from './session.js';

/**
 * The storage of a session that may not be there yet.
 * @param find what is kept, if there is something
 * @param make the same, made when it is needed
 */
export function storageOf(
  find: () => Map<string, unknown> | undefined,
  make: () => Map<string, unknown>,
): SessionStorage {
  return {
    get size() {
      return find()?.size ?? 0;
    },
    get: (name) => find()?.get(name),
    has: (name) => find()?.has(name) ?? false,
    set: (name, value) => {
      make().set(name, value);
    },
    delete: (name) => find()?.delete(name) ?? false,
    clear: () => find()?.clear(),
    keys: () => [...(find()?.keys() ?? [])],
  };
}
