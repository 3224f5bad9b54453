import type { SessionStorage } from './session.js';

/**
 * The storage of a session that may not be there yet.
 * @param find what is kept, if there is something
 * @param make the same, made when it is needed
 */
export function storageOf(
  find: () => SessionStorage | undefined,
  make: () => SessionStorage,
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
    keys: () => find()?.keys() ?? [],
  };
}

/** Values in the memory of this process. */
export class MemoryStorage implements SessionStorage {
  readonly #values = new Map<string, unknown>();

  get size(): number {
    return this.#values.size;
  }

  get(name: string): unknown {
    return this.#values.get(name);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  set(name: string, value: unknown): void {
    this.#values.set(name, value);
  }

  delete(name: string): boolean {
    return this.#values.delete(name);
  }

  clear(): void {
    this.#values.clear();
  }

  keys(): readonly string[] {
    return [...this.#values.keys()];
  }
}
