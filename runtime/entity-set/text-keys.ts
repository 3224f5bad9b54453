import { differentTypes, type KeyList, type Members } from './key-list.js';
import { rowMembers, rowsAscend, type KeyRows } from './row-members.js';
import { hashFactors, mixed } from './hash-factors.js';

/**
 * Keys of type `string`. They are stored as JSON, so a page is a slice of it. Because each text has
 * only one form, that of `JSON.stringify`, equal keys are equal bytes.
 */
export class TextKeys implements KeyList, KeyRows<TextKeys> {
  readonly type = 'string';
  #ascends: boolean | undefined;

  /**
   * @param bytes the keys in JSON, as UTF-8, with a comma behind each; never changed afterwards
   * @param starts the beginning of each key, and the end of all
   */
  constructor(
    readonly bytes: Buffer,
    readonly starts: Uint32Array,
  ) {}

  get length(): number {
    return this.starts.length - 1;
  }

  get byteLength(): number {
    return this.bytes.byteLength + this.starts.byteLength;
  }

  page(from: number, to: number): string {
    const end = Math.min(to, this.length);
    return from < end ? `[${this.#json(from, end)}]` : '[]';
  }

  keyAt(position: number): string {
    return JSON.parse(this.#json(position, position + 1)) as string;
  }

  *[Symbol.iterator](): IterableIterator<string> {
    for (let position = 0; position < this.length; position += 1) yield this.keyAt(position);
  }

  membersIn(other: KeyList, limit: number): Members {
    if (!(other instanceof TextKeys)) throw differentTypes(this, other);
    return rowMembers<TextKeys>(this, other, limit);
  }

  pick({ marks, count }: Members, mark: 0 | 1): TextKeys {
    const { bytes, starts } = this;
    const size = mark === 1 ? count : this.length - count;
    const picked = new Uint32Array(size + 1);
    let total = 0;
    for (let from = 0; from < this.length; from += 1) {
      if (marks[from] === mark) total += (starts[from + 1] as number) - (starts[from] as number);
    }
    const pickedBytes = bytesOf(total);
    for (let from = 0, to = 0, end = 0; to < size; from += 1) {
      if (marks[from] !== mark) continue;
      // Keys are short: a loop is faster than a call for each.
      for (let at = starts[from] as number; at < (starts[from + 1] as number); at += 1, end += 1) {
        pickedBytes[end] = bytes[at] as number;
      }
      to += 1;
      picked[to] = end;
    }
    return new TextKeys(pickedBytes, picked);
  }

  followedBy(other: KeyList): TextKeys {
    if (!(other instanceof TextKeys)) throw differentTypes(this, other);
    const starts = new Uint32Array(this.starts.length + other.length);
    starts.set(this.starts);
    const end = this.bytes.length;
    for (let at = 1; at <= other.length; at += 1)
      starts[this.length + at] = end + (other.starts[at] as number);
    const bytes = bytesOf(end + other.bytes.length);
    bytes.set(this.bytes);
    bytes.set(other.bytes, end);
    return new TextKeys(bytes, starts);
  }

  get ascends(): boolean {
    return (this.#ascends ??= rowsAscend<TextKeys>(this));
  }

  hashAt(position: number): number {
    const { bytes } = this;
    const end = this.starts[position + 1] as number;
    let hash = hashFactors[1];
    for (let at = this.starts[position] as number; at < end; at += 1) {
      hash = Math.imul(hash ^ (bytes[at] as number), hashFactors[0]);
    }
    return mixed(hash);
  }

  /** Compares bytes; each key ends with a comma, which no key contains behind its closing quote. */
  compare(position: number, other: TextKeys, otherPosition: number): number {
    const { bytes } = this;
    const { bytes: others } = other;
    const end = this.starts[position + 1] as number;
    let otherAt = other.starts[otherPosition] as number;
    for (let at = this.starts[position] as number; at < end; at += 1, otherAt += 1) {
      const order = (bytes[at] as number) - (others[otherAt] as number);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Without brackets; `from` below `to`. */
  #json(from: number, to: number): string {
    return this.bytes.toString('utf8', this.starts[from], (this.starts[to] as number) - 1);
  }
}

/** Bytes with their own memory, so that a list uses as much as it reports. */
export function bytesOf(length: number): Buffer {
  return Buffer.allocUnsafeSlow(length);
}
