/** The types that a primary key can have. */
export type KeyType = 'integer' | 'number' | 'uuid' | 'string';

/** A number for keys of type `integer` and `number`, else a string; a UUID is 32 upper-case hexadecimal digits. */
export type Key = number | string;

/**
 * Primary keys of one dataclass in an order, each once, in compact form. A list never changes, so
 * entity sets and requests may share it. `parse-keys.ts`, `keysOf` and the set algebra create
 * lists.
 *
 * Bytes for one key: 4 for integers if none is negative or above 2^32-1, else 8; 8 for numbers; 16
 * for UUIDs; for strings their UTF-8 and 7 more.
 */
export interface KeyList extends Iterable<Key> {
  readonly type: KeyType;
  readonly length: number;
  /** Memory of the keys. */
  readonly byteLength: number;
  /**
   * The keys at the positions `from` to `to - 1` as a JSON array, ready to be bound for
   * `json_each`: `[1,2]`, `["7D20F1…"]`. A page costs the same wherever it is. Positions behind the
   * end are empty.
   */
  page(from: number, to: number): string;
  /** @param position below {@link length} */
  keyAt(position: number): Key;
  /**
   * Which of these keys are in `other`; stops when `limit` of them are found. For the set algebra.
   */
  membersIn(other: KeyList, limit: number): Members;
  /** The keys whose mark is `mark`, in this order. For the set algebra. */
  pick(members: Members, mark: 0 | 1): KeyList;
  /** These keys and then those of `other`, which must be new. For the set algebra. */
  followedBy(other: KeyList): KeyList;
}

/** A mark for each position of a list: 1 if the key there is a member of another list. */
export interface Members {
  readonly marks: Uint8Array;
  /** The number of marks that are 1. */
  readonly count: number;
}

/**
 * Two lists whose keys are of different types belong to different dataclasses, which the caller
 * must refuse before.
 */
export function differentTypes(one: KeyList, other: KeyList): TypeError {
  return new TypeError(
    `keys of type ${one.type} cannot be combined with keys of type ${other.type}`,
  );
}
