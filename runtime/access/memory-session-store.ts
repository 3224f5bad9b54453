import type { Clock } from '../entity-set/clock.js';
import { newUuid } from '../protocol/uuid.js';
import { isGuest } from './grants.js';
import type { EndedUsers } from './ended-users.js';
import { network } from './quotas.js';
import {
  addressFull,
  type NewSession,
  type SessionChange,
  type SessionRecord,
  type SessionRoom,
  sessionsFull,
  type SessionStore,
} from './session-store.js';
import { foldName, MemoryStorage } from './session.js';
import { ownText } from '../protocol/own-text.js';

/** A session in the store. */
type HeldSession = {
  -readonly [Name in keyof SessionRecord]: SessionRecord[Name];
} & {
  readonly storage: MemoryStorage;
  readonly ends: number;
};

/**
 * Sessions in the memory of this process. An expired session is never returned; it ends a second
 * later at most.
 */
export class MemorySessionStore implements SessionStore {
  readonly isShared = false;
  readonly #byToken = new Map<string, HeldSession>();
  readonly #guestPlaces = new GuestPlaces();
  readonly #listeners: ((id: string) => void)[] = [];
  readonly #movers: ((from: string, to: string) => void)[] = [];
  #guests = 0;
  #cancelTick: (() => void) | undefined;
  #isClosed = false;

  constructor(
    private readonly clock: Clock,
    private readonly ended?: EndedUsers,
  ) {}

  async endSessionsOfUsers(): Promise<void> {
    if (this.ended === undefined) return;
    const users = new Set((await this.ended.read()).map(foldName));
    if (users.size === 0) return;
    for (const held of this.#byToken.values()) {
      if (users.has(foldName(held.userName))) this.#end(held);
    }
  }

  async find(token: string): Promise<SessionRecord | undefined> {
    await this.endSessionsOfUsers();
    const held = this.#byToken.get(token);
    if (held === undefined) return undefined;
    if (held.expires <= this.clock.now()) {
      this.#end(held);
      return undefined;
    }
    this.#refresh(held);
    return held;
  }

  begin(session: NewSession, room?: SessionRoom): SessionRecord {
    if (room !== undefined) this.#requireRoom(session, room);
    return this.#begin(session);
  }

  #begin(session: NewSession): HeldSession {
    const held: HeldSession = {
      ...session,
      id: newUuid(),
      storage: new MemoryStorage(),
      expires: 0,
      hasEnded: false,
      wasReplaced: false,
    };
    this.#refresh(held);
    this.#byToken.set(held.token, held);
    this.#count(held);
    this.#tickLater();
    return held;
  }

  replace(record: SessionRecord, session: NewSession, room?: SessionRoom): SessionRecord {
    if (room !== undefined) this.#requireRoom(session, room);
    const made = this.#begin(session);
    const moved = this.#byToken.get(record.token);
    if (moved === undefined) return made;
    for (const name of moved.storage.keys()) made.storage.set(name, moved.storage.get(name));
    for (const move of this.#movers) move(moved.id, made.id);
    moved.wasReplaced = true;
    this.#end(moved);
    return made;
  }

  change({ token }: SessionRecord, change: SessionChange, room?: SessionRoom): void {
    const held = this.#byToken.get(token);
    if (held === undefined) return;
    if (room !== undefined) this.#requireRoom({ ...held, ...change }, room);
    this.#uncount(held);
    Object.assign(held, change);
    this.#count(held);
    if (held.token === token) return;
    this.#byToken.delete(token);
    this.#byToken.set(held.token, held);
  }

  setIdleTimeout({ token }: SessionRecord, seconds: number): void {
    const held = this.#byToken.get(token);
    if (held === undefined) return;
    held.idleTimeout = seconds;
    this.#refresh(held);
  }

  remove({ token }: SessionRecord): void {
    const held = this.#byToken.get(token);
    if (held !== undefined) this.#end(held);
  }

  /** Everything is stored at once. */
  async flush(): Promise<void> {
    return;
  }

  /** The number of living sessions; some may have expired a moment ago. */
  get counts(): { readonly guests: number; readonly users: number } {
    return { guests: this.#guests, users: this.#byToken.size - this.#guests };
  }

  #requireRoom({ userName, privileges, address }: NewSession, room: SessionRoom): void {
    const { guests, users } = this.counts;
    if (!isGuest(userName, privileges)) {
      if (users >= room.users) throw sessionsFull();
      return;
    }
    if (guests >= room.guests) throw sessionsFull();
    if (address === undefined || this.#guestPlaces.takenBy(address) < room.guestsOfAddress) return;
    throw addressFull(room.guestsOfAddress);
  }

  async list(): Promise<readonly SessionRecord[]> {
    const now = this.clock.now();
    return [...this.#byToken.values()].filter(({ expires }) => expires > now);
  }

  onEnd(listener: (id: string) => void): void {
    this.#listeners.push(listener);
  }

  onMove(listener: (from: string, to: string) => void): void {
    this.#movers.push(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const held of this.#byToken.values()) this.#end(held);
    this.#cancelTick?.();
  }

  #refresh(held: HeldSession): void {
    held.expires = Math.min(this.clock.now() + held.idleTimeout * 1000, held.ends);
  }

  #end(held: HeldSession): void {
    this.#byToken.delete(held.token);
    this.#uncount(held);
    held.hasEnded = true;
    for (const listener of this.#listeners) listener(held.id);
  }

  #count({ userName, privileges, address }: HeldSession): void {
    if (!isGuest(userName, privileges)) return;
    this.#guests += 1;
    if (address !== undefined) this.#guestPlaces.take(address);
  }

  #uncount({ userName, privileges, address }: HeldSession): void {
    if (!isGuest(userName, privileges)) return;
    this.#guests -= 1;
    if (address !== undefined) this.#guestPlaces.free(address);
  }

  #tickLater(): void {
    if (this.#cancelTick !== undefined || this.#byToken.size === 0 || this.#isClosed) return;
    this.#cancelTick = this.clock.after(1000, () => {
      this.#cancelTick = undefined;
      const now = this.clock.now();
      for (const held of this.#byToken.values()) if (held.expires <= now) this.#end(held);
      this.#tickLater();
    });
  }
}

/** Living sessions of guests, by the address from which they began. */
export class GuestPlaces {
  readonly #taken = new Map<string, number>();

  /** How many addresses are remembered: those with a living session. */
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
