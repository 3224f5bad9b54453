import type { KeyList } from './key-list.js';

/** The lists of keys that sets hold. One that several hold, since a set without dropped entities was cleaned, counts once. */
export class HeldKeys {
  readonly #holders = new Map<KeyList, number>();
  #bytes = 0;

  /** Of all lists that are held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many bytes more it is when one more set holds `keys`. */
  bytesToHold(keys: KeyList): number {
    return this.#holders.has(keys) ? 0 : keys.byteLength;
  }

  hold(keys: KeyList): void {
    this.#bytes += this.bytesToHold(keys);
    this.#holders.set(keys, (this.#holders.get(keys) ?? 0) + 1);
  }

  letGo(keys: KeyList): void {
    const others = (this.#holders.get(keys) ?? 1) - 1;
    if (others > 0) {
      this.#holders.set(keys, others);
      return;
    }
    this.#holders.delete(keys);
    this.#bytes -= keys.byteLength;
  }
}
