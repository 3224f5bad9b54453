/** What stands in a {@link UseOrder}. */
export interface Used {
  older: Used | undefined;
  newer: Used | undefined;
}

/** Items in the order of their last use. Each operation costs the same, however many there are. */
export class UseOrder<T extends Used> {
  #oldest: T | undefined;
  #newest: T | undefined;

  /** @param item that is not among these */
  add(item: T): void {
    item.older = this.#newest;
    item.newer = undefined;
    if (this.#newest === undefined) this.#oldest = item;
    else this.#newest.newer = item;
    this.#newest = item;
  }

  /** @param item that is among these */
  remove(item: T): void {
    const { older, newer } = item as { older: T | undefined; newer: T | undefined };
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    item.older = undefined;
    item.newer = undefined;
  }

  use(item: T): void {
    if (item === this.#newest) return;
    this.remove(item);
    this.add(item);
  }

  /** The oldest first; the item that is given may be removed. */
  *[Symbol.iterator](): IterableIterator<T> {
    let item = this.#oldest;
    while (item !== undefined) {
      const next = item.newer as T | undefined;
      yield item;
      item = next;
    }
  }
}
