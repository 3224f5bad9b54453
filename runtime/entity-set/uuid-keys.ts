import { endianness } from 'node:os';
import { differentTypes, type KeyList, type Members } from './key-list.js';
import { rowMembers, rowsAscend, type KeyRows } from './row-members.js';
import { hashFactors, mixed } from './hash-factors.js';

/** Keys of type `uuid`. */
export class UuidKeys implements KeyList, KeyRows<UuidKeys> {
  readonly type = 'uuid';
  #ascends: boolean | undefined;

  /** @param words four of 32 bits for each key, the first digits first; never changed afterwards */
  constructor(readonly words: Uint32Array) {}

  get length(): number {
    return this.words.length / 4;
  }

  get byteLength(): number {
    return this.words.byteLength;
  }

  page(from: number, to: number): string {
    const digits = this.#digits(from, to);
    const keys: string[] = [];
    for (let at = 0; at < digits.length; at += 32) keys.push(digits.slice(at, at + 32));
    return keys.length === 0 ? '[]' : `["${keys.join('","')}"]`;
  }

  keyAt(position: number): string {
    return this.#digits(position, position + 1);
  }

  *[Symbol.iterator](): IterableIterator<string> {
    for (let position = 0; position < this.length; position += 1) yield this.keyAt(position);
  }

  membersIn(other: KeyList, limit: number): Members {
    if (!(other instanceof UuidKeys)) throw differentTypes(this, other);
    return rowMembers<UuidKeys>(this, other, limit);
  }

  pick({ marks, count }: Members, mark: 0 | 1): UuidKeys {
    const { words } = this;
    const picked = new Uint32Array(4 * (mark === 1 ? count : this.length - count));
    for (let from = 0, to = 0; to < picked.length; from += 1) {
      if (marks[from] !== mark) continue;
      for (let word = 0; word < 4; word += 1) picked[to + word] = words[4 * from + word] as number;
      to += 4;
    }
    return new UuidKeys(picked);
  }

  followedBy(other: KeyList): UuidKeys {
    if (!(other instanceof UuidKeys)) throw differentTypes(this, other);
    const words = new Uint32Array(this.words.length + other.words.length);
    words.set(this.words);
    words.set(other.words, this.words.length);
    return new UuidKeys(words);
  }

  get ascends(): boolean {
    return (this.#ascends ??= rowsAscend<UuidKeys>(this));
  }

  hashAt(position: number): number {
    const { words } = this;
    let hash = 0;
    for (let word = 0; word < 4; word += 1) {
      hash += Math.imul(words[4 * position + word] as number, hashFactors[word] as number);
    }
    return mixed(hash);
  }

  compare(position: number, other: UuidKeys, otherPosition: number): number {
    for (let word = 0; word < 4; word += 1) {
      const order =
        (this.words[4 * position + word] as number) -
        (other.words[4 * otherPosition + word] as number);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** The digits of the keys at `from` to `to - 1`, without separators. */
  #digits(from: number, to: number): string {
    const bytes = Buffer.from(this.words.slice(4 * from, 4 * to).buffer);
    if (endianness() === 'LE') bytes.swap32();
    return bytes.toString('hex').toUpperCase();
  }
}
