import { newUuid } from '../protocol/uuid.js';
import type { Clock } from './clock.js';
import { tooMany } from './entity-sets.js';
import {
  EntitySetTooLargeError,
  type EntitySet,
  type EntitySetStore,
  type NewEntitySet,
  isOpenTo,
  type SetClaim,
} from './entity-set-store.js';
import type { KeyList } from './key-list.js';
import { ownText } from '../protocol/own-text.js';

/** A set in the store, where its times change. */
interface StoredSet extends EntitySet {
  owner: string | undefined;
  maker: string | undefined;
  timeout: number;
  refreshed: number;
  expires: number;
}

/**
 * Entity sets in the memory of this process. They use at most `maxBytes` together: a new set evicts
 * the sets that were not accessed for the longest time, which then do not exist, as if they had
 * expired. Sets of guests are evicted before those of users.
 *
 * An expired set is never returned, counted or listed; its memory is free a second later.
 */
export class MemoryEntitySetStore implements EntitySetStore {
  /** By ID, the least recently accessed one first. */
  readonly #sets = new Map<string, StoredSet>();
  readonly #ofSession = new Map<string, Set<StoredSet>>();
  /** The sets without an owner, in the same order: anybody can make many of them. */
  readonly #ofGuests = new Set<StoredSet>();
  readonly #keys = new HeldKeys();
  #sourceBytes = 0;
  /** No set expires before. */
  #firstExpiry = Infinity;
  #cancelTick: (() => void) | undefined;
  #isClosed = false;

  constructor(
    private readonly maxBytes: number,
    private readonly clock: Clock,
  ) {}

  async create(set: NewEntitySet): Promise<EntitySet> {
    return this.#store(newUuid(), set);
  }

  async recreate(id: string, set: NewEntitySet, storedAs = id): Promise<EntitySet | undefined> {
    const claim = { session: set.owner, dataclass: set.dataclass };
    for (const used of [id, storedAs]) {
      if (this.#alive(used) !== undefined) return this.access(used, claim);
    }
    return this.#store(storedAs, set);
  }

  async access(id: string, claim: SetClaim, timeout?: number): Promise<EntitySet | undefined> {
    const set = this.#open(id, claim);
    if (set === undefined) return undefined;
    if (timeout !== undefined) set.timeout = timeout;
    set.refreshed = this.clock.now();
    set.expires = set.refreshed + set.timeout * 1000;
    this.#firstExpiry = Math.min(this.#firstExpiry, set.expires);
    this.#sets.delete(id);
    this.#sets.set(set.id, set);
    if (this.#ofGuests.delete(set)) this.#ofGuests.add(set);
    return set;
  }

  async release(id: string, claim: SetClaim): Promise<boolean> {
    const set = this.#open(id, claim);
    if (set !== undefined) this.#remove(set);
    return set !== undefined;
  }

  async countOf(session: string): Promise<number> {
    return this.#aliveOf(session).length;
  }

  async listOf(session: string): Promise<readonly EntitySet[]> {
    return this.#aliveOf(session);
  }

  /** Removes the sets that belong to a session. */
  releaseOf(session: string): void {
    for (const set of [...(this.#ofSession.get(session) ?? [])]) {
      if (set.owner === session) this.#remove(set);
    }
  }

  /** Moves the sets of a session to another one, which has none. */
  moveOf(from: string, to: string): void {
    const moved = this.#ofSession.get(from);
    if (moved === undefined) return;
    this.#ofSession.delete(from);
    this.#ofSession.set(to, moved);
    for (const set of moved) {
      set.maker = to;
      if (set.owner === from) set.owner = to;
    }
  }

  async list(): Promise<readonly EntitySet[]> {
    this.#removeExpired();
    return [...this.#sets.values()];
  }

  async usedBytes(): Promise<number> {
    return this.#bytes;
  }

  close(): void {
    this.#isClosed = true;
    for (const set of this.#sets.values()) this.#remove(set);
  }

  #store(name: string, given: NewEntitySet): EntitySet {
    const id = ownText(name);
    const { dataclass, keys, owner, maker = owner, timeout, isSorted, source } = given;
    const { mostOfMaker: most } = given;
    // Other requests may have made sets since the caller counted them.
    if (maker !== undefined && most !== undefined && this.#aliveOf(maker).length >= most) {
      throw tooMany(most);
    }
    this.#makeRoom(given);
    const refreshed = this.clock.now();
    const expires = refreshed + timeout * 1000;
    const times = { timeout, refreshed, expires };
    const set = { id, dataclass, keys, owner, maker, isSorted, source, ...times };
    this.#sets.set(id, set);
    this.#sourceBytes += bytesOfSource(source);
    this.#firstExpiry = Math.min(this.#firstExpiry, expires);
    this.#keys.hold(keys);
    if (owner === undefined) this.#ofGuests.add(set);
    if (maker !== undefined) {
      const siblings = this.#ofSession.get(maker);
      if (siblings === undefined) this.#ofSession.set(maker, new Set([set]));
      else siblings.add(set);
    }
    this.#tickLater();
    return set;
  }

  #makeRoom({ keys, source }: NewEntitySet): void {
    const bytes = bytesOf({ keys, source });
    if (bytes > this.maxBytes) throw new EntitySetTooLargeError(bytes, this.maxBytes);
    if (this.#fits(keys, source)) return;
    this.#removeExpired();
    for (const sets of [this.#ofGuests, this.#sets.values()]) {
      for (const set of sets) {
        if (this.#fits(keys, source)) return;
        this.#remove(set);
      }
    }
  }

  #fits(keys: KeyList, source: string | undefined): boolean {
    const more = bytesOfSet + bytesOfSource(source) + this.#keys.bytesToHold(keys);
    return this.#bytes + more <= this.maxBytes;
  }

  get #bytes(): number {
    return this.#sets.size * bytesOfSet + this.#sourceBytes + this.#keys.bytes;
  }

  #aliveOf(session: string): readonly EntitySet[] {
    const now = this.clock.now();
    return [...(this.#ofSession.get(session) ?? [])].filter(({ expires }) => expires > now);
  }

  #open(id: string, claim: SetClaim): StoredSet | undefined {
    const set = this.#alive(id);
    return set !== undefined && isOpenTo(claim, set.dataclass, set.owner) ? set : undefined;
  }

  #alive(id: string): StoredSet | undefined {
    const set = this.#sets.get(id);
    if (set === undefined || set.expires > this.clock.now()) return set;
    this.#remove(set);
    return undefined;
  }

  #removeExpired(): void {
    const now = this.clock.now();
    if (now < this.#firstExpiry) return;
    this.#firstExpiry = Infinity;
    for (const set of this.#sets.values()) {
      if (set.expires <= now) this.#remove(set);
      else this.#firstExpiry = Math.min(this.#firstExpiry, set.expires);
    }
  }

  #remove(set: StoredSet): void {
    this.#sets.delete(set.id);
    this.#sourceBytes -= bytesOfSource(set.source);
    this.#keys.letGo(set.keys);
    this.#ofGuests.delete(set);
    if (set.maker !== undefined) {
      const siblings = this.#ofSession.get(set.maker);
      siblings?.delete(set);
      if (siblings?.size === 0) this.#ofSession.delete(set.maker);
    }
    if (this.#sets.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }

  #tickLater(): void {
    if (this.#cancelTick !== undefined || this.#sets.size === 0 || this.#isClosed) return;
    this.#cancelTick = this.clock.after(1000, () => {
      this.#cancelTick = undefined;
      this.#removeExpired();
      this.#tickLater();
    });
  }
}

/** Memory of a set in addition to its keys and its source: 600 to 1,150 bytes were measured. */
export const bytesOfSet = 1024;

/** Memory of a set whose keys no other set shares. */
export function bytesOf({ keys, source }: Pick<EntitySet, 'keys' | 'source'>): number {
  return bytesOfSet + bytesOfSource(source) + keys.byteLength;
}

function bytesOfSource(source: string | undefined): number {
  return source === undefined ? 0 : source.length * 2;
}

/** The lists of keys of the sets; one that several sets share counts once. */
class HeldKeys {
  readonly #holders = new Map<KeyList, number>();
  #bytes = 0;

  /** Bytes of all lists in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many bytes another set with `keys` adds. */
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
