/** A map that drops its older generation when it is full. Clients decide how large an entry is: entries have weights. */
export class BoundedCache<V> {
  #current = new Map<string, V>();
  #previous = new Map<string, V>();
  #weight = 0;

  /** @param weigh weight of an entry without its key: bytes, roughly; above an eighth of `maxWeight` it is not kept */
  constructor(
    private readonly maxWeight: number,
    private readonly weigh: (value: V) => number,
  ) {}

  get(name: string): V | undefined {
    const current = this.#current.get(name);
    if (current !== undefined) return current;
    const previous = this.#previous.get(name);
    if (previous !== undefined) this.set(name, previous);
    return previous;
  }

  set(name: string, value: V): void {
    const weight = entryWeight + name.length + this.weigh(value);
    if (weight * 8 > this.maxWeight) return;
    if ((this.#weight + weight) * 2 > this.maxWeight) {
      this.#previous = this.#current;
      this.#current = new Map();
      this.#weight = 0;
    }
    this.#current.set(name, value);
    this.#weight += weight;
  }
}

/** Bytes that a map and the objects of an entry need in any case. */
const entryWeight = 300;

/** The part of a cache that its users need. */
export type Cache<V> = Pick<BoundedCache<V>, 'get' | 'set'>;
