import { numberJson } from '../protocol/numbers.js';
import { differentTypes, type KeyList, type Members } from './key-list.js';
import { numberMembers, type NumberArray, type NumberShape } from './number-members.js';

/** Keys of type `integer` or `number`. */
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

  get shape(): NumberShape {
    return (this.#shape ??= shapeOf(this.values));
  }

  page(from: number, to: number): string {
    const page = this.values.subarray(from, to);
    return `[${this.type === 'integer' ? page.join() : Array.from(page, numberJson).join()}]`;
  }

  keyAt(position: number): number {
    return this.values[position] as number;
  }

  [Symbol.iterator](): IterableIterator<number> {
    return this.values[Symbol.iterator]();
  }

  membersIn(other: KeyList, limit: number): Members {
    if (!this.#isLike(other)) throw differentTypes(this, other);
    return numberMembers(this, other, limit);
  }

  pick({ marks, count }: Members, mark: 0 | 1): NumberKeys {
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

  followedBy(other: KeyList): NumberKeys {
    if (!this.#isLike(other)) throw differentTypes(this, other);
    const size = this.length + other.length;
    const isShort = this.values instanceof Uint32Array && other.values instanceof Uint32Array;
    const values = isShort ? new Uint32Array(size) : new Float64Array(size);
    values.set(this.values);
    values.set(other.values, this.length);
    return new NumberKeys(this.type, values);
  }

  #isLike(other: KeyList): other is NumberKeys {
    return other instanceof NumberKeys && other.type === this.type;
  }
}

/** Integers that fit take up 4 bytes each. */
export function compactNumbers(type: 'integer' | 'number', values: NumberArray): NumberKeys {
  const isShort = values instanceof Uint32Array || type === 'number' || !values.every(fitsShort);
  return new NumberKeys(type, isShort ? values : Uint32Array.from(values));
}

function fitsShort(value: number): boolean {
  return value >= 0 && value <= 0xff_ff_ff_ff;
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
