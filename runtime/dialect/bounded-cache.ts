/**
 * A map that forgets its oldest half when it is full, so that a look-up costs no bookkeeping. What is in use is asked for
 * again at once and moves to the young half. Full is told by weight, since what clients ask for decides how large an entry is.
 */
export class BoundedCache<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #weight = 0;

  /**
   * @param maxWeight of all entries together; an entry that would take up more than an eighth of it is not kept
   * @param weigh what an entry weighs beside its name: bytes, roughly
   */
  constructor(
    private readonly maxWeight: number,
    private readonly weigh: (value: V) => number,
  ) {}

  get(name: string): V | undefined {
    const young = this.#young.get(name);
    if (young !== undefined) return young;
    const old = this.#old.get(name);
    if (old !== undefined) this.set(name, old);
    return old;
  }

  set(name: string, value: V): void {
    const weight = entryWeight + name.length + this.weigh(value);
    if (weight * 8 > this.maxWeight) return;
    if ((this.#weight + weight) * 2 > this.maxWeight) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#weight = 0;
    }
    this.#young.set(name, value);
    this.#weight += weight;
  }
}

/** What a map and the objects of an entry take up in any case. */
const entryWeight = 300;
