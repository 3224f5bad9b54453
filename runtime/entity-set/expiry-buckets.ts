/** An item of {@link ExpiryBuckets}. */
export interface Expiring {
  /** Milliseconds; may grow at any time without informing the buckets. */
  expires: number;
  /** Its bucket; only the buckets change it. */
  bucket: number;
}

/**
 * Items by the second of their next check. An item that was used since moves on then, so a use
 * costs nothing here and an item moves at most once for each lifetime.
 */
export class ExpiryBuckets<T extends Expiring> {
  readonly #buckets = new Map<number, Set<T>>();
  /** All items up to here were checked. */
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

  /** Call it if an item may expire sooner than before. */
  hasten(item: T): void {
    if (bucketOf(item.expires) >= item.bucket) return;
    this.remove(item);
    this.add(item);
  }

  /** The items that have expired and are not removed yet. */
  expired(now: number): readonly T[] {
    const expired: T[] = [];
    const current = bucketOf(now);
    for (const number of this.#upTo(current)) {
      for (const item of this.#buckets.get(number) ?? []) {
        if (item.expires <= now) expired.push(item);
        else this.#moveOn(item);
      }
    }
    // Items of the current second may expire later in it.
    this.#looked = current - 1;
    return expired;
  }

  #moveOn(item: T): void {
    if (bucketOf(item.expires) === item.bucket) return;
    this.remove(item);
    this.add(item);
  }

  /** The seconds that are due; after a long time there are fewer buckets than seconds. */
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
