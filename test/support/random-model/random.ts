import fc from 'fast-check';

/** Choices that one seed decides. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A 32-bit number: one step of the generator mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + (this.next() % (max - min + 1));
  }

  chance(percent: number): boolean {
    return this.int(1, 100) <= percent;
  }

  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    return list[this.int(0, list.length - 1)] as T;
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((each) => ({ each, rank: this.next() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ each }) => each);
  }

  values<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
    return fc.sample(arbitrary, { seed: this.next() | 0, numRuns: count });
  }
}
