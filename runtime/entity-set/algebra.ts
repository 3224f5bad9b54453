import { differentTypes, type KeyList, type Members } from './key-list.js';

/**
 * Operations on lists of keys of one dataclass (protocol P9.4, P9.14). If an operation leaves out
 * and adds nothing, it returns the list itself, which sets then share.
 *
 * Each throws a TypeError if the keys are of different types, which keys of one dataclass never
 * are.
 */

/**
 * The keys of `list` that are in `other` too, in the order of `list`. So `and(set, matched)` is the
 * part of a set that a filter matched in the order of the set, `and(matched, set)` the same in the
 * order of the query, and `and(set, existing)` a set without its deleted entities.
 */
export function and(list: KeyList, other: KeyList): KeyList {
  const members = membersOf(list, other, Infinity);
  return members.count === list.length ? list : list.pick(members, 1);
}

/** `list`, then the keys of `other` that are not in it. */
export function or(list: KeyList, other: KeyList): KeyList {
  const added = except(other, list);
  if (added.length === 0) return list;
  return list.length === 0 ? added : list.followedBy(added);
}

/** The keys of `list` that are not in `other`, in the order of `list`. */
export function except(list: KeyList, other: KeyList): KeyList {
  const members = membersOf(list, other, Infinity);
  return members.count === 0 ? list : list.pick(members, 0);
}

/** Whether the lists have a key in common; stops at the first. */
export function intersect(list: KeyList, other: KeyList): boolean {
  return membersOf(list, other, 1).count > 0;
}

/** Builds a table of the shorter list, and looks up the keys of the longer one. */
function membersOf(list: KeyList, other: KeyList, limit: number): Members {
  if (list.type !== other.type) throw differentTypes(list, other);
  const shorter = Math.min(list.length, other.length);
  const most = Math.min(shorter, limit);
  if (other.length <= 2 * list.length) return list.membersIn(other, most);
  return list.membersIn(other.pick(other.membersIn(list, most), 1), most);
}
