import { network } from './network.js';
import { ownText } from '../protocol/own-text.js';

/** Guests' sessions that live, by the address that they began from. */
export class GuestPlaces {
  readonly #taken = new Map<string, number>();

  /** How many addresses are remembered: those with a session that lives. */
  get size(): number {
    return this.#taken.size;
  }

  takenBy(address: string): number {
    return this.#taken.get(network(address)) ?? 0;
  }

  take(address: string): void {
    const name = network(address);
    this.#taken.set(ownText(name), (this.#taken.get(name) ?? 0) + 1);
  }

  free(address: string): void {
    const name = network(address);
    const left = (this.#taken.get(name) ?? 0) - 1;
    if (left > 0) this.#taken.set(name, left);
    else this.#taken.delete(name);
  }
}
