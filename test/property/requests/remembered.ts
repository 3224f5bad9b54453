import type { Store } from '../memory/store.js';

/** Caches the results of a function of a store and a part of its model. */
export function remembered<Key extends object, Result>(
  find: (store: Store, key: Key) => Result,
): (store: Store, key: Key) => Result {
  const known = new WeakMap<Store, WeakMap<Key, Result>>();
  return (store, key) => {
    const ofStore = known.get(store) ?? new WeakMap<Key, Result>();
    known.set(store, ofStore);
    const result = ofStore.get(key) ?? find(store, key);
    ofStore.set(key, result);
    return result;
  };
}
