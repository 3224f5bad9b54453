import type { Clock } from '../../runtime/entity-set/clock.js';

/** A clock that a test moves. */
export class FakeClock implements Clock {
  #now = 1_000_000;
  readonly #calls = new Map<() => void, number>();

  /** How many calls wait. */
  get waiting(): number {
    return this.#calls.size;
  }

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, call: () => void): () => void {
    this.#calls.set(call, this.#now + milliseconds);
    return () => {
      this.#calls.delete(call);
    };
  }

  /** Makes all calls that fall due, each at its time. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const next = [...this.#calls].sort((one, other) => one[1] - other[1])[0];
      if (next === undefined || next[1] > end) break;
      this.#calls.delete(next[0]);
      this.#now = next[1];
      next[0]();
    }
    this.#now = end;
  }

  /** Advances the time like in a suspended process: due callbacks run late. */
  freeze(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
