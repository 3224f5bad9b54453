interface Entries<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The value of a key, made if there is none: as `Map.prototype.getOrInsertComputed` of ES2026. */
export function getOrInsertComputed<Key, Value extends object | string | number>(
  entries: Entries<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const made = make();
  entries.set(key, made);
  return made;
}
