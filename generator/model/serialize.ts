import type { Model } from './model.js';

/**
 * The model as JSON that is the same, byte for byte, for equal models: keys in code-point order, lists in model order, two
 * spaces, a line end at the end. What `inspect --json` prints and `model.lock.json` holds.
 */
export function serializeModel(model: Model): string {
  return `${JSON.stringify(sorted(model), undefined, 2)}\n`;
}

/** A copy whose keys are in code-point order; JSON.stringify keeps that order, but for keys that are whole numbers. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  // A null prototype keeps a key such as __proto__ of a default value an ordinary key.
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, each] of entries) copy[key] = sorted(each);
  return copy;
}
