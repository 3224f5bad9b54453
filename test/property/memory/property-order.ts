import type { JsonValue } from '../../../generator/model/model.js';
import { compareByCodePoint, type Fold } from './comparison.js';

/** The order of values of objects: missing and null, booleans, numbers, texts. */
export function compareProperties(a: JsonValue, b: JsonValue, fold: Fold): number {
  if (typeof a === 'string' && typeof b === 'string') return compareByCodePoint(fold(a), fold(b));
  const ranks = rank(a) - rank(b);
  if (ranks !== 0 || a === null || b === null) return ranks;
  return a === b ? 0 : a < b ? -1 : 1;
}

function rank(value: JsonValue): number {
  if (value === null) return 0;
  const types = ['boolean', 'number', 'string'];
  if (!types.includes(typeof value)) throw new Error('Arrays and objects have no order.');
  return 1 + types.indexOf(typeof value);
}
