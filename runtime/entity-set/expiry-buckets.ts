/** What stands in {@link ExpiryBuckets}. */
export interface Expiring {
  /** Milliseconds; may grow at any time without a word to the buckets. */
  expires: number;
  /** Where it stands; the buckets' own. */
  bucket: number;
}

/**
 * Items by the second in which they are looked at next. One that has been used in between moves on then, so that a use
 * costs nothing here and an item is moved once for each lifetime at most.
 */
export class ExpiryBuckets<T extends Expiring> {
  readonly #buckets = new Map<number, Set<T>>();
  /** All up to here have been looked at. */
  #looked = -Infinity;

  add(item: T): void {
    item.bucket = bucketOf(item.expires);
    const bucket = this.#buckets.get(item.bucket);
    if (bucket === undefined) this.#buckets.set(item.bucket, new Set([item]));
    else bucket.add(item);
  }

  remove(item: T): void {
    const bucket = this.#buckets.get(item.bucket);
    bucket?.delete(item);
    if (bucket?.size === 0) this.#buckets.delete(item.bucket);
  }

  /** To be called when an item may expire sooner than before. */
  hasten(item: T): void {
    if (bucketOf(item.expires) >= item.bucket) return;
    this.remove(item);
    this.add(item);
  }

  /** What has expired and is not removed yet. */
  expired(now: number): readonly T[] {
    const expired: T[] = [];
    const current = bucketOf(now);
    for (const number of this.#upTo(current)) {
      for (const item of this.#buckets.get(number) ?? []) {
        if (item.expires <= now) expired.push(item);
        else this.#moveOn(item);
      }
    }
    // Items of the current second may expire yet.
    this.#looked = current - 1;
    return expired;
  }

  #moveOn(item: T): void {
    if (bucketOf(item.expires) === item.bucket) return;
    this.remove(item);
    this.add(item);
  }

  /** The seconds that are due; after a long time the buckets are fewer than the seconds. */
  #upTo(current: number): readonly number[] {
    const seconds = current - this.#looked;
    if (seconds > this.#buckets.size) {
      return [...this.#buckets.keys()].filter((number) => number <= current);
    }
    return Array.from({ length: seconds }, (_, at) => current - at);
  }
}

/** An item has expired when the second of its bucket is over. */
function bucketOf(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}
