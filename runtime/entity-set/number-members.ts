import { hashFactors, mixed, tableShift } from './hash-factors.js';
import type { Members } from './key-list.js';

export type NumberArray = Uint32Array | Float64Array;

/** Numbers, and the properties that decide how to search them. */
export interface SearchedNumbers {
  readonly type: 'integer' | 'number';
  readonly values: NumberArray;
  readonly shape: NumberShape;
}

export interface NumberShape {
  readonly min: number;
  readonly max: number;
  readonly ascends: boolean;
}

/** Which numbers of `list` are in `other`, by the method that is fastest for their distribution. */
export function numberMembers(
  list: SearchedNumbers,
  other: SearchedNumbers,
  limit: number,
): Members {
  if (list.type === 'integer' && other.values.length > 0) {
    const span = other.shape.max - other.shape.min + 1;
    const isDense = span <= Math.min(other.values.length * bitsForKey, 2 ** 32);
    if (isDense) return membersByBits(list.values, other, span, limit);
  }
  if (list.shape.ascends && other.shape.ascends) {
    return membersByMerge(list.values, other.values, limit);
  }
  return other.values instanceof Uint32Array
    ? membersByShortTable(list.values, other.values, limit)
    : membersByTable(list.values, other.values, limit);
}

/**
 * A bit for each integer between the least and the greatest key takes at most eight bytes for each
 * key.
 */
const bitsForKey = 64;

function membersByBits(
  values: NumberArray,
  { values: others, shape: { min } }: SearchedNumbers,
  span: number,
  limit: number,
): Members {
  const bits = new Uint32Array(Math.ceil(span / 32));
  for (let at = 0; at < others.length; at += 1) {
    const bit = (others[at] as number) - min;
    const word = bit >>> 5;
    bits[word] = (bits[word] as number) | (1 << (bit & 31));
  }
  const marks = new Uint8Array(values.length);
  let count = 0;
  for (let at = 0; at < values.length && count < limit; at += 1) {
    const bit = (values[at] as number) - min;
    if (bit < 0 || bit >= span) continue;
    const mark = ((bits[bit >>> 5] as number) >>> (bit & 31)) & 1;
    marks[at] = mark;
    count += mark;
  }
  return { marks, count };
}

function membersByMerge(values: NumberArray, others: NumberArray, limit: number): Members {
  const marks = new Uint8Array(values.length);
  let count = 0;
  for (let at = 0, otherAt = 0; at < values.length && count < limit; at += 1) {
    const value = values[at] as number;
    while (otherAt < others.length && (others[otherAt] as number) < value) otherAt += 1;
    if (otherAt === others.length) break;
    if (others[otherAt] !== value) continue;
    marks[at] = 1;
    count += 1;
  }
  return { marks, count };
}

/**
 * A table of the keys themselves; 0 marks an empty position, so the key 0 is handled separately.
 */
function membersByShortTable(values: NumberArray, others: Uint32Array, limit: number): Members {
  const shift = tableShift(others.length);
  const table = new Uint32Array(2 ** (32 - shift));
  const last = table.length - 1;
  let holdsZero = 0;
  for (let at = 0; at < others.length; at += 1) {
    const value = others[at] as number;
    if (value === 0) holdsZero = 1;
    let place = mixed(Math.imul(value, hashFactors[0])) >>> shift;
    while (table[place] !== 0 && table[place] !== value) place = (place + 1) & last;
    table[place] = value;
  }
  const marks = new Uint8Array(values.length);
  let count = 0;
  for (let at = 0; at < values.length && count < limit; at += 1) {
    const value = values[at] as number;
    let place = mixed(Math.imul(value, hashFactors[0])) >>> shift;
    while (table[place] !== 0 && table[place] !== value) place = (place + 1) & last;
    const mark = value === 0 ? holdsZero : table[place] === 0 ? 0 : 1;
    marks[at] = mark;
    count += mark;
  }
  return { marks, count };
}

/** As the table of short keys; NaN, which is no key, marks an empty position. */
function membersByTable(values: NumberArray, others: Float64Array, limit: number): Members {
  const shift = tableShift(others.length);
  const table = new Float64Array(2 ** (32 - shift)).fill(NaN);
  const last = table.length - 1;
  for (let at = 0; at < others.length; at += 1) {
    table[placeOf(table, others[at] as number, shift, last)] = others[at] as number;
  }
  const marks = new Uint8Array(values.length);
  let count = 0;
  for (let at = 0; at < values.length && count < limit; at += 1) {
    const value = values[at] as number;
    if (table[placeOf(table, value, shift, last)] !== value) continue;
    marks[at] = 1;
    count += 1;
  }
  return { marks, count };
}

const number = new Float64Array(1);
const halves = new Uint32Array(number.buffer);

/** The position of a number, or where it would be. */
function placeOf(table: Float64Array, value: number, shift: number, last: number): number {
  number[0] = value;
  const hash =
    Math.imul(halves[0] as number, hashFactors[0]) + Math.imul(halves[1] as number, hashFactors[1]);
  let place = mixed(hash) >>> shift;
  for (
    let held = table[place] as number;
    held === held && held !== value;
    held = table[place] as number
  ) {
    place = (place + 1) & last;
  }
  return place;
}
