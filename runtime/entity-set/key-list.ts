import { numberJson } from '../protocol/numbers.js';

/** The types that a primary key can have. */
export type KeyType = 'integer' | 'number' | 'uuid' | 'string';

/** A number for keys of type `integer` and `number`, else a string; a UUID is 32 upper-case hexadecimal digits. */
export type Key = number | string;

/** Primary keys of one dataclass in an order, each once. A list never changes, so it may be shared. */
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
  /** The keys of the set as a list. */
  slice(from: number, to: number): KeyList;
  /** Which of these keys are in `other`, of the same type; stops when `limit` of them are found. */
  membersIn(other: this, limit: number): KeyMembers;
  /** The keys whose mark is `mark`, in this order. For the set algebra. */
  pick(members: KeyMembers, mark: 0 | 1): KeyList;
  /** These keys and then those of `other`, which must be new. For the set algebra. */
  followedBy(other: this): KeyList;
}

/** A mark for each position of a list: 1 if the key there is a member of another list. */
interface KeyMembers {
  readonly marks: Uint8Array;
  /** The number of marks that are 1. */
  readonly count: number;
}

/**
 * A list of the given keys. Repeated keys are left out.
 *
 * @throws TypeError if a key is not of the type: a number that is not finite, or not an exact
 * integer, or a UUID that is not 32 upper-case hexadecimal digits
 */
export function keysOf(type: KeyType, keys: Iterable<Key>): KeyList {
  const once = [...new Set(keys)];
  const wrongAt = once.findIndex((key) => !isKeyOf(type, key));
  if (wrongAt !== -1) {
    const wrong = once[wrongAt];
    const shown = typeof wrong === 'string' ? JSON.stringify(wrong) : String(wrong);
    throw new TypeError(`${shown} is not a key of type ${type}`);
  }
  if (type === 'integer' || type === 'number') {
    return compactNumbers(type, Float64Array.from(once as readonly number[]));
  }
  // V8 may represent a string as a part of a longer one, which it then keeps in memory. Copies are
  // independent.
  return new TextKeys(type, JSON.parse(JSON.stringify(once)) as readonly string[]);
}

export function isKeyOf(type: KeyType, key: unknown): key is Key {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(key);
    case 'number':
      return Number.isFinite(key);
    case 'uuid':
      return typeof key === 'string' && /^[0-9A-F]{32}$/.test(key);
    case 'string':
      return typeof key === 'string';
  }
}

/*
 * The set algebra: operations on lists of keys of one dataclass (protocol P9.4, P9.14). If an
 * operation leaves out and adds nothing, it returns the list itself, which sets then share.
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

/** Prepares the shorter list for look-ups, and looks up the keys of the longer one. */
function membersOf(list: KeyList, other: KeyList, limit: number): KeyMembers {
  if (list.type !== other.type) {
    throw new TypeError(
      `keys of type ${list.type} cannot be combined with keys of type ${other.type}`,
    );
  }
  const most = Math.min(list.length, other.length, limit);
  if (other.length <= 2 * list.length) return list.membersIn(other, most);
  return list.membersIn(other.pick(other.membersIn(list, most), 1), most);
}

/** For keys that ascend, as a database mostly returns them: several times as fast as a search. */
function membersByMerge<K extends Key>(
  keys: ArrayLike<K>,
  others: ArrayLike<K>,
  limit: number,
): KeyMembers {
  const marks = new Uint8Array(keys.length);
  let count = 0;
  for (let at = 0, otherAt = 0; at < keys.length && count < limit; at += 1) {
    const key = keys[at] as K;
    while (otherAt < others.length && (others[otherAt] as K) < key) otherAt += 1;
    if (otherAt === others.length) break;
    if (others[otherAt] !== key) continue;
    marks[at] = 1;
    count += 1;
  }
  return { marks, count };
}

type NumberArray = Uint32Array | Float64Array;

/**
 * Keys of type `integer` or `number`. Bytes for one key: 4 for integers if none is negative or
 * above 2^32-1, else 8; 8 for numbers.
 *
 * Nothing hashes numbers: V8 hashes them in the same way in every process, so a client could choose
 * keys that collide.
 */
export class NumberKeys implements KeyList {
  #shape: NumberShape | undefined;

  /** @param values finite, integers exact, each once, no negative zero; never changed afterwards */
  constructor(
    readonly type: 'integer' | 'number',
    readonly values: NumberArray,
  ) {}

  get length(): number {
    return this.values.length;
  }

  get byteLength(): number {
    return this.values.byteLength;
  }

  page(from: number, to: number): string {
    const page = this.values.subarray(from, to);
    return `[${this.type === 'integer' ? page.join() : Array.from(page, numberJson).join()}]`;
  }

  slice(from: number, to: number): NumberKeys {
    return compactNumbers(this.type, this.values.slice(from, to));
  }

  [Symbol.iterator](): IterableIterator<number> {
    return this.values[Symbol.iterator]();
  }

  /** These keys in ascending order. */
  ascending(): NumberKeys {
    const { ascends, min, max } = this.#searched;
    if (ascends) return this;
    const { values } = this;
    const span = max - min + 1;
    // A mark for each integer between the least and the greatest key, at most eight for each key.
    const isDense = values instanceof Uint32Array && span <= 8 * values.length;
    return new NumberKeys(
      this.type,
      isDense ? sortedByMarks(values, min, span) : values.slice().sort(),
    );
  }

  membersIn(other: NumberKeys, limit: number): KeyMembers {
    const { min, max } = other.#searched;
    const span = max - min + 1;
    // A bit for each integer between the least and the greatest key takes at most eight bytes for
    // each key.
    const isDense =
      this.type === 'integer' && other.length > 0 && span <= Math.min(64 * other.length, 2 ** 32);
    if (isDense) return membersByBits(this.values, other.values, min, span, limit);
    return this.#searched.ascends && other.#searched.ascends
      ? membersByMerge<number>(this.values, other.values, limit)
      : membersBySearch(this.values, other.ascending().values, limit);
  }

  pick({ marks, count }: KeyMembers, mark: 0 | 1): NumberKeys {
    const { values } = this;
    const size = mark === 1 ? count : values.length - count;
    const picked = values instanceof Uint32Array ? new Uint32Array(size) : new Float64Array(size);
    for (let from = 0, to = 0; to < size; from += 1) {
      // It is always written, and kept only if it is wanted: this avoids a branch that is hard to
      // predict.
      picked[to] = values[from] as number;
      to += marks[from] === mark ? 1 : 0;
    }
    return compactNumbers(this.type, picked);
  }

  followedBy(other: NumberKeys): NumberKeys {
    const size = this.length + other.length;
    const isShort = this.values instanceof Uint32Array && other.values instanceof Uint32Array;
    const values = isShort ? new Uint32Array(size) : new Float64Array(size);
    values.set(this.values);
    values.set(other.values, this.length);
    return new NumberKeys(this.type, values);
  }

  get #searched(): NumberShape {
    return (this.#shape ??= shapeOf(this.values));
  }
}

/** For keys that are dense: five times as fast as `sort()`, which others wait for. */
function sortedByMarks(keys: Uint32Array, min: number, span: number): Uint32Array {
  const marks = new Uint8Array(span);
  for (const key of keys) marks[key - min] = 1;
  const sorted = new Uint32Array(keys.length);
  for (let at = 0, count = 0; count < sorted.length; at += 1) {
    sorted[count] = min + at;
    count += marks[at] as number;
  }
  return sorted;
}

interface NumberShape {
  readonly min: number;
  readonly max: number;
  readonly ascends: boolean;
}

function shapeOf(values: NumberArray): NumberShape {
  let min = Infinity;
  let max = -Infinity;
  let ascends = true;
  let previous = -Infinity;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    if (value < previous) ascends = false;
    if (value < min) min = value;
    if (value > max) max = value;
    previous = value;
  }
  return { min, max, ascends };
}

/** Integers that fit take up 4 bytes each. */
export function compactNumbers(type: 'integer' | 'number', values: NumberArray): NumberKeys {
  const isShort = values instanceof Uint32Array || type === 'number' || !values.every(fitsShort);
  return new NumberKeys(type, isShort ? values : Uint32Array.from(values));
}

function fitsShort(value: number): boolean {
  return value >= 0 && value <= 0xff_ff_ff_ff;
}

function membersByBits(
  values: NumberArray,
  others: NumberArray,
  min: number,
  span: number,
  limit: number,
): KeyMembers {
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

/** @param others ascending */
function membersBySearch(values: NumberArray, others: NumberArray, limit: number): KeyMembers {
  const marks = new Uint8Array(values.length);
  let count = 0;
  for (let at = 0; at < values.length && count < limit; at += 1) {
    const value = values[at] as number;
    let from = 0;
    let to = others.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((others[middle] as number) < value) from = middle + 1;
      else to = middle;
    }
    if (others[from] !== value) continue;
    marks[at] = 1;
    count += 1;
  }
  return { marks, count };
}

/** Keys of type `uuid` or `string`. */
export class TextKeys implements KeyList {
  #ascends: boolean | undefined;
  #byteLength: number | undefined;

  /** @param keys each once; never changed afterwards */
  constructor(
    readonly type: 'uuid' | 'string',
    readonly keys: readonly string[],
  ) {}

  get length(): number {
    return this.keys.length;
  }

  /** An estimate from what V8 needs; strings that several lists have in common count in each. */
  get byteLength(): number {
    return (this.#byteLength ??= this.keys.reduce((sum, key) => sum + bytesOfText(key), 0));
  }

  page(from: number, to: number): string {
    return JSON.stringify(this.keys.slice(from, to));
  }

  slice(from: number, to: number): TextKeys {
    return new TextKeys(this.type, this.keys.slice(from, to));
  }

  [Symbol.iterator](): IterableIterator<string> {
    return this.keys[Symbol.iterator]();
  }

  membersIn(other: TextKeys, limit: number): KeyMembers {
    return this.#isAscending && other.#isAscending
      ? membersByMerge(this.keys, other.keys, limit)
      : textsBySet(this.keys, new Set(other.keys), limit);
  }

  pick({ marks }: KeyMembers, mark: 0 | 1): TextKeys {
    return new TextKeys(
      this.type,
      this.keys.filter((_, at) => marks[at] === mark),
    );
  }

  followedBy(other: TextKeys): TextKeys {
    return new TextKeys(this.type, this.keys.concat(other.keys));
  }

  get #isAscending(): boolean {
    return (this.#ascends ??= this.keys.every(
      (key, at, keys) => at === 0 || (keys[at - 1] as string) < key,
    ));
  }
}

/** Bytes: 8 for the place, 16 for what V8 notes, and the characters, of 2 bytes unless all are Latin-1. */
function bytesOfText(text: string): number {
  const characters = /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length;
  return 24 + 8 * Math.ceil(characters / 8);
}

function textsBySet(
  keys: readonly string[],
  others: ReadonlySet<string>,
  limit: number,
): KeyMembers {
  const marks = new Uint8Array(keys.length);
  let count = 0;
  for (let at = 0; at < keys.length && count < limit; at += 1) {
    if (!others.has(keys[at] as string)) continue;
    marks[at] = 1;
    count += 1;
  }
  return { marks, count };
}

/** A list of keys as bytes, for servers with the same order of bytes: little-endian. */
interface StoredKeys {
  /** `integer:4`, `integer:8` and `number:8` for numbers of so many bytes; `uuid` and `string` for JSON. */
  readonly format: string;
  readonly content: Uint8Array;
  readonly length: number;
}

export function storedKeys(keys: KeyList): StoredKeys {
  const { type, length } = keys;
  if (!(keys instanceof NumberKeys)) {
    return { format: type, content: Buffer.from(keys.page(0, length)), length };
  }
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: size } = keys.values;
  const content = new Uint8Array(buffer, byteOffset, byteLength);
  return { format: `${type}:${size}`, content, length };
}

/** @throws Error for an unknown format */
export function keysFrom({ format, content }: StoredKeys): KeyList {
  switch (format) {
    case 'integer:4':
      return new NumberKeys('integer', new Uint32Array(ownBuffer(content)));
    case 'integer:8':
      return new NumberKeys('integer', new Float64Array(ownBuffer(content)));
    case 'number:8':
      return new NumberKeys('number', new Float64Array(ownBuffer(content)));
    case 'uuid':
    case 'string':
      return new TextKeys(format, JSON.parse(Buffer.from(content).toString('utf8')) as string[]);
    default:
      throw new Error(`There are no keys of the format ${format}.`);
  }
}

/** Typed arrays need an offset that is a multiple of their element size. */
function ownBuffer(content: Uint8Array): ArrayBuffer {
  return new Uint8Array(content).buffer;
}
