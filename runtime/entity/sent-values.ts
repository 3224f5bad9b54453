import type { StorageDefinition } from '../protocol/definition.js';
import { type StoredValue, storedValue } from '../protocol/values.js';

/** The value of an attribute that a body says nothing of, in stored form. */
export function defaultOf(attribute: StorageDefinition): StoredValue {
  if (attribute.default === undefined) return null;
  const result = storedValue(attribute, attribute.default);
  return result.ok ? result.value : null;
}

/** The bytes of an image or BLOB as an entity is read with them: nothing that could be stored. */
export function isDeferredFile({ type }: StorageDefinition, json: unknown): boolean {
  if (type !== 'image' && type !== 'blob') return false;
  return typeof json === 'object' && json !== null && '__deferred' in json;
}

/** The key that stands for a related entity: itself, `{"__KEY": key}`, or a deferred relation as it was read. */
export function relatedKey(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  const { __KEY: key, __deferred: deferred } = json as { __KEY?: unknown; __deferred?: unknown };
  if (typeof deferred !== 'object' || deferred === null) return key ?? deferred ?? json;
  return key ?? (deferred as { __KEY?: unknown }).__KEY ?? json;
}
