import { BoundedCache } from '../dialect/bounded-cache.js';
import {
  type EntitySet,
  type EntitySetStore,
  EntitySetTooLargeError,
  type ListedSet,
  type NewEntitySet,
  type SetClaim,
} from '../entity-set/entity-set-store.js';
import { bytesOfSet } from '../entity-set/memory-store.js';
import { newUuid } from '../protocol/uuid.js';
import { KeyTable } from './key-table.js';
import { KnownSet, listedSet, type SetRow, SetStatements } from './shared-set.js';
import { everySecond, grainOf, longestTrust, type Sharing } from './sharing.js';
import { ownText } from '../protocol/own-text.js';

/** Bytes of the sets whose rows a process caches, about 500 bytes each. */
const maxKnownBytes = 16 * 1024 * 1024;

/**
 * Entity sets of all processes of a server, which take `maxBytes` together at most, as those of one
 * process do. A process caches the keys of the sets that it used last.
 */
export class SharedEntitySetStore implements EntitySetStore {
  readonly #statements: SetStatements;
  readonly #keys: KeyTable;
  readonly #known = new BoundedCache<KnownSet>(maxKnownBytes, () => 500);
  readonly #cancelTick: () => void;

  /** @param processes of the server, which share the memory for cached keys */
  constructor(
    private readonly sharing: Sharing,
    private readonly maxBytes: number,
    processes: number,
  ) {
    this.#statements = new SetStatements(sharing.state, bytesOfSet);
    this.#keys = new KeyTable(sharing.state, maxBytes / processes);
    this.#cancelTick = everySecond(sharing, () => {
      this.#endExpired();
    });
  }

  create(set: NewEntitySet): EntitySet {
    return this.sharing.state.change(() => this.#store(newUuid(), set));
  }

  recreate(id: string, set: NewEntitySet, storedAs = id): EntitySet | undefined {
    const claim = { session: set.owner, dataclass: set.dataclass };
    return this.sharing.state.change(() => {
      for (const used of [id, storedAs]) {
        if (this.#alive(used) !== undefined) return this.access(used, claim);
      }
      return this.#store(storedAs, set);
    });
  }

  access(id: string, claim: SetClaim, timeout?: number): EntitySet | undefined {
    const set = this.#open(id, claim);
    if (set === undefined) return undefined;
    const now = this.sharing.clock.now();
    const used =
      timeout !== undefined || now - set.refreshed >= grainOf(this.sharing, set.timeout * 1000)
        ? this.#use(set, now, timeout)
        : set;
    // Another process may have removed it just now.
    const keys = used === undefined ? undefined : this.#keys.get(used.keys);
    return keys === undefined ? undefined : used?.with(keys);
  }

  release(id: string, claim: SetClaim): boolean {
    return this.sharing.state.change(() => {
      const set = this.#open(id, claim);
      if (set !== undefined) this.#remove(id);
      return set !== undefined;
    });
  }

  countOf(session: string): number {
    return Number(this.#statements.countOf.first(session, this.sharing.clock.now()));
  }

  listOf(session: string): readonly ListedSet[] {
    return this.#listed(this.#statements.listOf.all(session, this.sharing.clock.now()));
  }

  releaseOf(session: string): void {
    this.sharing.state.change(() => {
      const ids = this.#statements.ownedBy.all(session) as readonly string[];
      for (const id of ids) this.#remove(id);
    });
  }

  moveOf(from: string, to: string): void {
    this.sharing.state.change(() => {
      const ids = this.#statements.madeBy.all(from) as readonly string[];
      this.#statements.moveOwned.run(from, to);
      this.#statements.moveMade.run(from, to);
      for (const id of ids) this.#raise(id);
    });
  }

  list(): readonly ListedSet[] {
    return this.#listed(this.#statements.list.all(this.sharing.clock.now()));
  }

  usedBytes(): number {
    return Number(this.#statements.bytes.first());
  }

  /** The sets continue in the other processes. */
  close(): void {
    this.#cancelTick();
  }

  #store(id: string, given: NewEntitySet): EntitySet {
    // An expired set may have the ID.
    this.#remove(id);
    this.#makeRoom(given);
    const { dataclass, keys, owner, maker = owner, timeout, isSorted } = given;
    const now = this.sharing.clock.now();
    const expires = this.#expiry(now, timeout);
    this.#statements.countUse.run();
    this.#statements.add.run(
      id,
      dataclass,
      this.#keys.hold(keys),
      owner ?? null,
      maker ?? null,
      timeout,
      Number(isSorted),
      now,
      expires,
    );
    this.#raise(id);
    return { id, dataclass, keys, owner, maker, timeout, isSorted, refreshed: now, expires };
  }

  #makeRoom({ keys }: NewEntitySet): void {
    const bytes = bytesOfSet + keys.byteLength;
    if (bytes > this.maxBytes) throw new EntitySetTooLargeError(bytes, this.maxBytes);
    if (this.#fits(keys)) return;
    this.#removeExpired();
    while (!this.#fits(keys)) {
      const id = this.#statements.leastUsed.first();
      if (id === undefined) return;
      this.#remove(id as string);
    }
  }

  #fits(keys: NewEntitySet['keys']): boolean {
    const more = this.#keys.isHeld(keys) ? 0 : keys.byteLength;
    return this.usedBytes() + bytesOfSet + more <= this.maxBytes;
  }

  #open(id: string, { session, dataclass }: SetClaim): KnownSet | undefined {
    const set = this.#alive(id);
    if (set === undefined || (dataclass !== undefined && set.dataclass !== dataclass)) {
      return undefined;
    }
    return set.owner === undefined || set.owner === session ? set : undefined;
  }

  #alive(id: string): KnownSet | undefined {
    const { generations, clock } = this.sharing;
    const generation = generations.of('set', id);
    const now = clock.now();
    const known = this.#known.get(id);
    const isCurrent =
      known?.generation === generation && now - known.read <= longestTrust && known.expires > now;
    const set = isCurrent ? known : this.#read(id, generation);
    // An expired set is removed a second later.
    return set === undefined || set.expires <= now ? undefined : set;
  }

  #read(id: string, generation: number): KnownSet | undefined {
    const row = this.#statements.find.first(id);
    if (row === undefined) return undefined;
    const set = KnownSet.of(row as SetRow);
    set.generation = generation;
    set.read = this.sharing.clock.now();
    this.#known.set(ownText(id), set);
    return set;
  }

  #use({ id, timeout: before }: KnownSet, now: number, timeout?: number): KnownSet | undefined {
    return this.sharing.state.change(() => {
      this.#statements.countUse.run();
      this.#statements.use.run(now, this.#expiry(now, timeout ?? before), id);
      if (timeout !== undefined && timeout !== before) {
        this.#statements.setTimeout.run(timeout, id);
        this.#raise(id);
      }
      return this.#read(id, this.sharing.generations.of('set', id));
    });
  }

  #expiry(now: number, timeout: number): number {
    return now + timeout * 1000 + grainOf(this.sharing, timeout * 1000);
  }

  #listed(rows: readonly unknown[]): readonly ListedSet[] {
    return (rows as readonly (readonly unknown[])[]).map(listedSet);
  }

  /** Call this and the following methods inside a change. */
  #removeExpired(): void {
    const ids = this.#statements.expired.all(this.sharing.clock.now()) as readonly string[];
    for (const id of ids) this.#remove(id);
  }

  #remove(id: string): void {
    const row = this.#statements.find.first(id);
    if (row === undefined) return;
    this.#statements.remove.run(id);
    this.#keys.letGo(KnownSet.of(row as SetRow).keys);
    this.#raise(id);
  }

  #raise(id: string): void {
    const { state, generations } = this.sharing;
    state.afterwards(() => {
      generations.raise('set', id);
    });
  }

  #endExpired(): void {
    if (this.#statements.expired.all(this.sharing.clock.now()).length === 0) return;
    this.sharing.state.change(() => {
      this.#removeExpired();
    });
  }
}
