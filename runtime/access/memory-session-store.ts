import type { Clock } from '../entity-set/clock.js';
import { ExpiryBuckets, type Expiring } from '../entity-set/expiry-buckets.js';
import type { SessionRecord, SessionStore } from './session-store.js';

/** Where a record stands among those that expire. */
interface Place extends Expiring {
  readonly record: SessionRecord;
}

/** Sessions in the memory of this process. One that has expired is never given; it ends a second later at most. */
export class MemorySessionStore implements SessionStore {
  readonly #places = new Map<string, Place>();
  readonly #byExpiry = new ExpiryBuckets<Place>();
  readonly #listeners: ((record: SessionRecord) => void)[] = [];
  #cancelTick: (() => void) | undefined;
  #isClosed = false;

  constructor(private readonly clock: Clock) {}

  find(token: string): SessionRecord | undefined {
    const place = this.#places.get(token);
    if (place === undefined) return undefined;
    if (place.expires <= this.clock.now()) {
      this.#end(place);
      return undefined;
    }
    this.#refresh(place);
    return place.record;
  }

  add(record: SessionRecord): void {
    const place = { record, expires: record.expires, bucket: 0 };
    this.#places.set(record.token, place);
    this.#refresh(place);
    this.#byExpiry.add(place);
    this.#tickLater();
  }

  renew(record: SessionRecord, token: string): void {
    const place = this.#places.get(record.token);
    if (place === undefined) return;
    this.#places.delete(record.token);
    record.token = token;
    this.#places.set(token, place);
  }

  remove(record: SessionRecord): void {
    const place = this.#places.get(record.token);
    if (place !== undefined) this.#end(place);
  }

  setIdleTimeout(record: SessionRecord, seconds: number): void {
    const place = this.#places.get(record.token);
    if (place === undefined) return;
    record.idleTimeout = seconds;
    this.#refresh(place);
    this.#byExpiry.hasten(place);
  }

  list(): readonly SessionRecord[] {
    const now = this.clock.now();
    const living = [...this.#places.values()].filter(({ expires }) => expires > now);
    return living.map(({ record }) => record);
  }

  onEnd(listener: (record: SessionRecord) => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#isClosed = true;
    for (const place of this.#places.values()) this.#end(place);
    this.#cancelTick?.();
  }

  #refresh(place: Place): void {
    const { record } = place;
    record.refreshed = this.clock.now();
    record.expires = Math.min(record.refreshed + record.idleTimeout * 1000, record.ends);
    place.expires = record.expires;
  }

  #end(place: Place): void {
    this.#places.delete(place.record.token);
    this.#byExpiry.remove(place);
    place.record.hasEnded = true;
    for (const listener of this.#listeners) listener(place.record);
  }

  #tickLater(): void {
    if (this.#cancelTick !== undefined || this.#places.size === 0 || this.#isClosed) return;
    this.#cancelTick = this.clock.after(1000, () => {
      this.#cancelTick = undefined;
      for (const place of this.#byExpiry.expired(this.clock.now())) this.#end(place);
      this.#tickLater();
    });
  }
}
