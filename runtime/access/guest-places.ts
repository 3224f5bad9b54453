import { protocolError, RequestError } from '../protocol/errors.js';
import { network } from './network.js';

/** Seconds; when a place will be free nobody knows. */
const retryAfter = 60;

/** Guests' sessions that live, by the address that they began from: one address must not take the places of all others. */
export class GuestPlaces {
  readonly #taken = new Map<string, number>();
  readonly #most: number;

  /** @param mostOfAll sessions of guests that the server may have */
  constructor(mostOfAll: number) {
    this.#most = Math.max(20, Math.floor(mostOfAll / 100));
  }

  /** How many addresses are remembered: those with a session that lives. */
  get size(): number {
    return this.#taken.size;
  }

  /** @throws RequestError 429 with `Retry-After` when an address has as many sessions as it may have */
  refuseWhenFull(address: string): void {
    if ((this.#taken.get(network(address)) ?? 0) < this.#most) return;
    const message = `An address has ${this.#most} sessions of guests at most. Log in, or try again later.`;
    throw new RequestError(429, [protocolError('quotaExceeded', message)], {
      'retry-after': String(retryAfter),
    });
  }

  take(address: string): void {
    const name = network(address);
    this.#taken.set(name, (this.#taken.get(name) ?? 0) + 1);
  }

  free(address: string): void {
    const name = network(address);
    const left = (this.#taken.get(name) ?? 0) - 1;
    if (left > 0) this.#taken.set(name, left);
    else this.#taken.delete(name);
  }
}
