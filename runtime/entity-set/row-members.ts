import { tableShift } from './hash-factors.js';
import type { Members } from './key-list.js';

/** Keys of several bytes each. */
export interface KeyRows<R> {
  readonly length: number;
  /** Each key is greater than the one before it. */
  readonly ascends: boolean;
  /** 32 unsigned bits, of which the upper ones are mixed best. */
  hashAt(position: number): number;
  /**
   * Below 0, 0 or above if the key at `position` is less than, equal to or greater than the other
   * one's at `otherPosition`.
   */
  compare(position: number, other: R, otherPosition: number): number;
}

/** Which keys of `list` are in `other`. */
export function rowMembers<R extends KeyRows<R>>(list: R, other: R, limit: number): Members {
  return list.ascends && other.ascends
    ? membersByMerge(list, other, limit)
    : membersByTable(list, other, limit);
}

export function rowsAscend<R extends KeyRows<R>>(rows: R): boolean {
  for (let at = 1; at < rows.length; at += 1) {
    if (rows.compare(at - 1, rows, at) >= 0) return false;
  }
  return true;
}

function membersByMerge<R extends KeyRows<R>>(list: R, other: R, limit: number): Members {
  const marks = new Uint8Array(list.length);
  let count = 0;
  for (let at = 0, otherAt = 0; at < list.length && count < limit; at += 1) {
    let order = 1;
    while (otherAt < other.length && (order = list.compare(at, other, otherAt)) > 0) otherAt += 1;
    if (otherAt === other.length) break;
    if (order !== 0) continue;
    marks[at] = 1;
    count += 1;
  }
  return { marks, count };
}

/**
 * A table with two words for each position: the hash of a key, so that other keys are rarely
 * compared with it, and its position counted from 1. 0 marks an empty position.
 */
function membersByTable<R extends KeyRows<R>>(list: R, other: R, limit: number): Members {
  const shift = tableShift(other.length);
  const table = new Uint32Array(2 * 2 ** (32 - shift));
  const last = table.length - 1;
  for (let at = 0; at < other.length; at += 1) {
    const hash = other.hashAt(at);
    let place = 2 * (hash >>> shift);
    while (table[place + 1] !== 0) place = (place + 2) & last;
    table[place] = hash;
    table[place + 1] = at + 1;
  }
  const marks = new Uint8Array(list.length);
  let count = 0;
  for (let at = 0; at < list.length && count < limit; at += 1) {
    const hash = list.hashAt(at);
    for (let place = 2 * (hash >>> shift); ; place = (place + 2) & last) {
      const held = table[place + 1] as number;
      if (held === 0) break;
      if (table[place] !== hash || list.compare(at, other, held - 1) !== 0) continue;
      marks[at] = 1;
      count += 1;
      break;
    }
  }
  return { marks, count };
}
